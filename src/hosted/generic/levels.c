/* SPDX-License-Identifier: MIT */
/* Handlers in C, which cannot have marks. Without sites and recovery, no handler is installed a
 * second time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/levels.h"

CARRY_SIGNAL_ENTRY void carry_signal_level_0(int number, siginfo_t *info, void *context) {
    carry_signal_handle(number, info, context, 0);
}

CARRY_SIGNAL_ENTRY void carry_signal_level_1(int number, siginfo_t *info, void *context) {
    carry_signal_handle(number, info, context, 1);
}

CARRY_SIGNAL_ENTRY void carry_signal_level_2(int number, siginfo_t *info, void *context) {
    carry_signal_handle(number, info, context, 2);
}

CARRY_SIGNAL_ENTRY void carry_signal_level_3(int number, siginfo_t *info, void *context) {
    carry_signal_handle(number, info, context, 3);
}

const struct carry_signal_mark *carry_signal_mark_of(uintptr_t handler) {
    (void)handler;
    return NULL;
}
