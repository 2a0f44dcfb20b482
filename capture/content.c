/* SPDX-License-Identifier: MIT */
#include "content.h"

#include <stdlib.h>
#include <string.h>

/*
 * A node of a treap (Seidel and Aragon, 1996), which is a search tree by place and a heap by
 * priority. Priorities are random, so that no order of parts makes the tree deep. Runs do not
 * overlap.
 */
struct run {
    struct run *left, *right;
    uint32_t priority;
    uint32_t place, end;
    uint32_t captured; /* bytes at `data`: all of the run, or up to the gap */
    uint8_t data[];
};

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Returns a run's share of content->arrived. Only the last run may end within a unit. */
static uint32_t units_size(const struct run *run) {
    return (run->end - run->place + CONTENT_UNIT - 1) / CONTENT_UNIT * CONTENT_UNIT;
}

/* --- The tree --- */

/* Splits a tree into two: the runs that begin before `place`, and all other runs. */
static void split_runs(struct run *run, uint32_t place, struct run **before, struct run **others) {
    if (!run) {
        *before = *others = NULL;
    } else if (run->place < place) {
        *before = run;
        split_runs(run->right, place, &run->right, others);
    } else {
        *others = run;
        split_runs(run->left, place, before, &run->left);
    }
}

/* Joins two trees and returns the result; all runs of `high` begin after the runs of `low`. */
static struct run *join_runs(struct run *low, struct run *high) {
    if (!low || !high)
        return low ? low : high;
    if (low->priority > high->priority) {
        low->right = join_runs(low->right, high);
        return low;
    }
    high->left = join_runs(low, high->left);
    return high;
}

/* Returns the first run that ends after `place`, or NULL. */
static struct run *find_run(struct run *run, uint32_t place) {
    struct run *found = NULL;
    while (run) {
        bool ends_behind = run->end > place;
        found = ends_behind ? run : found;
        run = ends_behind ? run->left : run->right;
    }
    return found;
}

/* Returns the upper half of a number from Knuth's linear congruential generator MMIX: this half is
   random enough. */
static uint32_t next_priority(struct content *content) {
    content->random = content->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(content->random >> 32);
}

/* Adds a run where none exists, with its first `captured` bytes. Returns false if there is no
   memory. */
static bool insert_run(struct content *content, uint32_t place, uint32_t end, const uint8_t *data,
                       uint32_t captured) {
    struct run *run = malloc(sizeof *run + captured), *before, *others;
    if (!run)
        return false;
    *run = (struct run){
        .priority = next_priority(content), .place = place, .end = end, .captured = captured};
    if (captured)
        memcpy(run->data, data, captured);
    split_runs(content->runs, place, &before, &others);
    content->runs = join_runs(join_runs(before, run), others);
    content->arrived += units_size(run);
    content->bytes += sizeof *run + captured;
    return true;
}

static void drop_runs(struct content *content, struct run *run) {
    if (!run)
        return;
    drop_runs(content, run->left);
    drop_runs(content, run->right);
    content->arrived -= units_size(run);
    content->bytes -= sizeof *run + run->captured;
    free(run);
}

/* --- Parts --- */

/* Checks whether the part agrees with the other parts on where the content ends. */
static bool ends_agree(const struct content *content, const struct part *part) {
    if (!content->size)
        return part->more || part->end >= content->reach;
    return part->more ? part->end <= content->size : part->end == content->size;
}

/* Checks whether a run and a part agree in the bytes that they share, as far as these were
   captured. */
static bool run_agrees(const struct run *run, const struct part *part, uint32_t known) {
    uint32_t from = run->place > part->place ? run->place : part->place;
    uint32_t to = min_u32(run->place + run->captured, known);
    return from >= to || memcmp(run->data + (from - run->place), part->data + (from - part->place),
                                to - from) == 0;
}

/* Adds a part's bytes from `place` to `end`, where no bytes have arrived; `known` has the same
   meaning as in add_content_part(). */
