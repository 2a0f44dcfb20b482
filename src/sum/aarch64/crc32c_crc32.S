/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * w0 = the CRC, with the crc32c instructions in one stream
 *
 * uint32_t carry_crc32c_crc32(const void *data, size_t size, uint32_t crc);
 *
 * For CPUs without the carry-less multiplication that joins streams, such as the Cortex-A72 of a
 * Raspberry Pi 4.
 *
 * In:       x0 data, x1 size, w2 crc
 * Out:      w0
 * Clobbers: x0 to x4, flags
 * Reads:    [data, data + size) and nothing else
 */
#include "base/asm_aarch64.h"
#include "sum/aarch64/crc32c_words.h"

    .arch   armv8-a+crc

CARRY_FUNCTION carry_crc32c_crc32
    mvn     w2, w2
    ADD_WORDS
    mvn     w0, w2
    ret
CARRY_END carry_crc32c_crc32

CARRY_NOTES
