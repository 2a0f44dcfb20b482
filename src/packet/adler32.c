/* SPDX-License-Identifier: MIT */
/* Adler-32, to recognise sums of SCTP from before RFC 3309. */
#include "packet/adler32.h"

/* The largest prime below 2^16, and the most bytes whose sums cannot overflow 32 bits (RFC 1950,
 * section 8.2). */
#define ADLER32_PRIME 65521
#define ADLER32_RUN   5552

struct adler32 {
    uint32_t sum;     /* of the bytes, plus 1 */
    uint32_t of_sums; /* sum of the values of `sum` after each byte */
};

static void adler32_add_run(struct adler32 *adler, const uint8_t *bytes, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        adler->sum += bytes[i];
        adler->of_sums += adler->sum;
    }
    adler->sum %= ADLER32_PRIME;
    adler->of_sums %= ADLER32_PRIME;
}

static void adler32_add(struct adler32 *adler, const uint8_t *bytes, uint32_t size) {
    for (; size > ADLER32_RUN; size -= ADLER32_RUN, bytes += ADLER32_RUN)
        adler32_add_run(adler, bytes, ADLER32_RUN);
    adler32_add_run(adler, bytes, size);
}

bool carry_is_adler32(const uint8_t *data, const struct carry_packet_sum *sum) {
    static const uint8_t zeros[4];
    uint32_t before = sum->field_offset - sum->cover_offset;
    uint32_t after = before + sum->field_size;
    const uint8_t *cover = data + sum->cover_offset;
    struct adler32 adler = {.sum = 1};
    adler32_add(&adler, cover, before);
    adler32_add(&adler, zeros, sizeof zeros);
    adler32_add(&adler, cover + after, sum->cover_size - after);
    return sum->stored == (adler.of_sums << 16 | adler.sum);
}
