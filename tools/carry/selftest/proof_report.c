/* SPDX-License-Identifier: MIT */
/* Prints the report of `carry selftest --proof`. */
#include <stdio.h>

#include <jansson.h>

#include "common/command.h"
#include "common/json.h"
#include "common/text.h"
#include "selftest/proof.h"

static const char *const state_names[PROOF_STATES] = {
    [PROOF_NONE] = "unproven",
    [PROOF_DIFFERENT] = "different",
    [PROOF_PROVEN] = "proven",
};

static bool is_all_proven(const struct proof *proof) {
    return proof->states[PROOF_PROVEN] == proof->count;
}

/* --- As text --- */

static void print_proof_row(const struct proof_row *row) {
    static const enum colour colours[PROOF_STATES] = {
        [PROOF_NONE] = COLOUR_YELLOW,
        [PROOF_DIFFERENT] = COLOUR_RED,
        [PROOF_PROVEN] = COLOUR_GREEN,
    };
    char bytes[TEXT_SIZE] = "?";
    if (row->size)
        text_count(bytes, row->size);
    printf("  %-12s %-16s %6s bytes  ", row->code.form, row->code.kernel, bytes);
    text_print_coloured(stdout, colours[row->state], 0, state_names[row->state]);
    printf(row->by ? "  %s\n" : "\n", row->by);
}

static void print_proof_end(const struct proof *proof) {
    if (is_all_proven(proof)) {
        printf("\nall proven, where nothing faults\n");
        return;
    }
    printf("\n%zu proven where nothing faults, %zu unproven, %zu different\n",
           proof->states[PROOF_PROVEN], proof->states[PROOF_NONE], proof->states[PROOF_DIFFERENT]);
    if (proof->states[PROOF_DIFFERENT])
        text_wrap(
            stdout, 0,
            "Code that is different was changed, or another compiler or assembler made it, or "
            "the same one with other options.");
}

static void print_proof_text(const struct report_head *head, const struct proof *proof) {
    report_print_head(head);
    for (size_t i = 0; i < proof->count; i++)
        print_proof_row(&proof->rows[i]);
    print_proof_end(proof);
}

/* --- As JSON --- */

static json_t *proof_row_json(const struct proof_row *row) {
    return json_pack("{s:s, s:s, s:s, s:o, s:s?}", "function", row->code.form, "variant",
                     row->code.kernel, "state", state_names[row->state], "bytes",
                     row->size ? json_number(row->size) : json_null(), "made_by", row->by);
}

static void print_proof_json(const struct report_head *head, const struct proof *proof) {
    json_t *rows = json_array();
    for (size_t i = 0; i < proof->count; i++)
        json_array_append_new(rows, proof_row_json(&proof->rows[i]));
    json_t *report = report_head_json(head);
    json_object_set_new(report, "kernels", rows);
    json_object_set_new(report, "proven", json_boolean(is_all_proven(proof)));
    json_print_report(report);
}

int proof_report(const struct report_head *head, bool json) {
    static struct proof proof;
    if (!proof_compare(head->library, &proof))
        return command_error("built without 'selftest --proof': install libmd (in Debian, "
                             "libmd-dev), and build again");
    (json ? print_proof_json : print_proof_text)(head, &proof);
    return proof.states[PROOF_DIFFERENT] ? STATUS_BAD : STATUS_CLEAN;
}
