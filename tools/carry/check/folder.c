/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "check/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool folder_is(const char *path) {
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int is_real_entry(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Compares names by their bytes, unlike alphasort(), which depends on the locale: the order must be
   the same everywhere. */
static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void visit_path(const char *path, const struct folder_visitor *visitor) {
    struct stat status;
    if (lstat(path, &status))
        visitor->failed(visitor->context, path, errno);
    else if (S_ISDIR(status.st_mode))
        folder_walk(path, visitor);
    else if (S_ISLNK(status.st_mode) && stat(path, &status))
        visitor->failed(visitor->context, path, errno);
    else if (S_ISREG(status.st_mode))
        visitor->file(visitor->context, path);
}

void folder_walk(const char *path, const struct folder_visitor *visitor) {
    struct dirent **entries;
    int count = scandir(path, &entries, is_real_entry, compare_names);
    if (count < 0) {
        visitor->failed(visitor->context, path, errno);
        return;
    }
    const char *separator = path[strlen(path) - 1] == '/' ? "" : "/";
    for (int i = 0; i < count; i++) {
        char *below;
        if (asprintf(&below, "%s%s%s", path, separator, entries[i]->d_name) < 0) {
            visitor->failed(visitor->context, path, ENOMEM);
        } else {
            visit_path(below, visitor);
            free(below);
        }
        free(entries[i]);
    }
    free(entries);
}
