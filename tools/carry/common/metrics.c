/* SPDX-License-Identifier: MIT */
#include "common/metrics.h"

#include <errno.h>
#include <inttypes.h>

#include "common/output.h"
#include "common/text.h"

void metrics_begin(FILE *out, const struct metrics_family *family) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
            family->type);
}

/*
 * Prints a label's value. The format demands UTF-8, but names of interfaces may contain any byte.
 * Bytes that are not UTF-8, and backslashes, are written in the form \xff, so that different names
 * have different values.
 */
static void print_label_value(FILE *out, const char *value) {
    while (*value) {
        const struct text_character character = text_character(value);
        if (!character.is_utf8 || *value == '\\')
            fprintf(out, "\\\\x%02x", (unsigned char)*value);
        else if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"')
            fputs("\\\"", out);
        else
            fwrite(value, 1, character.size, out);
        value += character.size;
    }
}

void metrics_sample(FILE *out, const char *name, const struct metrics_label *labels, size_t count,
                    uint64_t value) {
    fputs(name, out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%c%s=\"", i ? ',' : '{', labels[i].name);
        print_label_value(out, labels[i].value);
        fputc('"', out);
    }
    fprintf(out, "%s %" PRIu64 "\n", count ? "}" : "", value);
}

bool metrics_write(const char *path, void (*print)(FILE *out, const void *context),
                   const void *context) {
    struct output output;
    FILE *stream = output_open(&output, path, 0666) ? output_stream(&output) : NULL;
    if (!stream)
        return false;
    print(stream, context);
    const bool ok = output_finish(&output) && output_publish(&output);
    const int error = output.error;
    output_abandon(&output);
    errno = error;
    return ok;
}
