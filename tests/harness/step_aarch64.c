/* SPDX-License-Identifier: MIT */
/*
 * Steps by breakpoints, because a process cannot single-step itself on AArch64: each instruction
 * in turn is replaced by BRK. The handler decodes the original instruction and puts the next BRK
 * where execution continues. Exclusive loads and stores must not be stepped, because a handler
 * ends their reservation.
 */
#include "harness/step.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define BRK(n) (UINT32_C(0xd4200000) | (n) << 5)
#define STEP   BRK(0)
#define BEGIN  BRK(1)
#define END    BRK(2)

static size_t left;
static void (*action)(void);
static struct sigaction before;

static uint32_t *place; /* where STEP is written, or NULL */
static uint32_t replaced;

static void write_text(uint32_t *at, uint32_t instruction) {
    static uintptr_t writable;
    const uintptr_t size = (uintptr_t)getpagesize(), page = (uintptr_t)at & -size;
    if (page != writable)
        mprotect((void *)page, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    writable = page;
    *at = instruction;
    __builtin___clear_cache((char *)at, (char *)(at + 1));
}

static void put_break(uintptr_t at) {
    place = (uint32_t *)at;
    replaced = *place;
    write_text(place, STEP);
}

static void take_break(void) {
    if (place)
        write_text(place, replaced);
    place = NULL;
}

/* --- Targets of instructions (Arm ARM, C4.1) --- */

/* Returns the field of `bits` bits from `low` on, a signed number of instructions, in bytes. */
static uintptr_t target_offset(uint32_t instruction, unsigned low, unsigned bits) {
    const int32_t top = (int32_t)(instruction << (32 - low - bits));
    return (uintptr_t)(intptr_t)(top >> (32 - bits)) * 4;
}

static uint64_t register_of(const mcontext_t *registers, uint32_t instruction, unsigned low) {
    const unsigned number = instruction >> low & 31;
    return number < 31 ? registers->regs[number] : 0;
}

static bool condition_holds(uint64_t pstate, unsigned condition) {
    const bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1;
    const bool v = pstate >> 28 & 1;
    const bool each[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    return each[condition >> 1] != (condition & 1 && condition != 15);
}

static uintptr_t next_address(const mcontext_t *registers, uintptr_t pc) {
    const uint32_t instruction = *(const uint32_t *)pc;
    const uint64_t tested = register_of(registers, instruction, 0);
    const bool inverts = instruction >> 24 & 1;
    bool goes = false;
    if ((instruction & 0x7c000000) == 0x14000000) /* B, BL */
        return pc + target_offset(instruction, 0, 26);
    if ((instruction & 0xfe000000) == 0xd6000000) /* BR, BLR, RET */
        return register_of(registers, instruction, 5);
    if ((instruction & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
        const unsigned bit = (instruction >> 31) << 5 | (instruction >> 19 & 31);
        goes = (tested >> bit & 1) == inverts;
        return goes ? pc + target_offset(instruction, 5, 14) : pc + 4;
    }
    if ((instruction & 0x7e000000) == 0x34000000) /* CBZ, CBNZ */
        goes = !(instruction >> 31 ? tested : (uint32_t)tested) != inverts;
    else if ((instruction & 0xff000010) == 0x54000000) /* B.cond */
        goes = condition_holds(registers->pstate, instruction & 15);
    return goes ? pc + target_offset(instruction, 5, 19) : pc + 4;
}

/* --- Steps --- */

/* Stops at an instruction. Stepping begins and ends in this handler, because it must not be stepped
   itself. */
static void on_step(int signal, siginfo_t *info, void *context) {
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    (void)signal, (void)info;
    take_break();
    const uint32_t instruction = *(const uint32_t *)registers->pc;
    if (instruction == BEGIN || instruction == END)
        registers->pc += 4;
    else if (!--left)
        action();
    if (instruction != END && left)
        put_break(next_address(registers, registers->pc));
}

void step_begin(size_t count, void (*act)(void)) {
    const struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &step, &before);
    left = count;
    action = act;
    __asm__ volatile("brk #1" : : : "memory");
}

bool step_end(void) {
    __asm__ volatile("brk #2" : : : "memory");
    sigaction(SIGTRAP, &before, NULL);
    return !left;
}
