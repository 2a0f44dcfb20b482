/* SPDX-License-Identifier: MIT */
/* A shared object with one page of text: a function, and NOPs up to the end of the page. */
    .text
    .globl bare_first
    .type bare_first, %function
bare_first:
    nop
    mov     w0, #7
    ret
    .size bare_first, . - bare_first
    .fill   (4096 - (. - bare_first)) / 4, 4, 0xd503201f

    .section .rodata
    .fill   4, 4, 0xd503201f

    .section .note.GNU-stack, "", %progbits
