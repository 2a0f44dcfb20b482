/* SPDX-License-Identifier: MIT */
/* Collects the calls of a table by function, and sorts them. */
#include <stdlib.h>
#include <string.h>

#include "xstate/leavers_report.h"

/* --- Calls --- */

static int by_function(const void *left, const void *right) {
    const struct leavers_names *a = &((const struct leavers_call *)left)->names;
    const struct leavers_names *b = &((const struct leavers_call *)right)->names;
    int order = strcmp(a->called, b->called);
    if (!order)
        order = strcmp(a->function, b->function);
    return order ? order : strcmp(a->caller, b->caller);
}

static void collect_calls(struct leavers_findings *findings, const struct leavers_table *table) {
    for (size_t i = 0; i < LEAVERS_ROWS; i++) {
        struct leavers_call *call = &findings->calls[findings->calls_count];
        call->row = &table->rows[i];
        findings->calls_count +=
            call->row->calls && leavers_table_names(table, call->row, &call->names);
    }
    qsort(findings->calls, findings->calls_count, sizeof *findings->calls, by_function);
}

/* --- Functions --- */

static void add_row(struct leavers_function *sum, const struct leavers_row *row) {
    sum->calls += row->calls;
    sum->ymm += row->ymm;
    sum->zmm += row->zmm;
    sum->called_dirty += row->called_dirty;
    sum->unknown += row->unknown;
    sum->count++;
}

static bool is_same_function(const struct leavers_function *function,
                             const struct leavers_names *names) {
    return strcmp(function->object, names->called) == 0 &&
           strcmp(function->function, names->function) == 0;
}

static void add_call(struct leavers_findings *findings, size_t i) {
    const struct leavers_call *call = &findings->calls[i];
    struct leavers_function *last = &findings->functions[findings->functions_count];
    if (findings->functions_count && is_same_function(last - 1, &call->names)) {
        last--;
    } else {
        *last = (struct leavers_function){call->names.function, call->names.called, .first = i};
        findings->functions_count++;
    }
    add_row(last, call->row);
    add_row(&findings->sum, call->row);
}

static int by_dirt(const void *left, const void *right) {
    const struct leavers_function *a = left, *b = right;
    uint64_t dirty_a = a->ymm + a->zmm, dirty_b = b->ymm + b->zmm;
    if (dirty_a != dirty_b)
        return dirty_a < dirty_b ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static int by_victims(const void *left, const void *right) {
    const struct leavers_function *a = left, *b = right;
    if (a->called_dirty != b->called_dirty)
        return a->called_dirty < b->called_dirty ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static void sort_findings(struct leavers_findings *findings) {
    const size_t count = findings->functions_count, size = sizeof *findings->functions;
    memcpy(findings->called_dirty, findings->functions, count * size);
    qsort(findings->functions, count, size, by_dirt);
    qsort(findings->called_dirty, count, size, by_victims);
    for (size_t i = 0; i < count; i++) {
        findings->leavers += findings->functions[i].ymm || findings->functions[i].zmm;
        findings->victims += findings->functions[i].called_dirty != 0;
    }
}

bool leavers_find(struct leavers_findings *findings, const struct leavers_table *table) {
    *findings = (struct leavers_findings){
        .processes = table->processes, .refused = table->refused, .lost = table->lost};
    findings->calls = calloc(LEAVERS_ROWS + 1, sizeof *findings->calls);
    findings->functions = calloc(LEAVERS_ROWS + 1, sizeof *findings->functions);
    findings->called_dirty = calloc(LEAVERS_ROWS + 1, sizeof *findings->called_dirty);
    if (!findings->calls || !findings->functions || !findings->called_dirty)
        return false;
    collect_calls(findings, table);
    for (size_t i = 0; i < findings->calls_count; i++)
        add_call(findings, i);
    sort_findings(findings);
    return true;
}

void leavers_free(struct leavers_findings *findings) {
    free(findings->calls);
    free(findings->functions);
    free(findings->called_dirty);
}
