/* SPDX-License-Identifier: MIT */
/* Tests faults on AArch64: tags of addresses and memory, landing pads, SVE and SME. */
#include <carry/fault.h>
#include <carry/sum.h>

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "copy/copy_fault.h"
#include "harness/child.h"
#include "harness/guard.h"
#include "harness/recover.h"
#include "harness/rng.h"
#include "harness/tap.h"

/*
 * Defined as in Linux: arch/arm64/include/uapi/asm/hwcap.h and mman.h, include/uapi/linux/prctl.h.
 */
#define HAS_SVE        (getauxval(AT_HWCAP) >> 22 & 1)
#define HAS_BTI        (getauxval(AT_HWCAP2) >> 17 & 1)
#define HAS_MTE        (getauxval(AT_HWCAP2) >> 18 & 1)
#define HAS_SME        (getauxval(AT_HWCAP2) >> 23 & 1)
#define GUARDED        0x10
#define CHECKED        0x20
#define SET_TAGS       55
#define TAGS_AT_ONCE   (1 | 1 << 1 | 0xfffe << 3)
#define PAGE_BYTES     ((size_t)4096)
#define GRANULE_BYTES  ((size_t)16)
#define VECTOR_BYTES   256
#define REGISTER_BYTES (32 * VECTOR_BYTES + 17 * VECTOR_BYTES / 8)

/* --- Addresses with a tag --- */

static void *tag_address(const volatile void *address) {
    return (void *)((uintptr_t)address | recover_tag);
}

static volatile unsigned char sink;

static void test_tagged_addresses(void) {
    struct guard guard = guard_open(PAGE_BYTES);
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct carry_fault_frame frame;
    volatile bool told = false;
    tap_ok(TAP_TRUE(carry_write_try(tag_address(guard.end - 8), value, 8)) &&
               TAP_MEMEQ(guard.end - 8, value, 8) &&
               TAP_TRUE(!carry_write_try(tag_address(guard.end - 4), value, 8)) &&
               TAP_MEMEQ(guard.end - 8, value, 8) &&
               TAP_TRUE(!carry_read_try(value, tag_address(guard.end - 4), 8)),
           "accesses work with tagged addresses");
    if (carry_fault_enter(&frame) == 0) {
        sink = *(volatile unsigned char *)tag_address(guard.end);
        carry_fault_leave(&frame);
    } else {
        told = TAP_EQ(frame.address, (void *)guard.end);
    }
    tap_ok(told, "a frame reports the address without its tag");
    guard_close(&guard);
}

/* --- A store across the end of a page, which CPUs split: either page may be missing --- */

static bool writes_none(unsigned char *start, size_t missing, size_t at) {
    static const unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char before[2 * PAGE_BYTES];
    memcpy(before, start, sizeof before);
    mprotect(start + missing, PAGE_BYTES, PROT_READ);
    bool ok = !carry_write_try(start + at, value, sizeof value);
    mprotect(start + missing, PAGE_BYTES, PROT_READ | PROT_WRITE);
    return ok && !memcmp(before, start, sizeof before) &&
           carry_write_try(start + at, value, sizeof value) &&
           !memcmp(start + at, value, sizeof value);
}

static void test_split_stores(void) {
    struct guard guard = guard_open(2 * PAGE_BYTES);
    bool ok = true;
    rng_fill(guard.start, 2 * PAGE_BYTES);
    for (size_t in_first = 1; ok && in_first < 8; in_first++)
        ok = TAP_TRUE(writes_none(guard.start, 0, PAGE_BYTES - in_first)) &&
             TAP_TRUE(writes_none(guard.start, PAGE_BYTES, PAGE_BYTES - in_first));
    tap_ok(ok, "a write across the end of a page succeeds whole, or not at all");
    guard_close(&guard);
}

/* --- Registers of SVE --- */

void vectors_around(unsigned char *before, unsigned char *after,
                    bool (*access)(void *value, const void *src, size_t size));

static void test_sve(void) {
    static unsigned char before[REGISTER_BYTES], after[REGISTER_BYTES];
    if (!HAS_SVE) {
        tap_skip("registers of SVE", "this CPU has none");
        return;
    }
    memset(after, 0xee, sizeof after);
    memset(before, 0xee, sizeof before);
    vectors_around(before, after, carry_read_once);
    tap_ok(TAP_MEMEQ(before, after, sizeof before) && TAP_NE(before[1], before[0]),
           "after a fault all registers of SVE are unchanged");
}

/* --- Streaming mode --- */

static __attribute__((noinline)) void fault_streaming(void) {
    __asm__ volatile(".inst 0xd503437f\n\t" /* smstart sm */
                     "ldr w0, [%0]"
                     :
                     : "r"(8UL)
                     : "x0", "memory");
}

