/* SPDX-License-Identifier: MIT */
#include "mutants/context.h"

#include <string.h>
#include <ucontext.h>

uintptr_t broken_context_switch_r15(struct carry_context *from, struct carry_context *to,
                                    uintptr_t value);
uintptr_t broken_context_switch_uppers(struct carry_context *from, struct carry_context *to,
                                       uintptr_t value);

static uint16_t fcw;
static uint32_t mxcsr;

static uintptr_t switch_fcw(struct carry_context *from, struct carry_context *to, uintptr_t value) {
    __asm__ volatile("fnstcw %0" : "=m"(fcw));
    value = carry_context_switch(from, to, value);
    __asm__ volatile("fldcw %0" : : "m"(fcw));
    return value;
}

static uintptr_t switch_x87(struct carry_context *from, struct carry_context *to, uintptr_t value) {
    uint16_t same;
    value = carry_context_switch(from, to, value);
    __asm__ volatile("fnstcw %0\n\tfldcw %0" : "=m"(same));
    return value;
}

static uintptr_t switch_mxcsr(struct carry_context *from, struct carry_context *to,
                              uintptr_t value) {
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    value = carry_context_switch(from, to, value);
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    return value;
}

static int preempt_red_zone(struct carry_context *from, struct carry_context *to, void *ucontext) {
    const greg_t *registers = ((ucontext_t *)ucontext)->uc_mcontext.gregs;
    void *below = (char *)registers[REG_RSP] - 8;
    int error = carry_context_preempt(from, to, ucontext);
    if (!error)
        memset(below, 0, 8);
    return error;
}

static int preempt_flags(struct carry_context *from, struct carry_context *to, void *ucontext) {
    int error = carry_context_preempt(from, to, ucontext);
    if (!error)
        from->registers.rflags = 0x202;
    return error;
}

static int preempt_vectors(struct carry_context *from, struct carry_context *to, void *ucontext) {
    const uint64_t lost = carry_xstate_enabled() & CARRY_XSTATE_BIT(HI16_ZMM)
                              ? CARRY_XSTATE_BIT(HI16_ZMM)
                              : CARRY_XSTATE_BIT(SSE);
    uint64_t used;
    int error = carry_context_preempt(from, to, ucontext);
    memcpy(&used, (char *)from->area + CARRY_XSTATE_LEGACY, sizeof used);
    used &= ~lost;
    if (!error)
        memcpy((char *)from->area + CARRY_XSTATE_LEGACY, &used, sizeof used);
    return error;
}

const struct context_calls broken_context_r15 = {broken_context_switch_r15, carry_context_preempt};
const struct context_calls broken_context_x87 = {switch_x87, carry_context_preempt};
const struct context_calls broken_context_fcw = {switch_fcw, carry_context_preempt};
const struct context_calls broken_context_mxcsr = {switch_mxcsr, carry_context_preempt};
const struct context_calls broken_context_uppers = {broken_context_switch_uppers,
                                                    carry_context_preempt};
const struct context_calls broken_context_red_zone = {carry_context_switch, preempt_red_zone};
const struct context_calls broken_context_flags = {carry_context_switch, preempt_flags};
const struct context_calls broken_context_vectors = {carry_context_switch, preempt_vectors};
