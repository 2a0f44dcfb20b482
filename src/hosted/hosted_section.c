/* SPDX-License-Identifier: MIT */
/* The host of sections in a process, which needs none: its vector registers are its own. */
#include "base/section_host.h"

void carry_host_preempt_off(void) {
}

void carry_host_preempt_on(void) {
}

bool carry_host_in_nmi(void) {
    return false;
}

struct carry_section_cpu *carry_host_section_cpu(void) {
    return NULL;
}

void carry_host_vectors_allow(void) {
}

bool carry_host_section_defer(struct carry_section_thread *thread) {
    (void)thread;
    return true;
}
