/* SPDX-License-Identifier: MIT */
/*
 * Sites at places that no compiler chooses: for each kind and each byte of a site, one site has
 * this byte at the beginning of a cache line, and another one has it at the beginning of a page.
 * placed_x86_64.h describes them.
 */
/* clang-format off */
#include "base/asm.h"
#include "harness/patch_sites.h"

    .section .text.patch_sites, "ax", @progbits
    .balign 4096

/* Begins a function whose site starts `before` bytes later, `inside` bytes before a boundary. */
.macro PLACE boundary, inside, before
    .balign \boundary
    .skip   \boundary - \inside - \before, 0xcc
.endm

/* rax = placed_call(rdi), or 0 */
.macro CALL_SITE boundary, inside
    PLACE   \boundary, \inside, 10
.Lfunction\@:
    endbr64
    xorl    %eax, %eax
    subq    $8, %rsp
.Lsite\@:
    .byte   0xff, 0x15
    .long   carry_op_placed_call - . - 4
    addq    $8, %rsp
    ret
    RECORD  .Lsite\@, carry_op_placed_call, 0, CALL, 6, 0
    LIST    call, .Lfunction\@, .Lsite\@
.endm

/* rax = placed_jump(rdi) */
.macro JUMP_SITE boundary, inside
    PLACE   \boundary, \inside, 4
.Lfunction\@:
    endbr64
.Lsite\@:
    .byte   0xff, 0x25
    .long   carry_op_placed_jump - . - 4
    RECORD  .Lsite\@, carry_op_placed_jump, 0, JUMP, 6, 0
    LIST    jump, .Lfunction\@, .Lsite\@
.endm

/* rax = 1 if the branch is taken, else 0 */
.macro BRANCH_SITE kind, boundary, inside, condition, flags
    PLACE   \boundary, \inside, 6
.Lfunction\@:
    endbr64
    xorl    %eax, %eax
.Lsite\@:
    .byte   0xe9
    .long   .Lstub\@ - . - 4
    ret
.Laway\@:
    movl    $1, %eax
    ret
.Lstub\@:
    cmpb    $0, carry_key_placed_\kind(%rip)
    .byte   0x0f, \condition
    .long   .Laway\@ - . - 4
    .byte   0xe9
    .long   .Lsite\@ + 5 - . - 4
    RECORD  .Lsite\@, carry_key_placed_\kind, .Lstub\@-., BRANCH, 5, \flags
    LIST    \kind, .Lfunction\@, .Lsite\@
.endm

/* rax = the result of the alternative, initially 0 */
.macro ALTERNATIVE_SITE kind, boundary, inside, length
    PLACE   \boundary, \inside, 6
.Lfunction\@:
    endbr64
    xorl    %eax, %eax
.Lsite\@:
    \kind\()_old
.Lend\@:
    adcq    $0, %rax
    ret
    .if     .Lend\@ - .Lsite\@ - \length
    .error  "an alternative has another length than its name says"
    .endif
    .pushsection carry_bytes, "ao", @progbits, .Lsite\@
.Laux\@:
    .byte   .Lnew\@ - .Lold\@, .Lstop\@ - .Lnew\@
.Lold\@:
    \kind\()_old
.Lnew\@:
    \kind\()_new
.Lstop\@:
    .popsection
    RECORD  .Lsite\@, carry_key_placed_\kind, .Laux\@-., ALTERNATIVE, \length, SINGLE
    LIST    \kind, .Lfunction\@, .Lsite\@
.endm

/* The bytes of the alternatives; the names contain their lengths. */
.macro bytes1_old
    clc
.endm
.macro bytes1_new
    stc
.endm
.macro bytes2_old
    xorl    %eax, %eax
.endm
.macro bytes2_new
    decl    %eax
.endm
.macro bytes4_old
    leal    1(%rax, %rax), %eax
.endm
.macro bytes4_new
    leal    2(%rax), %eax
.endm
.macro bytes5_old
    movl    $1, %eax
.endm
.macro bytes5_new
    movl    $2, %eax
.endm
.macro bytes10_old
    movabsq $0x1122334455667788, %rax
.endm
.macro bytes10_new
    movl    $2, %eax
.endm
.macro empty10_old
    movabsq $0x1122334455667788, %rax
.endm
.macro empty10_new
.endm

.irp boundary, 64, 4096
    .irp inside, 0, 1, 2, 3, 4, 5
        CALL_SITE \boundary, \inside
        JUMP_SITE \boundary, \inside
    .endr
    .irp inside, 0, 1, 2, 3, 4
        BRANCH_SITE unlikely, \boundary, \inside, 0x85, JUMPS_IF_ON
        BRANCH_SITE likely, \boundary, \inside, 0x84, 0
        ALTERNATIVE_SITE bytes5, \boundary, \inside, 5
    .endr
    .irp inside, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        ALTERNATIVE_SITE bytes10, \boundary, \inside, 10
        ALTERNATIVE_SITE empty10, \boundary, \inside, 10
    .endr
    .irp inside, 0, 1, 2, 3
        ALTERNATIVE_SITE bytes4, \boundary, \inside, 4
    .endr
    .irp inside, 0, 1
        ALTERNATIVE_SITE bytes2, \boundary, \inside, 2
    .endr
    ALTERNATIVE_SITE bytes1, \boundary, 0, 1
.endr

.irp kind, call, jump, unlikely, likely, bytes1, bytes2, bytes4, bytes5, bytes10, empty10
    LIST_ENDS \kind
.endr

CARRY_NOTES
