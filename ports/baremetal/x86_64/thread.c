/* SPDX-License-Identifier: MIT */
#include "kernel.h"

/* Calls the thread's function: see switch.S. */
void thread_start(void);

/*
 * Fills the stack like thread_switch(): with r15 to r12, rbx, rbp and the return address. After the
 * switch, the stack is aligned as before a call.
 */
void *thread_begin(void *end, void (*run)(void *), void *argument) {
    void **stack = (void **)end - 7;
    stack[4] = (void *)run;
    stack[5] = argument;
    stack[6] = (void *)thread_start;
    return stack;
}
