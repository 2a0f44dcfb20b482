/* SPDX-License-Identifier: MIT */
/* Implements the interrupt flag by the CPU's own instructions. */
#include "interrupts.h"

static void native_off(void) {
    CARRY_BODY(native_off, "cli");
    __asm__ volatile("cli" : : : "memory");
}

static void native_on(void) {
    CARRY_BODY(native_on, "sti");
    __asm__ volatile("sti" : : : "memory");
}

static uintptr_t native_save(void) {
    CARRY_BODY_SEVERAL(native_save, "pushfq; popq %%rax");
    return cpu_flags();
}

static void native_restore(uintptr_t flags) {
    CARRY_BODY_SEVERAL(native_restore, "pushq %%rdi; popfq");
    __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc");
}

const struct interrupts interrupts_native = {native_off, native_on, native_save, native_restore};
