/* SPDX-License-Identifier: MIT */
#include "harness/recover.h"

#include <stddef.h>
#include <ucontext.h>

#define PAGE_BYTES 4096
#define ADDRESS    (UINT64_MAX >> 8) /* without the tag */

const uintptr_t recover_tag = UINT64_C(0xa5) << 56;

uintptr_t *recover_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.pc;
}

uintptr_t *recover_value(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.regs[16];
}

/* --- Stores of the kernels and their mutants (Arm ARM, C4.1, loads and stores) --- */

/* Returns the field of `bits` bits from bit `low` on. */
static unsigned instruction_field(uint32_t instruction, unsigned low, unsigned bits) {
    return instruction >> low & ((1u << bits) - 1);
}

static uintptr_t signed_field(uint32_t instruction, unsigned low, unsigned bits) {
    return (uintptr_t)(intptr_t)((int32_t)(instruction << (32 - low - bits)) >> (32 - bits));
}

/*
 * Returns how many bytes a store writes at *offset from its base register, or 0 for other
 * instructions.
 */
static size_t stored_bytes(uint32_t instruction, const mcontext_t *registers, uintptr_t *offset) {
    const bool is_vector = instruction_field(instruction, 26, 1),
               is_scaled = instruction_field(instruction, 24, 1);
    const unsigned scale =
        instruction_field(instruction, 30, 2) | instruction_field(instruction, 23, 1) << 2;
    const unsigned pair_scale = 2 + (is_vector ? instruction_field(instruction, 30, 2)
                                               : instruction_field(instruction, 31, 1));
    if (instruction_field(instruction, 22, 1)) /* a load */
        return 0;
    if (instruction_field(instruction, 27, 3) == 5) { /* STP */
        *offset = signed_field(instruction, 15, 7) << pair_scale;
        return (size_t)2 << pair_scale;
    }
    if (instruction_field(instruction, 27, 3) != 7)
        return 0;
    if (is_scaled)
        *offset = (uintptr_t)instruction_field(instruction, 10, 12) << scale;
    else if (instruction_field(instruction, 21, 1)) /* a register offset that is not scaled */
        *offset = registers->regs[instruction_field(instruction, 16, 5)];
    else
        *offset = signed_field(instruction, 12, 9);
    return (size_t)1 << scale;
}

bool recover_stores_in_part(void *context, uintptr_t page) {
    const mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    const uint32_t instruction = *(const uint32_t *)registers->pc;
    uintptr_t offset = 0;
    const size_t size = stored_bytes(instruction, registers, &offset);
    const uintptr_t start =
        (registers->regs[instruction_field(instruction, 5, 5)] + offset) & ADDRESS;
    return size && start / PAGE_BYTES * PAGE_BYTES == page && start + size > page + PAGE_BYTES;
}
