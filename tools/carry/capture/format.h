/* SPDX-License-Identifier: MIT */
/* What the capture formats share: the inside of capture.h, for pcap.c and pcapng.c only. */
#ifndef CARRY_TOOLS_FORMAT_H
#define CARRY_TOOLS_FORMAT_H

#include <string.h>

#include "capture/capture.h"
#include "capture/unpack.h"

typedef enum capture_result format_next_fn(struct capture *capture, struct packet *packet);

struct pcap {
    uint32_t record_header; /* bytes in front of each packet */
    uint32_t ns_per_tick;   /* of the record's sub-second field */
    uint32_t captured_at;   /* where the record header has the bytes captured, */
    uint32_t wire_at;       /* and those on the wire */
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
    uint64_t size;

    /* Where read_descriptor() is the source of the file's bytes. */
    int descriptor;     /* -1: there is none */
    bool owned;         /* the descriptor is to be closed: standard input is not */
    off_t start;        /* where in its file reading began */
    bool waits;         /* it may have to be waited for */
    int stop;           /* the descriptor that stops it, or -1 */
    int64_t stopped_at; /* by clock_ns(); 0: it was not stopped */
    int owed;           /* bytes that had come by then, and are still to be read */
};

/* Where the bytes of the file come in, unpacked or not. */
static inline struct input *format_source(struct capture *capture) {
    return capture->unpack ? &capture->packed : &capture->input;
}

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
 * where it begins, or reading was stopped, which forgets what is held of it; as damage if the file
 * ends inside; as a failure if reading failed.
 */
enum capture_result capture_cut(struct capture *capture, const char *what, uint64_t size);

/* Ends the capture where another one begins, as in two files that cat has concatenated. */
enum capture_result capture_second(struct capture *capture);

/* Are these CAPTURE_BEGIN_BYTES the first ones of a file, and of nothing else? */
#define CAPTURE_BEGIN_BYTES 12
bool capture_begins(const uint8_t *bytes);
bool pcap_begins(const uint8_t *bytes);
bool pcapng_begins(const uint8_t *bytes);

/* What reads a file that starts with these 4 bytes; NULL if it is not of this format. */
format_next_fn *pcap_recognise(struct capture *capture, const uint8_t *magic);
format_next_fn *pcapng_recognise(struct capture *capture, const uint8_t *magic);

void pcapng_close(struct capture *capture);

#endif
