/* SPDX-License-Identifier: MIT */
#include "kernel.h"

/* Calls the thread's function: see switch.S. */
void thread_start(void);

/* Fills the stack like thread_switch(): with x19 to x30. */
void *thread_begin(void *end, void (*run)(void *), void *argument) {
    void **stack = (void **)end - 12;
    stack[0] = (void *)run;
    stack[1] = argument;
    stack[11] = (void *)thread_start;
    return stack;
}
