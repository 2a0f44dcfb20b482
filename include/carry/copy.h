/* SPDX-License-Identifier: MIT */
/*
 * Copies of bytes.
 *
 *     carry_copy(dst, src, size);             // the ranges do not overlap
 *     carry_copy_move(dst, src, size);        // the ranges may overlap
 *     carry_copy_stream(dst, src, size);      // no overlap; dst not read again soon
 *
 * Contract shared by all functions here:
 *  - sizes are in bytes, and every size from 0 on is allowed;
 *  - pointers need no alignment; with size 0 they may be NULL;
 *  - no function reads outside [src, src + size) or writes outside [dst, dst + size), whatever the
 *    kernel; a byte may be read or written more than once;
 *  - no function except carry_copy_select() allocates, locks or keeps state: the others may be
 *    called from any thread and from signal handlers; in an operating-system kernel, only inside
 *    a section that allows the chosen kernel's registers.
 *
 * Other threads may observe the bytes in any order: publish them with a release store after the
 * copy, as after any store.
 */
#ifndef CARRY_COPY_H
#define CARRY_COPY_H

#include <carry/kernel.h>

CARRY_BEGIN_DECLS

struct carry_key;

/* Copies `size` bytes from `src` to `dst` with the kernel chosen for this CPU. The ranges must not
 * overlap; identical ranges count as overlapping. */
CARRY_API void carry_copy(void *dst, const void *src, size_t size);

/* Does what carry_copy() does, for ranges that may overlap in any way: `dst` gets the bytes that
 * `src` held before. */
CARRY_API void carry_copy_move(void *dst, const void *src, size_t size);

/*
 * Does what carry_copy() does, for large data that this CPU will not read again soon: copies that
 * are large enough to benefit bypass the caches, so that the caches keep their contents. If this
 * CPU reads the data next, carry_copy() is faster.
 *
 * Stores that bypass the caches are weakly ordered, so the function ends with the fence that they
 * need (SFENCE). After its return they are ordered before every later store of this thread, as the
 * stores of carry_copy() are, so a release store publishes them too.
 */
CARRY_API void carry_copy_stream(void *dst, const void *src, size_t size);

/*
 * The operation that carry_copy() calls, for programs that have its calls patched in their own
 * text: see CARRY_OP_IMPORT in <carry/patch.h>.
 *
 *     CARRY_OP(void, carry_copy, void *, const void *, size_t);
 *     CARRY_OP_IMPORT(carry_copy);
 *     carry_call(carry_copy)(dst, src, size);
 */
typedef void carry_fn_carry_copy(void *dst, const void *src, size_t size);
CARRY_API extern struct carry_key *const carry_op_carry_copy_export;

/* --- Kernels: which exist, which is chosen, and why; as in carry/sum.h --- */

typedef void carry_copy_fn(void *dst, const void *src, size_t size);

struct carry_copy_kernel {
    const char *name;     /* "avx512" */
    carry_copy_fn *copy;  /* same contract as carry_copy(); call it only if available */
    const char *missing;  /* the first feature that it lacks here; NULL if it is available */
    unsigned vector_bits; /* width of the widest register it uses; 64 for scalar code */
    const char *against;  /* the first preference it wants that this CPU lacks, or NULL; if set,
                             the kernel is used only when selected by name */
    bool chosen;          /* carry_copy() calls this kernel */
};

/* Returns the name of feature `need`, from 0, of those that kernel `index` needs; NULL beyond the
 * last. */
CARRY_API const char *carry_copy_kernel_need(size_t index, size_t need);

/* Describes kernel `index`, from the most portable to the best; returns false beyond the last. */
CARRY_API bool carry_copy_kernel(size_t index, struct carry_copy_kernel *kernel);

/* Describes function `index` of those that make up the kernels; returns false beyond the last. */
CARRY_API bool carry_copy_kernel_code(size_t index, struct carry_kernel_code *code);

/*
 * Chooses the kernel that all functions here call: by name, or with NULL the best one for the
 * present features (use NULL after carry_cpu_set_mask()). Threads that copy during the call use the
 * old or the new kernel. carry_sum_select() in carry/sum.h lists the errors, and says where such a
 * function must not be called.
 */
CARRY_API int carry_copy_select(const char *name);

CARRY_END_DECLS

#endif
