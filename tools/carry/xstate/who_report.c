/* SPDX-License-Identifier: MIT */
/* Prints the reports of `carry xstate who`, as text and as JSON. */
#include <stdio.h>
#include <string.h>

#include <carry/xstate.h>

#include "common/json.h"
#include "common/text.h"
#include "xstate/names.h"
#include "xstate/xstate_who.h"

#define TIDS_SHOWN 5

/* --- As text --- */

static bool has_same_state(const struct xstate_thread *a, const struct xstate_thread *b) {
    return a->in_use == b->in_use && a->initial == b->initial && strcmp(a->name, b->name) == 0;
}

static enum colour colour_of(enum who_verdict verdict) {
    if (verdict == WHO_CLEAN)
        return COLOUR_GREEN;
    return verdict < WHO_TILES ? COLOUR_RED : COLOUR_YELLOW;
}

static void print_tids(const struct xstate_thread *first, size_t count) {
    printf("           tid      ");
    for (size_t i = 0; i < count && i < TIDS_SHOWN; i++)
        printf("%s%d", i ? " " : "", first[i].tid);
    if (count > TIDS_SHOWN)
        printf(" and %zu more", count - TIDS_SHOWN);
    putchar('\n');
}

static void print_group(const struct xstate_thread *first, size_t count,
                        const struct who_costs *costs) {
    char names[XSTATE_NAMES_SIZE];
    const enum who_verdict verdict = who_verdict(first->in_use);
    printf("  %7zu  ", count);
    text_print_clean(stdout, first->name);
    printf("%*s%7.0f ns  %s%s%s\n", (int)(18 - strlen(first->name)), "",
           who_switch_ns(costs, first->in_use), text_colour(colour_of(verdict)),
           who_verdicts[verdict].name, text_colour(COLOUR_NONE));
    printf("           in use   %s\n", xstate_names(names, first->in_use));
    if (first->initial)
        printf("           initial  %s\n", xstate_names(names, first->initial));
    print_tids(first, count);
}

static void print_groups(const struct who_process *process, const struct who_costs *costs) {
    size_t count;
    printf("\n%s  %7s  %-18s%10s  verdict%s\n", text_colour(COLOUR_FAINT), "threads", "name",
           "switch", text_colour(COLOUR_NONE));
    for (size_t i = 0; i < process->read; i += count) {
        for (count = 1; i + count < process->read; count++)
            if (!has_same_state(&process->threads[i], &process->threads[i + count]))
                break;
        print_group(&process->threads[i], count, costs);
    }
}

/* Prints the cost of dirty uppers, for the worst state of the threads. */
static void print_penalty(const struct who_process *process, const struct xstate_grid *exp) {
    const bool is_zmm = who_verdict(process->threads[0].in_use) == WHO_DIRTY_ZMM;
    const size_t state = is_zmm ? XSTATE_ZMM : XSTATE_YMM;
    char text[512];
    int used = snprintf(text, sizeof text, "%zu of %zu threads %s dirty uppers.", process->dirty,
                        process->read, process->dirty == 1 ? "has" : "have");
    if (state >= exp->columns) {
        text_wrap(stdout, 0, text);
        return;
    }
    const double factor = exp->factor[0][state];
    snprintf(text + used, sizeof text - (size_t)used,
             " On this CPU %s: exp() takes %.1f ns with them and %.1f without, %.1f times as long.",
             factor >= XSTATE_PENALTY
                 ? "they slow down SSE code until something executes vzeroupper"
                 : "they only cost time at context switches",
             exp->ns[0][state], exp->ns[0][XSTATE_CLEAN], factor);
    text_wrap(stdout, 0, text);
}

void who_print_text(const struct who_process *process, const struct who_costs *costs) {
    printf("process %d (", process->pid);
    text_print_clean(stdout, process->name);
    printf("): %zu thread%s", process->read, text_plural(process->read));
    if (process->gone)
        printf(", and %zu ended", process->gone);
    putchar('\n');
    print_groups(process, costs);
    putchar('\n');
    if (process->dirty)
        print_penalty(process, &costs->exp);
    else
        puts("No thread has dirty uppers.");
}

/* --- As JSON --- */

static json_t *thread_json(const struct xstate_thread *thread, const struct who_costs *costs) {
    return json_pack(
        "{s:i, s:o, s:s, s:o, s:o, s:f}", "tid", thread->tid, "name", json_name(thread->name),
        "verdict", who_verdicts[who_verdict(thread->in_use)].name, "in_use",
        xstate_names_json(thread->in_use), "initial", xstate_names_json(thread->initial),
        "switch_ns", who_switch_ns(costs, thread->in_use));
}

static json_t *threads_json(const struct who_process *process, const struct who_costs *costs) {
    json_t *list = json_array();
    for (size_t i = 0; i < process->read; i++)
        json_array_append_new(list, thread_json(&process->threads[i], costs));
    return list;
}

static json_t *refused_json(const struct who_process *process) {
    json_t *list = json_array();
    for (size_t i = process->count - process->refused; i < process->count; i++)
        json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "tid", process->threads[i].tid,
                                              "name", json_name(process->threads[i].name), "reason",
                                              json_name(process->threads[i].problem)));
    return list;
}

/* Returns the times of exp() by the state of uppers; null if no thread has dirty uppers. */
static json_t *exp_json(const struct who_process *process, const struct xstate_grid *exp) {
    if (!process->dirty)
        return json_null();
    json_t *object = json_object();
    for (size_t column = 0; column < exp->columns; column++)
        json_object_set_new(object, xstate_upper_names[column], json_real(exp->ns[0][column]));
    return object;
}

void who_print_json(const struct who_process *process, const struct who_costs *costs) {
    json_print(stdout, json_pack("{s:i, s:o, s:I, s:I, s:o, s:o, s:o}", "process", process->pid,
                                 "name", json_name(process->name), "dirty",
                                 (json_int_t)process->dirty, "ended", (json_int_t)process->gone,
                                 "exp_ns", exp_json(process, &costs->exp), "threads",
                                 threads_json(process, costs), "refused", refused_json(process)));
}
