/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * eax = carry_patch_probe_byte[0]
 *
 * uint8_t carry_patch_probe(void)
 *
 * carry_patch_probe_byte is the immediate operand of the MOV. A caller that rewrites this byte
 * finds out whether the CPU runs the new text.
 */
CARRY_FUNCTION carry_patch_probe
    .byte 0xb8                                  /* mov $1, %eax */
    .globl carry_patch_probe_byte
    .hidden carry_patch_probe_byte
carry_patch_probe_byte:
    .long 1
    ret
CARRY_END carry_patch_probe

CARRY_NOTES
