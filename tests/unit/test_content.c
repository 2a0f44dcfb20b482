/* SPDX-License-Identifier: MIT */
/*
 * Compares the collected content of fragments, in any order, cut and overlapping, with a list of
 * bytes.
 */
#include <content.h>

#include <string.h>

#include "harness/captures.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define SIZE   250u
#define ROUNDS 2000

struct model {
    uint8_t bytes[SIZE];
    bool came[SIZE], known[SIZE];
    uint32_t cut; /* the index of the first byte that was cut off from a part; SIZE: none */
};

static struct model make_model(void) {
    struct model model = {.cut = SIZE};
    rng_fill(model.bytes, SIZE);
    return model;
}

/* Returns a part of up to six units. If `cut`, the capture may have cut it. */
static struct part make_part(const struct model *model, bool cut) {
    const uint32_t place = (uint32_t)rng_below((SIZE + CONTENT_UNIT - 1) / CONTENT_UNIT) * 8;
    const uint32_t far = place + CONTENT_UNIT * (1 + (uint32_t)rng_below(6));
    const uint32_t end = far < SIZE ? far : SIZE;
    const bool whole = !cut || rng_below(3);
    return (struct part){.data = model->bytes + place,
                         .captured = whole ? end - place : (uint32_t)rng_below(end - place),
                         .place = place,
                         .end = end,
                         .more = end < SIZE};
}

static void take_part(struct model *model, const struct part *part) {
    const uint32_t known = part->place + part->captured;
    for (uint32_t i = part->place; i < part->end; i++) {
        model->came[i] = true;
        model->known[i] |= i < known;
    }
    if (known < part->end && known < model->cut)
        model->cut = known;
}

/* Returns the index of the first false element, or SIZE. */
static uint32_t first_without(const bool *bytes) {
    uint32_t first = 0;
    while (first < SIZE && bytes[first])
        first++;
    return first;
}

/* Returns whether no missing byte counts as captured, and no byte before the first cut is lost. */
static bool is_right(const struct content *content, const struct model *model) {
    uint8_t buffer[SIZE];
    const uint32_t captured = carry_content_captured(content);
    carry_content_write(content, buffer);
    return content->size == SIZE && captured >= model->cut &&
           captured <= first_without(model->known) && !memcmp(buffer, model->bytes, captured);
}

static bool comes_together(bool cut) {
    struct content content = carry_content_new(rng_next());
    struct model model = make_model();
    bool ok = true;
    while (ok && first_without(model.came) < SIZE) {
        const struct part part = make_part(&model, cut);
        ok = !carry_content_is_complete(&content) &&
             carry_content_add(&content, &part, true) == CONTENT_ADDED;
        take_part(&model, &part);
    }
    ok &= carry_content_is_complete(&content) && is_right(&content, &model);
    carry_content_clear(&content);
    return ok;
}

static void test_parts(bool cut) {
    bool ok = true;
    for (unsigned i = 0; i < ROUNDS && ok; i++)
        ok = comes_together(cut);
    tap_ok(ok, cut ? "parts that were cut are collected" : "parts in any order are collected");
}

/* Returns whether a part with one changed byte is contradicted exactly if that byte came before. */
static bool is_contradicted(void) {
    struct content content = carry_content_new(rng_next());
    struct model model = make_model();
    for (unsigned i = 0; i < 4; i++) {
        const struct part part = make_part(&model, false);
        carry_content_add(&content, &part, true);
        take_part(&model, &part);
    }
    const struct part part = make_part(&model, false);
    const uint32_t at = part.place + (uint32_t)rng_below(part.end - part.place);
    model.bytes[at] ^= 1;
    const enum content_result expected = model.came[at] ? CONTENT_CONTRADICTED : CONTENT_ADDED;
    const bool ok = carry_content_add(&content, &part, true) == expected;
    carry_content_clear(&content);
    return ok;
}

static void test_contradictions(void) {
    bool ok = true;
    for (unsigned i = 0; i < ROUNDS && ok; i++)
        ok = is_contradicted();
    tap_ok(ok, "one different byte is a contradiction");
}

/*
 * Adds parts, the same in each call, while allocation `number` and all later ones fail. Returns
 * whether a part is refused exactly if an allocation has failed.
 */
static bool is_said(unsigned number) {
    static struct model model;
    struct content content = carry_content_new(0);
    bool failed = false, said = false;
    rng_restart();
    allocations_fail_from(number);
    for (unsigned i = 0; i < 40 && !failed && !said; i++) {
        const struct part part = make_part(&model, true);
        said = carry_content_add(&content, &part, true) == CONTENT_NO_MEMORY;
        failed = allocations_count() >= number;
    }
    carry_content_clear(&content);
    return said == failed;
}

static void test_allocations(void) {
    const long before = allocations_alive();
    bool ok = true, done = false;
    for (unsigned number = 1; !done && ok; number++) {
        ok = TAP_TRUE(is_said(number)) && TAP_EQ(allocations_alive(), before);
        done = allocations_count() < number;
    }
    allocations_fail_from(0);
    tap_ok(ok, "if any allocation fails, this is reported, and no memory is lost");
}

int main(void) {
    test_parts(false);
    test_parts(true);
    test_contradictions();
    test_allocations();
    return tap_done();
}
