/* SPDX-License-Identifier: MIT */
/*
 * A sanitizer that checks switches only. It replaces AddressSanitizer's functions for switches,
 * overwrites registers that calls may overwrite, and ends the test if an impossible switch is
 * reported.
 */
#include <carry/context.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/fault.h"

void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *saved, const void **bottom, size_t *size);

/* A stack. The library must return the saved bottom to the sanitizer. */
struct stack {
    const void *bottom;
    size_t size;
};

static _Thread_local struct stack current, next;
static bool told;

static void fail_switch(const char *what) {
    printf("Bail out! a switch is reported wrongly: %s\n", what);
    fflush(stdout);
    _exit(1);
}

static struct stack own_stack(void) {
    pthread_attr_t attributes;
    void *bottom = NULL;
    size_t size = 0;
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getstack(&attributes, &bottom, &size);
        pthread_attr_destroy(&attributes);
    }
    return (struct stack){bottom, size};
}

static void spoil_registers(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        __asm__ volatile(".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
                         "vpcmpeqd %%ymm\\number, %%ymm\\number, %%ymm\\number\n\t"
                         ".endr" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
#endif
}

void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size) {
    if (!current.bottom)
        current = own_stack();
    if (next.bottom)
        fail_switch("two starts");
    if (!bottom || !size)
        fail_switch("to no stack");
    if (save)
        *save = (void *)current.bottom;
    next = (struct stack){bottom, size};
    told = true;
    spoil_registers();
}

void __sanitizer_finish_switch_fiber(void *saved, const void **bottom, size_t *size) {
    if (!next.bottom)
        fail_switch("an end without a start");
    if (saved && saved != next.bottom)
        fail_switch("what was kept is of another stack");
    *bottom = current.bottom;
    *size = current.size;
    current = next;
    next.bottom = NULL;
    spoil_registers();
}

static struct carry_context here, there;

static struct carry_context *go_back(void *argument, uintptr_t value) {
    (void)argument, (void)value;
    return &here;
}

/* Checks before the test that switches are reported at all. */
static __attribute__((constructor)) void expect_to_be_told(void) {
    static char stack[16384];
    if (fault_under_valgrind() ||
        carry_context_create(&there, stack, sizeof stack, go_back, NULL) != CARRY_OK)
        return;
    carry_context_adopt(&here, NULL, 0);
    carry_context_switch(&here, &there, 0);
    if (!told)
        fail_switch("not at all");
}
