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

/* Four bytes are the register; Linux leaves the others in signal frames as the stack was. */
static void test_pkru(void) {
    static uint8_t image[IMAGE_BYTES_MAX];
    const uint64_t pkru = CARRY_XSTATE_BIT(PKRU);
    size_t judged = 0, wrong = 0;
    for (size_t i = 0; machine_at(i); i++) {
        const struct carry_xstate_layout *layout = &machine_at(i)->layout;
        size_t at = image_offset(layout, 0, CARRY_XSTATE_PKRU);
        if (!(layout->user & pkru))
            continue;
        judged++;
        image_make(image, layout, 0, pkru);
        image_put(image, at, 4, 0);
        image_put(image, at + 4, 4, 0x8000ffff);
        wrong += !carry_xstate_image_is_initial(layout, image, CARRY_XSTATE_PKRU);
        image_put(image, at, 4, 0x55555554);
        wrong += carry_xstate_image_is_initial(layout, image, CARRY_XSTATE_PKRU);
    }
    tap_ok(judged && !wrong, "PKRU is four bytes, on %zu machines", judged);
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    test_names();
    test_pkru();
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
