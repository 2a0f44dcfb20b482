/* SPDX-License-Identifier: MIT */
/* Tests sections in a simulated kernel, with real registers. */
#include <carry/section.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/rng.h"
#include "harness/section_sim.h"
#include "harness/tap.h"
#include "mutants/section.h"

#define STEPS_A_ROUND    1000
#define INSTRUCTIONS_MAX 20000

static struct verdict run_schedule(size_t steps, bool loads_early) {
    sim_start(loads_early);
    sim.injects = true;
    while (sim.steps < steps && sim.verdict.ok)
        sim_act();
    sim.injects = false;
    return sim.verdict;
}

static void test_schedule(size_t steps, bool loads_early) {
    struct verdict verdict = run_schedule(steps, loads_early);
    if (verdict.ok && !(sim.sections && sim.nested && sim.busy && sim.nmis && sim.migrations))
        verdict_fail(&verdict, "some event never happened");
    tap_note("%zu steps: %zu sections, %zu of them nested, %zu refused, %zu NMIs, %zu migrations",
             sim.steps, sim.sections, sim.nested, sim.busy, sim.nmis, sim.migrations);
    verdict_report(&verdict, "random schedules, %s",
                   loads_early ? "loaded at once" : "loaded on the return to user mode");
}

static const char *const stepped_names[SIM_STEPPED] = {"begin", "end", "reload", "switch"};

/*
 * Returns the stride between the instructions that are interrupted. Each trial steps through all
 * instructions before the interrupted one, so at level short not every instruction is tried.
 * Without an area, all interrupts before the claim have the same effect, and all later ones are
 * refused: below level long, some instructions suffice.
 */
static size_t stride_of(const struct effort *effort, bool with_area) {
    return effort->all || with_area ? effort->stride : 7;
}

static void test_instructions(size_t stride, enum sim_stepped what, bool with_area,
                              bool loads_early) {
    sim_start(loads_early);
    size_t instruction = rng_below(stride);
    while (instruction < INSTRUCTIONS_MAX && sim.verdict.ok &&
           sim_interrupt_at(what, instruction, with_area))
        instruction += stride;
    const char *how = with_area ? "with an area" : "without an area";
    const char *when = loads_early ? "at once" : "later";
    if (!instruction && sim.verdict.ok)
        tap_skip("an interrupt at every instruction", "nothing can be single-stepped here");
    else
        verdict_report(&sim.verdict,
                       "an interrupt at one in %zu of %zu instructions of %s, %s, loaded %s",
                       stride, instruction, stepped_names[what], how, when);
}

static const struct mutant {
    const char *name;
    enum broken_section mutant;
} mutants[] = {
    {"a section that does not save", BROKEN_SECTION_FORGETS},
    {"a section that releases the CPU before it has loaded", BROKEN_SECTION_LETS_GO},
    {"a section that nests in one area", BROKEN_SECTION_ONE_AREA},
    {"a section that NMIs can begin", BROKEN_SECTION_NMI},
};

static void test_mutant(const struct mutant *mutant, size_t steps) {
    broken_section = mutant->mutant;
    struct verdict verdict = run_schedule(steps, false);
    broken_section = BROKEN_SECTION_NOT;
    tap_ok(!verdict.ok, "%s is caught: %s", mutant->name, verdict.text);
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind keeps x87 registers in 64 bits");
    const struct effort *effort = effort_chosen();
    /* Schedules found each of twelve trial faults in section.c, the last one at step 115,342. */
    size_t steps = effort->few_rounds * STEPS_A_ROUND;
    effort_note(effort);
    for (int loads_early = 0; loads_early < 2; loads_early++) {
        test_schedule(steps, loads_early);
        for (enum sim_stepped what = 0; what < SIM_STEPPED; what++)
            for (int with_area = 0; with_area < 2; with_area++)
                test_instructions(stride_of(effort, with_area), what, with_area, loads_early);
    }
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i], steps);
    return tap_done();
}
