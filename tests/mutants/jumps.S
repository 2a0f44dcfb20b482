/* SPDX-License-Identifier: MIT */
/* For scripts/check_jumps.py: jumps that cross, or end at, a 32-byte boundary, and other jumps. */
    .text
    .balign 32
ends_there:
    .skip 30, 0x90
    jmp ends_there
    .balign 32
crosses:
    .skip 31, 0x90
    jne crosses
    .balign 32
returns:
    .skip 31, 0x90
    ret
    .balign 32
fused_crosses:
    .skip 29, 0x90
    cmpq %rax, %rdx
    jne fused_crosses
    .balign 32
begins_behind:
    .skip 32, 0x90
    jne begins_behind
    .balign 32
ends_before:
    .skip 29, 0x90
    jne ends_before
    .balign 32
not_fused:
    .skip 26, 0x90
    cmpq $0, 64(%rdx, %rax)
    je not_fused
    .section .note.GNU-stack, "", @progbits