static bool insert_piece(struct content *content, const struct part *part, uint32_t place,
                         uint32_t end, uint32_t known) {
    uint32_t captured = known > place ? min_u32(known, end) - place : 0;
    if (known < end)
        content->gap = known;
    return insert_run(content, place, end, captured ? part->data + (place - part->place) : NULL,
                      captured);
}

static uint32_t last_end(const struct run *run) {
    while (run->right)
        run = run->right;
    return run->end;
}

/*
 * Adds the bytes from `place` to `end`, which were not captured, as one run, and merges it with all
 * runs that it touches: of these bytes, only the fact that they arrived matters from now on.
 */
static bool insert_rest(struct content *content, uint32_t place, uint32_t end) {
    const struct run *first = find_run(content->runs, place);
    if (first && first->place < place)
        place = first->end;
    if (place >= end)
        return true;
    struct run *before, *within, *behind;
    split_runs(content->runs, place, &before, &within);
    split_runs(within, end, &within, &behind);
    if (within && last_end(within) > end)
        end = last_end(within);
    content->runs = join_runs(before, behind);
    drop_runs(content, within);
    content->gap = min_u32(content->gap, place);
    return insert_run(content, place, end, NULL, 0);
}

/* Adds a part that overlaps runs. Fills the spaces between the runs. Compares the bytes that the
   part and the runs share, up to `known`. */
static enum content_result overlay_part(struct content *content, const struct part *part,
                                        uint32_t known) {
    uint32_t place = part->place;
    while (place < min_u32(part->end, known)) {
        const struct run *run = find_run(content->runs, place);
        uint32_t free_end = run ? min_u32(run->place, part->end) : part->end;
        if (free_end > place) {
            if (!insert_piece(content, part, place, free_end, known))
                return CONTENT_NO_MEMORY;
            place = free_end;
        } else {
            if (!run_agrees(run, part, known))
                return CONTENT_CONTRADICTED;
            place = run->end;
        }
    }
    return insert_rest(content, place, part->end) ? CONTENT_ADDED : CONTENT_NO_MEMORY;
}

/* Adds a part. `known` is where its useful bytes end: bytes after the gap are not needed. */
static enum content_result add_content_part(struct content *content, const struct part *part,
                                            bool overlaps) {
    uint32_t known = min_u32(part->place + part->captured, content->gap);
    const struct run *run = find_run(content->runs, part->place);
    if (!run || run->place >= part->end)
        return insert_piece(content, part, part->place, part->end, known) ? CONTENT_ADDED
                                                                          : CONTENT_NO_MEMORY;
    if (run->place == part->place && run->end == part->end)
        return run_agrees(run, part, known) ? CONTENT_ADDED : CONTENT_CONTRADICTED;
    return overlaps ? overlay_part(content, part, known) : CONTENT_CONTRADICTED;
}

enum content_result carry_content_add(struct content *content, const struct part *part,
                                      bool overlaps) {
    if (!ends_agree(content, part))
        return CONTENT_CONTRADICTED;
    enum content_result result = add_content_part(content, part, overlaps);
    content->reach = part->end > content->reach ? part->end : content->reach;
    if (!part->more)
        content->size = part->end;
    return result;
}

void carry_content_clear(struct content *content) {
    drop_runs(content, content->runs);
    content->runs = NULL;
}

bool carry_content_is_complete(const struct content *content) {
    return content->size && content->arrived >= content->size;
}

uint32_t carry_content_captured(const struct content *content) {
    return min_u32(content->size, content->gap);
}

static void write_run(const struct run *run, uint8_t *buffer) {
    if (!run)
        return;
    write_run(run->left, buffer);
    memcpy(buffer + run->place, run->data, run->captured);
    write_run(run->right, buffer);
}

void carry_content_write(const struct content *content, uint8_t *buffer) {
    write_run(content->runs, buffer);
}
