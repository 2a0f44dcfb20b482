/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"

/*
 * w0 = carry_patch_probe_byte[0]
 *
 * uint8_t carry_patch_probe(void)
 *
 * carry_patch_probe_byte is the second byte of the MOV. The operand of the MOV is eight times this
 * byte. A caller that rewrites this byte finds out whether the CPU runs the new text.
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
