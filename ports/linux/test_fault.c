/* SPDX-License-Identifier: MIT */
/* Tests copies with a fault at every byte, for the kernel's own memory and for a process's memory.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <net/checksum.h>

#include "carry_linux.h"
#include "selftest.h"

#define UNTOUCHED 0xcc
#define MARGIN    8
#define SIZE_LAST 4700 /* larger than a section and a page */
#define SEED      0x1234u

/*
 * Iterates over copies that meet a hole after `good` of `size` bytes. Covers every value of `good`
 * for the sizes that kernels treat specially, and some values for larger sizes.
 */
static bool next_case(size_t *size, size_t *good) {
    *good += *size <= 72 ? 1 : 31;
    if (*good > *size) {
        *good = 0;
        *size += *size < 72 ? 1 : *size < 700 ? 67 : 2000;
    }
    return *size <= SIZE_LAST;
}

#define for_each_case(size, good) for (size_t size = 0, good = 0; next_case(&size, &good);)

struct memory {
    u8 from[SIZE_LAST];
    u8 to[MARGIN + SIZE_LAST + MARGIN];
    u8 *area; /* pages, followed by an unmapped guard page */
    u8 *hole;
};

static void free_memory(struct memory *memory) {
    if (memory)
        vfree(memory->area);
    kvfree(memory);
}

static struct memory *new_memory(struct carry_test *test) {
    struct memory *memory = kvzalloc(sizeof *memory, GFP_KERNEL);

    if (memory)
        memory->area = vmalloc(2 * PAGE_SIZE);
    if (!memory || !memory->area) {
        carry_test_fail(test, "no memory");
        free_memory(memory);
        return NULL;
    }
    memory->hole = memory->area + 2 * PAGE_SIZE;
    carry_test_fill(memory->from, sizeof memory->from);
    return memory;
}

/* --- The kernel's own memory --- */

/* A form of a kernel that survives faults, or a function of the module. */
struct way {
    const char *name;
    carry_copy_try_fn *copy;
    carry_sum_copy_try_fn *sum_copy; /* used if `copy` is NULL */
    bool in_section;
};

static size_t copy_by_way(struct carry_test *test, const struct way *way, void *dst,
                          const void *src, size_t size) {
    struct carry_sum_tried tried;

    if (way->in_section)
        machine_begin();
    if (way->copy)
        tried.left = way->copy(dst, src, size);
    else
        tried = way->sum_copy(dst, src, size, SEED);
    if (way->in_section)
        machine_end();

    if (!way->copy && !tried.left)
        carry_expect(test,
                     csum_fold((__force __wsum)(u32)tried.sum) ==
                         csum_fold(csum_partial(src, size, (__force __wsum)SEED)),
                     "%s of %zu bytes: sum %llx", way->name, size, tried.sum);
    return tried.left;
}

static void check_loads(struct carry_test *test, struct memory *memory, const struct way *way) {
    for_each_case(size, good) {
        u8 *from = memory->hole - good, *to = memory->to + MARGIN;
        size_t left;

        memcpy(from, memory->from, good);
        memset(memory->to, UNTOUCHED, sizeof memory->to);
        left = copy_by_way(test, way, to, from, size);
        carry_expect(test, left == size - good, "%s of %zu bytes, %zu to read: %zu left", way->name,
                     size, good, left);
        carry_expect(test,
                     !memcmp(to, from, good) && !memchr_inv(memory->to, UNTOUCHED, MARGIN) &&
                         !memchr_inv(to + good, UNTOUCHED, SIZE_LAST - good + MARGIN),
                     "%s of %zu bytes, %zu to read: other bytes", way->name, size, good);
    }
}

static void check_stores(struct carry_test *test, struct memory *memory, const struct way *way) {
    for_each_case(size, good) {
        u8 *to = memory->hole - good;
        size_t left;

        memset(to - MARGIN, UNTOUCHED, good + MARGIN);
        left = copy_by_way(test, way, to, memory->from, size);
        carry_expect(test, left == size - good, "%s of %zu bytes, %zu to write: %zu left",
                     way->name, size, good, left);
        carry_expect(test,
                     !memcmp(to, memory->from, good) && !memchr_inv(to - MARGIN, UNTOUCHED, MARGIN),
                     "%s of %zu bytes, %zu to write: other bytes", way->name, size, good);
    }
}

