/* SPDX-License-Identifier: MIT */
/*
 * Collects which blocks of a window have changed, as a few spans.
 *
 * Whole blocks are written: to write a part of a page that is not in memory, such as a clone's, the
 * system reads it from the disk first. A call costs as much as the rest of a block.
 */
#ifndef CARRY_CAPTURE_SRC_SPANS_H
#define CARRY_CAPTURE_SRC_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#define SPANS_BLOCK ((uint64_t)4096)

/* Enough for a window of WINDOW_BYTES in which every other block changes. */
#define SPANS_MAX 17

struct span {
    uint64_t from, to; /* offsets in the file, multiples of SPANS_BLOCK */
};

struct spans {
    struct span all[SPANS_MAX];
    unsigned count;
};

/* Adds the blocks of changed bytes. The last span may then include unchanged blocks, too. */
static inline void carry_spans_add(struct spans *spans, uint64_t from, uint64_t to) {
    struct span *last = &spans->all[spans->count ? spans->count - 1 : 0];
    from &= ~(SPANS_BLOCK - 1);
    to = (to + SPANS_BLOCK - 1) & ~(SPANS_BLOCK - 1);
    const bool touches = spans->count && from <= last->to && last->from <= to;
    if (!touches && spans->count < SPANS_MAX) {
        spans->all[spans->count++] = (struct span){from, to};
        return;
    }
    last->from = from < last->from ? from : last->from;
    last->to = to > last->to ? to : last->to;
}

#endif
