/* SPDX-License-Identifier: MIT */
/*
 * Copies of bytes.
 *
 *     carry_copy(dst, src, size);             // the ranges do not overlap
 *     carry_copy_move(dst, src, size);        // they may
 *     carry_copy_stream(dst, src, size);      // and dst will not be read again soon
 *
 * Contract shared by all functions here:
 *  - sizes are in bytes, and every size from 0 on is allowed;
 *  - pointers need no alignment; with size 0 they may be NULL;
 *  - nothing outside [src, src + size) is read and nothing outside [dst, dst + size) written,
 *    whatever the kernel; a byte may be read or written more than once;
 *  - nothing allocates, locks or keeps state, except carry_copy_select(): callable from any thread
 *    and from signal handlers; in kernels, inside a section that allows the chosen kernel's
 *    registers.
 *
 * In no order do other threads see the bytes arrive: publish them by a release store behind the
 * copy, as behind any store.
 */
#ifndef CARRY_COPY_H
#define CARRY_COPY_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

struct carry_key;

/* Copies `size` bytes from `src` to `dst`, which do not overlap, by the kernel chosen for this CPU.
 * Ranges that are the same count as overlapping. */
CARRY_API void carry_copy(void *dst, const void *src, size_t size);

/* The same for ranges that may overlap in any way: `dst` gets what `src` held before. */
CARRY_API void carry_copy_move(void *dst, const void *src, size_t size);

/*
 * carry_copy() for much data that this CPU will not read again soon: sizes large enough for it to
 * pay are written past the caches, which keep what they hold. Where the next reader is this CPU,
 * carry_copy() is faster.
 *
 * Such stores are weakly ordered, but none is left behind: the function ends with the fence that
 * they need (SFENCE). When it returns they stand before every later store of this thread, as
 * those of carry_copy() do, so a release store publishes them too.
 */
CARRY_API void carry_copy_stream(void *dst, const void *src, size_t size);

/*
 * The operation behind carry_copy(), for programs that have its calls patched in their own text:
 * see CARRY_OP_IMPORT in <carry/patch.h>.
 *
 *     CARRY_OP(void, carry_copy, void *, const void *, size_t);
 *     CARRY_OP_IMPORT(carry_copy);
 *     carry_call(carry_copy)(dst, src, size);
 */
typedef void carry_fn_carry_copy(void *dst, const void *src, size_t size);
CARRY_API extern struct carry_key *const carry_op_carry_copy_export;

/* --- Kernels: which there are, which was chosen, and why; as in carry/sum.h --- */

typedef void carry_copy_fn(void *dst, const void *src, size_t size);

struct carry_copy_kernel {
    const char *name;     /* "avx512" */
    carry_copy_fn *copy;  /* same contract as carry_copy(); call it only if available */
    const char *missing;  /* the first feature it lacks here, or NULL if it is available */
    unsigned vector_bits; /* width of the widest register it uses; 64 for scalar code */
    const char *against;  /* the first preference it wants that this CPU lacks, or NULL; if set,
                             the kernel is used only when it is selected by name */
    bool chosen;          /* what carry_copy() calls */
};

/* The name of the CPU feature number `need` that kernel `index` needs; NULL beyond the last. */
CARRY_API const char *carry_copy_kernel_need(size_t index, size_t need);

/* Describes kernel `index`, in order from the most portable to the best; false beyond the last. */
CARRY_API bool carry_copy_kernel(size_t index, struct carry_copy_kernel *kernel);

/*
 * Chooses the kernel called by all functions here: by name, or with NULL the best by the present
 * features (call it so after carry_cpu_set_mask()). Threads that copy meanwhile use the old or the
 * new one. Errors, and where it must not be called, as carry_sum_select() says in carry/sum.h.
 */
CARRY_API int carry_copy_select(const char *name);

CARRY_END_DECLS

#endif
