/* SPDX-License-Identifier: MIT */
/* What the capture formats share: the inside of capture.h, for pcap.c and pcapng.c only. */
#ifndef CARRY_TOOLS_FORMAT_H
#define CARRY_TOOLS_FORMAT_H

#include <string.h>

#include "capture.h"
#include "unpack.h"

typedef enum capture_result format_next_fn(struct capture *capture, struct packet *packet);

struct pcap {
    uint32_t record_header; /* bytes in front of each packet */
    uint32_t ns_per_tick;   /* of the record's sub-second field */
    uint32_t linktype;
    uint32_t fcs;
};

struct interface {
    uint64_t start; /* seconds to add to each timestamp */
    uint64_t ticks_per_second;
    uint32_t snaplen; /* 0: none */
    uint16_t linktype;
    uint16_t fcs;
};

struct pcapng {
    struct interface *interfaces; /* of this section */
    uint32_t count;
    uint32_t capacity;
};

struct capture {
    struct input input;
    struct unpack *unpack; /* what the input reads from, if the file is compressed, */
    struct input packed;   /* and what that reads from */
    format_next_fn *next;
    bool swap;       /* the file's byte order is not this machine's */
    uint64_t record; /* offset of what is being parsed: where damage is reported */
    uint64_t packets;
    struct pcap pcap;
    struct pcapng pcapng;
    enum capture_result result; /* the final one */
    struct capture_problem problem;
    int descriptor; /* where read_descriptor() is the input's source */
    bool owned;     /* the descriptor is to be closed: standard input is not */
    uint64_t size;
};

static inline uint32_t load32(const struct capture *capture, const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return capture->swap ? __builtin_bswap32(value) : value;
}

static inline uint16_t load16(const struct capture *capture, const uint8_t *bytes) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return capture->swap ? __builtin_bswap16(value) : value;
}

/* Ends the capture: the thing at capture->record is damaged. Returns CAPTURE_DAMAGED. */
__attribute__((format(printf, 2, 3))) enum capture_result capture_damage(struct capture *capture,
                                                                         const char *format, ...);

/*
 * Ends the capture because `what`, of `size` bytes, could not be had: cleanly if the file ends
 * where it begins, as damage if it ends inside, as a failure if reading failed.
 */
enum capture_result capture_cut(struct capture *capture, const char *what, uint64_t size);

/* What reads a file that starts with these 4 bytes; NULL if it is not of this format. */
format_next_fn *pcap_recognise(struct capture *capture, const uint8_t *magic);
format_next_fn *pcapng_recognise(struct capture *capture, const uint8_t *magic);

void pcapng_close(struct capture *capture);

#endif
