/* SPDX-License-Identifier: MIT */
/*
 * Tests `sum`: every kernel with every check, the functions around them, and the choice among them.
 */
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>
#include <carry/patch.h>
#include <carry/sum.h>

#include "harness/call.h"
#include "harness/check_choice.h"
#include "harness/check_parts.h"
#include "harness/check_sum.h"
#include "harness/child.h"
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define DATA_BYTES 4096

static const struct effort *effort;
static unsigned char data[DATA_BYTES];

/* Tests the functions around the kernels, after `kernel` has been chosen. */
static void test_functions_by(const char *kernel) {
    tap_ok(TAP_EQ(carry_sum_select(kernel), CARRY_OK), "%s is selected", kernel);
    struct verdict verdict = check_iov(carry_sum_iov, effort);
    verdict_report(&verdict, "carry_sum_iov by %s", kernel);
    verdict = check_burst(carry_sum_burst, effort);
    verdict_report(&verdict, "carry_sum_burst by %s", kernel);
    verdict = check_combine(carry_sum_combine, effort);
    verdict_report(&verdict, "carry_sum_combine by %s", kernel);
}

static void test_kernels(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++) {
        if (kernel.missing) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
            continue;
        }
        sum_check_all(&oracle_internet, kernel.sum, effort, kernel.name);
        test_functions_by(kernel.name);
    }
    tap_ok(TAP_EQ(carry_sum_select(NULL), CARRY_OK), "the best kernel is selected again");
}

/* --- Sizes known to the compiler --- */

/* clang-format off */
#define CONSTANT_SIZES(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) \
    X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
    X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) \
    X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
    X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) \
    X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) \
    X(60) X(61) X(62) X(63) X(64) X(65) X(66)
/* clang-format on */

#define CONSTANT_SIZE_FUNCTION(size)                                                               \
    static uint32_t constant_##size(const void *p, size_t unused, uint32_t seed) {                 \
        (void)unused;                                                                              \
        return carry_sum(p, size, seed);                                                           \
    }
CONSTANT_SIZES(CONSTANT_SIZE_FUNCTION)

#define CONSTANT_SIZE_ENTRY(size) constant_##size,
static carry_sum_fn *const constant_sizes[] = {CONSTANT_SIZES(CONSTANT_SIZE_ENTRY)};

#define CONSTANT_COUNT (sizeof constant_sizes / sizeof *constant_sizes)

static bool constant_size_agrees(size_t size) {
    static const uint32_t seeds[] = {0, 1, 0xffff, 0x10000, 0xffffffff, 0x12345678};
    for (size_t offset = 0; offset < 64; offset++)
        for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
            const unsigned char *p = data + offset;
            uint16_t wanted = oracle_sum(p, size, seeds[i]);
            if (oracle_fold(constant_sizes[size](p, size, seeds[i])) != wanted ||
                oracle_fold(carry_sum_inline(p, size, seeds[i])) != wanted ||
                oracle_fold(carry_sum_call(p, size, seeds[i])) != wanted)
                return false;
        }
    return true;
}

static void test_constant_sizes(void) {
    bool ok = true;
    for (size_t size = 0; size < CONSTANT_COUNT && ok; size++) {
        rng_fill(data, sizeof data);
        ok = constant_size_agrees(size);
        memset(data, 0xff, sizeof data);
        ok = ok && TAP_TRUE(constant_size_agrees(size));
        if (!ok)
            tap_note("size %zu", size);
    }
    tap_ok(ok, "sums of constant sizes, inline and by call, are right");
    memset(data, 0, sizeof data);
    tap_ok(constant_size_agrees(64), "the sum of zeros of a constant size is right");
}

/* Sums no bytes at NULL: sanitizers report any address that is computed from NULL. */
static void test_no_bytes(void) {
    tap_ok(TAP_EQ(constant_sizes[0](NULL, 0, 5), 5) && TAP_EQ(carry_sum_inline(NULL, 0, 5), 5) &&
               TAP_EQ(carry_sum_call(NULL, 0, 5), 5) &&
               TAP_EQ(carry_sum_update(5, NULL, NULL, 0), 5),
           "no bytes at NULL leave the sum unchanged");
}

/* --- From partial sums to stored values --- */

static bool folds_right(uint32_t partial) {
    uint16_t folded = oracle_fold(partial);
    uint16_t check = (uint16_t)~folded;
    return carry_sum_fold(partial) == folded && carry_sum_finish(partial) == check &&
           carry_sum_finish_nonzero(partial) == (check ? check : 0xffff);
}

static void test_fold(void) {
    bool ok = true;
    rng_restart();
    for (uint32_t high = 0; high < 0x10000 && ok; high++) {
        static const uint32_t low[] = {0, 1, 2, 0x7fff, 0x8000, 0xfffe, 0xffff};
        for (size_t i = 0; i < sizeof low / sizeof *low; i++)
            ok = ok && TAP_TRUE(folds_right(high << 16 | low[i])) &&
                 TAP_TRUE(folds_right(low[i] << 16 | high));
    }
    for (size_t i = 0; i < effort->rounds && ok; i++)
        ok = folds_right((uint32_t)rng_next());
    tap_ok(ok, "fold, finish and finish_nonzero are right");
}

