/* SPDX-License-Identifier: MIT */
/*
 * Reports switches between contexts to sanitizers, through their interfaces for fibers
 * (sanitizer/common_interface_defs.h and sanitizer/tsan_interface.h of LLVM). The references are
 * weak: NULL without a sanitizer.
 *
 * This file is compiled without sanitizers: an instrumented function would begin on one stack and
 * end on another.
 */
#include "base/fiber_host.h"

#include <carry/context.h>

#define WEAK __attribute__((weak))

void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size) WEAK;
void __sanitizer_finish_switch_fiber(void *saved, const void **bottom, size_t *size) WEAK;
void *__tsan_get_current_fiber(void) WEAK;
void *__tsan_create_fiber(unsigned flags) WEAK;
void __tsan_destroy_fiber(void *fiber) WEAK;
void __tsan_switch_to_fiber(void *fiber, unsigned flags) WEAK;

/* Lies in the static part of thread-local storage: a handler must not wait for its allocation. */
static _Thread_local volatile bool switching __attribute__((tls_model("initial-exec")));

static bool is_thread_sanitizer(void) {
    return __tsan_switch_to_fiber != NULL;
}

bool carry_host_has_fibers(void) {
    return is_thread_sanitizer() || __sanitizer_start_switch_fiber;
}

static void switch_in_tsan(struct carry_context *from, struct carry_context *to, bool finished) {
    void *current = __tsan_get_current_fiber();
    if (!finished)
        from->fiber = current;
    if (!to->fiber)
        to->fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->fiber, 0);
    if (finished)
        __tsan_destroy_fiber(current);
}

/* Calls both functions of the sanitizer before the switch: no instrumented code runs between these
 * calls and the switch. */
static void switch_in_asan(struct carry_context *from, struct carry_context *to, bool finished) {
    const void *bottom;
    size_t size;
    __sanitizer_start_switch_fiber(finished ? NULL : &from->fiber, to->stack, to->stack_size);
    __sanitizer_finish_switch_fiber(to->fiber, &bottom, &size);
    if (!finished && !from->stack) {
        from->stack = (void *)bottom;
        from->stack_size = size;
    }
}

void carry_host_fiber_switch(struct carry_context *from, struct carry_context *to, bool finished) {
    switching = true;
    if (is_thread_sanitizer())
        switch_in_tsan(from, to, finished);
    else
        switch_in_asan(from, to, finished);
    switching = false;
}

int carry_host_fiber_preempts(void) {
    if (is_thread_sanitizer())
        return CARRY_ERROR_UNSUPPORTED;
    return switching ? CARRY_ERROR_BUSY : CARRY_OK;
}
