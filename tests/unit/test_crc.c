/* SPDX-License-Identifier: MIT */
/* Tests `sum`: CRC32c, every kernel with every check, and the choice among them. */
#include <string.h>

#include <carry/cpu.h>
#include <carry/crc.h>
#include <carry/patch.h>

#include "harness/call.h"
#include "harness/check_choice.h"
#include "harness/check_sum.h"
#include "harness/child.h"
#include "harness/rng.h"
#include "harness/tap.h"

static const struct effort *effort;

/* Tests the values of RFC 3720, appendix B.4, and the check value of CRC catalogues. */
static void test_known_values(carry_sum_fn *crc32c, const char *name) {
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < 32; i++) {
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    tap_ok(TAP_EQ(crc32c("123456789", 9, 0), 0xe3069283) &&
               TAP_EQ(crc32c(zeros, 32, 0), 0x8a9136aa) &&
               TAP_EQ(crc32c(ones, 32, 0), 0x62a8ab43) && TAP_EQ(crc32c(up, 32, 0), 0x46dd794e) &&
               TAP_EQ(crc32c(down, 32, 0), 0x113fdb5c),
           "%s: published values", name);
}

static void test_parts(carry_sum_fn *crc32c, const char *name) {
    unsigned char data[400];
    bool ok = true;
    rng_restart();
    rng_fill(data, sizeof data);
    const uint32_t whole = crc32c(data, sizeof data, 0);
    for (size_t split = 0; split <= sizeof data; split++)
        ok = ok && TAP_EQ(crc32c(data + split, sizeof data - split, crc32c(data, split, 0)), whole);
    tap_ok(ok, "%s: the CRC of two parts continues", name);
}

static void test_kernels(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_crc32c_kernel(i, &kernel); i++) {
        if (kernel.missing) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
            continue;
        }
        test_known_values(kernel.sum, kernel.name);
        test_parts(kernel.sum, kernel.name);
        sum_check_all(&oracle_crc32c, kernel.sum, effort, kernel.name);
    }
}

/* --- The choice of a kernel --- */

static bool crc_row(size_t index, struct choice_row *row) {
    struct carry_sum_kernel kernel;
    if (!carry_crc32c_kernel(index, &kernel))
        return false;
    *row = (struct choice_row){kernel.name, kernel.missing, !kernel.against, kernel.chosen};
    return true;
}

static bool crc_works(void) {
    return carry_crc32c("123456789", 9, 0) == 0xe3069283;
}

static const struct choice choice = {crc_row, carry_crc32c_kernel_need, carry_crc32c_kernel_code,
                                     carry_crc32c_select, crc_works};

static bool first_call(void) {
    return crc_works() && choice_is_best(&choice);
}

/*
 * Checks the first call after carry_patch_apply(), which also chooses a kernel where sites can be
 * patched.
 */
static bool first_patched(void) {
    carry_patch_apply(0);
    return first_call();
}

static void test_choice(void) {
    choice_check_all(&choice);
    tap_ok(TAP_EQ(carry_sum_select("generic"), CARRY_OK) && TAP_TRUE(choice_is_best(&choice)) &&
               TAP_EQ(carry_sum_select(NULL), CARRY_OK),
           "its choice is independent of that of carry_sum()");
}

int main(void) {
    effort = effort_chosen();
    effort_note(effort);
    if (call_limits())
        tap_note("%s", call_limits());
    tap_ok(TAP_TRUE(child_says(NULL, first_call)) && TAP_TRUE(child_says("all", first_call)),
           "the first call chooses a kernel");
    tap_ok(child_says(NULL, first_patched), "patching sites chooses a kernel");
    test_choice();
    test_kernels();
    return tap_done();
}
