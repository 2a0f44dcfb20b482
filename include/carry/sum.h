/* SPDX-License-Identifier: MIT */
/*
 * The Internet checksum (RFC 1071), in parts.
 *
 * A *partial sum* is a uint32_t that stands for a one's complement sum of 16-bit words, taken in
 * memory order: no byte is swapped, so the folded result is stored as it is on either endianness.
 * Start with 0, or with any earlier partial sum of an even number of bytes:
 *
 *     uint32_t sum = carry_sum_pseudo4(&ip->saddr, &ip->daddr, 17, udp_size, 0);
 *     sum = carry_sum(udp, udp_size, sum);
 *     udp->check = carry_sum_finish_nonzero(sum);
 *
 * To verify, sum everything with the stored checksum in place: carry_sum_finish() is then 0.
 *
 * Contract shared by all functions here:
 *  - sizes are in bytes, and every size from 0 on is allowed; an odd last byte counts as if a zero
 *    byte followed it;
 *  - pointers need no alignment; with size 0 they may be NULL;
 *  - no function reads outside [data, data + size), whatever the kernel;
 *  - a partial sum is 0 only if all its bytes and its seed were 0, so every kernel folds to the
 *    same 16 bits; the 32 bits before folding may differ from kernel to kernel;
 *  - no function except carry_sum_select() fails, allocates, locks or keeps state: the others may
 *    be called from any thread and from signal handlers; in an operating-system kernel, only inside
 *    a section that allows the chosen kernel's registers.
 *
 * The checksum does not detect swapped 16-bit words, or 0x0000 changed to 0xffff: it does not prove
 * integrity.
 */
#ifndef CARRY_SUM_H
#define CARRY_SUM_H

#include <carry/kernel.h>

CARRY_BEGIN_DECLS

struct carry_key;

/* A run of bytes, with the layout of POSIX struct iovec. */
struct carry_slice {
    const void *data;
    size_t size;
};

/* Returns the partial sum of `size` bytes at `data`, added to `sum`. Uses the kernel chosen for
 * this CPU. */
CARRY_API uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum);

/*
 * Copies `size` bytes from `src` to `dst` and returns their partial sum, added to `sum`, in one
 * pass. The ranges must not overlap, nor be the same; nothing outside [dst, dst + size) is written.
 * The source must not change during the call: some bytes near the end are loaded twice, so the sum
 * may not match the copied bytes.
 *
 * Data in chunks: if every chunk except the last has an even size, pass the sum of each as the seed
 * of the next. Otherwise sum each chunk on its own, and join the sums by offset:
 *
 *     sum = carry_sum_combine(sum, carry_sum_copy(dst + at, chunk, chunk_size, 0), at);
 */
CARRY_API uint32_t carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum);

/*
 * Does what carry_sum_copy() does, from slices to slices of any size, including 0. Copies the bytes
 * of the `src` slices, in order, to the memory of the `dst` slices, in order, until either list
 * ends. Adds the sum of the copied bytes, taken as one run, to *sum. Returns the number of bytes
 * copied. The function writes to the memory that the `dst` slices point to; no `dst` slice may
 * overlap a `src` slice.
 */
CARRY_API size_t carry_sum_copy_iov(const struct carry_slice *dst, size_t dst_count,
                                    const struct carry_slice *src, size_t src_count, uint32_t *sum);

/*
 * Does what carry_sum_copy() does, and survives faults as carry_copy_try() of <carry/fault.h> does,
 * with the same contract. Adds the sum of the copied bytes to *sum, and returns how many bytes are
 * left.
 *
 * After a fault, or without carry_fault_acquire(), a second pass sums the copied bytes in `dst`:
 * the sum is exact, whatever happened to the mappings. Bytes of `dst` that the second pass can no
 * longer read count as left.
 *
 * Without a fault there is one pass, which loads some bytes near the end twice: if their values
 * change during the call (another thread writes them, or a file is truncated and extended, so that
 * they become zeros), the sum may not match the copied bytes. If this matters, call
 * carry_copy_try() and sum the copy; at 1,500 bytes this costs twice the time.
 */
CARRY_API size_t carry_sum_copy_try(void *dst, const void *src, size_t size, uint32_t *sum);

/*
 * Returns the partial sum, added to `sum`, of `size` bytes from offset `skip` of the concatenated
 * `slices`. Slices may have any size, including odd sizes and 0. Bytes beyond the last slice are
 * ignored.
 */
CARRY_API uint32_t carry_sum_iov(const struct carry_slice *slices, size_t count, size_t skip,
                                 size_t size, uint32_t sum);

/* Sums many packets in one call: sums[i] is the seed of slices[i] before the call, and the sum of
 * slices[i] after it. */
CARRY_API void carry_sum_burst(const struct carry_slice *slices, size_t count, uint32_t *sums);

