/* SPDX-License-Identifier: MIT */
/* Visits the files of a folder and of the folders in it. */
#ifndef CARRY_TOOLS_FOLDER_H
#define CARRY_TOOLS_FOLDER_H

#include <stdbool.h>

/* Checks whether a path is a folder, or a link to one. "-" is standard input, not a folder. */
bool folder_is(const char *path);

struct folder_visitor {
    void (*file)(void *context, const char *path);
    /* Called for a path that cannot be read; `error` is an errno. */
    void (*failed)(void *context, const char *path, int error);
    void *context;
};

/*
 * Calls `file` for each regular file, in the order of the names' bytes. Links to files are
 * followed, but not links to folders, so that there are no cycles; pipes, sockets and devices are
 * skipped.
 */
void folder_walk(const char *path, const struct folder_visitor *visitor);

#endif
