/* SPDX-License-Identifier: MIT */
/*
 * A kernel of several CPUs and threads around <carry/section.h>, with real vector registers. All of
 * it runs in one thread: a simulated CPU keeps its registers in memory while it does not run, and
 * they are in the real ones while the library does. Wherever the library calls out, interrupts,
 * NMIs and other CPUs come in at random. Each thread's registers are known, and compared.
 */
#ifndef CARRY_TESTS_SECTION_SIM_H
#define CARRY_TESTS_SECTION_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "harness/verdict.h"

struct sim {
    bool injects;     /* things come in wherever the library calls out */
    bool loads_early; /* threads that are all kernel mode: nothing is loaded on the way to them */
    size_t steps;     /* so far: calls out, and actions */
    size_t sections;
    size_t nested;
    size_t busy;
    size_t nmis;
    size_t migrations;
    struct verdict verdict;
};

extern struct sim sim;

/* Several CPUs and threads in their initial state. */
void sim_start(bool loads_early);

/* One of the CPUs, chosen at random, does something. */
void sim_act(void);

/* Where something may come in, if the host injects. */
void sim_point(void);

/*
 * An interrupt at the instruction `target` of begin, or of what ends or reloads: counted from 0
 * after `what` starts. It begins a section, with an area or without. Returns false if there was no
 * such instruction, or none can be stepped.
 */
enum sim_stepped { SIM_BEGIN, SIM_END, SIM_RELOAD, SIM_SWITCH, SIM_STEPPED };
bool sim_interrupt_at(enum sim_stepped what, size_t target, bool with_area);

#endif
