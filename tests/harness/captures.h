/* SPDX-License-Identifier: MIT */
/*
 * A capture in memory that has some of everything, made by the library's own writer; sources and
 * sinks that come in pieces, or fail; and allocations that fail when they are asked to.
 */
#ifndef CARRY_TESTS_CAPTURES_H
#define CARRY_TESTS_CAPTURES_H

#include <carry/capture.h>

/* Bytes that grow. */
struct bytes {
    uint8_t *data;
    size_t size;
};

void bytes_free(struct bytes *bytes);

/*
 * The capture. By number:
 *  1  TCP over IPv4, all good
 *  2  the same, TCP bad
 *  3  the same, TCP partial and the IPv4 header 0: its sender uses offload
 *  4  UDP over IPv6 without a checksum: illegal
 *  5  a fragment, the second one of a datagram with a bad UDP sum
 *  6  TCP over IPv4 whose header holds 0, of the sender of 3: partial
 *  7  the first fragment, which completes the datagram
 *  8  a packet of a link type that is not known
 *  9  a fragment whose others never come
 * 10  ARP: no checksum
 */
#define CAPTURE_PACKETS 10
struct bytes make_capture(enum carry_capture_format format);

/* The same with the link type of all of it, as others write it. */
struct bytes make_snoop(void);
struct bytes make_erf(void);

/* Packets 6 and 3 of it: a header of 0, and behind it what shows that its sender uses offload. */
struct bytes make_early_capture(void);

/* A packet in two fragments of a tunnel: its IPv4 header holds 0, and its TCP sum is bad. The first
   fragment has 8 bytes of it. */
struct bytes make_tunnel(void);

/* So many copies of it, behind each other, as one capture. */
struct bytes make_long_capture(unsigned copies);

/* A capture of one block of so many bytes that holds no packet. */
struct bytes make_skipped(uint32_t size);

/* The same bytes as each format has them where nothing can be made shorter; 128 KiB at most. */
struct bytes make_gzip(const struct bytes *bytes);
struct bytes make_zstd(const struct bytes *bytes);
struct bytes make_xz(const struct bytes *bytes);
struct bytes make_lz4(const struct bytes *bytes);

/* A source over bytes. */
struct feed {
    const struct bytes *bytes;
    size_t at;
    size_t piece;        /* most bytes of a read; 0: any number */
    uint64_t fails_at;   /* the read that reaches this offset fails; UINT64_MAX: none does */
    int error;           /* errno with which it does */
    unsigned idles;      /* so many reads say first that nothing has come, and as many that a signal
                            interrupted them */
    bool is_interrupted; /* the next one of these is the former */
};

struct feed feed_of(const struct bytes *bytes);
struct carry_capture_source source_of(struct feed *feed);

/* The capture over a feed, which must open. */
struct carry_capture *open_feed(struct feed *feed);

/* A sink that keeps what it gets. */
struct bowl {
    struct bytes bytes;
    unsigned calls;
    unsigned fails_at; /* this call fails, from 1; 0: none does */
};

struct carry_capture_sink sink_of(struct bowl *bowl);

/* --- Allocations: for programs linked with ALLOCATIONS_WRAPPED of tests/meson.build --- */

/* The allocation of this number, from 1, fails, and all behind it; 0: none does. */
void allocations_fail_from(unsigned number);

/* How many there were since then. */
unsigned allocations_count(void);

/* Those that were not freed since the program started. */
long allocations_alive(void);

#endif
