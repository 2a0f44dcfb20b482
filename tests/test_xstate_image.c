/* SPDX-License-Identifier: MIT */
/* `xstate`: images of all machines, on any machine. */
#include <string.h>

#include <carry/image.h>

#include "harness/check_images.h"
#include "harness/images.h"
#include "harness/machines.h"
#include "harness/rng.h"
#include "harness/tap.h"

static void test_names(void) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_REFUSALS; i++) {
        enum carry_xstate_refusal refusal = (enum carry_xstate_refusal)i;
        ok &= *carry_xstate_refusal_name(refusal) && *carry_xstate_refusal_description(refusal);
    }
    tap_ok(ok, "every refusal has a name and a line for people");
    tap_ok(!carry_xstate_refusal_name(CARRY_XSTATE_REFUSALS) &&
               !carry_xstate_refusal_description(CARRY_XSTATE_REFUSALS),
           "and others have none");
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    test_names();
    struct verdict verdict = check_initial(carry_xstate_initial);
    verdict_report(&verdict, "initial images");
    verdict = check_refusals(carry_xstate_check);
    verdict_report(&verdict, "refusals");
    verdict = check_random_images(carry_xstate_check, effort);
    verdict_report(&verdict, "random images");
    verdict = check_conversions(carry_xstate_convert);
    verdict_report(&verdict, "conversions");
    return tap_done();
}
