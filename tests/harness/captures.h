/* SPDX-License-Identifier: MIT */
/*
 * Captures in memory, most of them made by the library's own writer; sources that return pieces or
 * fail; sinks that fail; and allocations that fail on request.
 */
#ifndef CARRY_TESTS_CAPTURES_H
#define CARRY_TESTS_CAPTURES_H

#include <carry/capture.h>

/* A growing buffer. */
struct bytes {
    uint8_t *data;
    size_t size;
};

void bytes_free(struct bytes *bytes);

/* Appends to a buffer that is empty, or that this or a function below made. Aborts if there is no
   memory. */
void bytes_append(struct bytes *all, const void *bytes, size_t size);

/*
 * Returns a capture with these packets, by number:
 *
 *     1  TCP over IPv4, all good
 *     2  the same, TCP bad
 *     3  the same, TCP partial and the IPv4 checksum 0: its sender uses offload
 *     4  UDP over IPv6 without a checksum: illegal
 *     5  a fragment, the second one of a datagram with a bad UDP sum
 *     6  TCP over IPv4 whose IPv4 checksum is 0, from the sender of packet 3: partial
 *     7  the first fragment, which completes the datagram
 *     8  a packet of an unknown link type; in pcap, the same packet as number 10
 *     9  a fragment whose datagram remains incomplete
 *    10  ARP: no checksum
 */
#define CAPTURE_PACKETS 10
struct bytes make_capture(enum carry_capture_format format);

/*
 * Return the packets that make_capture() writes as pcap, in formats of other programs. Such a file
 * has one link type.
 */
struct bytes make_snoop(void);
struct bytes make_erf(void);
struct bytes make_netmon(void);

/*
 * Returns a capture of packets 6 and 3 of make_capture(): first a packet whose IPv4 checksum is 0,
 * then a packet that shows that its sender uses offload.
 */
struct bytes make_early_capture(void);

/*
 * Returns a capture of one tunnel packet in two fragments. The packet in the tunnel has an IPv4
 * checksum of 0 and a bad TCP checksum; the first fragment contains its first 8 bytes.
 */
struct bytes make_tunnel(void);

/* Return one capture with the packets of make_capture() `copies` times in a row; without a format,
   pcapng. */
struct bytes make_repeated(enum carry_capture_format format, unsigned copies);
struct bytes make_long_capture(unsigned copies);

/* Returns a pcapng capture without packets, whose last block has `size` bytes, rounded down to a
 * multiple of 4. */
struct bytes make_skipped(uint32_t size);

/*
 * Return the bytes in each format, uncompressed, as the format stores incompressible data. `bytes`
 * must contain at most 128 KiB.
 */
struct bytes make_gzip(const struct bytes *bytes);
struct bytes make_zstd(const struct bytes *bytes);
struct bytes make_xz(const struct bytes *bytes);
struct bytes make_lz4(const struct bytes *bytes);

/* A source that reads from bytes. */
struct feed {
    const struct bytes *bytes;
    size_t at;
    size_t piece;      /* the most bytes of one read; 0: any number */
    uint64_t fails_at; /* reads beyond this offset fail, and reads at it; UINT64_MAX: none fails */
    int error;         /* the errno of that failure */
    unsigned idles; /* how many of the first reads report that no data is available; before each of
                       them, a read reports that a signal interrupted it */
    bool is_interrupted; /* the next of these reads reports that no data is available */
};

struct feed feed_of(const struct bytes *bytes);
struct carry_capture_source source_of(struct feed *feed);

/* Opens a capture over a feed. Aborts if that is impossible. */
struct carry_capture *open_feed(struct feed *feed);

/* A sink that keeps what is written. */
struct bowl {
    struct bytes bytes;
    unsigned calls;
    unsigned fails_at; /* the number of the call that fails, from 1; 0: none does */
};

struct carry_capture_sink sink_of(struct bowl *bowl);

/* --- Allocations: for programs linked with `allocations_wrapped` of tests/meson.build --- */

/* Makes allocation `number`, counted from 1, and all later ones fail. If it is 0, none fails. */
void allocations_fail_from(unsigned number);

/* Returns the number of allocations since the last call of allocations_fail_from(). */
unsigned allocations_count(void);

/* Returns the number of allocations since the start of the program that were not freed. */
long allocations_alive(void);

/*
 * Calls attempt(context), which returns a code of the library, until no allocation of it fails:
 * first the first one fails, then the second one, and so on; each alone, and with all later ones.
 * Returns whether each attempt without memory returned CARRY_ERROR_MEMORY or did without it
 * (CARRY_OK), the last one returned CARRY_OK, and none lost memory.
 */
bool allocations_all_fail(int (*attempt)(void *context), void *context);

#endif
