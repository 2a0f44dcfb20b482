/* SPDX-License-Identifier: MIT */
/* Implements carry selftest: verifies that the library computes correctly on this machine, and
   identifies it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <carry/base.h>
#include <jansson.h>

#include "common/clock.h"
#include "common/command.h"
#include "common/json.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/text.h"
#include "harness/bail.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/rng.h"
#include "selftest/proof.h"
#include "selftest/selftest.h"
#include "selftest/selftest_report.h"
#include "version.h"

#define SECONDS_MAX  86400
#define NAME_COLUMNS 22

static const char usage[] =
    "Usage: carry selftest [OPTION]...\n"
    "\n"
    "Shows that the library computes rightly on this machine: each kernel that this\n"
    "CPU can run, packets, functions made at run time, and patched calls. The judge\n"
    "is a slow computation that shares no code with the library; memory beside the\n"
    "data is forbidden. Takes about two seconds.\n"
    "\n"
    "      --library=FILE  test this libcarry.so, not the library in the tool\n"
    "      --proof         compare the code of each kernel with the code that was\n"
    "                      proven where nothing faults, byte for byte, and test\n"
    "                      nothing\n"
    "      --seconds=N     repeat everything with other data for N seconds (0: once)\n"
    "      --seed=N        use the data of an earlier run, which printed its seed\n"
    "  -J, --json          print a JSON object\n"
    "  -h, --help          print this help\n"
    "\n"
    "The files that were tested are listed with their build IDs. carry-selftest(1)\n"
    "shows how to compare them with a release.\n"
    "\n"
    "Exit status: 0 right; 1 something is wrong, or not what was proven; 3 wrong\n"
    "usage, or not run.\n"
    "\n"
    "Examples:\n"
    "  carry selftest\n"
    "  carry selftest --seconds=3\n"
    "  carry selftest --proof\n"
    "  carry selftest --library=/usr/local/lib/libcarry.so\n";

/* --- Functions that the checks need --- */

/* Covers all small sizes of packets, and some larger ones, in two seconds on most machines. */
const struct effort selftest_effort = {
    .name = "selftest",
    .dense_size = 260,
    .stride = 13,
    .rounds = 500,
    .few_rounds = 500,
    .all = true,
    .largest_run = (1 << 16) + 3,
};

static uint64_t seed;

uint64_t rng_seed(void) {
    return seed;
}

void bail_out(const char *why) {
    exit(command_error("%s", why));
}

/* --- The rows --- */

struct selftest_row *selftest_add(struct selftest *test, const char *function, const char *variant,
                                  void (*run)(struct selftest_row *row)) {
    if (test->count == SELFTEST_ROWS_MAX)
        bail_out("too many kernels");
    struct selftest_row *row = &test->rows[test->count++];
    *row = (struct selftest_row){.function = function,
                                 .variant = variant,
                                 .verdict.ok = true,
                                 .library = test->library,
                                 .run = run};
    return row;
}

void selftest_guard(struct selftest_row *row, void (*body)(void *row)) {
    struct fault fault;
    rng_restart();
    if (!fault_catch(body, row, &fault))
        verdict_fail(&row->verdict, "touches what it must not: %s", fault.name);
}

void selftest_judge(struct selftest_row *row, const char *check, const struct verdict *verdict) {
    row->verdict.calls += verdict->calls;
    if (!verdict->ok && row->verdict.ok)
        verdict_fail(&row->verdict, "%s: %s", check, verdict->text);
}

/* Checks the version: another version may be correct, but is not the one released with the tool. */
static void run_version(struct selftest_row *row) {
    row->verdict.calls++;
    if (row->library->carry_version() != CARRY_VERSION)
        verdict_fail(&row->verdict, "the library is %s, the tool %s",
                     row->library->carry_version_text(), CARRY_VERSION_TEXT);
}

static void add_rows(struct selftest *test) {
    selftest_add(test, "library", "version", run_version);
    selftest_add_kernels(test);
    selftest_add_packets(test);
    if (test->library != &library_own)
        return;
    selftest_add_jit(test);
    selftest_add_patch(test);
}

/* --- Running the rows --- */

static void run_row(struct selftest_row *row, size_t step) {
    if (progress_due)
        progress_draw(step);
    if (!row->missing && row->verdict.ok)
        row->run(row);
}

