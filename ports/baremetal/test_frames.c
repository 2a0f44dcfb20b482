/* SPDX-License-Identifier: MIT */
/* Tests frames around code that faults: nested, in interrupts, and on both CPUs at once. */
#include "frames.h"
#include "harness/tap.h"
#include "kernel.h"

#include <carry/fault.h>

#define ROUNDS 2000
#define NONE   ((const volatile uint8_t *)UINT64_C(0x8000000000000000))

/* Reads a byte. The barrier makes the compiler put all earlier accesses before the fault. */
static void touch_address(const volatile uint8_t *address) {
    __asm__ volatile("" : : : "memory");
    (void)*address;
}

bool is_caught(void (*work)(void), const volatile uint8_t *address) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame) == 0) {
        work();
        carry_fault_leave(&frame);
        return false;
    }
    return frame.address == (const void *)address && frame.signal == TRAP_PAGE;
}

static void touch_hole(void) {
    touch_address(HOLE);
}

static void touch_next(void) {
    touch_address(HOLE + 1);
}

static void touch_nothing(void) {
}

static void test_one(void) {
    struct carry_fault_frame frame;
    tap_ok(is_caught(touch_hole, HOLE), "a frame catches a page fault and its address");
    tap_ok(TAP_TRUE(!is_caught(touch_nothing, HOLE)) && TAP_TRUE(!cpu_here()->frames),
           "a frame that was left has caught nothing and is removed");
    if (carry_fault_enter(&frame) == 0)
        touch_address(NONE);
    tap_ok(TAP_EQ(frame.signal, TRAP_NO_ADDRESS) &&
               TAP_EQ(frame.address, TRAP_TOLD_OF((const void *)NONE)),
           "a fault at a non-canonical address is caught too");
}

/* --- Nested --- */

/* Runs a function in a frame that catches its fault, and then faults itself. */
static void fault_in_two_frames(void) {
    is_caught(touch_hole, HOLE);
    touch_next();
}

static unsigned inner;

static void fault_in_three_frames(void) {
    inner += is_caught(fault_in_two_frames, HOLE + 1);
    touch_address(HOLE + 2);
}

static void test_nested(void) {
    tap_ok(is_caught(fault_in_two_frames, HOLE + 1),
           "of two frames, the inner one catches the first fault, and "
           "the outer one catches its caller's fault");
    inner = 0;
    tap_ok(TAP_TRUE(is_caught(fault_in_three_frames, HOLE + 2)) && TAP_EQ(inner, 1),
           "three nested frames work alike");
    tap_ok(!cpu_here()->frames, "then no frame is left");
}

static void fault_behind_frame(void) {
    is_caught(touch_nothing, HOLE);
    touch_address(HOLE + 3);
}

static void twice_behind_frames(void) {
    inner += is_caught(fault_behind_frame, HOLE + 3);
    touch_address(HOLE + 4);
}

static void test_left(void) {
    inner = 0;
    tap_ok(TAP_TRUE(is_caught(twice_behind_frames, HOLE + 4)) && TAP_EQ(inner, 1) &&
               TAP_TRUE(!cpu_here()->frames),
           "frames that were left catch no fault, the outer frames do");
}

/* --- Together with the table of copies --- */

static size_t left;

static void copy_from_hole(void) {
    uint8_t byte;
    left = carry_copy_try(&byte, (const void *)HOLE, 1);
}

static void test_row(void) {
    const uint64_t before = trap_fixed;
    bool caught = is_caught(copy_from_hole, HOLE);
    tap_ok(TAP_TRUE(!caught) && TAP_EQ(left, 1) && TAP_EQ(trap_fixed, before + 1),
           "a copy that survives faults does so inside of a frame too");
}

/* --- Interrupts --- */

static unsigned interrupts;
static bool taken;

static bool fault_in_frame(struct trap_frame *frame) {
    (void)frame;
    taken = !cpu_here()->frames && is_caught(touch_next, HOLE + 1);
    __atomic_fetch_add(&interrupts, 1, __ATOMIC_RELAXED);
    return true;
}

static bool fault_outside(struct trap_frame *frame) {
    (void)frame;
    touch_hole();
    return true;
}

static void be_interrupted(void) {
    cpu_timer(1000);
    while (!__atomic_load_n(&interrupts, __ATOMIC_RELAXED))
        cpu_pause();
    touch_hole();
}

static void test_interrupts(void) {
    trap_handler *before = trap_set(TRAP_TIMER, fault_in_frame);
    bool caught = is_caught(be_interrupted, HOLE);
    trap_set(TRAP_TIMER, before);
    tap_ok(TAP_TRUE(taken) && TAP_TRUE(caught),
           "an interrupt has its own frames, and the thread's frames are restored");
}

/* --- Both CPUs --- */

static unsigned both; /* number of CPUs that have begun */

static void fault_often(void *wrong) {
    __atomic_fetch_add(&both, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&both, __ATOMIC_SEQ_CST) < CPUS)
        cpu_pause();
    for (unsigned i = 0; i < ROUNDS; i++)
        *(unsigned *)wrong += !is_caught(fault_in_three_frames, HOLE + 2);
    *(unsigned *)wrong += cpu_here()->frames != NULL;
}

static void test_both_cpus(void) {
    unsigned wrong[CPUS] = {0};
    if (cpu_count() < CPUS) {
        tap_skip("frames on two CPUs at once", "there is one CPU");
        return;
    }
    cpu_run_other(fault_often, &wrong[1]);
    fault_often(&wrong[0]);
    cpu_join_other();
    tap_ok(TAP_TRUE(!wrong[0]) && TAP_TRUE(!wrong[1]),
           "frames on two CPUs at once: %u wrong in %u nests of each", wrong[0] + wrong[1], ROUNDS);
}

/* --- Faults without a frame --- */

/*
 * Causes a fault that no frame catches, for `break=frame` and `break=interrupted-frame`: the kernel
 * ends.
 */
static void test_without(void) {
    if (kernel_option("break=frame"))
        touch_hole();
    if (kernel_option("break=interrupted-frame")) {
        trap_set(TRAP_TIMER, fault_outside);
        interrupts = 0;
        is_caught(be_interrupted, HOLE);
    }
}

void test_frames(void);
void test_frames(void) {
    test_one();
    test_nested();
    test_left();
    test_row();
    test_interrupts();
    test_both_cpus();
    test_without();
}
