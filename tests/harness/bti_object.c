/* SPDX-License-Identifier: MIT */
/*
 * A shared object whose pages demand landing pads (BTI). It is linked without start-up code,
 * because start-up code may lack landing pads. It has a site and, on the site's page, two
 * functions: one with a landing pad and one without.
 */
#include "harness/bti_object.h"

CARRY_KEY_STATIC(choice, false);

struct carry_key *bti_key(void) {
    return &carry_key_choice;
}

/* Returns 2 if `choice` is set, otherwise 1. Lies on the same page as the functions below. */
__attribute__((section(".text.bti"))) uint64_t bti_choice(void) {
    return carry_unlikely(choice) ? 2 : 1;
}

__asm__(".section .text.bti\n"
        ".globl bti_padded, bti_bare\n"
        ".type bti_padded, %function\n"
        ".type bti_bare, %function\n"
        "bti_padded: hint #34\n"
        "bti_bare: mov x0, #7\n"
        "ret\n");