/* Tests that data that contain their own checksum verify. */
static void test_verification(void) {
    bool ok = true;
    rng_restart();
    for (size_t i = 0; i < effort->rounds && ok; i++) {
        unsigned char header[20];
        rng_fill(header, sizeof header);
        memset(header + 10, 0, 2);
        uint16_t check = carry_sum_finish(carry_sum(header, sizeof header, 0));
        memcpy(header + 10, &check, 2);
        ok = TAP_EQ(carry_sum_finish(carry_sum(header, sizeof header, 0)), 0);
    }
    tap_ok(ok, "a header that contains its checksum verifies");
}

/* --- Pseudo-headers, as drawn in their RFCs --- */

static void store_big_endian(unsigned char *to, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

/* Source and destination addresses, each followed by random bytes. */
struct addresses {
    unsigned char src[24];
    unsigned char dst[24];
};

static bool pseudo4_agrees(void) {
    struct addresses from;
    unsigned char header[12] = {0};
    rng_fill(&from, sizeof from);
    const uint8_t protocol = (uint8_t)rng_next();
    const uint16_t size = (uint16_t)rng_next();
    const uint32_t seed = (uint32_t)rng_next();
    memcpy(header, from.src, 4);
    memcpy(header + 4, from.dst, 4);
    header[9] = protocol;
    store_big_endian(header + 10, size, 2);
    return oracle_fold(carry_sum_pseudo4(from.src, from.dst, protocol, size, seed)) ==
           oracle_sum(header, sizeof header, seed);
}

static bool pseudo6_agrees(void) {
    struct addresses from;
    unsigned char header[40] = {0};
    rng_fill(&from, sizeof from);
    const uint8_t next_header = (uint8_t)rng_next();
    const uint32_t size = (uint32_t)rng_next();
    const uint32_t seed = (uint32_t)rng_next();
    memcpy(header, from.src, 16);
    memcpy(header + 16, from.dst, 16);
    store_big_endian(header + 32, size, 4);
    header[39] = next_header;
    return oracle_fold(carry_sum_pseudo6(from.src, from.dst, next_header, size, seed)) ==
           oracle_sum(header, sizeof header, seed);
}

static void test_pseudo_headers(void) {
    bool ok4 = true, ok6 = true;
    rng_restart();
    for (size_t i = 0; i < effort->rounds; i++) {
        ok4 = ok4 && TAP_TRUE(pseudo4_agrees());
        ok6 = ok6 && TAP_TRUE(pseudo6_agrees());
    }
    tap_ok(ok4, "carry_sum_pseudo4");
    tap_ok(ok6, "carry_sum_pseudo6");
}

/* --- Incremental updates --- */

static uint16_t update16(uint16_t check, const void *from, const void *to, size_t size) {
    uint16_t old, new;
    memcpy(&old, from, size);
    memcpy(&new, to, size);
    return carry_sum_update16(check, old, new);
}

static uint16_t update32(uint16_t check, const void *from, const void *to, size_t size) {
    uint32_t old, new;
    memcpy(&old, from, size);
    memcpy(&new, to, size);
    return carry_sum_update32(check, old, new);
}

static uint16_t update128(uint16_t check, const void *from, const void *to, size_t size) {
    (void)size;
    return carry_sum_update128(check, from, to);
}

static void test_updates(void) {
    struct verdict verdict = check_update(update16, 2, effort);
    verdict_report(&verdict, "carry_sum_update16");
    verdict = check_update(update32, 4, effort);
    verdict_report(&verdict, "carry_sum_update32");
    verdict = check_update(update128, 16, effort);
    verdict_report(&verdict, "carry_sum_update128");
    verdict = check_update(carry_sum_update, 0, effort);
    verdict_report(&verdict, "carry_sum_update");
}

/* Tests the example of RFC 1624, section 4: if a word changes from 5555 to 3285, the checksum dd2f
   becomes 0000, not ffff. */
static void test_rfc1624_example(void) {
    uint16_t check, from, to;
    memcpy(&check, "\xdd\x2f", 2);
    memcpy(&from, "\x55\x55", 2);
    memcpy(&to, "\x32\x85", 2);
    tap_ok(TAP_EQ(carry_sum_update16(check, from, to), 0), "the example of RFC 1624 is right");
}

/* --- The choice of a kernel --- */

static bool sum_row(size_t index, struct choice_row *row) {
    struct carry_sum_kernel kernel;
    if (!carry_sum_kernel(index, &kernel))
        return false;
    *row = (struct choice_row){kernel.name, kernel.missing, !kernel.against, kernel.chosen};
    return true;
}

static bool row_is_sane(const struct carry_sum_kernel *kernel) {
    const unsigned bits = kernel->vector_bits;
    return *kernel->name && kernel->sum && bits >= 64 && bits <= 2048 && !(bits & (bits - 1)) &&
           (!kernel->against || !carry_cpu_has(kernel->against)) &&
           (bits != 512 || carry_cpu_has("prefer512") || kernel->against) &&
           (!kernel->missing || !carry_cpu_has(kernel->missing));
}

static void test_rows(const char *mask) {
    struct carry_sum_kernel kernel;
    carry_cpu_set_mask(mask);
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        tap_ok(row_is_sane(&kernel), "%s: %u bits%s%s", kernel.name, kernel.vector_bits,
               kernel.missing ? ", lacks " : "", kernel.missing ? kernel.missing : "");
    carry_cpu_set_mask("");
}

static uint32_t sum_by_choice(const void *p, size_t size, uint32_t seed) {
    return carry_sum_call(p, size, seed);
}

static const unsigned char example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

/* Tests the example of RFC 1071, section 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2. */
static void test_rfc1071_example(void) {
    const uint16_t folded = carry_sum_fold(carry_sum(example, sizeof example, 0));
    tap_ok(TAP_MEMEQ(&folded, "\xdd\xf2", 2), "the example of RFC 1071 is right");
}

static bool is_example(uint32_t partial) {
    return oracle_fold(partial) == oracle_sum(example, sizeof example, 0);
}

static bool sum_works(void) {
    return is_example(carry_sum_call(example, sizeof example, 0));
}

static const struct choice choice = {sum_row, carry_sum_kernel_need, carry_sum_kernel_code,
                                     carry_sum_select, sum_works};

static bool first_call(void) {
    return sum_works() && choice_is_best(&choice);
}

static bool first_copy(void) {
    unsigned char copy[sizeof example];
    return is_example(carry_sum_copy(copy, example, sizeof example, 0));
}

static bool first_iov(void) {
    const struct carry_slice slice = {example, sizeof example};
    return is_example(carry_sum_iov(&slice, 1, 0, sizeof example, 0));
}

static bool first_burst(void) {
    const struct carry_slice slice = {example, sizeof example};
    uint32_t sum = 0;
    carry_sum_burst(&slice, 1, &sum);
    return is_example(sum);
}

/*
 * Checks the first sums after carry_patch_apply(), which also chooses a kernel where sites can be
 * patched.
 */
static bool first_patched(void) {
    carry_patch_apply(0);
    return first_copy() && first_call();
}

/* Tests the first call before a kernel is selected: it must choose one. */
static void test_first_use(void) {
    static const char *const masks[] = {NULL, "all"};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const char *mask = masks[i] ? masks[i] : "none";
        tap_ok(child_says(masks[i], first_call), "first use, mask %s: carry_sum_call", mask);
        tap_ok(child_says(masks[i], first_copy), "first use, mask %s: carry_sum_copy", mask);
        tap_ok(child_says(masks[i], first_patched), "first use, mask %s: carry_patch_apply", mask);
        tap_ok(child_says(masks[i], first_iov), "first use, mask %s: carry_sum_iov", mask);
        tap_ok(child_says(masks[i], first_burst), "first use, mask %s: carry_sum_burst", mask);
    }
}

