/* SPDX-License-Identifier: MIT */
/*
 * The content of one datagram, as far as its parts came.
 *
 * Memory and time follow the bytes that were captured, whatever parts claim: runs of content that
 * came stand in a tree, each with the bytes that were captured of it, so that a part is found and
 * added in a time that grows with the logarithm of their number. What lies behind the first byte
 * that came, but was not captured, is known as having come, and nothing of it is kept.
 *
 * Parts that overlap make a content uncertain, and are a known attack (RFC 5722). An exact
 * repetition of a part is accepted; others only if the caller allows them, and they say the same of
 * the bytes that they share.
 */
#ifndef CARRY_CAPTURE_SRC_CONTENT_H
#define CARRY_CAPTURE_SRC_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENT_UNIT 8u /* bytes: parts start at multiples of it */

struct run;

struct content {
    struct run *runs;
    uint64_t random; /* shapes the tree */
    size_t bytes;    /* allocated */
    uint32_t came;   /* how many bytes, the last unit rounded up */
    uint32_t reach;  /* where the furthest part ends */
    uint32_t size;   /* 0: the last part did not come yet */
    uint32_t gap;    /* the first byte that came, but was not captured; or UINT32_MAX */
};

struct part {
    const uint8_t *data;
    uint32_t captured;   /* bytes at `data` */
    uint32_t place, end; /* of the part in the content; `place` is a multiple of CONTENT_UNIT */
    bool more;           /* others follow it */
};

enum content_result {
    CONTENT_ADDED,
    CONTENT_CONTRADICTED, /* by what came before: of no use any more */
    CONTENT_NO_MEMORY,    /* nor then */
};

/* An empty content; nobody should be able to guess `seed`. */
static inline struct content carry_content_new(uint64_t seed) {
    return (struct content){.random = seed, .gap = UINT32_MAX};
}

/* `overlaps`: parts may do so that are no repetitions. */
enum content_result carry_content_add(struct content *content, const struct part *part,
                                      bool overlaps);

void carry_content_clear(struct content *content);

bool carry_content_is_complete(const struct content *content);

/* Of a complete one, the bytes up to the first that was not captured. */
uint32_t carry_content_captured(const struct content *content);

/* Writes these bytes, and perhaps others within content->size. */
void carry_content_write(const struct content *content, uint8_t *buffer);

#endif
