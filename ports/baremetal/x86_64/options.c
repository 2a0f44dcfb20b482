/* SPDX-License-Identifier: MIT */
/* Reads the command line, and runs the program that it may request instead of tests. */
#include "instead.h"
#include "kernel.h"

extern uint64_t boot_info;

/* Returns the command line: hvm_start_info holds its address at offset 24 (Xen's start_info.h). */
const char *kernel_command_line(void) {
    uint64_t line = boot_info ? *(const uint64_t *)(boot_info + 24) : 0;
    return line ? (const char *)line : "";
}

bool kernel_ran_instead(void) {
    if (kernel_option("bench"))
        bench_run();
    else if (kernel_option("trials"))
        trials_run();
    else
        return false;
    return true;
}
