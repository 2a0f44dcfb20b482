/* SPDX-License-Identifier: MIT */
/*
 * Remembers the senders of IPv4 headers whose sums hold 0. Other frames may hold evidence that the
 * frame of such a sum lacks: a sender that leaves a header's sum to its network card, in a frame
 * with another partial sum, also leaves the headers' sums of its other frames. The same holds for
 * all packets that its card sends, including packets that the card forwards for other addresses.
 *
 * The evidence may come last, and a pipe can be read only once. So the verdicts may change until
 * the end of the capture.
 */
#ifndef CARRY_CAPTURE_SRC_HEADER_SENDERS_H
#define CARRY_CAPTURE_SRC_HEADER_SENDERS_H

#include <stddef.h>

#include "senders.h"

/* The most senders whose lone headers are counted; lone headers of further senders remain bad. The
   table also has room for twice as many addresses and cards that are known to leave headers. */
#define LONE_SENDERS_MAX   4096u
#define HEADER_SENDERS_MAX (3 * LONE_SENDERS_MAX)

/* A sender of headers: an IPv4 address and a card. A key with a card of zeros stands for all
   senders with this address, and a key with an address of zeros for all senders with this card. */
struct header_key {
    struct card card;
    uint8_t address[4];
};

struct header_sender {
    struct header_key key;
    uint16_t next;                  /* the next sender of the bucket */
    bool lone;                      /* it sent lone headers, and there was room to count them */
    bool leaves;                    /* some frame shows that headers with this key are left */
    struct carry_capture_link link; /* link headers of its lone headers; empty if these differ */
    uint64_t alone;                 /* lone headers: sums of 0 that are bad in their own frames */
    uint64_t early; /* how many of `alone` were read before the sender was known to leave headers */
};

struct header_senders;

/* Creates an empty table of senders. Returns NULL if there is no memory.
   carry_header_senders_free() accepts NULL. */
struct header_senders *carry_header_senders_create(void);
void carry_header_senders_free(struct header_senders *senders);

/* Forgets all senders. */
void carry_header_senders_clear(struct header_senders *senders);

/* Checks whether this is the sum of a lone header: it holds 0 and is bad in its own frame. */
bool carry_header_senders_is_alone(const struct carry_packet_sum *sum);

/*
 * Adds a sum of a frame. Counts the sum of a lone header, and returns its sender. If the sum is
 * partial with the cause HEADER, remembers that its address and its card leave headers, and returns
 * the address. Returns NULL for other sums, or if there is no room.
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

/* Adds the link headers of this sender's last lone header. The sender keeps link headers only if
   all its lone headers have the same ones. */
void carry_header_senders_add_link(struct header_senders *senders,
                                   const struct header_sender *sender,
                                   const struct carry_capture_link *link);

/* Returns the key of the sender of the IPv4 header that a sum belongs to. */
struct header_key carry_header_key(struct link_memory *memory, const struct carry_frame *frame,
                                   const struct carry_packet_sum *sum);

/* Works like carry_header_key(), with the link memory of `senders`. */
struct header_key carry_header_senders_key(struct header_senders *senders,
                                           const struct carry_frame *frame,
                                           const struct carry_packet_sum *sum);

/* Checks whether two keys stand for the same sender. */
bool carry_header_key_equal(const struct header_key *a, const struct header_key *b);

/* Returns the sender with this key, or NULL if none was added. */
const struct header_sender *carry_header_senders_find(const struct header_senders *senders,
                                                      const struct header_key *key);

/* Checks whether the sums added so far show that headers of this sender are left to a network card:
   by its address, or by its card. False for senders whose lone headers are not counted. */
bool carry_header_senders_leaves(const struct header_senders *senders,
                                 const struct header_key *key);

/* Returns the number of lone headers whose senders leave them to their network cards. */
uint64_t carry_header_senders_left(const struct header_senders *senders);

/* Returns all senders, in the order in which they were added. */
const struct header_sender *carry_header_senders_list(const struct header_senders *senders,
                                                      size_t *count);

#endif
