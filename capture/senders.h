/* SPDX-License-Identifier: MIT */
/* Counts the senders of checksums by their IP and link addresses, and lists the most frequent
   ones. */
#ifndef CARRY_CAPTURE_SRC_SENDERS_H
#define CARRY_CAPTURE_SRC_SENDERS_H

#include <carry/capture.h>

/* The link address of a network card; zeros if it is not known. */
struct card {
    uint8_t mac[6];
};

/* The link headers parsed last: most packets of a sender have the same. */
struct link_memory {
    bool is_known;
    uint32_t linktype;
    uint32_t size;
    uint8_t bytes[48];
    struct carry_capture_link link;
    struct card card;
};

/* Returns the link headers before the IP header at `network_offset`. The result is valid until the
   next call. */
const struct carry_capture_link *carry_sender_link(struct link_memory *memory,
                                                   const struct carry_frame *frame,
                                                   uint32_t network_offset);

/* Returns the card that sent the IP header at `network_offset`. The card is unknown if the header
   is directly inside another IP packet, or if the link address does not have six bytes, is zero (as
   on a loopback device), or is a group address. */
struct card carry_sender_card(struct link_memory *memory, const struct carry_frame *frame,
                              uint32_t network_offset);

struct sender_key {
    struct carry_capture_link link;
    struct carry_capture_address address;
};

struct sender {
    struct sender_key key;
    uint64_t count;
    uint64_t error; /* the most by which `count` is too high: 0 until the table overflows */
};

/*
 * The most frequent senders, found by the Space-Saving algorithm (Metwally et al., 2005). The
 * counts are exact up to CARRY_CAPTURE_SENDERS_MAX senders. A further sender replaces the rarest
 * one and inherits its count, as an error.
 */
struct senders {
    struct sender slots[CARRY_CAPTURE_SENDERS_MAX];
    unsigned used;
    unsigned last; /* the last slot used: successive packets often have one sender */
    bool overflowed;
};

/* Adds sender->count to the count of a sender. Up to sender->error of it may be counts of other
   senders. */
void carry_senders_add(struct senders *senders, const struct sender *sender);

void carry_senders_merge(struct senders *into, const struct senders *from);

/*
 * Lists at most `capacity` senders, the most frequent first, and returns their number. With
 * `by_address`, the links of an address are added up.
 */
size_t carry_senders_list(const struct senders *senders, bool by_address,
                          struct carry_capture_sender *list, size_t capacity);

#endif