/* Returns the sum folded to 16 bits, in memory order, not inverted. */
CARRY_API_INLINE uint16_t carry_sum_fold(uint32_t sum) {
    /* Add the exchanged halves: the upper half then holds the sum of both, and their carry. */
    sum += sum << 16 | sum >> 16;
    return (uint16_t)(sum >> 16);
}

/* Returns the value to store in a header, in memory order. */
CARRY_API_INLINE uint16_t carry_sum_finish(uint32_t sum) {
    return (uint16_t)~carry_sum_fold(sum);
}

/* Does what carry_sum_finish() does, for protocols where a stored 0 means "no checksum" (UDP, RFC
 * 768): returns 0xffff instead of 0. */
CARRY_API_INLINE uint16_t carry_sum_finish_nonzero(uint32_t sum) {
    uint16_t check = carry_sum_finish(sum);
    return check ? check : 0xffff;
}

/*
 * Joins the sums of two neighbouring runs: `b` was summed on its own and starts `offset_of_b`
 * bytes after the start of `a`; at odd offsets its bytes are swapped (RFC 1071, section 2).
 */
CARRY_API_INLINE uint32_t carry_sum_combine(uint32_t a, uint32_t b, size_t offset_of_b) {
    if (offset_of_b & 1)
        b = b << 8 | b >> 24;
    a += b;
    return a + (a < b);
}

#define CARRY_SUM_INLINE_BYTES 64

/*
 * Does what carry_sum() does, with loads and additions inlined in the caller, without a call.
 * `size` must be known at compile time, and at most CARRY_SUM_INLINE_BYTES. carry_sum() uses this
 * function for such sizes.
 */
CARRY_API_INLINE __attribute__((always_inline)) uint32_t
carry_sum_inline(const void *data, size_t size, uint32_t seed) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t sum = 0, word;
    uint64_t rest = seed; /* the seed, bytes short of a word, and carries; cannot overflow */
    /* Unrolled by hand, since compilers keep a loop as it is, or vectorise it. */
#define CARRY_ADD_WORD(i)                                                                          \
    if (size >= 8 * (i) + 8) {                                                                     \
        __builtin_memcpy(&word, p + 8 * (i), 8);                                                   \
        sum += word;                                                                               \
        rest += sum < word;                                                                        \
    }
    CARRY_ADD_WORD(0)
    CARRY_ADD_WORD(1)
    CARRY_ADD_WORD(2)
    CARRY_ADD_WORD(3)
    CARRY_ADD_WORD(4)
    CARRY_ADD_WORD(5)
    CARRY_ADD_WORD(6)
    CARRY_ADD_WORD(7)
#undef CARRY_ADD_WORD
    const size_t words = size & ~(size_t)7; /* added to `p` only at the loads: `p` may be NULL */
    uint32_t quad = 0;
    uint16_t pair = 0, last = 0;
    if (size & 4)
        __builtin_memcpy(&quad, p + words, 4);
    if (size & 2)
        __builtin_memcpy(&pair, p + words + (size & 4), 2);
    if (size & 1)
        __builtin_memcpy(&last, p + words + (size & 6), 1);
    rest += (uint64_t)quad + pair + last;
    sum += rest;
    sum += sum < rest;
    sum += sum << 32 | sum >> 32; /* as in carry_sum_fold() */
    return (uint32_t)(sum >> 32);
}

/* Returns the partial sum of `size` bytes at `data`, added to `sum`. Small constant sizes are
 * summed inline. */
CARRY_API_INLINE uint32_t carry_sum(const void *data, size_t size, uint32_t sum) {
    if (__builtin_constant_p(size) && size <= CARRY_SUM_INLINE_BYTES)
        return carry_sum_inline(data, size, sum);
    return carry_sum_call(data, size, sum);
}

/*
 * The operation that carry_sum() calls, for programs that have its calls patched in their own text:
 * see CARRY_OP_IMPORT in <carry/patch.h>. CARRY_OP with other types does not compile.
 *
 *     CARRY_OP(uint32_t, carry_sum, const void *, size_t, uint32_t);
 *     CARRY_OP_IMPORT(carry_sum);
 *     sum = carry_call(carry_sum)(data, size, sum);
 */
typedef uint32_t carry_fn_carry_sum(const void *data, size_t size, uint32_t sum);
CARRY_API extern struct carry_key *const carry_op_carry_sum_export;

/* The operation that carry_sum_copy() calls: see carry_op_carry_sum_export. */
typedef uint32_t carry_fn_carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum);
CARRY_API extern struct carry_key *const carry_op_carry_sum_copy_export;

/*
 * Returns the partial sum of the IPv4 pseudo-header (RFC 793, 768), added to `sum`. `src` and `dst`
 * point to 4 address bytes each; `size` is the size of the transport header and data, in host byte
 * order. The size has 16 bits in any packet that is sent. Before segmentation offload it may be
 * larger: all 32 bits count.
 */