static void check_way(struct carry_test *test, struct memory *memory, const struct way *way) {
    check_loads(test, memory, way);
    check_stores(test, memory, way);
    cond_resched();
}

/* Checks that single accesses succeed whole, or not at all. */
static void check_words(struct carry_test *test, struct memory *memory) {
    static const u8 ones[8] = {[0 ... 7] = 0x11};
    size_t size;

    memset(memory->hole - 8, 0x11, 8);
    for (size = 1; size <= 8; size *= 2) {
        u8 word[8] = {};

        carry_expect(test,
                     carry_read_try(word, memory->hole - size, size) && !memcmp(word, ones, size),
                     "%zu bytes before a hole are not read", size);
        carry_expect(test, carry_write_try(memory->hole - size, ones, size),
                     "%zu bytes before a hole are not written", size);
        carry_expect(test, !carry_read_try(word, memory->hole - size + 1, size),
                     "%zu bytes are read over a hole", size);
        carry_expect(test,
                     !carry_write_try(memory->hole - size + 1, word, size) &&
                         !memcmp(memory->hole - 8, ones, 8),
                     "%zu bytes are written over a hole", size);
    }
    carry_expect(test, carry_load_zeropad(memory->hole - 2) == 0x1111, "zeros do not pad a load");
}

void carry_test_fault(struct carry_test *test) {
    struct memory *memory = new_memory(test);
    const struct carry_copy_forms *forms;
    size_t i = 0;

    if (!memory)
        return;
    while ((forms = carry_test_next_copy(&i)))
        check_way(test, memory,
                  &(struct way){forms->name, .copy = forms->copy_try, .in_section = true});
    check_way(test, memory, &(struct way){"module", .copy = carry_copy_try});
    check_words(test, memory);
    free_memory(memory);
}

void carry_test_fault_sum(struct carry_test *test) {
    struct memory *memory = new_memory(test);
    const struct carry_sum_forms *forms;
    size_t i = 0;

    if (!memory)
        return;
    while ((forms = carry_test_next_sum(&i)))
        check_way(test, memory,
                  &(struct way){forms->name, .sum_copy = forms->copy_try, .in_section = true});
    check_way(test, memory, &(struct way){"module", .sum_copy = carry_sum_copy_try_call});
    free_memory(memory);
}

/* --- carry_copy_from_kernel_nofault() --- */

static void check_refused(struct carry_test *test, struct memory *memory, unsigned long address,
                          size_t size) {
    size_t left = carry_copy_from_kernel_nofault(memory->to, (const void *)address, size);

    carry_expect(test, left == size, "%zu bytes at %lx: %zu left", size, address, left);
}

void carry_test_nofault(struct carry_test *test) {
    static const struct { unsigned long start, size; } machine_refuses[] = MACHINE_REFUSES;
    struct memory *memory = new_memory(test);
    size_t i;

    if (!memory)
        return;
    check_loads(test, memory, &(struct way){"nofault", .copy = carry_copy_from_kernel_nofault});
    check_refused(test, memory, 0, 8);
    check_refused(test, memory, TASK_SIZE_MAX - 8, 8);
    check_refused(test, memory, 1ul << 63, 8); /* not canonical */
    for (i = 0; i < ARRAY_SIZE(machine_refuses); i++)
        check_refused(test, memory, machine_refuses[i].start, machine_refuses[i].size);
    check_refused(test, memory, -4ul, 8);
    free_memory(memory);
}

/* --- A process's memory --- */

/*
 * Checks that memory of processes is inaccessible again. Called right after the copy: Linux's own
 * copies also end the access, and would hide the defect.
 */
static void check_out_of_reach(struct carry_test *test) {
    carry_expect(test, !machine_reaches_user(), "memory of processes stays in reach");
}

/*
 * Maps pages in the process that reads the file, followed by a hole. Returns their address or an
 * error.
 */
static unsigned long map_user(unsigned long pages, unsigned long protection) {
    unsigned long start =
        vm_mmap(NULL, 0, (pages + 1) * PAGE_SIZE, protection, MAP_PRIVATE | MAP_ANONYMOUS, 0);

    if (!IS_ERR_VALUE(start))
        vm_munmap(start + pages * PAGE_SIZE, PAGE_SIZE);
    return start;
}

