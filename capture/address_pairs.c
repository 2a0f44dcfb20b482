/* SPDX-License-Identifier: MIT */
#include "address_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "seen.h"

#define SETS_LOG2 4
#define SET_SIZE  (ADDRESS_PAIRS_MAX >> SETS_LOG2)

/* The most values of a kind that are kept for each pair. A further value replaces the rarest. */
#define DIFFERENCES_MAX 4
#define RESTS_MAX       2

/* The most protocols that are kept for a pair. Sums of further protocols only
   increase the pair's count. */
#define PROTOCOLS_MAX 4

/* A value that at least one in this many bad sums of a pair has is not a coincidence: of 192 random
   sums, three are equal once in 3,600 times; of 256, four are equal even less often. */
#define SUMS_PER_AGREEING 64

/* A value that sums share. */
struct shared {
    uint64_t since; /* number of the packet from which on the value is kept */
    uint32_t value;
    bool has_known;       /* a packet showed by itself that an address was changed */
    uint64_t count;       /* sums with this value */
    uint64_t last;        /* the pair's count when the last of these sums was added */
    struct seen flows;    /* protocols and ports of sums, except IP headers' */
    struct seen expected; /* right values of these sums */
    struct seen forms;    /* lengths and protocols of these sums */
};

/* The addresses of both directions: a changed address changes the sums of both alike. */
struct addresses {
    struct carry_capture_address first, second;
};

struct pair {
    struct addresses addresses;
    uint64_t count; /* bad sums */
    uint64_t last;  /* the count of all pairs when the last bad sum was added */
    struct shared differences[DIFFERENCES_MAX];
    struct shared rests[RESTS_MAX];
    uint8_t protocols[PROTOCOLS_MAX];
    uint8_t protocols_count;
    /* Sums by their values, where the last index stands for values that are not kept. */
    uint64_t counts[DIFFERENCES_MAX + 1][RESTS_MAX + 1][PROTOCOLS_MAX];
};

struct address_pairs {
    uint64_t count; /* bad sums */
    struct pair sets[1 << SETS_LOG2][SET_SIZE];
};

struct address_pairs *carry_address_pairs_create(void) {
    return calloc(1, sizeof(struct address_pairs));
}

void carry_address_pairs_free(struct address_pairs *pairs) {
    free(pairs);
}

void carry_address_pairs_clear(struct address_pairs *pairs) {
    if (pairs->count)
        memset(pairs, 0, sizeof *pairs);
}

/* --- Pairs --- */

/* Checks whether a packet goes from the second address of its pair to the first. */
static bool is_return(const struct ends *ends) {
    return memcmp(&ends->from, &ends->to, sizeof ends->from) > 0;
}

static struct addresses ordered_addresses(const struct ends *ends) {
    return is_return(ends) ? (struct addresses){ends->to, ends->from}
                           : (struct addresses){ends->from, ends->to};
}

/* Returns the set of a pair. The hash has no seed, so that the same pairs are replaced in each run.
   If an attacker chooses the addresses, only causes are lost. */
static size_t pair_set(const struct addresses *addresses) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof addresses->first.bytes; i += 4) {
        hash = (hash ^ load32_network(addresses->first.bytes + i)) * odd;
        hash = (hash ^ load32_network(addresses->second.bytes + i) ^ hash >> 32) * odd;
    }
    return (size_t)(hash >> (64 - SETS_LOG2));
}

static const struct pair *find_pair(const struct address_pairs *pairs,
                                    const struct addresses *addresses) {
    const struct pair *set = pairs->sets[pair_set(addresses)];
    for (size_t i = 0; i < SET_SIZE; i++)
        if (set[i].count && memcmp(&set[i].addresses, addresses, sizeof *addresses) == 0)
            return &set[i];
    return NULL;
}

static struct pair *rarest_pair(struct pair *set) {
    struct pair *rarest = set;
    for (struct pair *pair = set; pair < set + SET_SIZE; pair++)
        if (pair->count < rarest->count ||
            (pair->count == rarest->count && pair->last < rarest->last))
            rarest = pair;
    return rarest;
}

