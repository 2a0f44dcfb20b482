/* SPDX-License-Identifier: MIT */
/* Sections where there are none: in a process, and on any architecture. */
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
           "nor one with an area");
    carry_section_create(&thread, area, mask);
    tap_ok(TAP_EQ(carry_section_switch(&thread), CARRY_ERROR_UNSUPPORTED),
           "no thread is switched to");
    tap_ok(TAP_EQ(carry_section_reload(&thread), CARRY_ERROR_UNSUPPORTED), "none is loaded");
    tap_ok(TAP_EQ(carry_section_sync(&thread), CARRY_ERROR_UNSUPPORTED), "none is saved");
    carry_section_forget(&thread);
    free(area);
    return tap_done();
}
