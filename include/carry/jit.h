/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time for one exact shape of data: sums of one size, the packets of one
 * stack of headers, the fields of one template. A library of its own, libcarry-jit, in processes.
 *
 *     const struct carry_jit *jit;
 *     struct carry_jit_sum_spec spec = {.min_size = 1460, .max_size = 1460};
 *     if (carry_jit_sum(&spec, &jit) == CARRY_OK) {
 *         sum = jit->sum(data, 1460, 0);
 *         carry_jit_release(jit);
 *     }
 *
 * Contract shared by all functions here:
 *  - what is made answers as the function of <carry/sum.h> or <carry/packet.h> that its text names,
 *    to the last bit where that says so, and folds to the same 16 bits elsewhere;
 *  - a function relies on what its spec promises: another size, or less alignment, reads or writes
 *    where it must not;
 *  - equal specs share one function: each call that makes one is to be met by a release, and no
 *    thread may be inside it at the last. Specs are copied: nothing of the caller's is kept. What
 *    they call reserved, and members that a spec does not use, are 0;
 *  - text is never writable where it is executable; it begins with ENDBR64, or BTI, and keeps the C
 *    calling convention; upper halves of vectors are clean when it returns;
 *  - makers return 0; CARRY_ERROR_INVALID for a spec that contradicts itself: carry_jit_*_error()
 *    then says how; CARRY_ERROR_UNSUPPORTED where the architecture has no generator, or the CPU
 *    lacks what was asked for; CARRY_ERROR_PERMISSION where the system allows no new text;
 *    CARRY_ERROR_MEMORY. *jit is then as it was: call the compiled kernels;
 *  - makers and releases may be called from any thread, not from signal handlers: they lock and
 *    allocate. What is made may be called wherever carry_sum() may.
 */
#ifndef CARRY_JIT_H
#define CARRY_JIT_H

#include <carry/packet.h>
#include <carry/sum.h>

CARRY_BEGIN_DECLS

/*
 * As carry_packet_check() and carry_packet_fill() with these sums: the frame's shape is looked at
 * first, and CARRY_JIT_OTHER_SHAPE is the answer, with nothing written, where it is not the spec's.
 */
typedef int carry_jit_packet_fn(const struct carry_frame *frame, struct carry_packet_sum *sums,
                                size_t capacity);

#define CARRY_JIT_OTHER_SHAPE (-1)

/*
 * Writes the fields of a template into the packet at `packet`, from `values`, where they stand one
 * after the other without gaps, and updates the checksums that cover them (RFC 1624).
 */
typedef void carry_jit_write_fn(void *packet, const void *values);

/* A function that was made, for whoever asked for it; to be read only. */
struct carry_jit {
    union {
        carry_sum_fn *sum;
        carry_sum_copy_fn *sum_copy; /* with CARRY_JIT_COPY */
        carry_jit_packet_fn *packet;
        carry_jit_write_fn *write;
    };
    size_t text_size; /* bytes of instructions and constants from there on */
};

/* Lets go of one; NULL is let be. */
CARRY_API void carry_jit_release(const struct carry_jit *jit);

/* --- Sums --- */

enum carry_jit_sum_flag {
    CARRY_JIT_COPY = 1 << 0, /* as carry_sum_copy() does, to a place that does not overlap */
    CARRY_JIT_SEED = 1 << 1, /* the seed is known: the spec's, in place of the last argument */
};

/* What a function returns of the sum. */
enum carry_jit_result {
    CARRY_JIT_PARTIAL,        /* as carry_sum() */
    CARRY_JIT_FOLD,           /* through carry_sum_fold() */
    CARRY_JIT_FINISH,         /* through carry_sum_finish() */
    CARRY_JIT_FINISH_NONZERO, /* through carry_sum_finish_nonzero() */
    CARRY_JIT_RESULT_COUNT
};

#define CARRY_JIT_SUM_SIZE_MAX (UINT32_C(1) << 30)

