/* SPDX-License-Identifier: MIT */
/*
 * Frames for the tests of the packet walk. They are made field by field, with checksums from the
 * slow oracle, and checked next to guard pages, whole and cut at many lengths: a cut may hide a
 * verdict, but must not change one. Names are short, because every line of those tests uses them.
 *
 * Bytes and addresses are given in hexadecimal, with blanks for legibility: "45 00 0014".
 */
#ifndef CARRY_TESTS_FRAME_H
#define CARRY_TESTS_FRAME_H

#include <carry/packet.h>

#include "harness/oracle.h"

#define LINK_ETHERNET 1
#define FRAME_MAX     80000

struct frame {
    uint8_t bytes[FRAME_MAX];
    uint32_t size;
    uint32_t wire; /* 0: the frame is complete */
    uint32_t linktype;
};

/* The addresses of a pseudo-header. */
struct flow {
    const char *src;
    const char *dst;
};

#define SRC4  "c0000201"
#define DST4  "c6336407"
#define LAST4 "cb007109"
#define SRC6  "20010db8000000000000000000000001"
#define DST6  "20010db8000000000000000000000002"
#define HOP6  "20010db8000000000000000000000033"
#define LAST6 "20010db8000000000000000000000444"

/* The addresses that put_ip() and put_ipv6() write. */
extern const struct flow flow4;
extern const struct flow flow6;

#define ETHERNET  "020000000001 020000000002"
#define ETHERNET4 ETHERNET "0800"
#define ETHERNET6 ETHERNET "86dd"

enum { ICMP = 1, IGMP = 2, TCP = 6, UDP = 17, ESP = 50, AH = 51, ICMPV6 = 58, UDPLITE = 136 };

/* --- Making frames --- */

/*
 * Restarts the only frame, with these bytes. Its link type is Ethernet and it is complete, unless
 * the caller sets its members.
 */
struct frame *start(const char *hex);

/* Appends bytes and returns their offset, as do put_ip() and the functions after it. */
uint32_t put(struct frame *frame, const char *hex);

/* Appends `count` bytes: first, first + step and so on. */
void put_many(struct frame *frame, uint32_t count, uint8_t first, uint8_t step);

uint32_t get16(const struct frame *frame, uint32_t offset);
void set16(struct frame *frame, uint32_t offset, uint32_t value);

/* Adds to the number at `offset`, in ones'-complement arithmetic. */
void add16(struct frame *frame, uint32_t offset, uint32_t value);

/*
 * Returns the sum of the pseudo-header of RFC 8200. With IPv4 addresses, it equals the sum of the
 * pseudo-header of RFC 793.
 */
struct oracle pseudo(const struct flow *flow, uint8_t protocol, uint32_t size);

/* Stores at `field` the checksum of `size` bytes from `cover` on, continued from `oracle`. */
void seal(struct frame *frame, uint32_t field, uint32_t cover, uint32_t size, struct oracle oracle);

/* Stores the checksum of the IPv4 header at `offset`. */
void seal_ip(struct frame *frame, uint32_t offset);

/* Append an IP header for `size` bytes of content. */
uint32_t put_ip(struct frame *frame, uint8_t protocol, uint32_t size);
uint32_t put_ip_options(struct frame *frame, uint8_t protocol, uint32_t size, const char *options);
uint32_t put_ipv6(struct frame *frame, uint8_t protocol, uint32_t size);

/* Append a header, of 20 bytes for TCP or 8 bytes for UDP, and `size` bytes of data. */
uint32_t put_tcp(struct frame *frame, const struct flow *flow, uint32_t size);
uint32_t put_udp(struct frame *frame, const struct flow *flow, uint32_t size);

/* Appends a whole TCP packet. Over IPv4 it yields "ip good, tcp good", over IPv6 "tcp good". */
uint32_t put_inner(struct frame *frame, bool version6);

/* --- Checking frames --- */

struct result {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count;
};

struct result check(const struct frame *frame);

/*
 * Returns the first `captured` bytes of a frame, next to the guard page. Valid until the next call.
 */
struct carry_frame view_cut(const struct frame *frame, uint32_t captured);

/* Checks the first `captured` bytes of a frame, with the guard page right after them. */
struct result check_cut(const struct frame *frame, uint32_t captured);

/*
 * Returns whether the bad sums of `result` become good when the frame contains the expected values.
 */
bool repairs(struct frame *frame, const struct result *result);

/*
 * Adds a test point: the whole frame yields the expected verdicts, such as "ip good, udp
 * unverifiable/fragment", and cut frames no verdicts that contradict them. `name` is a printf
 * format.
 */
void expect(const struct frame *frame, const char *expected, const char *name, ...)
    __attribute__((format(printf, 3, 4)));

#endif
