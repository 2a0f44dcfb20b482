/* SPDX-License-Identifier: MIT */
/* Calls each thunk of AArch64, for test_unwind.py, which steps through them. */
#include <carry/thunk.h>

extern __attribute__((visibility("hidden"))) const char carry_thunk_enter_whole[];
extern __attribute__((visibility("hidden"))) const char carry_thunk_around_whole[];

static void nothing(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
}

static int add_one(int number) {
    return number + 1;
}

static struct carry_thunk enter = {.enter = nothing, .target = (const void *)add_one};
static struct carry_thunk around = {
    .enter = nothing, .leave = nothing, .target = (const void *)add_one, .stack_words = 3};

int by_enter(int number);
int by_around(int number);
int by_enter_whole(int number);
int by_around_whole(int number);
CARRY_THUNK_STUB(by_enter, enter, enter, "")
CARRY_THUNK_STUB(by_around, around, around, "")
CARRY_THUNK_STUB(by_enter_whole, enter, enter_whole, "")
CARRY_THUNK_STUB(by_around_whole, around, around_whole, "")

/* A mutant: at one instruction the stack pointer differs from the CFI. */
int by_wrong(int number);
__asm__(".text\n"
        ".globl by_wrong\n"
        ".type by_wrong, %function\n"
        "by_wrong:\n\t"
        ".cfi_startproc\n\t"
        "hint #34\n\t"
        "stp x29, x30, [sp, #-16]!\n\t"
        "ldp x29, x30, [sp], #16\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size by_wrong, . - by_wrong");

int main(void) {
    if (carry_thunk_prepare())
        return 1;
    by_wrong(1);
    return by_enter(1) + by_around(2) + by_enter_whole(3) + by_around_whole(4) - 14;
}
