/* SPDX-License-Identifier: MIT */
#include "check/file_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum got { GOT_NAME, GOT_END, GOT_TOO_LONG };

/* Reads the next name. No file has a longer name than PATH_MAX, which includes the NUL. */
static enum got read_listed_name(FILE *stream, char name[PATH_MAX]) {
    size_t size = 0;
    int byte;
    while ((byte = getc(stream)) != EOF && byte) {
        name[size++] = (char)byte;
        if (size == PATH_MAX)
            return GOT_TOO_LONG;
    }
    name[size] = '\0';
    return byte == EOF && !size ? GOT_END : GOT_NAME;
}

static const char *visit_all(FILE *stream, bool is_input, const struct file_list_visitor *visitor) {
    char name[PATH_MAX];
    bool any = false;
    for (;; any = true) {
        const enum got got = read_listed_name(stream, name);
        if (ferror(stream))
            return strerror(errno);
        if (got == GOT_TOO_LONG)
            return "holds a name that is longer than names can be";
        if (got == GOT_END)
            return any ? NULL : "names no files";
        if (!*name)
            return "holds an empty name";
        if (is_input && strcmp(name, "-") == 0)
            return "names standard input, which the names come from";
        if (!visitor->visit(visitor->context, name))
            return NULL;
    }
}

const char *file_list_visit(const char *list, const struct file_list_visitor *visitor) {
    const bool is_input = strcmp(list, "-") == 0;
    FILE *stream = is_input ? stdin : fopen(list, "re");
    if (!stream)
        return strerror(errno);
    const char *problem = visit_all(stream, is_input, visitor);
    if (!is_input)
        fclose(stream);
    return problem;
}
