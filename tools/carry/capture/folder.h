/* SPDX-License-Identifier: MIT */
/* The files of a folder, and of the folders in it. */
#ifndef CARRY_TOOLS_FOLDER_H
#define CARRY_TOOLS_FOLDER_H

#include <stdbool.h>

/* True for a folder, or a link to one; "-" is none. */
bool folder_is(const char *path);

struct folder_visitor {
    void (*file)(void *context, const char *path);
    void (*failed)(void *context, const char *path, int error); /* errno of what cannot be read */
    void *context;
};

/*
 * Calls `file` for each regular file, in the order of the names' bytes. Links are followed to
 * files, not to folders, so that no link leads round in circles; pipes, sockets and devices are
 * passed by.
 */
void folder_walk(const char *path, const struct folder_visitor *visitor);

#endif
