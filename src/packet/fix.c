/* SPDX-License-Identifier: MIT */
/* Repairs and fills in the checksums of a frame, from the innermost outwards. */
#include "packet/walk.h"

#define BIT(verdict) (1u << (verdict))

_Static_assert(CARRY_PACKET_SUMS_MAX <= 32, "sets of sums are the bits of a uint32_t");

struct repair {
    uint8_t *data;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX]; /* the last judgements */
    size_t count;
    uint8_t verdicts[CARRY_PACKET_SUMS_MAX]; /* the first verdicts */
    uint32_t due;   /* set of the sums not yet written that must be good in the end */
    uint32_t fresh; /* set of the sums written since they were last judged */
    struct carry_packet_sum *changes;
    size_t changed;
    size_t capacity;
};

static bool set_contains(uint32_t members, size_t index) {
    return members >> index & 1;
}

static uint32_t set_without(uint32_t members, size_t index) {
    return members & ~BIT(index);
}

/* Checks whether sum `index` covers a sum of the set `inner` that is listed after it. */
static bool covers_any(const struct repair *repair, size_t index, uint32_t inner) {
    for (size_t i = index + 1; i < repair->count; i++)
        if (set_contains(inner, i) && carry_walk_covers(&repair->sums[index], &repair->sums[i]))
            return true;
    return false;
}

/* Checks whether the sum becomes right once a partial sum that it covers is complete. */
static bool is_around_partial(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && sum->expected == sum->stored;
}

/*
 * Checks whether the bytes that a sum covers must not change. A change could make an unverifiable
 * sum bad, and nothing would show that. A change makes a sum around a partial sum bad, and such a
 * sum is repaired only if partial sums are `wanted`. Quoted sums cover nothing after the quote,
 * whatever they state.
 */
static bool blocks_change(const struct carry_packet_sum *sum, uint32_t wanted) {
    if (sum->verdict == CARRY_VERDICT_UNVERIFIABLE)
        return !sum->quoted;
    return is_around_partial(sum) && !(wanted & BIT(CARRY_VERDICT_PARTIAL));
}

static bool is_blocked(const struct repair *repair, size_t index, uint32_t wanted) {
    if (repair->sums[index].quoted)
        return true;
    for (size_t i = 0; i < index; i++)
        if (blocks_change(&repair->sums[i], wanted) &&
            carry_walk_covers(&repair->sums[i], &repair->sums[index]))
            return true;
    return false;
}

static void plan_writes(struct repair *repair, uint32_t wanted) {
    repair->due = 0;
    for (size_t i = 0; i < repair->count; i++) {
        repair->verdicts[i] = repair->sums[i].verdict;
        if (wanted & BIT(repair->verdicts[i]) && !is_blocked(repair, i, wanted))
            repair->due |= BIT(i);
    }
}

/* Removes sums that are right as Adler-32, SCTP's former checksum, from the sums to be written. */
static void keep_adler32(struct repair *repair) {
    for (size_t i = 0; i < repair->count; i++)
        if (repair->sums[i].cause == CARRY_CAUSE_ADLER32)
            repair->due = set_without(repair->due, i);
}

static void store_field(uint8_t *field, uint32_t size, uint32_t value) {
    for (; size; value >>= 8)
        field[--size] = (uint8_t)value;
}

static void describe_change(struct carry_packet_sum *change, const struct carry_packet_sum *sum,
                            uint8_t earlier) {
    *change = *sum;
    change->verdict = earlier;
}

static void list_change(struct repair *repair, size_t index) {
    if (repair->changed < repair->capacity)
        describe_change(&repair->changes[repair->changed], &repair->sums[index],
                        repair->verdicts[index]);
    repair->changed++;
}

static void write_sum(struct repair *repair, size_t index) {
    const struct carry_packet_sum *sum = &repair->sums[index];
    store_field(repair->data + sum->field_offset, sum->field_size, sum->expected);
    repair->due = set_without(repair->due, index);
    repair->fresh |= BIT(index);
    list_change(repair, index);
}

static bool can_be_written(const struct carry_packet_sum *sum) {
    switch (sum->verdict) {
    case CARRY_VERDICT_BAD:
        return true;
    case CARRY_VERDICT_PARTIAL:
        return !is_around_partial(sum);
    case CARRY_VERDICT_ABSENT:
    case CARRY_VERDICT_ILLEGAL:
        return sum->expected != 0;
    default: /* unverifiable: the header is complete, but why it holds 0 is unknown */
        return sum->cause == CARRY_CAUSE_HEADER;
    }
}

/*
 * Writes the sums that are due, except those that cover a sum just written: they must be judged
 * again. Returns whether it wrote a sum.
 */
static bool write_due(struct repair *repair) {
    repair->fresh = 0;
    for (size_t i = repair->count; i-- > 0;)
        if (set_contains(repair->due, i) && can_be_written(&repair->sums[i]) &&
            !covers_any(repair, i, repair->fresh))
            write_sum(repair, i);
    return repair->fresh;
}

/* Checks whether a sum that is due covers one just written. All other verdicts still hold. */
static bool is_stale(const struct repair *repair) {
    for (size_t outer = 0; outer < repair->count; outer++)
        if (set_contains(repair->due, outer) && covers_any(repair, outer, repair->fresh))
            return true;
    return false;
}

/*
 * Repairs the sums with a `wanted` verdict, or with the verdicts in options->fix if it is not 0.
 * Returns how many fields it wrote. The loop ends because each field is written once at most.
 */
static size_t repair_sums(const struct carry_frame *frame,
                          const struct carry_packet_options *options, uint32_t wanted,
                          struct carry_packet_sum *changes, size_t capacity) {
    if (options && options->fix)
        wanted = options->fix;
    enum carry_effort effort =
        wanted & BIT(CARRY_VERDICT_ABSENT) ? CARRY_EFFORT_FILL : CARRY_EFFORT_JUDGE;
    struct carry_walk walk;
    struct repair repair;
    repair.data = (uint8_t *)frame->data;
    repair.changes = changes;
    repair.changed = 0;
    repair.capacity = capacity;

    carry_walk_prepare(&walk, options, effort, repair.sums, CARRY_PACKET_SUMS_MAX);
    carry_walk_frame(&walk, frame);
    repair.count = walk.count;
    plan_writes(&repair, wanted | BIT(CARRY_VERDICT_GOOD));
    if (effort == CARRY_EFFORT_JUDGE && !(options && options->fix))
        keep_adler32(&repair);
    while (write_due(&repair) && is_stale(&repair)) {
        carry_walk_frame(&walk, frame);
        repair.count = walk.count;
    }
    return repair.changed;
}

size_t carry_packet_fix(const struct carry_frame *frame, const struct carry_packet_options *options,
                        struct carry_packet_sum *changes, size_t capacity) {
    uint32_t wanted =
        BIT(CARRY_VERDICT_BAD) | BIT(CARRY_VERDICT_PARTIAL) | BIT(CARRY_VERDICT_ILLEGAL);
    return repair_sums(frame, options, wanted, changes, capacity);
}

size_t carry_packet_fill(const struct carry_frame *frame,
                         const struct carry_packet_options *options,
                         struct carry_packet_sum *changes, size_t capacity) {
    return repair_sums(frame, options, ~0u, changes, capacity);
}
