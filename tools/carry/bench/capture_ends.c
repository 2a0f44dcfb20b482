/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "bench/capture_ends.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)128 << 10) /* the size in which cat(1) reads and writes */

static uint8_t piece[PIECE_BYTES];

/* Writes a file to a descriptor. SIGPIPE ends this process if the program ends first. */
static void feed_file(int descriptor, const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size, written = 0;
    while (written >= 0 && (size = read(file, piece, sizeof piece)) > 0)
        for (ssize_t at = 0; at < size && written >= 0; at += written)
            written = write(descriptor, piece + at, (size_t)(size - at));
}

static void drop_all(int descriptor, const char *path) {
    (void)path;
    while (read(descriptor, piece, sizeof piece) > 0)
        continue;
}

/* Starts a process that runs `work` with end `theirs` of a new pipe (0: to read, 1: to write).
   Returns the other end, or -1 if there is no pipe; sets `*process` to -1 if no process starts. */
static int connect_process(struct bench_ends *ends, int theirs, pid_t *process,
                           void (*work)(int descriptor, const char *path), const char *path) {
    int both[2];
    if (pipe2(both, O_CLOEXEC))
        return -1;
    *process = fork();
    if (*process == 0) {
        close(both[!theirs]);
        close(ends->input);
        work(both[theirs], path);
        _exit(0);
    }
    close(both[theirs]);
    return both[!theirs];
}

static void open_both_files(struct bench_ends *ends, const char *input, const char *output) {
    ends->input = open(input, O_RDONLY | O_CLOEXEC);
    ends->output = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

/* Starts the writer first, so that it does not inherit the reader's pipe. */
static void open_pipes(struct bench_ends *ends, const char *input) {
    ends->input = connect_process(ends, 1, &ends->writer, feed_file, input);
    ends->output = connect_process(ends, 0, &ends->reader, drop_all, NULL);
}

bool bench_ends_open(struct bench_ends *ends, enum bench_ends_kind kind, const char *input,
                     const char *output) {
    *ends = (struct bench_ends){.input = -1, .output = -1};
    if (kind == BENCH_ENDS_NONE)
        return true;
    if (kind == BENCH_ENDS_FILES)
        open_both_files(ends, input, output);
    else
        open_pipes(ends, input);
    return ends->input >= 0 && ends->output >= 0 && ends->writer >= 0 && ends->reader >= 0;
}

void bench_ends_take(const struct bench_ends *ends) {
    if (ends->input >= 0)
        dup2(ends->input, STDIN_FILENO);
    if (ends->output >= 0)
        dup2(ends->output, STDOUT_FILENO);
}

void bench_ends_close(struct bench_ends *ends) {
    if (ends->input >= 0)
        close(ends->input);
    if (ends->output >= 0)
        close(ends->output);
    ends->input = ends->output = -1;
}

void bench_ends_wait(const struct bench_ends *ends) {
    if (ends->writer > 0)
        waitpid(ends->writer, NULL, 0);
    if (ends->reader > 0)
        waitpid(ends->reader, NULL, 0);
}