static void test_under_mask(const char *mask) {
    if (!tap_ok(TAP_EQ(carry_cpu_set_mask(mask), CARRY_OK), "peel \"%s\"", mask))
        return;
    carry_sum_select(NULL);
    const char *best = choice_best(&choice);
    tap_ok(choice_is_best(&choice), "peel \"%s\": %s is chosen", mask, best);
    struct verdict verdict = check_values(&oracle_internet, sum_by_choice, &effort_short);
    verdict_report(&verdict, "peel \"%s\": sums by %s are right", mask, best);
}

/* Masks one more feature each time, from the last row of features.def to the first; then "all". */
static void test_peeling(void) {
    struct carry_cpu_feature feature;
    char mask[1000] = "";
    size_t count = 0;
    while (carry_cpu_feature(count, &feature))
        count++;
    test_under_mask("");
    while (count--) {
        carry_cpu_feature(count, &feature);
        const size_t used = strlen(mask);
        snprintf(mask + used, sizeof mask - used, "%s%s", used ? "," : "", feature.name);
        test_under_mask(mask);
    }
    test_under_mask("all");
    carry_cpu_set_mask("");
    carry_sum_select(NULL);
}

int main(void) {
    effort = effort_chosen();
    effort_note(effort);
    rng_restart();
    if (call_limits())
        tap_note("calling convention: %s", call_limits());
    test_first_use();
    test_kernels();
    test_constant_sizes();
    test_no_bytes();
    test_fold();
    test_rfc1071_example();
    test_verification();
    test_pseudo_headers();
    test_updates();
    test_rfc1624_example();
    test_rows("");
    test_rows("all");
    choice_check_all(&choice);
    test_peeling();
    return tap_done();
}
