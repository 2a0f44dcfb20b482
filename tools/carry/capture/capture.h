/* SPDX-License-Identifier: MIT */
/*
 * Reads captures: pcap (both byte orders, micro- and nanoseconds, and Kuznetzov's modified records)
 * and pcapng (both byte orders, several sections and interfaces), also compressed by gzip or zstd.
 * Offsets in a compressed capture are those of the capture as if it were not.
 *
 *     struct capture *capture = capture_open(path);
 *     struct packet packet;
 *     while (capture_next(capture, &packet) == CAPTURE_PACKET)
 *         use(packet.data, packet.captured);
 *
 * Nothing in a file is trusted, memory does not grow with the file's size, packets are not copied,
 * and nothing seeks: pipes are as good as files.
 */
#ifndef CARRY_TOOLS_CAPTURE_H
#define CARRY_TOOLS_CAPTURE_H

#include <stdint.h>
#include <sys/stat.h>

#include "capture/input.h"

/*
 * A record that claims more is damage. Captures with jumbo segments (BIG TCP) hold frames above
 * 512 KiB, so the 256 KiB that other readers allow are too few.
 */
#define CAPTURE_PACKET_MAX (16u << 20)

/* Large enough to make read() calls cheap, small enough to stay in the second-level cache. */
#define CAPTURE_WINDOW_BYTES ((size_t)128 << 10)

/* One section of a pcapng file may describe this many interfaces. */
#define CAPTURE_INTERFACES_MAX 65536u

struct packet {
    const uint8_t
        *data; /* valid until the next call, or the watcher of the capture's input ends it */
    uint32_t captured;  /* bytes at `data` */
    uint32_t wire;      /* bytes that were on the wire, as the record says */
    uint32_t linktype;  /* LINKTYPE_ value */
    uint32_t fcs;       /* bytes of frame check sequence at the end of `wire`, where known */
    uint32_t interface; /* pcapng: within its section; else 0 */
    uint64_t number;    /* from 1, as other tools number frames */
    uint64_t time_ns;   /* since 1970; 0: not known */
    uint64_t offset;    /* of data[0] in the file */
};

enum capture_result {
    CAPTURE_END = 0,      /* all was read */
    CAPTURE_PACKET = 1,   /* here is the next packet */
    CAPTURE_DAMAGED = -1, /* the file contradicts its format from here on */
    CAPTURE_FAILED = -2,  /* reading failed */
};

/* Why a capture ended early. */
struct capture_problem {
    uint64_t offset;  /* of the record, block or header that cannot be read */
    char reason[120]; /* one line */
};

struct capture;

/* Opens a file, or standard input as "-"; NULL with errno set. Folders give EISDIR. */
struct capture *capture_open(const char *path);

/* The same for bytes from anywhere; `window` is the size of the first reads. */
struct capture *capture_open_source(input_read_fn *read, void *context, size_t window);

void capture_close(struct capture *capture);

/*
 * Hands every byte of the file, unpacked if it was compressed, to `sink`, once and in order, until
 * that wants no more: packets, and all bytes between them, damage included. The caller may change a
 * packet in place until the call of capture_next() after the one that returned it, and by
 * input_overwrite() until its bytes have been handed on. The sink gets the changed bytes.
 * capture_pass_rest() ends it: at the end of the file, or of what can be unpacked of it, or false
 * if reading failed.
 */
void capture_pass_to(struct capture *capture, input_sink_fn *sink, void *context);
bool capture_pass_rest(struct capture *capture);

/* True if it starts like a capture; what follows may still be damaged. */
bool capture_recognised(struct capture *capture);

/* True if it starts like a capture of another format, which is named and not read. */
bool capture_is_foreign(struct capture *capture);

/* Where its bytes come from, to be watched: see input.h. */
struct input *capture_input(struct capture *capture);

/* The next packet; any result but CAPTURE_PACKET is final. */
enum capture_result capture_next(struct capture *capture, struct packet *packet);

/* Valid after CAPTURE_DAMAGED or CAPTURE_FAILED, until capture_close(). */
const struct capture_problem *capture_problem(const struct capture *capture);

/*
 * Closes a capture that does not wait, and opens its file once more, from where it was opened
 * first. NULL with errno set; then nothing is open.
 */
struct capture *capture_again(struct capture *capture);

/* What the system knows of the file; false if this is no file of its own. */
bool capture_status(const struct capture *capture, struct stat *status);

/* True if reading may have to wait for whoever writes: pipes, sockets, devices. */
bool capture_waits(const struct capture *capture);

/*
 * Once `descriptor` can be read from, a capture that waits ends. What has come by then is read, and
 * what still comes within half a second. What the end cuts is no damage then, and is forgotten.
 */
void capture_stop_on(struct capture *capture, int descriptor);

/* Is it compressed? Known once something was read. */
bool capture_is_packed(const struct capture *capture);

/* The file's size in bytes; 0 where that is not known: pipes, devices. */
uint64_t capture_size(const struct capture *capture);

/* Bytes of the file read so far, at most capture_size() where that is known. */
uint64_t capture_position(const struct capture *capture);

#endif
