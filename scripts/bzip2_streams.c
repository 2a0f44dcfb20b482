/* SPDX-License-Identifier: MIT */
/*
 * Debian's libbz2.a refers to the C library's streams in a way that programs can, but not the
 * modules that Python loads. make_wheel.py replaces them by these.
 */
#include <stdio.h>

#define OWN __attribute__((visibility("hidden")))

OWN FILE *bzip2_stdin, *bzip2_stdout, *bzip2_stderr;

__attribute__((constructor)) static void set_streams(void) {
    bzip2_stdin = stdin;
    bzip2_stdout = stdout;
    bzip2_stderr = stderr;
}
