/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/file_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/text.h"

static const char *const captures[] = {"pcap", "pcapng", "cap", "ntar", "snoop", "erf", NULL};
const char *const file_name_packings[] = {"gz", "zst", "xz", "bz2", "lz4", NULL};

static bool is_among(const char *const *words, const char *text, size_t size) {
    for (; *words; words++)
        if (strlen(*words) == size && strncasecmp(*words, text, size) == 0)
            return true;
    return false;
}

static size_t strip_digits(const char *text, size_t size) {
    while (size && isdigit((unsigned char)text[size - 1]))
        size--;
    return size;
}

bool file_name_is_capture(const char *path) {
    const char *name = text_last_part(path), *dot;
    if (*name == '.')
        return false;
    for (size_t end = strlen(name); (dot = memrchr(name, '.', end)); end = (size_t)(dot - name)) {
        const char *part = dot + 1;
        const size_t size = end - (size_t)(part - name), letters = strip_digits(part, size);
        if (is_among(captures, part, letters))
            return true;
        if (letters && !is_among(file_name_packings, part, size))
            return false;
    }
    return false;
}

const char *file_name_extension(const char *path) {
    const char *dot = strrchr(text_last_part(path), '.');
    return dot ? dot + 1 : "";
}

bool file_name_is_packed(const char *path) {
    const char *extension = file_name_extension(path);
    return is_among(file_name_packings, extension, strlen(extension));
}
