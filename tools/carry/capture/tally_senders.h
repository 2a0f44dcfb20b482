/* SPDX-License-Identifier: MIT */
/* Who sent what a capture holds: addresses of IP and of links, and who sent most. */
#ifndef CARRY_TOOLS_TALLY_SENDERS_H
#define CARRY_TOOLS_TALLY_SENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/packet.h>

struct address {
    uint8_t version; /* 4, 6, or 0: none */
    uint8_t bytes[16];
    uint8_t reserved; /* 0, so that equal ones are equal bytes */
};

/* Room for "[address]:port". */
#define ADDRESS_SIZE 64

/* Writes the address, with the port if that is not negative; "?" if there is none. */
char *address_text(char *buffer, const struct address *address, int port);

/* What the link header around an IP header says: of the one inside, in a tunnel. */
#define SENDER_VLANS 4

struct sender_link {
    uint8_t mac[6];
    bool has_mac;
    uint8_t vlans_count;          /* of the tags, SENDER_VLANS at most */
    uint16_t vlans[SENDER_VLANS]; /* their numbers, from the outside */
};

/* The link header that was looked into last: the packets of a sender mostly have one in common. */
struct link_memory {
    bool is_known;
    uint32_t linktype;
    uint32_t size;
    uint8_t bytes[48];
    struct sender_link link;
};

/* Returns the link headers before the IP header at `network_offset`. Valid until the next call. */
const struct sender_link *sender_link(struct link_memory *memory, const struct carry_frame *frame,
                                      uint32_t network_offset);

struct sender_key {
    struct sender_link link;
    struct address address;
};

struct sender {
    struct sender_key key;
    uint64_t count;
    uint64_t error; /* of the count, at most: 0 until the table overflowed */
};

/*
 * The most frequent senders, by the Space-Saving algorithm (Metwally et al., 2005): exact up to
 * SENDERS of them; beyond, a new one takes the place and the count of the rarest, as its error.
 */
#define SENDERS 64

struct senders {
    struct sender slots[SENDERS];
    unsigned used;
    unsigned last; /* the slot hit last: packets come in trains */
    bool overflowed;
};

/* Counts a sender who->count times; of its count, who->error may be another's. */
void senders_add(struct senders *senders, const struct sender *who);

void senders_merge(struct senders *into, const struct senders *from);

/* The senders, most frequent first; how many they are. */
unsigned senders_sort(const struct senders *senders, struct sender sorted[SENDERS]);

/* The same by address alone: what one sends by several links is added up. */
unsigned senders_sort_addresses(const struct senders *senders, struct sender sorted[SENDERS]);

#endif