/* Returns the pair, which is created if it is new. */
static struct pair *use_pair(struct address_pairs *pairs, const struct addresses *addresses) {
    const struct pair *found = find_pair(pairs, addresses);
    struct pair *set = pairs->sets[pair_set(addresses)];
    struct pair *pair = found ? set + (found - set) : rarest_pair(set);
    if (!found)
        *pair = (struct pair){.addresses = *addresses};
    pair->count++;
    pair->last = ++pairs->count;
    return pair;
}

/* --- Values --- */

/* Returns the index of a value that packet `number` has; `max` if the value is not kept, or was not
   kept yet at that packet. */
static size_t find_value(const struct shared *list, size_t max, uint32_t value, uint64_t number) {
    size_t index = 0;
    while (index < max && !(list[index].count && list[index].value == value))
        index++;
    return index < max && list[index].since <= number ? index : max;
}

static size_t rarest_value(const struct shared *list, size_t max) {
    size_t rarest = 0;
    for (size_t i = 1; i < max; i++)
        if (list[i].count < list[rarest].count ||
            (list[i].count == list[rarest].count && list[i].last < list[rarest].last))
            rarest = i;
    return rarest;
}

/* Moves the counts of a value that is no longer kept to the index for values that are not kept. */
static void forget_difference(struct pair *pair, size_t index) {
    for (size_t rest = 0; rest <= RESTS_MAX; rest++)
        for (size_t i = 0; i < pair->protocols_count; i++) {
            pair->counts[DIFFERENCES_MAX][rest][i] += pair->counts[index][rest][i];
            pair->counts[index][rest][i] = 0;
        }
}

static void forget_rest(struct pair *pair, size_t index) {
    for (size_t difference = 0; difference <= DIFFERENCES_MAX; difference++)
        for (size_t i = 0; i < pair->protocols_count; i++) {
            pair->counts[difference][RESTS_MAX][i] += pair->counts[difference][index][i];
            pair->counts[difference][index][i] = 0;
        }
}

/* Returns the index of a value. A new value replaces the rarest. */
static size_t use_value(struct pair *pair, struct shared *list, size_t max, uint32_t value,
                        uint64_t number, void (*forget)(struct pair *, size_t)) {
    size_t index = find_value(list, max, value, number);
    if (index == max) {
        index = rarest_value(list, max);
        forget(pair, index);
        list[index] = (struct shared){.value = value, .since = number};
    }
    list[index].count++;
    list[index].last = pair->count;
    return index;
}

/* Returns the index of a protocol; PROTOCOLS_MAX if there is no place for it. */
static size_t find_protocol(const struct pair *pair, uint32_t protocol) {
    for (size_t i = 0; i < pair->protocols_count; i++)
        if (pair->protocols[i] == protocol)
            return i;
    return PROTOCOLS_MAX;
}

static size_t use_protocol(struct pair *pair, uint32_t protocol) {
    const size_t found = find_protocol(pair, protocol);
    if (found < PROTOCOLS_MAX || pair->protocols_count == PROTOCOLS_MAX)
        return found;
    pair->protocols[pair->protocols_count] = (uint8_t)protocol;
    return pair->protocols_count++;
}

/* Returns a number that differs between flows, and between the directions of a flow. */
static uint32_t flow_number(const struct pair_sum *sum) {
    const uint32_t ports = (uint32_t)sum->ends->from_port << 16 ^ (uint32_t)sum->ends->to_port;
    return (ports * 31 + sum->protocol) * 2 + is_return(sum->ends);
}

/* Remembers evidence. Of IP headers, only `is_known` counts: if a single packet is damaged, the
   sums of its header and of its content may agree. */
static void see_evidence(struct shared *shared, const struct pair_sum *sum,
                         const struct pair_evidence *evidence) {
    shared->has_known |= evidence->is_known;
    if (sum->protocol == CARRY_PROTOCOL_IP)
        return;
    see_value(&shared->flows, flow_number(sum));
    see_value(&shared->expected, evidence->expected);
    see_value(&shared->forms, evidence->length ^ sum->protocol << 24);
}

