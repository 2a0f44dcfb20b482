/* SPDX-License-Identifier: MIT */
/*
 * Tests `copy`: runs every check on the forms of kernels that survive faults. Where a kernel is
 * chosen, its form must be chosen, too.
 */
#include <string.h>

#include <carry/copy.h>

#include "copy/copy_choice.h"
#include "harness/check_copies.h"
#include "harness/fault.h"
#include "harness/tap.h"

static const struct {
    const char *name;
    carry_copy_try_fn *attempt;
} forms[] = {
#define CARRY_COPY_KERNEL(arch, name, ...) CARRY_ROWS_##arch({#name, carry_copy_try_##name}, )
#include "copy/kernels.def"
#undef CARRY_COPY_KERNEL
};

static void test_form(size_t index, const struct effort *effort) {
    const struct copier copier = {.attempt = forms[index].attempt};
    copies_check_all(copier, effort, forms[index].name);
    if (fault_under_valgrind()) {
        tap_skip(forms[index].name, "valgrind reports faults as errors of the program");
        return;
    }
    struct verdict verdict = check_copies_faults(copier, effort);
    verdict_report(&verdict, "%s: faults", forms[index].name);
    verdict = check_copies_races(copier, effort);
    verdict_report(&verdict, "%s: pages that are removed meanwhile", forms[index].name);
}

static bool follows_choice(size_t index) {
    char to[6] = "";
    return carry_copy_select(forms[index].name) == CARRY_OK &&
           carry_get_carry_copy_try() == forms[index].attempt &&
           carry_copy_try_call(to, "right", sizeof to) == 0 && !strcmp(to, "right");
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    struct carry_copy_kernel kernel;
    for (size_t i = 0; carry_copy_kernel(i, &kernel); i++) {
        if (kernel.missing) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
            continue;
        }
        tap_ok(follows_choice(i), "%s: the form that survives faults is chosen with it",
               kernel.name);
        test_form(i, effort);
    }
    return tap_done();
}
