/* SPDX-License-Identifier: MIT */
/*
 * Debian's libbz2.a refers to the C library's streams in a way that works in programs, but not in
 * modules that Python loads. make_wheel.py makes the library use these variables instead.
 */
#include <stdio.h>

#define OWN __attribute__((visibility("hidden")))

OWN FILE *bzip2_stdin, *bzip2_stdout, *bzip2_stderr;

__attribute__((constructor)) static void set_streams(void) {
    bzip2_stdin = stdin;
    bzip2_stdout = stdout;
    bzip2_stderr = stderr;
}
