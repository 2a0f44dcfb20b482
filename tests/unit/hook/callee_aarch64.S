/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "unit/hook/registers_aarch64.h"

    .text
    .globl callee_registers
    .type callee_registers, %function
callee_registers:
    .cfi_startproc
    hint    #34
    TAKE_REGISTERS
    .cfi_endproc
    .size callee_registers, . - callee_registers

    .section .note.GNU-stack, "", %progbits
