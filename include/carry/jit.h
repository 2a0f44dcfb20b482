/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time for one exact shape of data: sums of one size, the packets of one
 * stack of headers, the fields of one template. A separate library, libcarry-jit, for processes.
 *
 *     const struct carry_jit *jit;
 *     struct carry_jit_sum_spec spec = {.min_size = 1460, .max_size = 1460};
 *     if (carry_jit_sum(&spec, &jit) == CARRY_OK) {
 *         sum = jit->sum(data, 1460, 0);
 *         carry_jit_release(jit);
 *     }
 *
 * Contract shared by all functions here. A *maker* is carry_jit_sum(), carry_jit_packet() or
 * carry_jit_template(); a *made function* is its result, in *jit.
 *  - a made function returns the same as the function of <carry/sum.h> or <carry/packet.h> that the
 *    comment of its type names: bit for bit where that function's contract fixes every bit,
 *    otherwise a sum that folds to the same 16 bits;
 *  - a made function does not check what its spec promises: with another size, or less alignment,
 *    it reads or writes where it must not;
 *  - equal specs share one function. Each successful maker call needs one release, and no thread
 *    may be inside the function at the last release;
 *  - specs are copied, and no pointer of the caller's is kept. Reserved members, and members that a
 *    spec does not use, must be 0;
 *  - text is never writable while it is executable. A made function begins with ENDBR64 or BTI,
 *    keeps the C calling convention and leaves the upper halves of vectors clean;
 *  - makers return 0, or one of these errors, which leaves *jit as it was: call the compiled
 *    kernels then;
 *     - CARRY_ERROR_INVALID: the spec contradicts itself, or holds a value that is out of range or
 *       reserved, or an example frame that cannot be used (carry_jit_*_error() says how);
 *     - CARRY_ERROR_UNSUPPORTED: the architecture has no generator, or the CPU lacks what the spec
 *       asks for;
 *     - CARRY_ERROR_PERMISSION: the system allows no new text;
 *     - CARRY_ERROR_MEMORY;
 *  - makers and releases may be called from any thread, but not from signal handlers: they lock and
 *    allocate. A made function may be called wherever carry_sum() may.
 */
#ifndef CARRY_JIT_H
#define CARRY_JIT_H

#include <carry/packet.h>
#include <carry/sum.h>

CARRY_BEGIN_DECLS

/*
 * Does what carry_packet_check() does, or with CARRY_JIT_FILL carry_packet_fill(), without options.
 * First compares the frame's shape with the spec's shape: if they differ, writes nothing and
 * returns CARRY_JIT_OTHER_SHAPE.
 */
typedef int carry_jit_packet_fn(const struct carry_frame *frame, struct carry_packet_sum *sums,
                                size_t capacity);

#define CARRY_JIT_OTHER_SHAPE (-1)

/*
 * Writes the fields of a template into the packet at `packet`, and updates the checksums that cover
 * them (RFC 1624). `values` holds the fields one after the other, without gaps.
 */
typedef void carry_jit_write_fn(void *packet, const void *values);

/* A made function. Do not modify this structure. */
struct carry_jit {
    union {
        carry_sum_fn *sum;
        carry_sum_copy_fn *sum_copy; /* with CARRY_JIT_COPY */
        carry_jit_packet_fn *packet;
        carry_jit_write_fn *write;
    };
    size_t text_size; /* bytes of instructions and constants from the function's address on */
};

/* Releases a made function; NULL is ignored. */
CARRY_API void carry_jit_release(const struct carry_jit *jit);

/* --- Sums --- */

enum carry_jit_sum_flag {
    CARRY_JIT_COPY = 1 << 0, /* also copy, as carry_sum_copy() does; the ranges must not overlap */
    CARRY_JIT_SEED = 1 << 1, /* use the spec's seed in place of the last argument */
};

/* The form in which a made function returns the sum. */
enum carry_jit_result {
    CARRY_JIT_PARTIAL,        /* as carry_sum() */
    CARRY_JIT_FOLD,           /* through carry_sum_fold() */
    CARRY_JIT_FINISH,         /* through carry_sum_finish() */
    CARRY_JIT_FINISH_NONZERO, /* through carry_sum_finish_nonzero() */
    CARRY_JIT_RESULT_COUNT
};

#define CARRY_JIT_SUM_SIZE_MAX (UINT32_C(1) << 30)

/*
 * A spec of zeros asks for a sum of 0 bytes; only the sizes must be given.
 *
 * A function for several sizes may call the kernel that is chosen when the function is made (see
 * carry_sum_select()), because generated code is not faster there. With vector_bits it calls none.
 */
struct carry_jit_sum_spec {
    size_t min_size, max_size; /* in bytes; if equal, the function ignores its size argument */
    size_t multiple;           /* all sizes are multiples of it; 0 counts as 1 */
    size_t alignment;          /* of data, or of source and destination: a power of two up to
                                  4096; 0 counts as 1 */
    uint32_t flags;            /* enum carry_jit_sum_flag, or-ed */
    uint32_t result;           /* enum carry_jit_result */
    uint32_t seed;             /* a partial sum, with CARRY_JIT_SEED */
    uint32_t vector_bits; /* width of the widest registers that it may use: 64 (scalar code), 128,
                             256 or 512 (0: the widest that this CPU has and prefers) */
    uint32_t reserved[4];
};

