/* SPDX-License-Identifier: MIT */
/*
 * A shared object whose pages demand landing pads (BTI). It is linked without start-up code,
 * because that may lack them. It has a site and, on the site's page, two functions: one with a
 * landing pad and one without.
 */
#include "harness/bti_object.h"

CARRY_KEY_STATIC(choice, false);

struct carry_key *bti_key(void) {
    return &carry_key_choice;
}

/* Placed after the functions below, on the same page. */
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
