/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"

/*
 * w0 = carry_patch_probe_byte[0]
 *
 * uint8_t carry_patch_probe(void)
 *
 * The byte is the second of an instruction, eight times of which it moves: who rewrites it sees
 * whether text that was run before is run as it is now.
 */
    .text
    .globl carry_patch_probe, carry_patch_probe_byte
    .hidden carry_patch_probe
    .hidden carry_patch_probe_byte
    .type carry_patch_probe, %function
    .balign 64
carry_patch_probe:
    .cfi_startproc
    hint    #34
    .set carry_patch_probe_byte, . + 1
    mov     w0, #8 * 1
    lsr     w0, w0, #3
    ret
    .cfi_endproc
    .size carry_patch_probe, . - carry_patch_probe

CARRY_NOTES