static size_t wrong_rows(const struct selftest *test) {
    size_t wrong = 0;
    for (size_t i = 0; i < test->count; i++)
        wrong += !test->rows[i].verdict.ok;
    return wrong;
}

/* Runs all rows once, then again with other data until the time is over or a row fails. If a row
   fails, `seed` keeps the value with which it failed. */
static void run_rows(struct selftest *test, uint64_t seconds) {
    const uint64_t first = seed;
    const int64_t end = clock_ns() + (int64_t)seconds * CLOCK_SECOND;
    progress_begin_steps(seconds ? 0 : test->count);
    do {
        for (size_t i = 0; i < test->count && (seed == first || clock_ns() < end); i++)
            run_row(&test->rows[i], i);
        seed++;
    } while (clock_ns() < end && !wrong_rows(test));
    seed = wrong_rows(test) ? seed - 1 : first;
    progress_end();
}

/* --- As text --- */

static void print_test_row(const struct selftest_row *row) {
    char calls[TEXT_SIZE];
    printf("  %-9s %-*s", row->function, NAME_COLUMNS, row->variant);
    if (row->missing) {
        printf("%sneeds %s, which this CPU lacks%s\n", text_colour(COLOUR_FAINT), row->missing,
               text_colour(COLOUR_NONE));
        return;
    }
    printf("%12s calls  ", text_count(calls, row->verdict.calls));
    text_print_coloured(stdout, row->verdict.ok ? COLOUR_GREEN : COLOUR_RED, 0,
                        row->verdict.ok ? "right" : "WRONG");
    putchar('\n');
    if (!row->verdict.ok)
        text_wrap(stdout, 4, row->verdict.text);
    if (row->note[0])
        text_wrap(stdout, 4, row->note);
}

static void print_test_text(const struct report_head *head, const struct selftest *test) {
    report_print_head(head);
    for (size_t i = 0; i < test->count; i++)
        print_test_row(&test->rows[i]);
    const size_t wrong = wrong_rows(test);
    if (wrong)
        printf("\n%zu WRONG\n", wrong);
    else
        printf("\nall right\n");
}

/* --- As JSON --- */

static json_t *test_row_json(const struct selftest_row *row) {
    const bool wrong = !row->verdict.ok;
    return json_pack("{s:s, s:s, s:s?, s:o, s:b, s:s?, s:s?}", "function", row->function, "variant",
                     row->variant, "missing", row->missing, "calls",
                     json_number(row->verdict.calls), "right", !wrong, "problem",
                     wrong ? row->verdict.text : NULL, "note", row->note[0] ? row->note : NULL);
}

static void print_test_json(const struct report_head *head, const struct selftest *test) {
    json_t *rows = json_array();
    for (size_t i = 0; i < test->count; i++)
        json_array_append_new(rows, test_row_json(&test->rows[i]));
    json_t *report = report_head_json(head);
    json_object_set_new(report, "tests", rows);
    json_object_set_new(report, "right", json_boolean(wrong_rows(test) == 0));
    json_print_report(report);
}

/* --- The command --- */

static int run_selftest(const struct report_head *head, uint64_t seconds, bool json) {
    static struct selftest test;
    test.library = head->library;
    add_rows(&test);
    run_rows(&test, seconds);
    (json ? print_test_json : print_test_text)(head, &test);
    return wrong_rows(&test) ? STATUS_BAD : STATUS_CLEAN;
}

int command_selftest(int argc, char **argv) {
    static struct library loaded;
    const char *path = NULL, *problem;
    uint64_t seconds = 0;
    bool proof = false, json = false;
    const struct option_row rows[] = {
        {"library", .text = &path},
        {"proof", .flag = &proof},
        {"seconds", .number = &seconds, OPTION_RANGE(0, SECONDS_MAX)},
        {"seed", .number = &seed, OPTION_RANGE(0, UINT32_MAX)},
        {"json", 'J', .flag = &json},
        {0},
    };
    int status;
    uint32_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn)
        drawn = (uint32_t)clock_ns();
    seed = drawn;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    if (path && !library_load(&loaded, path, &problem))
        return command_file_error(path, problem);
    const struct report_head head = {path ? &loaded : &library_own, version_commit(),
                                     proof ? NULL : &seed};
    return proof ? proof_report(&head, json) : run_selftest(&head, seconds, json);
}
