/* SPDX-License-Identifier: MIT */
/*
 * A library for `carry selftest --library`. The environment variable CARRY_BROKEN lists the faults
 * of its functions, with a comma before and after each. The library is linked with libcarry.so,
 * which has all other functions.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/crc.h>
#include <carry/packet.h>

#include "mutants/mutants.h"

/* Returns the function `name` of libcarry.so. */
#define REAL(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

static bool is_broken(const char *name) {
    const char *list = getenv("CARRY_BROKEN");
    char item[32];
    snprintf(item, sizeof item, ",%s,", name);
    return list && strstr(list, item);
}

CARRY_API bool carry_sum_kernel(size_t index, struct carry_sum_kernel *kernel) {
    const bool found = REAL(carry_sum_kernel)(index, kernel);
    if (index != 0)
        return found;
    if (is_broken("sum"))
        kernel->sum = broken_loses_rare_carry;
    if (is_broken("sum edges"))
        kernel->sum = broken_reads_past_end;
    if (is_broken("sum_copy"))
        kernel->copy = broken_sum_copy_whole_word;
    return found;
}

CARRY_API uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum) {
    return is_broken("choice") ? broken_ignores_seed(data, size, sum)
                               : REAL(carry_sum_call)(data, size, sum);
}

CARRY_API bool carry_crc32c_kernel(size_t index, struct carry_sum_kernel *kernel) {
    const bool found = REAL(carry_crc32c_kernel)(index, kernel);
    if (index == 0 && is_broken("crc32c"))
        kernel->sum = broken_crc32c_streams_swapped;
    return found;
}

CARRY_API bool carry_copy_kernel(size_t index, struct carry_copy_kernel *kernel) {
    const bool found = REAL(carry_copy_kernel)(index, kernel);
    if (index == 0 && is_broken("copy"))
        kernel->copy = broken_copy_tail_overlap;
    return found;
}

CARRY_API void carry_copy_move(void *dst, const void *src, size_t size) {
    (is_broken("move") ? broken_copy_upwards : REAL(carry_copy_move))(dst, src, size);
}

CARRY_API int carry_copy_select(const char *name) {
    return is_broken("select") ? CARRY_ERROR_PERMISSION : REAL(carry_copy_select)(name);
}

CARRY_API size_t carry_packet_check(const struct carry_frame *frame,
                                    const struct carry_packet_options *options,
                                    struct carry_packet_sum *sums, size_t capacity) {
    const size_t count = REAL(carry_packet_check)(frame, options, sums, capacity);
    for (size_t i = 0; i < count && is_broken("check"); i++)
        sums[i].verdict = CARRY_VERDICT_GOOD;
    return count;
}

CARRY_API size_t carry_packet_fill(const struct carry_frame *frame,
                                   const struct carry_packet_options *options,
                                   struct carry_packet_sum *changes, size_t capacity) {
    static unsigned calls; /* the first round of the self-test makes 1,481 calls */
    const bool is_late = calls++ > 2000 && is_broken("fill late");
    return is_late || is_broken("fill")
               ? 0
               : REAL(carry_packet_fill)(frame, options, changes, capacity);
}

CARRY_API unsigned carry_version(void) {
    return is_broken("version") ? 1 : REAL(carry_version)();
}
