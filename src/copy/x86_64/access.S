/* SPDX-License-Identifier: MIT */
/* clang-format off */
#define RECOVERS 1
#include "base/asm.h"
#include "base/fault_asm.h"

/*
 * eax = 1, and *value = *src of `size` bytes; 0 if src cannot be read
 *
 * bool carry_read_once(void *value, const void *src, size_t size)
 *
 * In:       rdi value, rsi src, rdx size (1, 2, 4 or 8)
 * Out:      al
 * Clobbers: rax, rcx, flags
 */
CARRY_FUNCTION carry_read_once
    cmpl    $4, %edx
    je      4f
    ja      8f
    cmpl    $1, %edx
    je      1f
    CARRY_LOAD 0, movzwl (%rsi), %ecx
    movw    %cx, (%rdi)
    movl    $1, %eax
    ret
1:  CARRY_LOAD 0, movzbl (%rsi), %ecx
    movb    %cl, (%rdi)
    movl    $1, %eax
    ret
4:  CARRY_LOAD 0, movl (%rsi), %ecx
    movl    %ecx, (%rdi)
    movl    $1, %eax
    ret
8:  CARRY_LOAD 0, movq (%rsi), %rcx
    movq    %rcx, (%rdi)
    movl    $1, %eax
    ret
.Lload_faulted:
    xorl    %eax, %eax
    ret
CARRY_END carry_read_once

/*
 * eax = 1, and *dst = *value of `size` bytes; 0 if dst cannot be written
 *
 * bool carry_write_once(void *dst, const void *value, size_t size)
 *
 * In:       rdi dst, rsi value, rdx size (1, 2, 4 or 8)
 * Out:      al
 * Clobbers: rax, rcx, flags
 */
CARRY_FUNCTION carry_write_once
    cmpl    $4, %edx
    je      4f
    ja      8f
    cmpl    $1, %edx
    je      1f
    movzwl  (%rsi), %ecx
    CARRY_STORE 0, movw %cx, (%rdi)
    movl    $1, %eax
    ret
1:  movzbl  (%rsi), %ecx
    CARRY_STORE 0, movb %cl, (%rdi)
    movl    $1, %eax
    ret
4:  movl    (%rsi), %ecx
    CARRY_STORE 0, movl %ecx, (%rdi)
    movl    $1, %eax
    ret
8:  movq    (%rsi), %rcx
    CARRY_STORE 0, movq %rcx, (%rdi)
    movl    $1, %eax
    ret
.Lstore_faulted:
    xorl    %eax, %eax
    ret
CARRY_END carry_write_once

CARRY_NOTES
