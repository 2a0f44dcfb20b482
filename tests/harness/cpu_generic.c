/* SPDX-License-Identifier: MIT */
#include "harness/cpu.h"

bool cpu_tracks_use(void) {
    return false;
}

void cpu_load_downwards(const volatile int *address) {
    (void)*address;
}

bool cpu_goes_down(void) {
    return false;
}

void cpu_load_onto_x87(const volatile int *address) {
    (void)*address;
}

bool cpu_x87_is_empty(void) {
    return true;
}