void carry_address_pairs_add(struct address_pairs *pairs, const struct pair_sum *sum,
                             const struct pair_evidence *evidence) {
    const struct addresses addresses = ordered_addresses(sum->ends);
    struct pair *pair = use_pair(pairs, &addresses);
    const size_t protocol = use_protocol(pair, sum->protocol);
    size_t difference = DIFFERENCES_MAX, rest = RESTS_MAX;
    if (protocol == PROTOCOLS_MAX)
        return;
    if (sum->shares & SHARES_DIFFERENCE) {
        difference = use_value(pair, pair->differences, DIFFERENCES_MAX, sum->difference,
                               sum->number, forget_difference);
        see_evidence(&pair->differences[difference], sum, evidence);
    }
    if (sum->shares & SHARES_REST) {
        rest = use_value(pair, pair->rests, RESTS_MAX, sum->rest, sum->number, forget_rest);
        see_evidence(&pair->rests[rest], sum, evidence);
    }
    pair->counts[difference][rest][protocol] += !evidence->is_known;
}

/* --- Causes --- */

static bool agrees(const struct pair *pair, const struct shared *shared) {
    return has_seen_enough(&shared->expected) && shared->count >= pair->count / SUMS_PER_AGREEING;
}

static enum carry_capture_cause cause_of_difference(const struct pair *pair, size_t index) {
    const struct shared *shared = &pair->differences[index];
    if (index == DIFFERENCES_MAX || !has_seen_enough(&shared->flows) || !agrees(pair, shared))
        return CARRY_CAPTURE_CAUSE_NONE;
    return shared->has_known ? CARRY_CAPTURE_CAUSE_ADDRESS_CHANGED : CARRY_CAPTURE_CAUSE_REWRITTEN;
}

/* Returns the cause of sums whose value depends on protocol and length alone. If all these sums
   have the same protocol and length, the value counts as a constant, except in UDP, where a flow
   with other lengths may still show the cause. */
static enum carry_capture_cause cause_of_rest(const struct pair *pair, size_t index,
                                              uint32_t protocol) {
    const struct shared *shared = &pair->rests[index];
    if (index == RESTS_MAX || shared->flows.count < 2 || !agrees(pair, shared))
        return CARRY_CAPTURE_CAUSE_NONE;
    if (shared->forms.count > 1)
        return CARRY_CAPTURE_CAUSE_LEFT_THEN_CHANGED;
    return protocol == CARRY_PROTOCOL_UDP ? CARRY_CAPTURE_CAUSE_NONE : CARRY_CAPTURE_CAUSE_CONSTANT;
}

static enum carry_capture_cause cause_of_both(const struct pair *pair, size_t difference,
                                              size_t rest, uint32_t protocol) {
    const enum carry_capture_cause cause = cause_of_difference(pair, difference);
    return cause ? cause : cause_of_rest(pair, rest, protocol);
}

enum carry_capture_cause carry_address_pairs_cause(const struct address_pairs *pairs,
                                                   const struct pair_sum *sum) {
    const struct addresses addresses = ordered_addresses(sum->ends);
    const struct pair *pair = find_pair(pairs, &addresses);
    size_t difference = DIFFERENCES_MAX, rest = RESTS_MAX;
    if (!pair || find_protocol(pair, sum->protocol) == PROTOCOLS_MAX)
        return CARRY_CAPTURE_CAUSE_NONE;
    if (sum->shares & SHARES_DIFFERENCE)
        difference = find_value(pair->differences, DIFFERENCES_MAX, sum->difference, sum->number);
    if (sum->shares & SHARES_REST)
        rest = find_value(pair->rests, RESTS_MAX, sum->rest, sum->number);
    return cause_of_both(pair, difference, rest, sum->protocol);
}

static void move_pair(const struct pair *pair, uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]) {
    for (size_t difference = 0; difference <= DIFFERENCES_MAX; difference++)
        for (size_t rest = 0; rest <= RESTS_MAX; rest++)
            for (size_t i = 0; i < pair->protocols_count; i++) {
                const uint64_t count = pair->counts[difference][rest][i];
                uint64_t *of = causes[pair->protocols[i]];
                of[CARRY_CAPTURE_CAUSE_NONE] -= count;
                of[cause_of_both(pair, difference, rest, pair->protocols[i])] += count;
            }
}

void carry_address_pairs_move(const struct address_pairs *pairs,
                              uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]) {
    for (size_t set = 0; set < 1 << SETS_LOG2; set++)
        for (size_t i = 0; i < SET_SIZE; i++)
            move_pair(&pairs->sets[set][i], causes);
}
