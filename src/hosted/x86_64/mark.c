/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_context.h"
#include "hosted/levels.h"

_Static_assert(sizeof(struct carry_signal_mark) < CARRY_SIGNAL_ALIGNMENT, "a mark is in one page");

/*
 * Returns the mark before the handler, or NULL. An aligned mark is in the same page as the handler.
 * The system must still confirm that the mark can be read: the handler's object may be unloaded, or
 * in memory that can only be executed (by a protection key). In such memory, the handler of another
 * copy of the library counts as foreign.
 */
const struct carry_signal_mark *carry_signal_mark_of(uintptr_t handler) {
    const uintptr_t address = handler - sizeof(struct carry_signal_mark);
    if (address % CARRY_SIGNAL_ALIGNMENT || !carry_ucontext_is_readable(address))
        return NULL;
    const struct carry_signal_mark *mark = (const struct carry_signal_mark *)address;
    return mark->magic == CARRY_SIGNAL_MAGIC ? mark : NULL;
}