static bool is_streaming(void) {
    uint64_t svcr;
    __asm__ volatile("mrs %0, s3_3_c4_c2_2" : "=r"(svcr));
    return svcr & 1;
}

static bool frame_leaves_streaming(void) {
    struct carry_fault_frame frame;
    int faulted = carry_fault_enter(&frame);
    if (!faulted)
        fault_streaming();
    return faulted == 1 && !is_streaming();
}

static void test_streaming(void) {
    if (!HAS_SME) {
        tap_skip("streaming mode", "this CPU has none");
        return;
    }
    tap_ok(child_says(NULL, frame_leaves_streaming), "a frame leaves streaming mode");
}

/* --- Landing pads --- */

typedef int code(const int *address, uintptr_t target);

static uintptr_t place_code(const uint32_t *instructions, int protection) {
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, instructions, 2 * sizeof *instructions);
    __builtin___clear_cache(page, (char *)page + 2 * sizeof *instructions);
    return mprotect(page, PAGE_BYTES, protection) ? 0 : (uintptr_t)page;
}

/*
 * Checks that execution resumes in a guarded page. The faulting instruction is on an unguarded
 * page, and is the first one after a branch that needs BTI J on guarded pages.
 */
static bool resumes_in_guarded_page(void) {
    static const uint32_t load[] = {0xb9400000, 0xd65f03c0};   /* ldr w0, [x0]; ret */
    static const uint32_t branch[] = {0xd503245f, 0xd61f0020}; /* bti c; br x1 */
    const uintptr_t open = place_code(load, PROT_READ | PROT_EXEC);
    const uintptr_t guarded = place_code(branch, PROT_READ | PROT_EXEC | GUARDED);
    char *resume = (char *)((uintptr_t)carry_fault_resume & -PAGE_BYTES);
    struct carry_fault_frame frame;
    if (!open || !guarded || mprotect(resume, PAGE_BYTES, PROT_READ | PROT_EXEC | GUARDED))
        return false;
    int faulted = carry_fault_enter(&frame);
    if (!faulted)
        ((code *)guarded)(NULL, open);
    return faulted == 1;
}

static void test_landing_pads(void) {
    if (!HAS_BTI) {
        tap_skip("landing pads", "this CPU needs none");
        return;
    }
    tap_ok(child_says(NULL, resumes_in_guarded_page), "a frame continues where BTI is enabled");
}

/* --- Tags of memory --- */

static __attribute__((target("arch=armv8.5-a+memtag"))) void set_tag(unsigned char *granule) {
    __asm__ volatile("stg %0, [%0]" : : "r"((uintptr_t)granule | UINT64_C(1) << 56) : "memory");
}

static bool tag_stops(size_t (*copy)(void *dst, const void *src, size_t size), unsigned char *page,
                      size_t at) {
    unsigned char whole[PAGE_BYTES / 2], read[PAGE_BYTES / 2];
    const size_t good = PAGE_BYTES / 4 - at, size = good + 200;
    rng_fill(whole, sizeof whole);
    memset(read, 0xee, sizeof read);
    return copy(page + at, whole, size) == size - good && !memcmp(page + at, whole, good) &&
           copy(read, page + at, size) == size - good && !memcmp(read, whole, good) &&
           read[good] == 0xee;
}

static size_t sum_and_copy(void *dst, const void *src, size_t size) {
    uint32_t sum = 0;
    return carry_sum_copy_try(dst, src, size, &sum);
}

static void test_tagged_memory(void) {
    bool ok = true;
    if (!HAS_MTE || prctl(SET_TAGS, TAGS_AT_ONCE, 0, 0, 0)) {
        tap_skip("tags of memory", "this CPU or system has none");
        return;
    }
    unsigned char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | CHECKED,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_tag(page + PAGE_BYTES / 4);
    for (size_t at = PAGE_BYTES / 4 - 10 * GRANULE_BYTES; ok && at <= PAGE_BYTES / 4; at++)
        ok = TAP_TRUE(tag_stops(carry_copy_try, page, at)) &&
             TAP_TRUE(tag_stops(sum_and_copy, page, at));
    tap_ok(ok, "a copy ends at the first byte with another tag");
    munmap(page, PAGE_BYTES);
}

int main(void) {
    tap_ok(TAP_EQ(carry_fault_acquire(), CARRY_OK), "handlers are installed");
    test_tagged_addresses();
    test_split_stores();
    test_sve();
    test_streaming();
    test_landing_pads();
    test_tagged_memory();
    carry_fault_release();
    return tap_done();
}