/* Zeros ask for a function for no bytes; only sizes must be given. */
struct carry_jit_sum_spec {
    size_t min_size, max_size; /* in bytes. If equal, the function does not look at its size */
    size_t multiple;           /* all sizes are multiples of it; 0 counts as 1 */
    size_t alignment;          /* of data, or of source and destination: a power of two up to
                                  4096; 0 counts as 1 */
    uint32_t flags;            /* enum carry_jit_sum_flag, or-ed */
    uint32_t result;           /* enum carry_jit_result */
    uint32_t seed;             /* a partial sum, with CARRY_JIT_SEED */
    uint32_t vector_bits; /* the widest registers it may use: 64 for scalar code, 128, 256, 512;
                             0: the widest that this CPU has and prefers */
    uint32_t reserved[4];
};

/* Makes jit->sum, or with CARRY_JIT_COPY jit->sum_copy. */
CARRY_API int carry_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit **jit);

/* What is wrong with a spec, beginning with the name of the member; NULL if nothing is. Static. */
CARRY_API const char *carry_jit_sum_error(const struct carry_jit_sum_spec *spec);

/* --- Packets --- */

#define CARRY_JIT_LAYERS_MAX 16

enum carry_jit_packet_flag {
    CARRY_JIT_FILL = 1 << 0, /* as carry_packet_fill() does; else as carry_packet_check() */
};

/*
 * One stack of headers, none with options and no datagram cut into fragments:
 *
 *     {.linktype = 1, .count = 7, .layers = {CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP,
 *      CARRY_PROTOCOL_UDP, CARRY_PROTOCOL_VXLAN, CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP,
 *      CARRY_PROTOCOL_TCP}}
 *
 * Known are ETHERNET, VLAN, SLL, SLL2, RAW, LOOPBACK, IP, IPV6, TCP, UDP, ICMP (echo), ICMPV6
 * (types 128 to 143), GRE without flags, VXLAN with Ethernet in it, and GENEVE without options.
 */
struct carry_jit_packet_spec {
    uint32_t linktype;                    /* as in struct carry_frame */
    uint32_t flags;                       /* enum carry_jit_packet_flag, or-ed */
    uint32_t count;                       /* of layers */
    uint8_t layers[CARRY_JIT_LAYERS_MAX]; /* enum carry_protocol, outer to inner */
    uint32_t reserved[4];
};

/* Makes jit->packet. CARRY_ERROR_UNSUPPORTED also for a stack that no generator knows. */
CARRY_API int carry_jit_packet(const struct carry_jit_packet_spec *spec,
                               const struct carry_jit **jit);

/* As carry_jit_sum_error(). */
CARRY_API const char *carry_jit_packet_error(const struct carry_jit_packet_spec *spec);

/*
 * Fills in linktype, count and layers by a frame, for functions that check frames like it; flags
 * stay. Returns 0, or CARRY_ERROR_UNSUPPORTED where none can be made.
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
 * None of the fields may be a checksum, or tell where the frame's checksums are and what they
 * cover: types, versions, lengths, flags of fragments. A stored UDP checksum of 0 stays (RFC 768).
 * What values make of bytes that held no checksum, such as those behind the port of a tunnel, is
 * the caller's to know.
 */
struct carry_jit_template_spec {
    struct carry_frame frame;             /* a packet like those that will be written */
    const struct carry_jit_field *fields; /* in ascending order, without overlap */
    size_t count;                         /* of fields */
    uint32_t reserved[4];
};

/* Makes jit->write. CARRY_ERROR_UNSUPPORTED also where a CRC covers a field. */
CARRY_API int carry_jit_template(const struct carry_jit_template_spec *spec,
                                 const struct carry_jit **jit);

/* As carry_jit_sum_error(). */
CARRY_API const char *carry_jit_template_error(const struct carry_jit_template_spec *spec);

/* --- For profilers and debuggers --- */

enum carry_jit_listing {
    CARRY_JIT_PERF = 1 << 0, /* a line in /tmp/perf-PID.map for each function: perf report */
    CARRY_JIT_GDB = 1 << 1,  /* symbols through __jit_debug_register_code(): backtraces in GDB */
};

/*
 * Lists every function made from now on in these ways, or-ed; 0, as at the start, in none. What
 * perf was told of stays told: where one function took another's place, it may take either name;
 * and where text had to be mapped from a file (under PR_SET_MDWE, say) it takes none. What an
 * earlier process of the same number has left in the map goes with the first line. Returns 0,
 * CARRY_ERROR_INVALID for an unknown way, CARRY_ERROR_PERMISSION if the map cannot be written.
 */
CARRY_API int carry_jit_list(unsigned listings);

CARRY_END_DECLS

#endif
