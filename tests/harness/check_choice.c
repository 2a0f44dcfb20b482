/* SPDX-License-Identifier: MIT */
#include "harness/check_choice.h"

#include <string.h>

#include <carry/base.h>
#include <carry/cpu.h>

#include "harness/tap.h"

#define NO_ROW 1000

const char *choice_best(const struct choice *choice) {
    const char *best = "none";
    struct choice_row row;
    for (size_t i = 0; choice->row(i, &row); i++)
        if (!row.missing && row.preferred)
            best = row.name;
    return best;
}

static bool is_only_choice(const struct choice *choice, const char *name) {
    size_t count = 0;
    bool named = false;
    struct choice_row row;
    for (size_t i = 0; choice->row(i, &row); i++) {
        count += row.chosen;
        named |= row.chosen && !strcmp(row.name, name);
    }
    return named && count == 1;
}

bool choice_is_best(const struct choice *choice) {
    return is_only_choice(choice, choice_best(choice));
}

static bool refuses_what_lacks_features(const struct choice *choice) {
    bool ok = true;
    struct choice_row row;
    for (size_t i = 0; choice->row(i, &row); i++)
        if (row.missing)
            ok = ok && choice->select(row.name) == CARRY_ERROR_UNSUPPORTED;
    return ok;
}

static size_t kernel_count(const struct choice *choice) {
    struct choice_row row;
    size_t count = 0;
    while (choice->row(count, &row))
        count++;
    return count;
}

/* Returns whether `code` lists all kernels in the order of their rows, once for each form. */
static bool has_code(const struct choice *choice) {
    const size_t count = kernel_count(choice);
    struct carry_kernel_code code;
    struct choice_row row;
    size_t i = 0;
    for (; choice->code(i, &code); i++)
        if (!choice->row(i % count, &row) || strcmp(code.kernel, row.name) || !code.start)
            return false;
    return i && i % count == 0;
}

/* Returns whether the list of a kernel's needs ends, and no need equals the need before it. */
static bool lists_needs(const struct choice *choice, size_t index) {
    const char *before = "", *need;
    size_t count = 0;
    for (; (need = choice->need(index, count)) && count < NO_ROW; before = need, count++)
        if (!strcmp(need, before))
            return false;
    return count < NO_ROW && !choice->need(index, count + 1);
}

static bool lists_all_needs(const struct choice *choice) {
    bool ok = true;
    struct choice_row row;
    for (size_t i = 0; choice->row(i, &row); i++)
        ok = ok && lists_needs(choice, i) && (!row.missing || choice->need(i, 0));
    return ok;
}

void choice_check_all(const struct choice *choice) {
    struct choice_row row;
    tap_ok(TAP_EQ(choice->select(NULL), CARRY_OK) && TAP_TRUE(choice_is_best(choice)),
           "the best kernel is chosen: %s", choice_best(choice));
    tap_ok(has_code(choice), "the code of each kernel is named");
    tap_ok(TAP_EQ(choice->select("no such kernel"), CARRY_ERROR_UNKNOWN) &&
               TAP_TRUE(choice_is_best(choice)),
           "an unknown name changes nothing");
    tap_ok(TAP_EQ(choice->select(""), CARRY_ERROR_UNKNOWN), "an empty name is unknown");
    tap_ok(TAP_EQ(choice->select("generic"), CARRY_OK) &&
               TAP_TRUE(is_only_choice(choice, "generic")) && TAP_TRUE(choice->works()),
           "a kernel is selected by name");
    carry_cpu_set_mask("all");
    tap_ok(TAP_TRUE(refuses_what_lacks_features(choice)) &&
               TAP_TRUE(is_only_choice(choice, "generic")),
           "kernels without their features are refused");
    tap_ok(lists_all_needs(choice), "kernels name what they need");
    tap_ok(TAP_EQ(choice->select(NULL), CARRY_OK) && TAP_TRUE(choice_is_best(choice)),
           "the best remaining kernel is chosen: %s", choice_best(choice));
    const char *left = choice_best(choice);
    carry_cpu_set_mask("");
    tap_ok(is_only_choice(choice, left), "the choice remains until the next selection");
    tap_ok(TAP_EQ(choice->select(NULL), CARRY_OK) && TAP_TRUE(choice_is_best(choice)),
           "the best kernel is selected");
    tap_ok(TAP_TRUE(!choice->row(NO_ROW, &row)) && TAP_TRUE(!choice->need(NO_ROW, 0)) &&
               TAP_TRUE(!choice->need(0, 0)),
           "the lists of kernels and of their needs end");
}
