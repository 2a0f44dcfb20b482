/* SPDX-License-Identifier: MIT */
/*
 * Tests sections of vector code in threads, and in interrupts at random points, and the vector
 * state of threads around them.
 */
#include "harness/rng.h"
#include "harness/tap.h"
#include "kernel.h"
#include "vectors.h"

#include <carry/section.h>
#include <carry/sum.h>

#include <string.h>

#define ROUNDS 200

static uint8_t fresh_area[VECTORS_AREA_BYTES] __attribute__((aligned(CARRY_XSTATE_ALIGN)));

static struct {
    unsigned interrupts;
    unsigned sections;
    unsigned nested;
    unsigned busy;
    unsigned nmis;
    unsigned wrong;
} seen;

static uint8_t data[1500];
static uint16_t right_sum;

/* Return the folded sum of the data, computed with general registers only, and with the kernel
   chosen for this CPU. */
static uint16_t sum_by_generals(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        if (kernel.vector_bits == 64 && !kernel.missing)
            return carry_sum_fold(kernel.sum(data, sizeof data, 0));
    return 0;
}

static uint16_t sum_by_vectors(void) {
    return carry_sum_fold(carry_sum_call(data, sizeof data, 0));
}

/* Makes an interrupt arrive at a random point of the following code. */
static void expect_interrupt(void) {
    cpu_timer(1 + (uint32_t)rng_below(20000));
}

static void wait_for_interrupt(unsigned before) {
    while (__atomic_load_n(&seen.interrupts, __ATOMIC_RELAXED) == before)
        cpu_pause();
}

/* Sums as a kernel does for a packet: with vector registers if they are available. */
static void sum_in_section(void *area, uint64_t garbage, bool is_interrupted) {
    struct carry_section section;
    bool nests = section_is_open();
    int error = carry_section_begin(&section, area, CARRY_SECTION_X87);
    if (error) {
        seen.busy += error == CARRY_ERROR_BUSY;
        seen.wrong += error != CARRY_ERROR_BUSY || sum_by_generals() != right_sum;
        return;
    }
    seen.sections++;
    seen.nested += nests;
    seen.wrong += sum_by_vectors() != right_sum;
    vectors_fill(garbage);
    if (is_interrupted) {
        unsigned before = seen.interrupts;
        expect_interrupt();
        wait_for_interrupt(before);
        seen.wrong += !vectors_hold(garbage);
    }
    carry_section_end(&section);
}

static bool sum_in_interrupt(struct trap_frame *frame) {
    (void)frame;
    seen.interrupts++;
    if (kernel_option("break=section"))
        carry_section_forget(cpu_here()->thread);
    sum_in_section(seen.interrupts % 2 ? fresh_area : NULL, seen.interrupts, false);
    return true;
}

static bool refuse_in_nmi(struct trap_frame *frame) {
    struct carry_section section;
    (void)frame;
    seen.nmis++;
    seen.wrong += carry_section_begin(&section, fresh_area, 0) != CARRY_ERROR_CONTEXT;
    return true;
}

/*
 * Runs a round. Of three rounds, one has an interrupt in its section, and two have an interrupt at
 * a random point, of which one has a section. On a busy machine, random interrupts hardly ever hit
 * a section.
 */
static void run_round(unsigned round) {
    unsigned before = seen.interrupts;
    bool is_interrupted = round % 3 == 1;
    vectors_fill(round);
    if (!is_interrupted)
        expect_interrupt();
    if (round % 3) {
        sum_in_section(NULL, ~(uint64_t)round, is_interrupted);
        section_return();
    }
    if (round % 8 == 0)
        cpu_send_nmi_to_self();
    wait_for_interrupt(before);
    seen.wrong += !vectors_hold(round);
}

static void run_thread(bool is_lazy) {
    memset(&seen, 0, sizeof seen);
    cpu_here()->is_lazy = is_lazy;
    section_become_thread();
    for (unsigned round = 0; round < ROUNDS; round++)
        run_round(round);
    section_leave_thread();
    cpu_here()->is_lazy = false;
}

static void test_interrupts_of_thread(bool is_lazy) {
    const char *how = is_lazy ? "loaded by a trap" : "loaded at once";
    run_thread(is_lazy);
    tap_note("%u sections, %u of them nested, %u busy, %u NMIs", seen.sections, seen.nested,
             seen.busy, seen.nmis);
    tap_ok(TAP_EQ(seen.wrong, 0) && TAP_GE(seen.interrupts, ROUNDS) && TAP_TRUE(seen.nested) &&
               TAP_TRUE(seen.busy) && TAP_TRUE(seen.nmis),
           "a thread keeps its registers through sections of its own, of %u interrupts, and NMIs, "
           "%s: %u wrong",
           seen.interrupts, how, seen.wrong);
}

/* --- Nested on purpose --- */

static void test_nested(void) {
    struct carry_section outer, inner;
    int error = carry_section_begin(&outer, NULL, 0);
    vectors_fill(1);
    tap_ok(TAP_EQ(error, CARRY_OK) &&
               TAP_EQ(carry_section_begin(&inner, NULL, 0), CARRY_ERROR_BUSY),
           "a nested section without an area is refused");
    error = carry_section_begin(&inner, fresh_area, 0);
    vectors_fill(2);
    carry_section_end(&inner);
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(vectors_hold(1)),
           "with a new area, the outer section keeps its registers");
    carry_section_end(&outer);
}

static void test_control_words(void) {
    struct carry_section section;
    vectors_fill(3); /* changes the rounding modes, too */
    tap_ok(TAP_EQ(carry_section_begin(&section, NULL, CARRY_SECTION_X87), CARRY_OK),
           "a section begins");
    bool initial = vectors_control_is_initial();
    carry_section_end(&section);
    tap_ok(initial, "the control words have their initial values");
}

void test_section(void);
void test_section(void) {
    trap_handler *timer = trap_set(TRAP_TIMER, sum_in_interrupt);
    trap_handler *nmi = trap_set(TRAP_NMI, refuse_in_nmi);
    rng_fill(data, sizeof data);
    right_sum = sum_by_generals();
    test_control_words();
    test_nested();
    test_interrupts_of_thread(false);
    test_interrupts_of_thread(true);
    trap_set(TRAP_TIMER, timer);
    trap_set(TRAP_NMI, nmi);
}
