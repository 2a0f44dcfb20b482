/* SPDX-License-Identifier: MIT */
/*
 * Calls the kernels, in place of the core's functions with sites: vector kernels in a section of
 * Linux where that is allowed and faster, or else scalar kernels; plain copies then use Linux's
 * memcpy(). So every operation of the core may be called in any context.
 *
 * Static calls hold the chosen vector kernels: a module may not write text, but Linux rewrites
 * static calls for it. The core's own operations keep scalar kernels, because the core calls them
 * in any context.
 */
#define pr_fmt(text) KBUILD_MODNAME ": " text

#include <linux/hardirq.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "carry_module.h"

size_t carry_thresholds[CARRY_OPERATIONS] __read_mostly = {
    [0 ... CARRY_OPERATIONS - 1] = SIZE_MAX,
};

DEFINE_STATIC_CALL(vector_sum, carry_sum_scalar);
DEFINE_STATIC_CALL(vector_sum_copy, carry_sum_copy_scalar);
DEFINE_STATIC_CALL(vector_sum_copy_try, carry_sum_copy_try_scalar);
DEFINE_STATIC_CALL(vector_copy, carry_copy_generic);
DEFINE_STATIC_CALL(vector_copy_try, carry_copy_try_generic);
DEFINE_STATIC_CALL(vector_crc32c, carry_crc32c_generic);

/* Does not call irq_fpu_usable() in an NMI: Linux would warn. */
bool carry_vectors_usable(void) {
    return !in_nmi() && machine_is_usable();
}

DEFINE_PER_CPU(unsigned long, carry_refusals);

static bool takes_vectors(enum carry_operation operation, size_t size) {
    if (size < READ_ONCE(carry_thresholds[operation]))
        return false;
    if (carry_vectors_usable())
        return true;
    this_cpu_inc(carry_refusals);
    return false;
}

/* Begins a section. BREAKS_SECTION is 1 in the mutant whose sections save nothing. */
static void section_begin(void) {
    if (BREAKS_SECTION)
        preempt_disable();
    else
        machine_begin();
}

static void section_end(void) {
    if (BREAKS_SECTION)
        preempt_enable();
    else
        machine_end();
}

static size_t begin_part(size_t left) {
    if (left)
        section_begin();
    return min(left, CARRY_SECTION_BYTES);
}

/* Runs its body in one section after another, each time for the `part` bytes from `at` on, until
 * all `size` bytes are done. */
#define for_each_section(at, part, size)                                                           \
    for (size_t at = 0, part; (part = begin_part((size)-at)) != 0; section_end(), at += part)

uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum) {
    if (!takes_vectors(CARRY_SUM, size))
        return carry_sum_scalar(data, size, sum);
    for_each_section(at, part, size) {
        sum = static_call(vector_sum)(data + at, part, sum);
    }
    return sum;
}

uint32_t carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum) {
    if (!takes_vectors(CARRY_SUM_COPY, size))
        return carry_sum_copy_scalar(dst, src, size, sum);
    for_each_section(at, part, size) {
        sum = static_call(vector_sum_copy)(dst + at, src + at, part, sum);
    }
    return sum;
}

uint32_t carry_crc32c(const void *data, size_t size, uint32_t crc) {
    if (!takes_vectors(CARRY_CRC32C, size))
        return carry_crc32c_generic(data, size, crc);
    for_each_section(at, part, size) {
        crc = static_call(vector_crc32c)(data + at, part, crc);
    }
    return crc;
}

void carry_copy(void *dst, const void *src, size_t size) {
    if (!takes_vectors(CARRY_COPY, size)) {
        memcpy(dst, src, size);
        return;
    }
    for_each_section(at, part, size) {
        static_call(vector_copy)(dst + at, src + at, part);
    }
}

void carry_copy_move(void *dst, const void *src, size_t size) {
    memmove(dst, src, size);
}

/* --- Copies that survive faults --- */

/*
 * Copies in one section. Does not read in missing pages, because a section may not sleep. Returns
 * the number of bytes left.
 */
static size_t copy_try_section(void *dst, const void *src, size_t size, bool user) {
    size_t left;

    section_begin();
    pagefault_disable();
    machine_reach_user(user);
    left = static_call(vector_copy_try)(dst, src, size);
    machine_leave_user(user);
    pagefault_enable();
    section_end();
    return left;
}

static size_t copy_try_in_sections(void *dst, const void *src, size_t size, bool user) {
    size_t done = 0, left = 0;

    while (done < size && !left) {
        size_t part = min(size - done, CARRY_SECTION_BYTES);
        left = copy_try_section(dst + done, src + done, part, user);
        done += part - left;
    }
    return size - done;
}

/* Copies in sections, and retries the remaining bytes with the scalar kernel. This may sleep to
 * read in pages, if the caller may sleep. */
