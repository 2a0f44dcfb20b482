/* SPDX-License-Identifier: MIT */
/*
 * A capture in memory that contains every kind of packet, made by the library's own writer;
 * sources that return pieces or fail; sinks that fail; and allocations that fail on request.
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

/*
 * Returns a capture with these packets, by number:
 *
 *     1  TCP over IPv4, all good
 *     2  the same, TCP bad
 *     3  the same, TCP partial and the IPv4 checksum 0: its sender uses offload
 *     4  UDP over IPv6 without a checksum: illegal
 *     5  a fragment, the second one of a datagram with a bad UDP sum
 *     6  TCP over IPv4 with checksum 0, from the sender of 3: partial
 *     7  the first fragment, which completes the datagram
 *     8  a packet of an unknown link type
 *     9  a fragment whose datagram remains incomplete
 *    10  ARP: no checksum
 */
#define CAPTURE_PACKETS 10
struct bytes make_capture(enum carry_capture_format format);

/*
 * Returns the packets of make_capture() as pcap, converted to a format of another program. Such a
 * file has one link type.
 */
struct bytes make_snoop(void);
struct bytes make_erf(void);

/*
 * Returns packets 6 and 3: an IPv4 checksum of 0, and then a packet that shows that its sender uses
 * offload.
 */
struct bytes make_early_capture(void);

/*
 * Returns a packet in two fragments of a tunnel: its IPv4 checksum is 0, its TCP sum is bad. The
 * first fragment contains 8 bytes of it.
 */
struct bytes make_tunnel(void);

/* Returns one capture with `copies` copies of the packets, one after the other. */
struct bytes make_long_capture(unsigned copies);

/* Returns a capture of one block of `size` bytes that contains no packet. */
struct bytes make_skipped(uint32_t size);

/* Return the bytes as each format stores incompressible data; at most 128 KiB. */
struct bytes make_gzip(const struct bytes *bytes);
struct bytes make_zstd(const struct bytes *bytes);
struct bytes make_xz(const struct bytes *bytes);
struct bytes make_lz4(const struct bytes *bytes);

/* A source that reads from bytes. */
struct feed {
    const struct bytes *bytes;
    size_t at;
    size_t piece;        /* the most bytes of one read; 0: any number */
    uint64_t fails_at;   /* the read that reaches this offset fails; UINT64_MAX: none does */
    int error;           /* the errno of that failure */
    unsigned idles;      /* how many of the first reads report that no data is available; as many
                            report that a signal interrupted them */
    bool is_interrupted; /* the next of these reads reports that no data is available */
};

struct feed feed_of(const struct bytes *bytes);
struct carry_capture_source source_of(struct feed *feed);

/* Opens a capture over a feed; fails the test if that is impossible. */
struct carry_capture *open_feed(struct feed *feed);

/* A sink that keeps what is written. */
struct bowl {
    struct bytes bytes;
    unsigned calls;
    unsigned fails_at; /* the number of the call that fails, from 1; 0: none does */
};

struct carry_capture_sink sink_of(struct bowl *bowl);

/* --- Allocations: for programs linked with ALLOCATIONS_WRAPPED of tests/meson.build --- */

/* Makes the allocation with this number, from 1, fail, and all later ones; 0: none fails. */
void allocations_fail_from(unsigned number);

/* Returns the number of allocations since the last call of allocations_fail_from(). */
unsigned allocations_count(void);

/* Returns the number of allocations since the start of the program that were not freed. */
long allocations_alive(void);

#endif
