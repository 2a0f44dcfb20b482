/* SPDX-License-Identifier: MIT */
/*
 * Tests copies that survive page faults: copyin and copyout of kernels, with a fault at every byte
 * of the user's side. Also tests refused ranges, permissions, and single accesses.
 */
#include "harness/oracle.h"
#include "harness/tap.h"
#include "kernel.h"

#include <carry/copy.h>
#include <carry/fault.h>
#include <carry/sum.h>

#include <string.h>

#define SIZE_MAX_TESTED 320

#define USER(page, offset)   ((uint8_t *)(WINDOW_USER + (page)*PAGE_BYTES + (offset)))
#define KERNEL(page, offset) ((uint8_t *)(WINDOW_KERNEL + (page)*PAGE_BYTES + (offset)))

static bool is_user(const void *address, size_t size) {
    return (uintptr_t)address < USER_LIMIT && size <= USER_LIMIT - (uintptr_t)address;
}

/* Wraps carry_copy_try() as kernels do: checks the range, and permits access to user pages. */
static size_t copy_checked(void *dst, const void *src, const void *user, size_t size) {
    if (!is_user(user, size))
        return size;
    page_allow_user();
    size_t left = carry_copy_try(dst, src, size);
    page_forbid_user();
    return left;
}

static size_t copyin(void *dst, const void *user, size_t size) {
    return copy_checked(dst, user, user, size);
}

static size_t copyin_sum(void *dst, const void *user, size_t size, uint32_t *sum) {
    if (!is_user(user, size))
        return size;
    page_allow_user();
    size_t left = carry_sum_copy_try(dst, user, size, sum);
    page_forbid_user();
    return left;
}

static size_t copyout(void *user, const void *src, size_t size) {
    return copy_checked(user, src, user, size);
}

static uint8_t bytes[SIZE_MAX_TESTED];
static uint8_t result[SIZE_MAX_TESTED + 2];

static bool is_filled(const uint8_t *from, uint8_t value, size_t size) {
    size_t i = 0;
    while (i < size && from[i] == value)
        i++;
    return i == size;
}

/* Writes to user pages without using the library's copies. */
static void fill_user(uint8_t *user, const uint8_t *from, size_t size) {
    page_allow_user();
    for (size_t i = 0; i < size; i++)
        user[i] = from ? from[i] : 0x5a;
    page_forbid_user();
}

static bool user_equals(const uint8_t *user, const uint8_t *expected, size_t size) {
    page_allow_user();
    bool equal = !memcmp(user, expected, size);
    page_forbid_user();
    return equal;
}

/* Returns whether copyin() stops at a hole after `good` bytes of the source. */
static bool copyin_stops_at(size_t size, size_t good) {
    uint8_t *user = USER(1, PAGE_BYTES - good);
    memset(result, 0xcc, sizeof result);
    fill_user(user, bytes, good);
    size_t left = copyin(result + 1, user, size);
    return left == size - good && !memcmp(result + 1, bytes, good) && result[0] == 0xcc &&
           is_filled(result + 1 + good, 0xcc, sizeof result - 1 - good);
}

static bool copyout_stops_at(size_t size, size_t good) {
    uint8_t *user = USER(1, PAGE_BYTES - good);
    fill_user(USER(1, PAGE_BYTES - good - 1), NULL, good + 1);
    size_t left = copyout(user, bytes, size);
    return left == size - good && user_equals(user, bytes, good) &&
           user_equals(user - 1, (const uint8_t *)"\x5a", 1);
}

static void test_every_byte(const char *name, bool (*stops_at)(size_t size, size_t good)) {
    const uint64_t before = trap_fixed;
    size_t bad = 0;
    size_t faults = 0;
    for (size_t size = 0; size <= SIZE_MAX_TESTED; size += size < 80 ? 1 : 17)
        for (size_t good = 0; good <= size; good++) {
            bad += !stops_at(size, good);
            faults += good < size;
        }
    tap_ok(TAP_EQ(bad, 0), "%s: exact at every byte, %zu wrong", name, bad);
    tap_ok(TAP_GE(trap_fixed, before + faults), "%s: %lu faults for %zu copies that meet a hole",
           name, trap_fixed - before, faults);
}

/* Returns whether copyin_sum() stops as in copyin_stops_at(), and the sum of the copied bytes is
 * correct. */
static bool copyin_sum_stops_at(size_t size, size_t good) {
    uint32_t sum = 0x1234;
    struct oracle oracle = oracle_start(sum);
    for (size_t i = 0; i < good; i++)
        oracle_byte(&oracle, bytes[i]);
    fill_user(USER(1, PAGE_BYTES - good), bytes, good);
    memset(result, 0xcc, sizeof result);
    size_t left = copyin_sum(result + 1, USER(1, PAGE_BYTES - good), size, &sum);
    return left == size - good && !memcmp(result + 1, bytes, good) && result[0] == 0xcc &&
           is_filled(result + 1 + good, 0xcc, sizeof result - 1 - good) &&
           carry_sum_fold(sum) == oracle_value(&oracle);
}

