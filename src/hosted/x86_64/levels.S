/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"
#include "hosted/levels.h"

    .hidden carry_signal_handle
    .hidden carry_signal_links

/*
 * Defines a struct carry_signal_mark, and after it carry_signal_level_<level>, which calls
 * carry_signal_handle(number, info, context, level).
 *
 * In: edi, rsi, rdx: the arguments of a signal handler. The call is a jump, because
 * carry_signal_handle() aligns the stack.
 */
.macro LEVEL level
    .text
    .globl carry_signal_level_\level
    .hidden carry_signal_level_\level
    .type carry_signal_level_\level, @function
    .balign CARRY_SIGNAL_ALIGNMENT
    .quad   CARRY_SIGNAL_MAGIC
    .long   carry_signal_links - ., \level
carry_signal_level_\level:
    .cfi_startproc
    endbr64
    movl    $\level, %ecx
    jmp     carry_signal_handle
CARRY_END carry_signal_level_\level
.endm

    LEVEL 0
    LEVEL 1
    LEVEL 2
    LEVEL 3

CARRY_NOTES
