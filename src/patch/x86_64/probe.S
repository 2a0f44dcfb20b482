/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * eax = carry_patch_probe_byte[0]
 *
 * uint8_t carry_patch_probe(void)
 *
 * The byte is the immediate operand of an instruction: who rewrites it sees whether text that was
 * run before is run as it is now.
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