static void test_sum_kernels(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++) {
        if (!kernel_is_tested(kernel.name))
            continue;
        if (carry_sum_select(kernel.name)) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing ? kernel.missing : "nothing");
            continue;
        }
        tap_note("kernel %s", kernel.name);
        test_every_byte("copyin with sum", copyin_sum_stops_at);
    }
    carry_sum_select(NULL);
}

static void test_kernels(void) {
    struct carry_copy_kernel kernel;
    for (size_t i = 0; carry_copy_kernel(i, &kernel); i++) {
        if (!kernel_is_tested(kernel.name))
            continue;
        if (carry_copy_select(kernel.name)) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing ? kernel.missing : "nothing");
            continue;
        }
        tap_note("kernel %s", kernel.name);
        test_every_byte("copyin", copyin_stops_at);
        test_every_byte("copyout", copyout_stops_at);
    }
    carry_copy_select(NULL);
}

static void test_refusals(void) {
    uint8_t word[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    page_map(WINDOW_KERNEL, 1, PAGE_WRITABLE);
    memset(KERNEL(1, 0), 0x77, 8);
    tap_ok(TAP_EQ(copyin(word, KERNEL(1, 0), 8), 8) && TAP_EQ(word[0], 1),
           "copyin refuses kernel pages");
    tap_ok(TAP_EQ(copyout(KERNEL(1, 0), word, 8), 8) && TAP_EQ(KERNEL(1, 0)[0], 0x77),
           "copyout refuses kernel pages");
    tap_ok(TAP_EQ(copyin(word, (void *)(USER_LIMIT - 4), 8), 8),
           "copyin refuses ranges that extend into the kernel");
    tap_ok(TAP_EQ(copyin(word, USER(1, 0), SIZE_MAX), SIZE_MAX),
           "copyin refuses sizes that wrap around");
    page_unmap(WINDOW_KERNEL, 1);

    page_map(WINDOW_USER, 3, PAGE_USER);
    tap_ok(TAP_EQ(copyout(USER(3, 0), word, 8), 8), "a read-only page is not written to");
    page_unmap(WINDOW_USER, 3);
    tap_ok(TAP_EQ(carry_copy_try(word, (void *)UINT64_C(0x8000000000000000), 8), 8),
           "a copy survives a non-canonical address");
    if (!page_protects_user())
        tap_skip("SMAP or PAN", "this CPU lacks it");
    else
        tap_ok(TAP_EQ(carry_copy_try(word, USER(1, 0), 8), 8) && TAP_EQ(word[0], 1),
               "SMAP or PAN: without permission no user page is read");
}

static bool is_forbidden;

static bool look_at_flags(struct trap_frame *frame) {
    is_forbidden = trap_had_leave(frame) && !page_has_leave();
    trap_pass_breakpoint(frame);
    return true;
}

/* Tests that only the code that obtained the permission has it, and not the handler of its trap. */
static void test_trap(void) {
    if (!page_protects_user()) {
        tap_skip("SMAP or PAN in handlers", "this CPU lacks it");
        return;
    }
    trap_handler *before = trap_set(TRAP_BREAKPOINT, look_at_flags);
    page_allow_user();
    trap_breakpoint();
    bool is_allowed = page_has_leave();
    page_forbid_user();
    trap_set(TRAP_BREAKPOINT, before);
    tap_ok(TAP_TRUE(is_forbidden) && TAP_TRUE(is_allowed),
           "a handler lacks the permission, and the interrupted code has it again");
}

/* Tests that single accesses succeed whole, or not at all. */
static void test_words(void) {
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint8_t *hole = KERNEL(2, 0);
    size_t wrong = 0;
    page_map(WINDOW_KERNEL, 1, PAGE_WRITABLE);
    memset(hole - 8, 0x11, 8);
    for (size_t size = 1; size <= 8; size *= 2) {
        uint64_t word = 7;
        wrong += !carry_read_try(&word, hole - size, size) || memcmp(&word, &ones, size);
        wrong += !carry_write_try(hole - size, &ones, size);
        word = 7;
        wrong += carry_read_try(&word, hole - size + 1, size) || word != 7;
        wrong += carry_write_try(hole - size + 1, &word, size) || memcmp(hole - 8, &ones, 8);
    }
    tap_ok(TAP_EQ(wrong, 0),
           "carry_read_try(), carry_write_try() reach up to a hole, never across it: %zu wrong",
           wrong);
    tap_ok(TAP_EQ(carry_load_zeropad(hole - 2), 0x1111), "carry_load_zeropad() pads");
    page_unmap(WINDOW_KERNEL, 1);
}

void test_copy(void);
void test_copy(void) {
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    page_map(WINDOW_USER, 1, PAGE_USER | PAGE_WRITABLE);
    test_kernels();
    test_refusals();
    test_trap();
    test_sum_kernels();
    test_words();
    page_unmap(WINDOW_USER, 1);
}
