/* SPDX-License-Identifier: MIT */
/*
 * Reassembles fragmented datagrams, so that the sums over them can be verified and repaired.
 *
 *     size_t count = carry_packet_check_fragment(&frame, options, sums, capacity, &fragment);
 *     if (fragment.version)
 *         datagram = carry_reassembler_add(reassembler, &packet, &fragment, sums, count);
 *     for (; datagram; datagram = carry_reassembler_next(reassembler))
 *         use(datagram->fresh, datagram->fresh_count);
 *
 * Frames must be added in the order of the capture. Fragments are of the same datagram if they
 * agree in the fields that RFC 791 and RFC 8200 require (addresses, identification, over IPv4 the
 * protocol), and in the scope and the interface: a capture may contain one datagram twice, captured
 * at two places.
 *
 * Any fragment may be hostile. A datagram costs memory for the captured bytes of its fragments, and
 * for a record of each fragment. Beyond REASSEMBLER_BYTES_MAX or REASSEMBLER_DATAGRAMS_MAX,
 * the datagram that has waited longest for a fragment is given up. Time, too, depends on the
 * captured bytes, whatever lengths the fragments claim; the hash table's seed is secret. A datagram
 * is given up REASSEMBLER_SECONDS after its first fragment, by the clock of the capture: RFC 8200
 * says 60, RFC 1122 at least 60.
 *
 * Over IPv6, a fragment may overlap others only if it repeats one exactly (RFC 5722); over IPv4,
 * the shared bytes must be equal. A datagram with other overlaps is refused, together with its
 * later fragments.
 */
#ifndef CARRY_CAPTURE_SRC_REASSEMBLE_H
#define CARRY_CAPTURE_SRC_REASSEMBLE_H

#include <carry/capture.h>

#define REASSEMBLER_BYTES_MAX     (16u << 20) /* held by all datagrams together */
#define REASSEMBLER_DATAGRAMS_MAX 4096u       /* incomplete at a time */
#define REASSEMBLER_SECONDS       60u

/* A fragment as it arrived: in a frame, or in a datagram that was itself in fragments. */
struct source {
    struct source *next; /* the next to arrive */
    uint64_t frame;      /* number of its frame, or of the frame that completed the enclosing
                            datagram */
    uint64_t offset;     /* offset of its content in the file; CARRY_CAPTURE_NOWHERE if nested */
    uint32_t place;      /* offset of its content in the content of the datagram */
    uint32_t captured;   /* captured bytes of its content */
    uint32_t content_offset; /* offset of its content in the frame */
    bool covered;            /* a sum of a header around the fragment covers it */
    bool tag;                /* see carry_reassembler_tag() */
    size_t sums_count;
    struct carry_packet_sum sums[]; /* the sums in its content, as judged in its packet */
};

/* The reason why a datagram cannot be repaired. */
enum datagram_bar {
    DATAGRAM_FREE,
    DATAGRAM_NESTED,  /* a fragment arrived in a datagram that was itself in fragments */
    DATAGRAM_COVERED, /* a sum around a fragment covers it */
    DATAGRAM_WRITTEN, /* a fragment can no longer be changed: see reassembler_repair_fn */
};

/* A reassembled datagram. */
struct datagram {
    /* Looks like a frame of raw IP, with the number, time and interface of the frame that completed
       it. If the capture truncated fragments, it ends at the first gap. */
    struct carry_capture_packet packet;
    uint32_t located;     /* bytes that are contiguous in the file from packet.offset on */
    uint32_t header_size; /* size of the first fragment's headers; the content follows them */
    const struct source *sources; /* its fragments */
    bool holds_fragment;          /* contains a fragment of another datagram:
                                     carry_reassembler_next() adds it */

    /* Set if carry_reassembler_repair() was called. */
    enum datagram_bar bar;
    struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
    size_t changes_count;

    const struct carry_packet_sum *sums; /* sums of the datagram, including the sum of its own IP
                                            header */
    size_t count;

