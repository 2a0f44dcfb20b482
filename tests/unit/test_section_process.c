/* SPDX-License-Identifier: MIT */
/* Tests sections where they are unsupported: in a process, on any architecture. */
#include <carry/section.h>
#include <stdlib.h>

#include "harness/tap.h"

int main(void) {
    struct carry_section section;
    struct carry_section_thread thread;
    uint64_t mask = carry_xstate_default();
    void *area = aligned_alloc(CARRY_XSTATE_ALIGN, carry_xstate_area_size(mask));
    tap_ok(TAP_EQ(carry_section_begin(&section, NULL, 0), CARRY_ERROR_UNSUPPORTED),
           "no section begins");
    tap_ok(TAP_EQ(carry_section_begin(&section, area, CARRY_SECTION_X87), CARRY_ERROR_UNSUPPORTED),
           "no section with an area begins");
    carry_section_create(&thread, area, mask);
    tap_ok(TAP_EQ(carry_section_switch(&thread), CARRY_ERROR_UNSUPPORTED),
           "switching threads is unsupported");
    tap_ok(TAP_EQ(carry_section_reload(&thread), CARRY_ERROR_UNSUPPORTED),
           "loading is unsupported");
    tap_ok(TAP_EQ(carry_section_sync(&thread), CARRY_ERROR_UNSUPPORTED), "saving is unsupported");
    carry_section_forget(&thread);
    free(area);
    return tap_done();
}
