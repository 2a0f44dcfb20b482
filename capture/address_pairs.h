/* SPDX-License-Identifier: MIT */
/*
 * Finds values that bad sums between two addresses share, whatever their protocols and ports. No
 * flow by itself shows a cause if each packet has a port of its own, as DNS queries have, or if
 * only the first packet of each flow is changed, as by a router that clamps the MSS.
 *
 * Several flows must agree, so good sums refute nothing here; they refute causes only within a flow
 * (flows.h).
 */
#ifndef CARRY_CAPTURE_SRC_ADDRESS_PAIRS_H
#define CARRY_CAPTURE_SRC_ADDRESS_PAIRS_H

#include <carry/capture.h>

#include "ends.h"

/* The most pairs that are kept, each for both directions. A new pair has 16 places: if all are in
   use, it replaces the pair with the fewest bad sums. Of several such pairs, it replaces the pair
   whose last bad sum was added first. */
#define ADDRESS_PAIRS_MAX 256

struct address_pairs;

/* Returns NULL if there is no memory. carry_address_pairs_free() accepts NULL. */
struct address_pairs *carry_address_pairs_create(void);
void carry_address_pairs_free(struct address_pairs *pairs);
void carry_address_pairs_clear(struct address_pairs *pairs);

/* Values that a sum may share with others. */
enum {
    SHARES_DIFFERENCE = 1 << 0, /* stored less expected */
    SHARES_REST = 1 << 1,       /* stored less the pseudo-header's length and protocol */
    SHARES_ALL = SHARES_DIFFERENCE | SHARES_REST,
};

/* A bad sum between two addresses. `shares` says which of its values the sum shares with the first
   sum of its flow; its other values are not evidence. */
struct pair_sum {
    const struct ends *ends;
    uint64_t number; /* number of its packet: values that were kept only later do not apply */
    uint32_t protocol;
    uint32_t difference, rest;
    unsigned shares;
};

/* Evidence that sums agree by more than chance. */
struct pair_evidence {
    uint32_t expected; /* the right value of the sum */
    uint32_t length;   /* length in the pseudo-header */
    bool is_known; /* the packet alone shows that an address was changed: the sum is not counted */
};

/* Adds a sum that no other cause explains. */
void carry_address_pairs_add(struct address_pairs *pairs, const struct pair_sum *sum,
                             const struct pair_evidence *evidence);

/* Returns the cause of a sum that all added sums together show, or NONE. */
enum carry_capture_cause carry_address_pairs_cause(const struct address_pairs *pairs,
                                                   const struct pair_sum *sum);

/* Moves the counts of sums without a cause to the causes that all added sums show. */
void carry_address_pairs_move(const struct address_pairs *pairs,
                              uint64_t (*causes)[CARRY_CAPTURE_CAUSE_COUNT]);

#endif
