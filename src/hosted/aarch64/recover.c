/* SPDX-License-Identifier: MIT */
/*
 * How a thread continues after a fault. When the handler returns, Linux restores all registers from
 * the context. Vector registers are in records after the context: unchanged records restore the
 * state at the fault, including Z, P and FFR of SVE and the modes of SME.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_context.h"

#include <ucontext.h>

/* Checks for 64-bit pointers, which the assembly requires. */
bool carry_ucontext_can_recover(void) {
    return sizeof(void *) == sizeof(uint64_t);
}

/*
 * Checks for Valgrind by a request that only Valgrind answers: rotations of x12 by 128 bits in
 * total, which no compiler emits, then an OR of x10 with itself. x4 points to the number of the
 * request; x3 receives the answer, and keeps its value on a CPU ("Client Requests" in the manual of
 * Valgrind).
 */
static bool is_under_valgrind(void) {
    static const uint64_t running_on_valgrind[6] = {0x1001};
    register uint64_t answer __asm__("x3") = 0;
    register const uint64_t *request __asm__("x4") = running_on_valgrind;
    __asm__ __volatile__("ror x12, x12, #3\n\t"
                         "ror x12, x12, #13\n\t"
                         "ror x12, x12, #51\n\t"
                         "ror x12, x12, #61\n\t"
                         "orr x10, x10, x10"
                         : "+r"(answer)
                         : "r"(request)
                         : "cc", "memory");
    return answer;
}

bool carry_ucontext_is_exact(void) {
    return !is_under_valgrind();
}

/* A record after the context, with the members of a record that holds SVE registers, or the address
 * of further records (Linux, arch/arm64/include/uapi/asm/sigcontext.h). */
struct record {
    uint32_t magic, size;
    union {
        struct {
            uint16_t vector_bytes, flags;
        } sve;
        uint64_t others;
    };
};

#define SVE_MAGIC   0x53564501
#define EXTRA_MAGIC 0x45585401
#define SVE_IS_SM   1

static const struct record *record_behind(const struct record *record) {
    const uintptr_t next = (uintptr_t)record + record->size;
    return (const struct record *)(record->magic == EXTRA_MAGIC ? (uintptr_t)record->others : next);
}

static bool is_streaming(const void *context) {
    const void *first = ((const ucontext_t *)context)->uc_mcontext.__reserved;
    const struct record *record = first;
    while (record->magic && record->magic != SVE_MAGIC)
        record = record_behind(record);
    return record->magic && record->sve.flags & SVE_IS_SM;
}

void carry_ucontext_leave_frame(void *context, uintptr_t *value) {
    *value += is_streaming(context);
}

/*
 * PSTATE.BTYPE, which an indirect branch sets and the next instruction clears: while it is set,
 * guarded pages accept only landing pads (BTI). If the first instruction after such a branch
 * faults, in a page that is not guarded, the context contains BTYPE. It would then apply to the
 * recovery, which is not a landing pad, or accepts only calls. The return from the handler is not
 * such a branch.
 */
#define BTYPE (UINT64_C(3) << 10)

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value) {
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    registers->regs[16] = value;
    registers->pc = recovery;
    registers->pstate &= ~BTYPE;
}