static void unmap_user(unsigned long start, unsigned long pages) {
    if (!IS_ERR_VALUE(start))
        vm_munmap(start, pages * PAGE_SIZE);
}

static void check_from_user(struct carry_test *test, struct memory *memory, u8 __user *hole) {
    for_each_case(size, good) {
        u8 *to = memory->to + MARGIN;
        size_t left;
        __wsum sum;

        memset(memory->to, UNTOUCHED, sizeof memory->to);
        left = carry_copy_from_user(to, hole - good, size);
        check_out_of_reach(test);
        carry_expect(test, left == size - good, "%zu bytes, %zu to read: %zu left", size, good,
                     left);
        carry_expect(test,
                     !memcmp(to, memory->hole - good, good) && !memchr_inv(to + good, 0, left) &&
                         !memchr_inv(to + size, UNTOUCHED, MARGIN),
                     "%zu bytes, %zu to read: other bytes", size, good);

        sum = carry_csum_and_copy_from_user(hole - good, to, size);
        check_out_of_reach(test);
        carry_expect(test,
                     good < size
                         ? !sum
                         : csum_fold(sum) == csum_fold(csum_partial(to, size, (__force __wsum)~0u)),
                     "%zu bytes, %zu to read: sum %x", size, good, (__force u32)sum);
    }
}

static void check_to_user(struct carry_test *test, struct memory *memory, u8 __user *hole) {
    for_each_case(size, good) {
        size_t left = carry_copy_to_user(hole - good, memory->from, size);

        check_out_of_reach(test);
        carry_expect(test, left == size - good, "%zu bytes, %zu to write: %zu left", size, good,
                     left);
        carry_expect(test,
                     !copy_from_user(memory->to, hole - good, good) &&
                         !memcmp(memory->to, memory->from, good),
                     "%zu bytes, %zu to write: other bytes", size, good);
    }
}

/* Checks refused addresses: memory that is not the process's, or that is read-only. */
static void check_user_refused(struct carry_test *test, struct memory *memory,
                               u8 __user *readable) {
    static const u8 zeros[8];
    u8 word[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    u8 __user *kernel = (__force u8 __user *)memory->from;

    carry_expect(test, carry_copy_to_user(kernel, zeros, 8) == 8 && memory->from[0],
                 "memory of the kernel is written to for a process");
    carry_expect(test, carry_copy_to_user(readable, zeros, 8) == 8,
                 "read-only memory is written to");
    carry_expect(test, carry_copy_from_user(word, kernel, 8) == 8 && !memcmp(word, zeros, 8),
                 "memory of the kernel is read for a process");
    carry_expect(test, !carry_csum_and_copy_from_user(kernel, word, 8) && !memcmp(word, zeros, 8),
                 "memory of the kernel is read and summed for a process");
    carry_expect(test, carry_copy_from_user(word, (u8 __user *)TASK_SIZE_MAX - 4, 8) == 8,
                 "a range into the kernel is read");
}

void carry_test_user(struct carry_test *test) {
    struct memory *memory = new_memory(test);
    unsigned long pages, readable;

    if (!memory)
        return;
    pages = map_user(2, PROT_READ | PROT_WRITE);
    readable = map_user(1, PROT_READ);
    if (IS_ERR_VALUE(pages) || IS_ERR_VALUE(readable)) {
        carry_test_fail(test, "no memory of the process");
    } else {
        u8 __user *hole = (u8 __user *)pages + 2 * PAGE_SIZE;

        /*
         * The pages are not yet present. Sections cannot wait for them, and leave them to the
         * scalar kernel, which may sleep.
         */
        carry_test_fill(memory->area, 2 * PAGE_SIZE);
        carry_expect(test, !carry_copy_to_user((u8 __user *)pages, memory->area, 2 * PAGE_SIZE),
                     "pages that are not there yet are not written");
        check_from_user(test, memory, hole);
        check_to_user(test, memory, hole);
        check_user_refused(test, memory, (u8 __user *)readable);
    }
    unmap_user(readable, 1);
    unmap_user(pages, 2);
    free_memory(memory);
}
