/* SPDX-License-Identifier: MIT */
/*
 * What was found in a capture, in memory of fixed size: how many sums of each protocol got which
 * verdict, and who sent those that are not good.
 */
#ifndef CARRY_TOOLS_TALLY_H
#define CARRY_TOOLS_TALLY_H

#include <carry/packet.h>

#include "capture.h"

struct address {
    uint8_t version; /* 4, 6, or 0: none */
    uint8_t bytes[16];
};

/* Room for "[address]:port". */
#define ADDRESS_SIZE 64

/* Writes the address, with the port if that is not negative; "?" if there is none. */
char *address_text(char *buffer, const struct address *address, int port);

struct sender {
    struct address address;
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

/* Packets of a link type that the walk does not know. */
#define UNKNOWN_LINKS 16

struct unknown_link {
    uint32_t linktype;
    uint64_t packets;
};

/*
 * What adds up in any order, and behind it what depends on the order of the packets: the senders
 * and the unknown links. A tally without room for senders takes the former only.
 */
struct tally {
    uint64_t packets;
    uint64_t bytes;   /* captured */
    uint64_t without; /* packets of known link types that hold no checksum */
    uint64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    uint64_t reasons[CARRY_PROTOCOL_COUNT][CARRY_REASON_COUNT];
    uint64_t empty[CARRY_PROTOCOL_COUNT]; /* of the bad ones, those that hold 0 */
    uint32_t longest_cut;                 /* most bytes captured of a packet that was cut short */
    struct senders (*senders)[CARRY_VERDICT_COUNT]; /* a row a protocol, or NULL; tally_names() */
    struct unknown_link unknown[UNKNOWN_LINKS];
    unsigned unknown_used;
    uint64_t unknown_others; /* packets of still other link types */
};

/* Verdicts, a bit each: those that count as wrong, unless an option says otherwise. */
#define TALLY_WRONG (1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_ILLEGAL)

static inline bool tally_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

#define FINDING_NOWHERE UINT64_MAX

/* A checksum that is listed. */
struct finding {
    struct carry_packet_sum sum;
    uint64_t frame;
    uint64_t time_ns; /* as in struct packet */
    uint64_t offset;  /* of the checksum field in the file; FINDING_NOWHERE: stands in parts */
    struct address from, to;
    int from_port, to_port; /* -1: none */
};

/* True for the verdicts whose senders are remembered: bad, partial, illegal. */
bool tally_names(unsigned verdict);

/* What the packet's frame is without its frame check sequence. */
static inline struct carry_frame tally_frame(const struct packet *packet) {
    uint32_t all = packet->wire > packet->captured ? packet->wire : packet->captured;
    uint32_t wire = all > packet->fcs ? all - packet->fcs : all;
    return (struct carry_frame){
        .data = packet->data,
        .captured = packet->captured < wire ? packet->captured : wire,
        .wire = wire,
        .linktype = packet->linktype,
    };
}

/* An empty tally with room for senders; NULL without memory. tally_free() takes NULL too. */
struct tally *tally_new(void);
void tally_free(struct tally *tally);

/* What tally_add_sum() counts of a sum that is not good, beside its verdict. */
void tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                         const struct carry_packet_sum *sum);

/* Counts what is said of a sum, which the frame holds, or completed the datagram of. Is it good? */
static inline bool tally_add_sum(struct tally *tally, const struct carry_frame *frame,
                                 const struct carry_packet_sum *sum) {
    tally->counts[sum->protocol][sum->verdict]++;
    if (__builtin_expect(sum->verdict == CARRY_VERDICT_GOOD, 1))
        return true;
    tally_add_imperfect(tally, frame, sum);
    return false;
}

/* Takes back one that was unverifiable for being in a fragment. */
void tally_supersede(struct tally *tally, unsigned protocol);

/* Remembers the sender of a sum that tally_names(). */
void tally_add_sender(struct tally *tally, const struct carry_frame *frame,
                      const struct carry_packet_sum *sum);

/* Counts one packet of a link type that the walk does not know. */
void tally_add_unknown(struct tally *tally, const struct packet *packet);

/* How often a verdict was given, over all protocols. */
uint64_t tally_total(const struct tally *tally, unsigned verdict);

/* The same for all verdicts of a set. */
uint64_t tally_total_of(const struct tally *tally, unsigned set);

/* True if the protocol occurred. */
bool tally_has(const struct tally *tally, unsigned protocol);

/* Adds to one tally what adds up in any order in another. */
void tally_merge(struct tally *into, const struct tally *from);

void tally_describe(struct finding *finding, const struct packet *packet,
                    const struct carry_frame *frame, const struct carry_packet_sum *sum);

#endif
