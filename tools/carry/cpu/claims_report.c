/* SPDX-License-Identifier: MIT */
/* Prints what `carry cpu --measure` found. */
#include <jansson.h>
#include <stdio.h>

#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"
#include "cpu/claims.h"

#define TITLE_COLUMNS 30

/* --- As text --- */

static const char *const verdict_words[] = {
    [CLAIM_HOLDS] = "it holds here",
    [CLAIM_FAILS] = "it does not hold here",
    [CLAIM_SAME] = "it makes no difference here",
    [CLAIM_UNDECIDED] = "undecided: noise is larger than the difference",
    [CLAIM_UNMEASURED] = "not measured",
};

static enum colour verdict_colour(const struct claim_state *state) {
    if (claim_is_wrong(state))
        return COLOUR_RED;
    return state->verdict == CLAIM_UNDECIDED    ? COLOUR_YELLOW
           : state->verdict == CLAIM_UNMEASURED ? COLOUR_FAINT
                                                : COLOUR_GREEN;
}

/* Prints the verdict, and what the table says. */
static void print_verdict(const struct claim_state *state) {
    struct text_block block;
    text_block_begin(&block, stdout);
    fprintf(block.out, "%s%s%s", text_colour(verdict_colour(state)), verdict_words[state->verdict],
            text_colour(COLOUR_NONE));
    if (state->reason[0])
        fprintf(block.out, ": %s", state->reason);
    else if (state->verdict == CLAIM_HOLDS || state->verdict == CLAIM_FAILS)
        fprintf(block.out, ", and the table of CPUs is %s",
                claim_is_wrong(state) ? "WRONG" : "right");
    else
        fprintf(block.out, "; the table of CPUs says %s", state->table ? "yes" : "no");
    fputc('\n', block.out);
    text_block_end(&block, 2);
}

static void print_work_times(const struct claim_times *times) {
    char text[TEXT_SIZE];
    printf("  %-*s", TITLE_COLUMNS, times->work->title);
    for (size_t way = 0; way < CLAIM_WAYS; way++)
        printf("%10s", times->beside ? text_added(text, times->added[way])
                                     : text_measure(text, times->ns[way]));
    printf("%9s", text_times(text, times->ratio.median));
    printf("%9s", text_times(text, times->ratio.low));
    printf(" to %s\n", text_times(text, times->ratio.high));
}

static void print_state(const struct claim_state *state) {
    printf("\n%s%s%s: %s\n", text_colour(COLOUR_BOLD), state->name, text_colour(COLOUR_NONE),
           state->description);
    print_verdict(state);
    if (!state->time_count)
        return;
    char kernels[TITLE_COLUMNS + 1] = "";
    if (state->kernels[CLAIM_WITH])
        snprintf(kernels, sizeof kernels, "%s, %s", state->kernels[CLAIM_WITHOUT],
                 state->kernels[CLAIM_WITH]);
    printf("%s  %-*s%10s%10s%9s   95 %% interval%s\n", text_colour(COLOUR_FAINT), TITLE_COLUMNS,
           kernels, "without", "with", "ratio", text_colour(COLOUR_NONE));
    for (size_t i = 0; i < state->time_count; i++)
        print_work_times(&state->times[i]);
}

static const char *status_sentence(int status) {
    switch (status) {
    case STATUS_CLEAN:
        return "Nothing that was measured here speaks against the table of CPUs.\n";
    case STATUS_BAD:
        return "The table of CPUs is wrong on this machine now. Measure on another day, too, "
               "before "
               "you rely on the mask.\n";
    default:
        return "The noise of this machine leaves something undecided: repeat it when nothing else "
               "runs.\n";
    }
}

void claims_print_text(const struct claims *claims) {
    bench_machine_print();
    if (!claims->count) {
        printf("\nThe library has no preferences on %s\n", carry_cpu_arch());
        return;
    }
    putchar('\n');
    text_wrap(
        stdout, 0,
        "Medians of what a call takes, in ns. In lines with \"beside\", what it adds to a "
        "microsecond of other work behind it; the ratio is that of call and work together.\n");
    for (size_t i = 0; i < claims->count; i++)
        print_state(&claims->states[i]);
    putchar('\n');
    text_wrap(stdout, 0, status_sentence(claims_status(claims)));
    printf("CARRY_CPU_MASK=%s\n", claims->mask);
}

/* --- As JSON --- */

static const char *const verdict_names[] = {
    [CLAIM_HOLDS] = "holds",         [CLAIM_FAILS] = "fails",           [CLAIM_SAME] = "same",
    [CLAIM_UNDECIDED] = "undecided", [CLAIM_UNMEASURED] = "unmeasured",
};

static json_t *ways_json(const double values[CLAIM_WAYS]) {
    return json_pack("{s:f, s:f}", "without", values[CLAIM_WITHOUT], "with", values[CLAIM_WITH]);
}

static json_t *works_json(const struct claim_state *state) {
    json_t *list = json_array();
    for (size_t i = 0; i < state->time_count; i++) {
        const struct claim_times *times = &state->times[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:f, s:f, s:f}", "title", times->work->title,
                      "mode", times->work->mode, "size", (json_int_t)times->work->size, "align",
                      (json_int_t)times->work->align, "ns", ways_json(times->ns), "added",
                      ways_json(times->added), "ratio", times->ratio.median, "low",
                      times->ratio.low, "high", times->ratio.high));
    }
    return list;
}

static json_t *states_json(const struct claims *claims) {
    json_t *list = json_array();
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim_state *state = &claims->states[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:s, s:b, s:s?, s:s?, s:s?, s:o}", "name", state->name,
                            "description", state->description, "table", state->table, "here",
                            verdict_names[state->verdict], "wrong", claim_is_wrong(state), "reason",
                            state->reason[0] ? state->reason : NULL, "without",
                            state->kernels[CLAIM_WITHOUT], "with", state->kernels[CLAIM_WITH],
                            "works", works_json(state)));
    }
    return list;
}

void claims_print_json(const struct claims *claims) {
    const int status = claims_status(claims);
    json_print_report(json_pack("{s:o, s:I, s:s, s:s, s:o}", "machine", bench_machine_json(),
                                "rounds", (json_int_t)claims->rounds, "verdict",
                                status == STATUS_CLEAN ? "right"
                                : status == STATUS_BAD ? "wrong"
                                                       : "undecided",
                                "mask", claims->mask, "preferences", states_json(claims)));
}
