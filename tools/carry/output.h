/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all: written under another name in the same folder, renamed
 * when all is written, removed on every failure and by signals that end the program.
 *
 *     struct output output;
 *     if (!output_open(&output, path, 0666))
 *         return errno;
 *     output_write(&output, bytes, size);
 *     if (!output_finish(&output) || !output_publish(&output))
 *         return output.error;
 */
#ifndef CARRY_TOOLS_OUTPUT_H
#define CARRY_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
    char *path; /* NULL: closed, or never opened */
    char *temporary;
    int descriptor;
    int error; /* errno of what failed first, or 0; then no more is written */
};

/*
 * False with errno set. What stands under `path` must be a file or nothing: EEXIST tells other
 * things. Links are followed. `mode` is the file's, before the umask.
 */
bool output_open(struct output *output, const char *path, mode_t mode);

void output_write(struct output *output, const void *bytes, size_t size);

/* All is written: false, with `error` set and everything removed, if some of it was not. */
bool output_finish(struct output *output);

/* Lets a finished file appear: false, with `error` set and everything removed, if it cannot. */
bool output_publish(struct output *output);

/* Removes what was written, unless it has appeared. */
void output_abandon(struct output *output);

#endif
