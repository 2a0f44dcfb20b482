/* SPDX-License-Identifier: MIT */
/*
 * Collects the content of one datagram from its parts.
 *
 * Memory and time depend on the bytes that were captured, whatever sizes the parts claim. A search
 * tree holds runs of content that arrived, each with its captured bytes; finding and adding a part
 * costs a time logarithmic in the number of runs. After the first byte that arrived without being
 * captured, only the fact of arrival is recorded.
 *
 * Parts that overlap make a content uncertain, and are a known attack (RFC 5722). An exact
 * repetition of a part is accepted. Other overlaps are accepted only if the caller allows them and
 * the shared bytes are equal.
 */
#ifndef CARRY_CAPTURE_SRC_CONTENT_H
#define CARRY_CAPTURE_SRC_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENT_UNIT 8u /* bytes: parts start at multiples of this */

struct run;

struct content {
    struct run *runs;
    uint64_t random;  /* shapes the tree */
    size_t bytes;     /* bytes allocated for the runs */
    uint32_t arrived; /* bytes that arrived, rounded up to whole units */
    uint32_t reach;   /* the highest end of a part */
    uint32_t size;    /* 0: the last part has not arrived */
    uint32_t gap;     /* the first byte that arrived but was not captured, or UINT32_MAX */
};

struct part {
    const uint8_t *data;
    uint32_t captured;   /* bytes at `data` */
    uint32_t place, end; /* start and end in the content; `place` is a multiple of CONTENT_UNIT */
    bool more;           /* other parts follow this one */
};

enum content_result {
    CONTENT_ADDED,
    CONTENT_CONTRADICTED, /* contradicts earlier parts: the content is useless */
    CONTENT_NO_MEMORY,    /* the content is useless, too */
};

/* Returns an empty content; `seed` must be hard to guess. */
static inline struct content carry_content_new(uint64_t seed) {
    return (struct content){.random = seed, .gap = UINT32_MAX};
}

/* Adds a part. With `overlaps`, the part may overlap others without repeating them exactly. */
enum content_result carry_content_add(struct content *content, const struct part *part,
                                      bool overlaps);

void carry_content_clear(struct content *content);

bool carry_content_is_complete(const struct content *content);

/* Returns how many bytes of a complete content precede the first byte that was not captured. */
uint32_t carry_content_captured(const struct content *content);

/* Writes the bytes that carry_content_captured() counts to `buffer`, which must have room for
   content->size bytes; bytes after them may be written too. */
void carry_content_write(const struct content *content, uint8_t *buffer);

#endif
