/* SPDX-License-Identifier: MIT */
/* `carry xstate cost`: reads the options, measures and reports. */
#include "xstate/xstate_cost.h"

#include <stdio.h>
#include <string.h>

#include <carry/xstate.h>

#include "common/command.h"
#include "common/options.h"
#include "xstate/parts.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

static const char usage[] =
    "Usage: carry xstate cost [OPTION]...\n"
    "\n"
    "Measures the cost of extended state on this CPU, in three seconds:\n"
    "  - functions of libm, and AES-128-CBC in SSE instructions, with clean, dirty,\n"
    "    and just cleaned upper halves of vector registers (vzeroupper)\n"
    "  - the cost that dirty upper halves add to single instructions\n"
    "  - saves and loads, by what is in use, and ways to the initial state\n"
    "  - sections, in which operating-system kernels use vector registers\n"
    "Everything printed was measured in this run.\n"
    "\n"
    "  -q, --quick   fewer and shorter rounds: a tenth of a second\n"
    "  -J, --json    print everything measured as a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0 measured; 1 AES encrypts wrongly, and nothing was timed; 3 wrong\n"
    "usage.\n"
    "\n"
    "Examples:\n"
    "  carry xstate cost\n"
    "  carry xstate cost --json | jq '.libm[] | {function, factor}'\n";

/* The components in use in the rows of the table; rows that this CPU cannot have are omitted. */
static const uint64_t save_masks[] = {
    BIT(SSE),
    BIT(SSE) | BIT(OPMASK) | BIT(HI16_ZMM), /* as after string functions of glibc */
    BIT(SSE) | BIT(AVX),
    BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM),
};

static void choose_masks(struct xstate_cost *cost) {
    for (size_t i = 0; i < sizeof save_masks / sizeof *save_masks; i++)
        if (!(save_masks[i] & ~xstate_reachable()))
            cost->save_masks[cost->save_count++] = save_masks[i];
    memcpy(cost->section_masks, cost->save_masks, sizeof cost->section_masks);
}

static bool measure_cost(struct xstate_cost *cost, const struct xstate_effort *effort) {
    choose_masks(cost);
    return xstate_measure_libm(&cost->libm, LIBM_ROWS, effort) &&
           (!cost->has_aes || xstate_measure_aes(&cost->aes, effort)) &&
           (xstate_uppers() == 1 || xstate_measure_events(&cost->events, 64 * effort->rounds)) &&
           xstate_measure_saves(&cost->saves, cost->save_masks, cost->save_count, effort) &&
           xstate_measure_starts(&cost->starts, effort) &&
           xstate_measure_sections(&cost->sections, cost->section_masks, cost->save_count, effort);
}

static int run_cost(const struct xstate_effort *effort, bool json) {
    struct xstate_cost cost = {.has_aes = xstate_has_aes()};
    if (cost.has_aes && !xstate_aes_is_right()) {
        command_error("AES-128-CBC is WRONG: it encrypts the example of SP 800-38A incorrectly");
        return STATUS_BAD;
    }
    if (!measure_cost(&cost, effort))
        return command_error("out of memory");
    if (json)
        xstate_cost_print_json(&cost);
    else
        xstate_cost_print_text(&cost);
    return STATUS_CLEAN;
}

int xstate_cost(int argc, char **argv) {
    static const struct xstate_effort quick = {15, 20e3, true, 0};
    static const struct xstate_effort normal = {121, 200e3, true, 0};
    bool is_quick = false, json = false;
    const struct option_row rows[] = {
        {"quick", 'q', .flag = &is_quick},
        {"json", 'J', .flag = &json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    return run_cost(is_quick ? &quick : &normal, json);
}
