/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/context.h"
#include "hosted/levels.h"

_Static_assert(sizeof(struct carry_signal_mark) < CARRY_SIGNAL_ALIGNMENT, "a mark is in one page");

/*
 * At the right distance from an aligned address, the bytes before a handler are in its own page.
 * The system is asked all the same whether they can be read: the handler's object may be gone, or
 * in memory that can only be executed (by a protection key). A copy there counts as a stranger.
 */
const struct carry_signal_mark *carry_signal_mark_of(uintptr_t handler) {
    const uintptr_t address = handler - sizeof(struct carry_signal_mark);
    if (address % CARRY_SIGNAL_ALIGNMENT || !carry_ucontext_is_readable(address))
        return NULL;
    const struct carry_signal_mark *mark = (const struct carry_signal_mark *)address;
    return mark->magic == CARRY_SIGNAL_MAGIC ? mark : NULL;
}
