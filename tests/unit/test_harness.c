/* SPDX-License-Identifier: MIT */
/* Tests that the checks catch their mutants. Each check has at least one. */
#include <string.h>

#include <carry/cpu.h>
#include <carry/crc.h>

#include "harness/call.h"
#include "harness/check_copies.h"
#include "harness/check_sum.h"
#include "harness/check_tap.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "mutants/mutants.h"

struct mutant {
    const struct oracle_kind *oracle;
    const char *name;
    const char *needs;
    carry_sum_fn *sum;
    sum_check *check;
    const char *message;
};

#define BROKEN_SUM(arch, name, needs, check, message)                                              \
    CARRY_ROWS_##arch({&oracle_internet, #name, needs, broken_##name, check_##check, message}, )
#define BROKEN_CRC32C(name, check, message)                                                        \
    {&oracle_crc32c, "crc32c_" #name, "", broken_crc32c_##name, check_##check, message},
#define BROKEN_COPY(...)
#define BROKEN_TRY(...)
static const struct mutant mutants[] = {
#include "mutants/mutants.def"
};
#undef BROKEN_SUM
#undef BROKEN_CRC32C
#undef BROKEN_COPY
#undef BROKEN_TRY

struct copy_mutant {
    const char *name;
    struct copier copier;
    copies_check *check;
    const char *message;
};

#define BROKEN_SUM(...)
#define BROKEN_CRC32C(...)
#define BROKEN_COPY(name, check, message)                                                          \
    {"copy_" #name, {.copy = broken_copy_##name}, check_copies_##check, message},
#define BROKEN_TRY(arch, name, check, message)                                                     \
    CARRY_ROWS_##arch(                                                                             \
        {"try_" #name, {.attempt = broken_try_##name}, check_copies_##check, message}, )
static const struct copy_mutant copy_mutants[] = {
#include "mutants/mutants.def"
};
#undef BROKEN_SUM
#undef BROKEN_CRC32C
#undef BROKEN_COPY
#undef BROKEN_TRY

static void expect_caught(struct verdict verdict, const char *name, const char *message) {
    bool caught = TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, message));
    if (!caught)
        tap_note("wanted \"%s\", got \"%s\"", message, verdict.text);
    tap_ok(caught, "%s is caught: %s", name, verdict.text);
}

static void test_mutant(const struct mutant *mutant) {
    if (*mutant->needs && !carry_cpu_has(mutant->needs))
        tap_skip(mutant->name, "this CPU lacks %s", mutant->needs);
    else
        expect_caught(mutant->check(mutant->oracle, mutant->sum, &effort_short), mutant->name,
                      mutant->message);
}

static void test_right_one(void) {
    sum_check_all(&oracle_internet, broken_not, &effort_short, "a right kernel passes");
    sum_check_all(&oracle_crc32c, carry_crc32c, &effort_short, "a right CRC32c passes");
    copies_check_all((struct copier){.copy = broken_copy_not}, &effort_short,
                     "a right copy passes");
}

static void test_copies(void) {
    for (size_t i = 0; i < sizeof copy_mutants / sizeof *copy_mutants; i++) {
        const struct copy_mutant *mutant = &copy_mutants[i];
        expect_caught(mutant->check(mutant->copier, &effort_short), mutant->name, mutant->message);
    }
}

static void test_parts(void) {
    const struct effort *effort = &effort_short;
    expect_caught(check_iov(broken_iov_odd_chunk, effort), "iov_odd_chunk", "sums wrongly");
    expect_caught(check_combine(broken_combine_odd, effort), "combine_odd", "sums wrongly");
    expect_caught(check_burst(broken_burst_shared, effort), "burst_shared", "sums wrongly");
    expect_caught(check_update(broken_update_1141, 2, effort), "update_1141", "not as recomputed");
}

struct sum_copy_mutant {
    const char *name;
    carry_sum_copy_fn *copy;
    sum_copy_check *check;
    const char *message;
};

static const struct sum_copy_mutant sum_copy_mutants[] = {
    {"sum_copy_stride", broken_sum_copy_stride, check_sum_copy_alignments, "copies wrongly"},
    {"sum_copy_whole_word", broken_sum_copy_whole_word, check_sum_copy_alignments,
     "writes outside"},
    {"sum_copy_reads_words", broken_sum_copy_reads_words, check_sum_copy_edges,
     "touches what it must not"},
    {"sum_copy_fails_at_128k", broken_sum_copy_fails_at_128k, check_sum_copy_patterns,
     "sums wrongly"},
    {"sum_copy_keeps_parity", broken_sum_copy_keeps_parity, check_sum_copy_chunks, "sums wrongly"},
    {"sum_copy_rounds_up", broken_sum_copy_rounds_up, check_sum_copy_abi, "changes "},
};

static void test_sum_copies(void) {
    const struct effort *effort = &effort_short;
    for (size_t i = 0; i < sizeof sum_copy_mutants / sizeof *sum_copy_mutants; i++) {
        const struct sum_copy_mutant *mutant = &sum_copy_mutants[i];
        expect_caught(mutant->check(mutant->copy, effort), mutant->name, mutant->message);
    }
    expect_caught(check_sum_copy_iov(broken_sum_copy_iov_odd_chunk, effort),
                  "sum_copy_iov_odd_chunk", "sums wrongly");
    expect_caught(check_sum_copy_iov(broken_sum_copy_iov_drops, effort), "sum_copy_iov_drops",
                  "counts wrongly");
    expect_caught(check_sum_copy_try(broken_sum_copy_try_words, effort), "sum_copy_try_words",
                  "returns the wrong number of bytes left");
    expect_caught(check_sum_copy_try(broken_sum_copy_try_behind, effort), "sum_copy_try_behind",
                  "after the fault");
}

static void test_images(void) {
    const struct effort *effort = &effort_short;
    expect_caught(check_initial(broken_initial_avx), "initial_avx", "XSTATE_BV names components");
    expect_caught(check_initial(broken_initial_zero), "initial_zero", "MXCSR is not");
    expect_caught(check_initial(broken_initial_form), "initial_form", "XCOMP_BV is not");
    expect_caught(check_initial(broken_initial_rounds), "initial_rounds",
                  "touches what it must not");
    expect_caught(check_refusals(broken_check_pkru), "check_pkru", "NONE instead of LAYOUT_SIZE");
    expect_caught(check_refusals(broken_check_xcomp_bv), "check_xcomp_bv",
                  "NONE instead of NOT_COMPACTED");
    expect_caught(check_random_images(broken_check_xcomp_bv, effort), "check_xcomp_bv, at random",
                  "XRSTOR faults on");
    expect_caught(check_random_images(broken_check_mxcsr, effort), "check_mxcsr, at random",
                  "XRSTOR faults on");
    expect_caught(check_refusals(broken_check_size), "check_size", "touches what it must not");
    expect_caught(check_random_images(broken_check_truncated, effort), "check_truncated, at random",
                  "touches what it must not");
    expect_caught(check_conversions(broken_convert_offsets), "convert_offsets", "registers differ");
    expect_caught(check_conversions(broken_convert_mxcsr), "convert_mxcsr", "registers differ");
    expect_caught(check_conversions(broken_convert_loses), "convert_loses", "NONE");
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "tap"))
        return check_tap_fail();
    if (!fault_under_valgrind())
        check_tap_run();
    effort_note(&effort_short);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports what broken kernels do as errors of the program");
    if (call_limits())
        tap_note("%s", call_limits());
    check_tap_report();
    test_right_one();
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    test_copies();
    test_parts();
    test_sum_copies();
    test_images();
    return tap_done();
}