size_t carry_copy_try_any(void *dst, const void *src, size_t size, bool user) {
    size_t left = size;

    if (takes_vectors(CARRY_COPY, size))
        left = copy_try_in_sections(dst, src, size, user);
    if (!left)
        return 0;
    machine_reach_user(user);
    left = carry_copy_try_generic(dst + size - left, src + size - left, left);
    machine_leave_user(user);
    return left;
}

size_t carry_copy_try_call(void *dst, const void *src, size_t size) {
    return carry_copy_try_any(dst, src, size, false);
}

static struct carry_sum_tried sum_copy_try_section(void *dst, const void *src, size_t size,
                                                   uint32_t sum, bool user) {
    struct carry_sum_tried tried;

    section_begin();
    pagefault_disable();
    machine_reach_user(user);
    tried = static_call(vector_sum_copy_try)(dst, src, size, sum);
    machine_leave_user(user);
    pagefault_enable();
    section_end();
    return tried;
}

static struct carry_sum_tried sum_copy_try_in_sections(void *dst, const void *src, size_t size,
                                                       uint32_t sum, bool user) {
    struct carry_sum_tried tried = {.left = 0, .sum = sum};
    size_t done = 0;

    while (done < size && carry_sum_is_known(&tried)) {
        size_t part = min(size - done, CARRY_SECTION_BYTES);
        tried = sum_copy_try_section(dst + done, src + done, part, (u32)tried.sum, user);
        done += part - tried.left;
    }
    tried.left = size - done;
    return tried;
}

/* Copies and sums in sections. After a fault, the sum is unknown: the scalar kernel starts again
   from the first byte. */
struct carry_sum_tried carry_sum_copy_try_any(void *dst, const void *src, size_t size, uint32_t sum,
                                              bool user) {
    struct carry_sum_tried tried = {.left = size};

    if (takes_vectors(CARRY_SUM_COPY, size))
        tried = sum_copy_try_in_sections(dst, src, size, sum, user);
    if (carry_sum_is_known(&tried))
        return tried;
    machine_reach_user(user);
    tried = carry_sum_copy_try_scalar(dst, src, size, sum);
    machine_leave_user(user);
    return tried;
}

struct carry_sum_tried carry_sum_copy_try_call(void *dst, const void *src, size_t size,
                                               uint32_t sum) {
    return carry_sum_copy_try_any(dst, src, size, sum, false);
}

/* --- The choice --- */

struct carry_choice carry_choices[CARRY_TABLES];

/* Selects the kernel that a parameter names; `name` is empty if the parameter is not given. Returns
 * 0, or -EINVAL after a message. */
static int choose_kernel(int (*select)(const char *name), const char *what, const char *name) {
    if (!select(*name ? name : NULL))
        return 0;
    pr_err("%s=%s: there is no such kernel, or this CPU lacks what it needs\n", what, name);
    return -EINVAL;
}

/*
 * Lets the core choose the kernels, copies its choice to the static calls, and resets the core to
 * scalar kernels.
 */
int carry_choose(const char *sum, const char *copy, const char *crc32c) {
    struct carry_sum_kernel sums;
    struct carry_copy_kernel copies;
    size_t i;

    if (carry_cpu_host_mask_error()) {
        pr_err("mask=: there is no such feature\n");
        return -EINVAL;
    }
    if (choose_kernel(carry_sum_select, "sum", sum) ||
        choose_kernel(carry_copy_select, "copy", copy) ||
        choose_kernel(carry_crc32c_select, "crc32c", crc32c))
        return -EINVAL;

    static_call_update(vector_sum, carry_get(carry_sum));
    static_call_update(vector_sum_copy, carry_get(carry_sum_copy));
    static_call_update(vector_sum_copy_try,
                       (carry_sum_copy_try_fn *)carry_op_carry_sum_copy_try.value);
    static_call_update(vector_copy, carry_get(carry_copy));
    static_call_update(vector_copy_try, carry_get(carry_copy_try));
    static_call_update(vector_crc32c, carry_get(carry_crc32c));

    for (i = 0; carry_sum_kernel(i, &sums); i++)
        if (sums.chosen)
            carry_choices[CARRY_SUMS] = (struct carry_choice){sums.name, sums.vector_bits > 64};
    for (i = 0; carry_copy_kernel(i, &copies); i++)
        if (copies.chosen)
            carry_choices[CARRY_COPIES] =
                (struct carry_choice){copies.name, copies.vector_bits > 64};
    for (i = 0; carry_crc32c_kernel(i, &sums); i++)
        if (sums.chosen)
            carry_choices[CARRY_CRCS] = (struct carry_choice){sums.name, sums.vector_bits > 64};

    if (carry_sum_select(MACHINE_SCALAR) || carry_copy_select("generic") ||
        carry_crc32c_select("generic"))
        return -EINVAL;
    return 0;
}