CARRY_API uint32_t carry_sum_pseudo4(const void *src, const void *dst, uint8_t protocol,
                                     uint32_t size, uint32_t sum);

/*
 * Returns the partial sum of the IPv6 pseudo-header (RFC 8200, section 8.1), added to `sum`. `src`
 * and `dst` point to 16 address bytes each; `size` is in host byte order and may need all 32 bits
 * (jumbograms). If the packet has a routing header, `dst` must be the last segment.
 */
CARRY_API uint32_t carry_sum_pseudo6(const void *src, const void *dst, uint8_t next_header,
                                     uint32_t size, uint32_t sum);

/*
 * Return the checksum to store after a change of the bytes that it covers (RFC 1624, equation 3).
 * `check` and the result are as stored in the header; `from` and `to` are the covered bytes before
 * and after the change, as loaded from memory. The changed bytes must lie at an even offset of the
 * covered range. A UDP checksum of 0 means absent: leave it. A UDP result of 0 must be stored as
 * 0xffff.
 */
CARRY_API_INLINE uint16_t carry_sum_update16(uint16_t check, uint16_t from, uint16_t to) {
    uint32_t sum = (uint32_t)(uint16_t)~check + (uint16_t)~from + to;
    return carry_sum_finish(sum);
}

CARRY_API_INLINE uint16_t carry_sum_update32(uint16_t check, uint32_t from, uint32_t to) {
    uint64_t sum = (uint64_t)(uint16_t)~check + (uint32_t)~from + to;
    sum += sum << 32 | sum >> 32; /* as in carry_sum_fold() */
    return carry_sum_finish((uint32_t)(sum >> 32));
}

/* Does what carry_sum_update16() does, for any even number of bytes: 6 for an Ethernet address, 16
 * for an IPv6 address. */
CARRY_API_INLINE uint16_t carry_sum_update(uint16_t check, const void *from, const void *to,
                                           size_t size) {
    /* ~m of RFC 1624: the complement of a one's complement sum is the sum of the complements. */
    uint32_t removed = (uint16_t)~carry_sum_fold(carry_sum(from, size, 0));
    uint32_t sum = (uint32_t)(uint16_t)~check + removed;
    return carry_sum_finish(carry_sum(to, size, sum));
}

/* Does what carry_sum_update16() does, for 128 bits: an IPv6 address. */
CARRY_API_INLINE uint16_t carry_sum_update128(uint16_t check, const void *from, const void *to) {
    return carry_sum_update(check, from, to, 16);
}

/* --- Kernels: which exist, which is chosen, and why --- */

typedef uint32_t carry_sum_fn(const void *data, size_t size, uint32_t sum);
typedef uint32_t carry_sum_copy_fn(void *dst, const void *src, size_t size, uint32_t sum);

struct carry_sum_kernel {
    const char *name;        /* "avx512" */
    carry_sum_fn *sum;       /* same contract as carry_sum(); call it only if available */
    const char *missing;     /* the first feature that it lacks here; NULL if it is available */
    unsigned vector_bits;    /* width of the widest register it uses; 64 for scalar code, 2048 for
                                vectors of any length, which the CPU has (SVE) */
    const char *against;     /* the first preference it wants that this CPU lacks, or NULL; if set,
                                the kernel is used only when selected by name */
    bool chosen;             /* carry_sum() calls this kernel */
    carry_sum_copy_fn *copy; /* as `sum`, for carry_sum_copy(); NULL for kernels of CRC32c */
};

/* Returns the name of feature `need`, from 0, of those that kernel `index` needs; NULL beyond the
 * last. */
CARRY_API const char *carry_sum_kernel_need(size_t index, size_t need);

/* Describes kernel `index`, from the most portable to the best; returns false beyond the last. */
CARRY_API bool carry_sum_kernel(size_t index, struct carry_sum_kernel *kernel);

/* Describes function `index` of those that make up the kernels; returns false beyond the last. */
CARRY_API bool carry_sum_kernel_code(size_t index, struct carry_kernel_code *code);

/*
 * Chooses the kernel that all functions here call: by name, or with NULL the best one for the
 * present features (use NULL after carry_cpu_set_mask()). Threads that sum during the call use the
 * old or the new kernel. The function commits a patch of its own: it locks and may allocate, and
 * must not be called from a signal handler, nor between carry_patch_begin() and the commit. If it
 * fails, the kernel stays the same. Returns 0, CARRY_ERROR_UNKNOWN (no kernel has this name),
 * CARRY_ERROR_UNSUPPORTED (this CPU cannot run it), or an error of carry_patch_commit().
 */
CARRY_API int carry_sum_select(const char *name);

CARRY_END_DECLS

#endif
