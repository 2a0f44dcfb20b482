/* SPDX-License-Identifier: MIT */
/* Who sent what a capture holds: addresses of IP and of links, and who sent most. */
#ifndef CARRY_CAPTURE_SRC_SENDERS_H
#define CARRY_CAPTURE_SRC_SENDERS_H

#include <carry/capture.h>

/* The link header that was looked into last: the packets of a sender mostly have one in common. */
struct link_memory {
    bool is_known;
    uint32_t linktype;
    uint32_t size;
    uint8_t bytes[48];
    struct carry_capture_link link;
};

/* Returns the link headers before the IP header at `network_offset`. Valid until the next call. */
const struct carry_capture_link *carry_sender_link(struct link_memory *memory,
                                                   const struct carry_frame *frame,
                                                   uint32_t network_offset);

struct sender_key {
    struct carry_capture_link link;
    struct carry_capture_address address;
};

struct sender {
    struct sender_key key;
    uint64_t count;
    uint64_t error; /* of the count, at most: 0 until the table overflowed */
};

/*
 * The most frequent senders, by the Space-Saving algorithm (Metwally et al., 2005): exact up to
 * CARRY_CAPTURE_SENDERS_MAX of them; beyond, a new one takes the place and the count of the rarest,
 * as its error.
 */
struct senders {
    struct sender slots[CARRY_CAPTURE_SENDERS_MAX];
    unsigned used;
    unsigned last; /* the slot hit last: packets come in trains */
    bool overflowed;
};

/* Counts a sender who->count times; of its count, who->error may be another's. */
void carry_senders_add(struct senders *senders, const struct sender *who);

void carry_senders_merge(struct senders *into, const struct senders *from);

/*
 * The senders, the most frequent first, `capacity` at most; how many they are. By
 * address alone, what one sends through several links is added up.
 */
size_t carry_senders_list(const struct senders *senders, bool by_address,
                          struct carry_capture_sender *list, size_t capacity);

#endif
