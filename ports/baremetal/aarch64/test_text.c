/* SPDX-License-Identifier: MIT */
/* Tests that text and fault tables are not writable, that data and the writable alias of text are
   not executable, and that text_write() changes text. */
#include "frames.h"
#include "harness/tap.h"

#define MOVE_2 UINT32_C(0xd2800040) /* mov x0, #2 */
#define RETURN UINT32_C(0xd65f03c0)

/* Text that tests try to change: mov x0, #1; ret. */
uint64_t victim(void);
__asm__(".text\n"
        ".balign 4\n"
        "victim: mov x0, #1\n\t"
        "ret");

static void write_text(void) {
    *(volatile uint32_t *)(uintptr_t)victim = MOVE_2;
}

/* The table of faults, which must not be writable. */
extern int32_t __start_carry_faults[][3];

static void write_row(void) {
    *(volatile int32_t *)&__start_carry_faults[0][0] = 0;
}

static unsigned refused;

/* Handles the trap at code that must not run: returns to its caller. */
static bool skip_bad_call(struct trap_frame *frame) {
    refused++;
    frame->pc = frame->x[30];
    return true;
}

static uint32_t data[] = {RETURN};

static void call_address(uintptr_t address) {
    ((void (*)(void))address)();
}

void test_text(void);
void test_text(void) {
    tap_ok(TAP_EQ(victim(), 1) &&
               TAP_TRUE(is_caught(write_text, (const uint8_t *)(uintptr_t)victim)),
           "text is not writable");
    tap_ok(is_caught(write_row, (const uint8_t *)__start_carry_faults),
           "fault tables are not writable");
    trap_handler *before = trap_set(TRAP_TEXT, skip_bad_call);
    call_address((uintptr_t)data);
    tap_ok(TAP_EQ(refused, 1), "data is not executable");
    call_address(TEXT_ALIAS + (uintptr_t)victim);
    tap_ok(TAP_EQ(refused, 2), "text is not executable through its writable alias");
    trap_set(TRAP_TEXT, before);
    const uint32_t changed = MOVE_2;
    text_write((uintptr_t)victim, &changed, sizeof changed);
    tap_ok(TAP_EQ(victim(), 2), "text is run as it was written");
}
