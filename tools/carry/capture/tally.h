/* SPDX-License-Identifier: MIT */
/*
 * What was found in a capture, in memory of fixed size: how many sums of each protocol got which
 * verdict, and who sent those that are not good.
 */
#ifndef CARRY_TOOLS_TALLY_H
#define CARRY_TOOLS_TALLY_H

#include <carry/packet.h>

#include "capture/capture.h"
#include "capture/cause.h"
#include "capture/header_senders.h"
#include "capture/tally_senders.h"

/* Packets of a link type that the walk does not know. */
#define UNKNOWN_LINKS 16

struct unknown_link {
    uint32_t linktype;
    uint64_t packets;
};

/*
 * What adds up in any order, and behind it what depends on the order of the packets: the senders
 * and the unknown links. A tally without room for senders takes the former only.
 *
 * Headers whose sums hold 0 count by their own frames at first. tally_settle() counts them by what
 * else their senders sent.
 */
struct tally {
    uint64_t packets;
    uint64_t bytes;   /* captured */
    uint64_t without; /* packets of known link types that hold no checksum */
    uint64_t deeper;  /* packets of which some headers were not looked at */
    uint64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    uint64_t reasons[CARRY_PROTOCOL_COUNT][CARRY_REASON_COUNT];
    uint64_t causes[CARRY_PROTOCOL_COUNT][CAUSE_COUNT];
    uint32_t longest_cut; /* most bytes captured of a packet that was cut short */
    struct senders (*senders)[CARRY_VERDICT_COUNT]; /* a row a protocol, or NULL; tally_names() */
    struct header_senders *headers;                 /* NULL without `senders` */
    struct link_memory link;
    struct unknown_link unknown[UNKNOWN_LINKS];
    unsigned unknown_used;
    uint64_t unknown_others; /* packets of still other link types */
};

/* Packets of link types that were not looked into. */
uint64_t tally_unknown(const struct tally *tally);

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

/* Is it known what should stand there? Of an illegal sum only where all that it covers is there. */
bool tally_has_expected(const struct carry_packet_sum *sum);

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

/* Are senders remembered of this? */
bool tally_has_senders(const struct tally *tally, unsigned protocol, unsigned verdict);

/* Makes it empty again. */
void tally_clear(struct tally *tally);

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

/*
 * Remembers the sender of a sum that tally_names(). Returns the verdict by all that was seen so
 * far: it differs from the sum's own where a header is left to its sender's network card.
 */
unsigned tally_add_sender(struct tally *tally, const struct carry_frame *frame,
                          const struct carry_packet_sum *sum);

/* At the end of a capture: counts the headers whose senders leave them to their cards as partial.
 */
void tally_settle(struct tally *tally);

/* Is this header's sum of 0 partial, once the capture is settled? */
bool tally_is_left(const struct tally *tally, const struct carry_packet_sum *sum,
                   const struct address *from);

/* How many of those were called bad by tally_add_sender(), since their senders were not known. */
uint64_t tally_called_bad(const struct tally *tally);

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

/* Adds all of it, for captures in their order; both have room for senders. */
void tally_merge_all(struct tally *into, const struct tally *from);

/* What all sums say together. */
enum outcome {
    OUTCOME_CLEAN,     /* some were verified, and none is wrong */
    OUTCOME_WRONG,     /* some are */
    OUTCOME_UNCHECKED, /* none is wrong, and none was verified */
};

/* `wrong` is a set of verdicts. */
enum outcome tally_outcome(const struct tally *tally, unsigned wrong);

/* Static strings: "clean", "wrong", "unchecked". */
const char *outcome_name(enum outcome outcome);

/* Packets that were not looked into, or not all the way. */
uint64_t tally_skipped(const struct tally *tally);

/* Was all of it verified? Not if nothing was. */
bool tally_is_complete(const struct tally *tally, unsigned wrong);

void tally_describe(struct finding *finding, const struct packet *packet,
                    const struct carry_frame *frame, const struct carry_packet_sum *sum);

#endif
