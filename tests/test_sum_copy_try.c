/* SPDX-License-Identifier: MIT */
/* `sum`: copies that survive faults, by the check of those that do not sum. */
#include <carry/sum.h>

#include "harness/check_copies.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "sum/choice.h"
#include "sum/sum.h"

static carry_sum_copy_try_fn *tried;

static size_t copy_try(void *dst, const void *src, size_t size) {
    return tried(dst, src, size, 0).left;
}

static void test_kernel(size_t index, const char *name, const struct effort *effort) {
    tried = (carry_sum_copy_try_fn *)carry_sum_copy_try_kernels.rows[index].run;
    struct verdict verdict = check_copies_faults((struct copier){.attempt = copy_try}, effort);
    verdict_report(&verdict, "%s: faults of pages between others, and signals", name);
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports faults as errors of the program");
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        if (kernel.missing)
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
        else
            test_kernel(i, kernel.name, effort);
    return tap_done();
}
