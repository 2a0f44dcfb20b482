/* SPDX-License-Identifier: MIT */
/* Uses the key in an alternative, and nowhere else. */
#include "keys.h"

int use_elsewhere(void) {
    int number = 1;
#ifdef __x86_64__
    __asm__ volatile(CARRY_ALT_KEY_ONE("movl $1, %0", shared, "movl $2, %0")
                     : "=a"(number)
                     : CARRY_ALT_INPUT(shared));
#endif
    return number;
}
