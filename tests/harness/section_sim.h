/* SPDX-License-Identifier: MIT */
/*
 * Simulates a kernel with several CPUs and threads around <carry/section.h>, with real vector
 * registers. Everything runs in one thread: a simulated CPU keeps its registers in the real ones
 * while it runs the library, and otherwise in memory. Wherever the library calls its host,
 * interrupts, NMIs and other CPUs interfere at random. Each thread's registers are known and
 * compared.
 */
#ifndef CARRY_TESTS_SECTION_SIM_H
#define CARRY_TESTS_SECTION_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "harness/verdict.h"

struct sim {
    bool injects;     /* events interfere wherever the library calls its host */
    bool loads_early; /* threads run in kernel mode only, so their registers are loaded at once, not
                         on a return to user mode */
    size_t steps;     /* the number of host calls and actions so far */
    size_t sections;
    size_t nested;
    size_t busy;
    size_t nmis;
    size_t migrations;
    struct verdict verdict;
};

extern struct sim sim;

/* Initialises the CPUs and threads. */
void sim_start(bool loads_early);

/* Makes a random CPU do something. */
void sim_act(void);

/* Lets events interfere here, if `injects` is set. */
void sim_point(void);

/*
 * Interrupts one instruction of the function that `what` selects: one that begins or ends a
 * section, reloads registers, or switches threads. `target` is the number of the instruction,
 * counted from 0. The interrupt begins a section, with an area or without. Returns false if there
 * is no such instruction, or the CPU cannot be stepped.
 */
enum sim_stepped { SIM_BEGIN, SIM_END, SIM_RELOAD, SIM_SWITCH, SIM_STEPPED };
bool sim_interrupt_at(enum sim_stepped what, size_t target, bool with_area);

#endif
