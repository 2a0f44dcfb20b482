/* SPDX-License-Identifier: MIT */
/* A shared object with one page of text: a function, and NOPs up to the end of the page. */
    .text
    .globl bare_first
    .type bare_first, @function
bare_first:
    .byte   0x0f, 0x1f, 0x44, 0x00, 0x08 /* a NOP as Clang emits it */
    mov     $7, %eax
    ret
    .size bare_first, . - bare_first
    .fill   4096 - (. - bare_first), 1, 0x90

    .section .rodata
    .fill   16, 1, 0x90

    .section .note.GNU-stack, "", @progbits
