/* SPDX-License-Identifier: MIT */
#include "mutants/section.h"

#include <carry/section.h>

#include "base/section_host.h"
#include "harness/section_sim.h"

enum broken_section broken_section;

uint64_t __real_carry_xstate_save(void *area, uint64_t mask);
uint64_t __wrap_carry_xstate_save(void *area, uint64_t mask);
void __real_carry_xstate_load(const void *area, uint64_t mask);
void __wrap_carry_xstate_load(const void *area, uint64_t mask);
bool __real_carry_host_in_nmi(void);
bool __wrap_carry_host_in_nmi(void);

uint64_t __wrap_carry_xstate_save(void *area, uint64_t mask) {
    sim_point();
    if (broken_section != BROKEN_SECTION_FORGETS)
        __real_carry_xstate_save(area, mask);
    sim_point();
    return mask;
}

void __wrap_carry_xstate_load(const void *area, uint64_t mask) {
    sim_point();
    if (broken_section == BROKEN_SECTION_LETS_GO)
        carry_host_section_cpu()->section = NULL;
    __real_carry_xstate_load(area, mask);
    sim_point();
}

bool __wrap_carry_host_in_nmi(void) {
    return broken_section != BROKEN_SECTION_NMI && __real_carry_host_in_nmi();
}
