/* SPDX-License-Identifier: MIT */
/*
 * The portable CRC32c kernel, for both byte orders: eight bytes a step, with a table for each byte
 * ("slicing by eight").
 *
 * A CRC is linear over GF(2): the CRC of a byte is the exclusive or of the CRCs of its bits. So the
 * tables follow from 64 constants, one for each bit of the eight bytes. Each constant is the
 * constant of the previous bit, shifted by one step.
 */
#include "sum/crc32c.h"

/* 0x1edc6f41 with its bits reversed, as in all CRCs of this file. */
#define POLYNOMIAL 0x82f63b78
#define STEP(crc)  ((crc) >> 1 ^ ((crc)&1 ? POLYNOMIAL : 0))

/* clang-format off */
#define LATER_BITS(X) \
    X(1, 0) X(2, 1) X(3, 2) X(4, 3) X(5, 4) X(6, 5) X(7, 6) \
    X(8, 7) X(9, 8) X(10, 9) X(11, 10) X(12, 11) X(13, 12) X(14, 13) \
    X(15, 14) X(16, 15) X(17, 16) X(18, 17) X(19, 18) X(20, 19) X(21, 20) \
    X(22, 21) X(23, 22) X(24, 23) X(25, 24) X(26, 25) X(27, 26) X(28, 27) \
    X(29, 28) X(30, 29) X(31, 30) X(32, 31) X(33, 32) X(34, 33) X(35, 34) \
    X(36, 35) X(37, 36) X(38, 37) X(39, 38) X(40, 39) X(41, 40) X(42, 41) \
    X(43, 42) X(44, 43) X(45, 44) X(46, 45) X(47, 46) X(48, 47) X(49, 48) \
    X(50, 49) X(51, 50) X(52, 51) X(53, 52) X(54, 53) X(55, 54) X(56, 55) \
    X(57, 56) X(58, 57) X(59, 58) X(60, 59) X(61, 60) X(62, 61) X(63, 62)
/* clang-format on */

/* BIT_n is the CRC of a bit that is followed by n bits. */
#define NEXT_BIT(bit, before) BIT_##bit = STEP(BIT_##before),
enum { BIT_0 = POLYNOMIAL, LATER_BITS(NEXT_BIT) };

/* Expands to the CRC of the byte `n`. Its bits, from the highest, are followed by a to h other
 * bits. */
#define BYTE(n, a, b, c, d, e, f, g, h)                                                            \
    (((n)&128 ? BIT_##a : 0) ^ ((n)&64 ? BIT_##b : 0) ^ ((n)&32 ? BIT_##c : 0) ^                   \
     ((n)&16 ? BIT_##d : 0) ^ ((n)&8 ? BIT_##e : 0) ^ ((n)&4 ? BIT_##f : 0) ^                      \
     ((n)&2 ? BIT_##g : 0) ^ ((n)&1 ? BIT_##h : 0))
#define BYTES_4(n, ...)                                                                            \
    BYTE(n, __VA_ARGS__), BYTE(n + 1, __VA_ARGS__), BYTE(n + 2, __VA_ARGS__),                      \
        BYTE(n + 3, __VA_ARGS__)
#define BYTES_16(n, ...)                                                                           \
    BYTES_4(n, __VA_ARGS__), BYTES_4(n + 4, __VA_ARGS__), BYTES_4(n + 8, __VA_ARGS__),             \
        BYTES_4(n + 12, __VA_ARGS__)
#define BYTES_64(n, ...)                                                                           \
    BYTES_16(n, __VA_ARGS__), BYTES_16(n + 16, __VA_ARGS__), BYTES_16(n + 32, __VA_ARGS__),        \
        BYTES_16(n + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        BYTES_64(0, __VA_ARGS__), BYTES_64(64, __VA_ARGS__), BYTES_64(128, __VA_ARGS__),           \
            BYTES_64(192, __VA_ARGS__)                                                             \
    }

/* tables[n] is for bytes that are followed by n other bytes of the step. */
static const uint32_t tables[8][256] = {
    TABLE(0, 1, 2, 3, 4, 5, 6, 7),         TABLE(8, 9, 10, 11, 12, 13, 14, 15),
    TABLE(16, 17, 18, 19, 20, 21, 22, 23), TABLE(24, 25, 26, 27, 28, 29, 30, 31),
    TABLE(32, 33, 34, 35, 36, 37, 38, 39), TABLE(40, 41, 42, 43, 44, 45, 46, 47),
    TABLE(48, 49, 50, 51, 52, 53, 54, 55), TABLE(56, 57, 58, 59, 60, 61, 62, 63),
};

static uint32_t load32(const unsigned char *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(word) : word;
}

static uint32_t add_8_bytes(const unsigned char *p, uint32_t crc) {
    uint32_t first = load32(p) ^ crc, second = load32(p + 4);
    return tables[7][first & 255] ^ tables[6][first >> 8 & 255] ^ tables[5][first >> 16 & 255] ^
           tables[4][first >> 24] ^ tables[3][second & 255] ^ tables[2][second >> 8 & 255] ^
           tables[1][second >> 16 & 255] ^ tables[0][second >> 24];
}

uint32_t carry_crc32c_generic(const void *data, size_t size, uint32_t crc) {
    const unsigned char *p = data;
    crc = ~crc;
    for (; size >= 8; p += 8, size -= 8)
        crc = add_8_bytes(p, crc);
    for (; size; p++, size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
    return ~crc;
}
