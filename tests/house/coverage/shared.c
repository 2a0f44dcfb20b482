/* SPDX-License-Identifier: MIT */
/*
 * Makes programs of `make coverage` keep their counts. It is linked into each program and each
 * shared object.
 *
 * A process shares its counters with its child processes, so these need not write a file. A process
 * that is killed, calls _exit(), or may not open files could not write one. Each program has a file
 * of its own for each user: with only Clang's "%m", programs of equal sizes would share a file,
 * although their counts cannot be added up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void __llvm_profile_set_filename(const char *pattern);

/* Both symbols are at the boundary of a page: see shared.ld. */
extern char counters[] __asm__("__start___llvm_prf_cnts") __attribute__((visibility("hidden")));
extern char end[] __asm__("__stop___llvm_prf_bits") __attribute__((visibility("hidden")));

/* Create both sections in programs without counters. */
static char no_counter[8] __attribute__((used, aligned(8), section("__llvm_prf_cnts")));
static char no_bits[1] __attribute__((used, section("__llvm_prf_bits")));

static void share_counters(void) {
    size_t size = (size_t)(end - counters);
    void *counted = malloc(size);
    if (!counted)
        abort();
    memcpy(counted, counters, size);
    if (mmap(counters, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        abort();
    memcpy(counters, counted, size);
    free(counted);
}

static void __attribute__((constructor)) start(void) {
    char *pattern;
    if (asprintf(&pattern, PROFILES "/%s-%u-%%m.profraw", program_invocation_short_name,
                 (unsigned)getuid()) < 0)
        abort();
    __llvm_profile_set_filename(pattern);
    free(pattern);
    share_counters();
}