/* Makes jit->sum, or with CARRY_JIT_COPY jit->sum_copy. */
CARRY_API int carry_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit **jit);

/*
 * Returns what is wrong with a spec: static text that begins with the name of the member, or NULL
 * if nothing is wrong.
 */
CARRY_API const char *carry_jit_sum_error(const struct carry_jit_sum_spec *spec);

/* --- Packets --- */

#define CARRY_JIT_LAYERS_MAX 16

enum carry_jit_packet_flag {
    CARRY_JIT_FILL = 1 << 0, /* fill in, as carry_packet_fill() does; otherwise check */
};

/*
 * One stack of headers, without header options and without fragments:
 *
 *     {.linktype = 1, .count = 7, .layers = {CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP,
 *      CARRY_PROTOCOL_UDP, CARRY_PROTOCOL_VXLAN, CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP,
 *      CARRY_PROTOCOL_TCP}}
 *
 * The known protocols are ETHERNET, VLAN, SLL, SLL2, RAW, LOOPBACK, IP, IPV6, TCP, UDP, ICMP
 * (echo), ICMPV6 (types 128 to 143), GRE without flags, VXLAN with Ethernet in it, and GENEVE
 * without options.
 */
struct carry_jit_packet_spec {
    uint32_t linktype;                    /* as in struct carry_frame */
    uint32_t flags;                       /* enum carry_jit_packet_flag, or-ed */
    uint32_t count;                       /* of layers */
    uint8_t layers[CARRY_JIT_LAYERS_MAX]; /* enum carry_protocol, outer to inner */
    uint32_t reserved[4];
};

/* Makes jit->packet. Also returns CARRY_ERROR_UNSUPPORTED for a stack that no generator knows. */
CARRY_API int carry_jit_packet(const struct carry_jit_packet_spec *spec,
                               const struct carry_jit **jit);

/* Returns what is wrong with a spec: see carry_jit_sum_error(). */
CARRY_API const char *carry_jit_packet_error(const struct carry_jit_packet_spec *spec);

/*
 * Sets linktype, count and layers of `spec` as `frame` has them, for functions that check such
 * frames. spec->flags stays as it is. Returns 0, or CARRY_ERROR_UNSUPPORTED if no function can be
 * made for the frame.
 */
CARRY_API int carry_jit_packet_shape(const struct carry_frame *frame,
                                     struct carry_jit_packet_spec *spec);

/* --- Templates --- */

/* Bytes of a packet that vary. */
struct carry_jit_field {
    uint32_t offset; /* from the first byte of the packet */
    uint32_t size;   /* in bytes, at least 1 */
};

#define CARRY_JIT_FIELDS_MAX       32
#define CARRY_JIT_FIELDS_BYTES_MAX 256 /* of all fields of a template */

/*
 * A field must not be a checksum, nor decide where the frame's checksums are and what they cover:
 * types, versions, lengths, flags of fragments. A stored UDP checksum of 0 stays 0 (RFC 768).
 *
 * A value may turn bytes that held no checksum into one, such as those after a port that becomes a
 * tunnel's. The made function does not update that checksum: the caller must know of it.
 */
struct carry_jit_template_spec {
    struct carry_frame frame;             /* a packet like the packets that will be written */
    const struct carry_jit_field *fields; /* in ascending order, without overlap */
    size_t count;                         /* of fields */
    uint32_t reserved[4];
};

/* Makes jit->write. Returns CARRY_ERROR_UNSUPPORTED also if a CRC covers a field. */
CARRY_API int carry_jit_template(const struct carry_jit_template_spec *spec,
                                 const struct carry_jit **jit);

/* Returns what is wrong with a spec: see carry_jit_sum_error(). */
CARRY_API const char *carry_jit_template_error(const struct carry_jit_template_spec *spec);

/* --- For profilers and debuggers --- */

enum carry_jit_listing {
    CARRY_JIT_PERF = 1 << 0, /* a line in /tmp/perf-PID.map for each function (perf report) */
    CARRY_JIT_GDB = 1 << 1,  /* symbols through __jit_debug_register_code() (backtraces in GDB) */
};

/*
 * Selects how to list every function made from now on: enum carry_jit_listing, or-ed (default: 0,
 * not at all).
 *
 * Entries already written to the perf map are not removed: for a function that was made at the
 * address of a released one, perf may show either name. perf shows no name for text that had to be
 * mapped from a file (under PR_SET_MDWE, for example). The first entry of a process removes the
 * entries that an earlier process with the same number left in the map.
 *
 * Returns 0, CARRY_ERROR_INVALID for an unknown bit, CARRY_ERROR_PERMISSION if the map cannot be
 * written.
 */
CARRY_API int carry_jit_list(unsigned listings);

CARRY_END_DECLS

#endif