    /* The sums that the first fragment did not list, or listed as unverifiable. */
    struct carry_packet_sum fresh[CARRY_PACKET_SUMS_MAX];
    size_t fresh_count;

    /* The protocols of the sums that the first fragment listed as unverifiable because it is a
       fragment. They are the same sums as in `fresh`: do not count them twice. */
    uint8_t superseded[CARRY_PACKET_SUMS_MAX];
    size_t superseded_count;
    uint64_t superseded_frame; /* the first fragment's number */
};

struct reassembler;

/* Creates a reassembler that judges datagrams with `options`, or the defaults if that is NULL.
   Returns NULL if there is no memory. */
struct reassembler *carry_reassembler_create(const struct carry_packet_options *options);
void carry_reassembler_free(struct reassembler *reassembler);

/*
 * Calls `lost`, with the reason, for fragments whose datagram can no longer be completed. So each
 * added fragment is reported exactly once: among the sources of a datagram, or as lost.
 */
typedef void reassembler_lost_fn(void *context, enum carry_capture_reassembly why,
                                 const struct source *sources);
void carry_reassembler_watch(struct reassembler *reassembler, reassembler_lost_fn *lost,
                             void *context);

/*
 * Lets carry_packet_fix() repair datagrams before they are judged, unless datagram->bar prevents
 * it. datagram->changes lists the changes in the content. `prepare` is called for each datagram
 * before its repair. It returns whether all fragments can still be changed, and sets the flags that
 * the repair needs besides the flags of the options.
 */
typedef bool reassembler_repair_fn(void *context, const struct carry_frame *datagram,
                                   const struct source *sources, uint32_t *flags);
void carry_reassembler_repair(struct reassembler *reassembler, reassembler_repair_fn *prepare,
                              void *context);

/* Gives the caller's tag to the fragments that are added from now on. */
void carry_reassembler_tag(struct reassembler *reassembler, bool tag);

/*
 * Adds a fragment and the sums that carry_packet_check_fragment() found in its packet. Returns the
 * datagram that is now complete, or NULL; it is valid until the next call.
 */
const struct datagram *carry_reassembler_add(struct reassembler *reassembler,
                                             const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment,
                                             const struct carry_packet_sum *sums, size_t count);

/* Adds the fragment that the datagram returned last may hold. Returns the same as
   carry_reassembler_add(). */
const struct datagram *carry_reassembler_next(struct reassembler *reassembler);

/*
 * Considers the incomplete datagrams whose fragments all arrived at or after the offset `from`.
 * Returns the lowest offset of their first fragments in the file; UINT64_MAX if there are none.
 */
uint64_t carry_reassembler_earliest(const struct reassembler *reassembler, uint64_t from);

/* Gives up all incomplete datagrams. Call this at the end, before the counts are read. */
void carry_reassembler_end(struct reassembler *reassembler);

/* Returns the numbers of datagrams, by enum carry_capture_reassembly. */
const uint64_t *carry_reassembler_counts(const struct reassembler *reassembler);

/* Returns the bytes now allocated for datagrams, at most REASSEMBLER_BYTES_MAX. */
size_t carry_reassembler_bytes(const struct reassembler *reassembler);

/* Checks whether a sum is in the fragment's content, not in headers around it or bytes after it. */
bool carry_reassembler_is_inside(const struct carry_packet_fragment *fragment,
                                 const struct carry_packet_sum *sum);

/* Returns the fragment in a frame that holds a byte of a datagram, or NULL if there is none. */
const struct source *carry_datagram_source(const struct datagram *datagram, uint32_t at);

/* Returns the index of a fresh sum among all sums of its datagram. */
size_t carry_datagram_index(const struct datagram *datagram, const struct carry_packet_sum *sum);

/* Returns where `size` bytes of a datagram lie in the file, or CARRY_CAPTURE_NOWHERE if they are
   not contiguous. */
uint64_t carry_datagram_offset(const struct datagram *datagram, uint32_t at, uint32_t size);

#endif
