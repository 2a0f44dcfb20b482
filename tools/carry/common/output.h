/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all: written without a name where the file system allows that,
 * else under another one in the same folder. Nothing is left of them after a failure, nor after
 * signals that end the program; without a name, not even after those that cannot be caught.
 *
 *     struct output output;
 *     if (!output_open(&output, path, 0666))
 *         return output_problem(errno);
 *     output_write(&output, bytes, size);
 *     if (!output_finish(&output) || !output_publish(&output))
 *         return output_problem(output.error);
 *
 * And direct outputs, such as pipes: what is written leaves at once, and cannot be taken back.
 */
#ifndef CARRY_TOOLS_OUTPUT_H
#define CARRY_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct output {
    char *path;      /* NULL: closed, or never opened */
    char *temporary; /* its name meanwhile; "" while it has none; NULL: direct */
    FILE *stream;    /* NULL: not asked for */
    int descriptor;
    int error;          /* errno of what failed first, or 0; then no more is written */
    mode_t mode;        /* with which it appears; until then it is for its owner alone */
    struct stat folder; /* in which it appears */
    bool is_stream;     /* what was written cannot be written over */
    struct pack *pack;  /* NULL: it is not compressed */
    uint64_t start;     /* where in the descriptor's file it begins */
};

/*
 * False with errno set. `path` must name a file that may be written to, or nothing, and neither
 * where standard output or error go nor another output. Links are followed. `mode` is the file's,
 * before the umask. What is written is compressed if `path` says so, and pack_knows() it. A struct
 * that is open must not be moved.
 */
bool output_open(struct output *output, const char *path, mode_t mode);

/*
 * STATUS_CLEAN, or after a message STATUS_ERROR if an option names a file that cannot be compressed
 * as its name says. `path` may be NULL.
 */
int output_check_name(const char *command, const char *option, const char *path);

/* Does this name standard output, "-" among others? */
bool output_is_stdout(const char *path);

/* Is it that, or a FIFO, socket or device? */
bool output_is_direct(const char *path);

/*
 * Opens such an output; false with errno set. The only output to standard output is then this one:
 * what is printed goes to standard error. A FIFO waits for its reader.
 */
bool output_open_direct(struct output *output, const char *path);

/* A path as messages have it: "-" is standard output. */
const char *output_name(const char *path);

/* Nobody but the owner gets permissions that a file of this mode does not give. */
void output_restrict(struct output *output, mode_t mode);

/* Are these of one file, by whatever names? */
bool output_is_same(const struct stat *a, const struct stat *b);

/* Is this file one that this process writes: an output, or where it prints to? */
bool output_is_own(const struct stat *status);

/* Has this file the name that an output has until it is whole, of whatever process? */
bool output_is_unfinished(const char *path);

/* What to say of an `error` of these functions. */
const char *output_problem(int error);

void output_write(struct output *output, const void *bytes, size_t size);

/* Writes over what output_write() wrote, unless that is a stream. */
void output_rewrite(struct output *output, uint64_t offset, const void *bytes, size_t size);

/* Buffers for output_write(), which is not to be mixed with it; NULL with errno set. */
FILE *output_stream(struct output *output);

/* All is written: false, with `error` set and everything removed, if some of it was not. */
bool output_finish(struct output *output);

/* Lets a finished file appear: false, with `error` set and everything removed, if it cannot. */
bool output_publish(struct output *output);

/* Removes what was written, unless it has appeared. */
void output_abandon(struct output *output);

#endif
