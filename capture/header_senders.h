/* SPDX-License-Identifier: MIT */
/*
 * Remembers the senders of IPv4 headers whose sums hold 0. Other frames show of such sums what
 * their own frames do not: a sender that leaves a header's sum to its network card in a frame with
 * another partial sum also leaves those of its other frames.
 *
 * The evidence may come last, and a pipe is read only once. So the verdicts may change until the
 * end of the capture.
 */
#ifndef CARRY_CAPTURE_SRC_HEADER_SENDERS_H
#define CARRY_CAPTURE_SRC_HEADER_SENDERS_H

#include <stddef.h>

#include "senders.h"

/* The most senders that are kept; lone headers of all others remain bad. */
#define HEADER_SENDERS_MAX 4096u

struct header_sender {
    uint8_t address[4];
    uint16_t next;                  /* of the same bucket */
    bool leaves;                    /* it leaves headers to its network card: some frame shows it */
    struct carry_capture_link link; /* of its lone headers; empty if they have several */
    uint64_t alone;                 /* lone headers: sums of 0 that are bad in their own frames */
    uint64_t early;                 /* of these, those that came before `leaves` was set */
};

struct header_senders;

/* Returns NULL if there is no memory. carry_header_senders_free() accepts NULL. */
struct header_senders *carry_header_senders_create(void);
void carry_header_senders_free(struct header_senders *senders);

/* Forgets all senders. */
void carry_header_senders_clear(struct header_senders *senders);

/* Checks whether this is the sum of a lone header: it holds 0 and is bad in its own frame. */
bool carry_header_senders_is_alone(const struct carry_packet_sum *sum);

/*
 * Adds a sum of a frame. If it is an IPv4 header's sum that holds 0, and there is room for its
 * sender, counts it and returns the sender; otherwise returns NULL.
 */
const struct header_sender *carry_header_senders_add(struct header_senders *senders,
                                                     const struct carry_frame *frame,
                                                     const struct carry_packet_sum *sum);

/*
 * Checks whether the verdict of a sum depends on other frames of its sender, or whether the sum is
 * new evidence for their verdicts. Remembers such evidence.
 */
bool carry_header_senders_are_concerned(struct header_senders *senders,
                                        const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* Remembers the link headers of this sender's last lone header. */
void carry_header_senders_add_link(struct header_senders *senders,
                                   const struct header_sender *sender,
                                   const struct carry_capture_link *link);

/* Returns the sender with this address; NULL if none was added. */
const struct header_sender *carry_header_senders_find(const struct header_senders *senders,
                                                      const uint8_t address[4]);

/* Checks whether all sums added show that the sender with this address leaves headers to its
   network card. */
bool carry_header_senders_leaves(const struct header_senders *senders, const uint8_t address[4]);

/* Returns the number of lone headers whose senders leave them to their network cards. */
uint64_t carry_header_senders_left(const struct header_senders *senders);

/* Returns all senders, in the order of their first headers. */
const struct header_sender *carry_header_senders_list(const struct header_senders *senders,
                                                      size_t *count);

#endif
