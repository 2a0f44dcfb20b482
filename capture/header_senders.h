/* SPDX-License-Identifier: MIT */
/*
 * Who sent IPv4 headers whose sums hold 0, and what a capture tells of such sums that their own
 * frames do not: a sender that leaves a header's sum to its network card beside another sum, in one
 * frame, leaves those to it that stand alone in other frames, too.
 *
 * The evidence may come last, and a pipe is read once. So what is known of a sender grows, and only
 * the end of a capture tells of all.
 */
#ifndef CARRY_CAPTURE_SRC_HEADER_SENDERS_H
#define CARRY_CAPTURE_SRC_HEADER_SENDERS_H

#include <stddef.h>

#include "senders.h"

/* So many senders are told apart; lone headers of all others stay bad. */
#define HEADER_SENDERS_MAX 4096u

struct header_sender {
    uint8_t address[4];
    uint16_t next;                  /* of the same bucket */
    bool leaves;                    /* headers to its network card: some frame shows it */
    struct carry_capture_link link; /* of those that stand alone; empty where they have several */
    uint64_t alone;                 /* sums of 0 that their own frames call bad */
    uint64_t early;                 /* of these, those that came before `leaves` was known */
};

struct header_senders;

/* NULL without memory. carry_header_senders_free() takes NULL too. */
struct header_senders *carry_header_senders_create(void);
void carry_header_senders_free(struct header_senders *senders);

/* Forgets all senders. */
void carry_header_senders_clear(struct header_senders *senders);

/* Is this an IPv4 header's sum that holds 0 and that its own frame calls bad? */
bool carry_header_senders_is_alone(const struct carry_packet_sum *sum);

/*
 * Takes a sum of a frame. If it is a header's that holds 0, and there is room for its sender,
 * returns the sender, with this sum counted; else NULL.
 */
const struct header_sender *carry_header_senders_add(struct header_senders *senders,
                                                     const struct carry_frame *frame,
                                                     const struct carry_packet_sum *sum);

/*
 * Does a sum of a frame depend on what other frames of its sender tell, or tell something new for
 * theirs? Remembers the latter.
 */
bool carry_header_senders_are_concerned(struct header_senders *senders,
                                        const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* The link headers in front of the lone header of this sender that was added last. */
void carry_header_senders_add_link(struct header_senders *senders,
                                   const struct header_sender *sender,
                                   const struct carry_capture_link *link);

/* The sender with this address; NULL if none was added. */
const struct header_sender *carry_header_senders_find(const struct header_senders *senders,
                                                      const uint8_t address[4]);

/* Does the sender with this address leave headers to its network card, by all that was added? */
bool carry_header_senders_leaves(const struct header_senders *senders, const uint8_t address[4]);

/* How many headers stand alone whose senders leave them to their network cards. */
uint64_t carry_header_senders_left(const struct header_senders *senders);

/* All senders, by when they came first. */
const struct header_sender *carry_header_senders_list(const struct header_senders *senders,
                                                      size_t *count);

#endif
