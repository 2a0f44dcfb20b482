/* SPDX-License-Identifier: MIT */
/*
 * Writes files that appear complete or not at all. Before they appear, they have no name if the
 * file system supports that, otherwise a temporary name in the same folder. Nothing remains of them
 * after a failure, or after a signal that ends the program; only files with a temporary name remain
 * after signals that are not caught.
 *
 *     struct output output;
 *     if (!output_open(&output, path, 0666))
 *         return output_problem(errno);
 *     output_write(&output, bytes, size);
 *     if (!output_finish(&output) || !output_publish(&output))
 *         return output_problem(output.error);
 *
 * Also writes direct outputs, such as pipes: their bytes are passed on at once and cannot be
 * removed.
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
    char *temporary; /* its temporary name; "" while it has none; NULL: direct */
    FILE *stream;    /* NULL: not requested */
    int descriptor;
    int error;   /* errno of the first failure, or 0; nothing more is written after it */
    mode_t mode; /* the file's permissions when it appears; until then only its owner has access */
    struct stat folder; /* the folder in which the file appears */
    bool is_stream;     /* written bytes cannot be rewritten */
    struct pack *pack;  /* NULL: it is not compressed */
    uint64_t start;     /* where the output begins in the descriptor's file */
};

/*
 * Opens an output. Returns false with errno set on failure. `path` must name a writable file, or
 * nothing that exists. It must not name the file of standard output, of standard error, or of
 * another output. Links are followed. `mode` is the mode of the file, before the umask. The output
 * is compressed if the name `path` demands a compression that pack_knows(). An open struct must not
 * be moved.
 */
bool output_open(struct output *output, const char *path, mode_t mode);

/*
 * Returns STATUS_CLEAN, or STATUS_ERROR after a message if an option's `path` demands a compression
 * that is not available. `path` may be NULL.
 */
int output_check_name(const char *command, const char *option, const char *path);

/* Checks whether `path` names standard output, as "-" does. */
bool output_is_stdout(const char *path);

/* Checks whether `path` names standard output, or a FIFO, socket or character device. */
bool output_is_direct(const char *path);

/* Opens a direct output. Returns false with errno set on failure. If it is standard output, all
   printing goes to standard error instead. Opening a FIFO waits for its reader. */
bool output_open_direct(struct output *output, const char *path);

/* Returns a path for messages: "standard output" for "-". */
const char *output_name(const char *path);

/* Removes from the output the permissions that `mode` lacks, except the owner's. */
void output_restrict(struct output *output, mode_t mode);

/* Checks whether two statuses belong to the same file. */
bool output_is_same(const struct stat *a, const struct stat *b);

/* Checks whether this process writes the file with this status: as an output, or by printing. */
bool output_is_own(const struct stat *status);

/* Checks whether `path` is the temporary name of an output of any process. */
bool output_is_unfinished(const char *path);

/* Returns the text for an errno that the functions of this file set. */
const char *output_problem(int error);

void output_write(struct output *output, const void *bytes, size_t size);

/* Overwrites bytes written by output_write(); not for streams. */
void output_rewrite(struct output *output, uint64_t offset, const void *bytes, size_t size);

/* Returns a buffered stream; do not mix it with output_write(). Returns NULL with errno set on
   failure. */
FILE *output_stream(struct output *output);

/* Completes the writing. If something was not written, sets `error`, removes the file, and returns
   false. */
bool output_finish(struct output *output);

/* Makes a finished file appear. If that fails, sets `error`, removes the file, and returns
   false. */
bool output_publish(struct output *output);

/* Removes the file, unless it has appeared. */
void output_abandon(struct output *output);

#endif
