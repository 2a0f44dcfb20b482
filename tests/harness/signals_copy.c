/* SPDX-License-Identifier: MIT */
#include "harness/signals_copy.h"

#include <carry/fault.h>
#include <signal.h>

__attribute__((visibility("default"))) extern struct signals_copy signals_copy;

int __real_sigaction(int number, const struct sigaction *action, struct sigaction *old);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *old);

int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    void (*meanwhile)(void) = action && number == SIGSEGV ? signals_copy.meanwhile : NULL;
    if (meanwhile) {
        signals_copy.meanwhile = NULL;
        meanwhile();
    }
    return __real_sigaction(number, action, old);
}

/* Returns whether this copy of the library recovers from faults. Its frame is unknown to other
   copies, so the fault must arrive in this one. */
static bool survives_faults(void) {
    static volatile int *volatile const nowhere = (volatile int *)(uintptr_t)0x1230;
    struct carry_fault_frame frame;
    unsigned char to[8];
    if (carry_fault_enter(&frame) == 0) {
        *nowhere = 1;
        carry_fault_leave(&frame);
        return false;
    }
    return frame.address == (const void *)nowhere && carry_copy_try(to, NULL, sizeof to) == 8;
}

struct signals_copy signals_copy = {carry_fault_acquire, carry_fault_release, survives_faults,
                                    NULL};
