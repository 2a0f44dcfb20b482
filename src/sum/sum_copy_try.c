/* SPDX-License-Identifier: MIT */
/* Copies that compute a sum and survive faults. */
#include <carry/fault.h>

#include "base/fault_host.h"
#include "sum/sum_internal.h"

#define PIECE_BYTES 512 /* even, and small for an operating-system kernel's stack */

/*
 * Adds the bytes that were just copied to `dst` to *sum. The pages of `dst` may have been unmapped
 * after the copy: adds only the bytes that are still accessible, and returns their number.
 */
static size_t sum_target(const void *dst, size_t size, uint32_t *sum) {
    const unsigned char *from = dst;
    unsigned char piece[PIECE_BYTES];
    size_t left = 0;
    size_t done = 0;
    while (done < size && !left) {
        const size_t wanted = size - done < sizeof piece ? size - done : sizeof piece;
        left = carry_copy_try(piece, from + done, wanted);
        *sum = carry_sum_call(piece, wanted - left, *sum);
        done += wanted - left;
    }
    return done;
}

size_t carry_sum_copy_try(void *dst, const void *src, size_t size, uint32_t *sum) {
    size_t left;
    if (carry_host_recovers(CARRY_HOST_COPIES)) {
        const struct carry_sum_tried tried = carry_sum_copy_try_call(dst, src, size, *sum);
        if (carry_sum_is_known(&tried)) {
            *sum = (uint32_t)tried.sum;
            return 0;
        }
        left = tried.left;
    } else {
        left = carry_host_copy(dst, src, size);
    }
    return size - sum_target(dst, size - left, sum);
}
