/* SPDX-License-Identifier: MIT */
/*
 * Sites at places that no compiler chooses: for each kind, one at the beginning of a cache line and
 * one at its end, and the same for pages. placed_aarch64.h describes them.
 */
/* clang-format off */
#include "harness/patch_sites.h"

    .section .text.patch_sites, "ax", %progbits
    .balign 4096

/* Begins a function whose site starts 4 bytes later, `inside` bytes before a boundary. */
.macro PLACE boundary, inside
    .balign \boundary
    .skip   \boundary - \inside - 4
.endm

/* x16 = the value of a key */
.macro READ key
    adrp    x16, \key
    add     x16, x16, :lo12:\key
    ldar    x16, [x16]
.endm

/* x0 = placed_call(x0) */
.macro CALL_SITE boundary, inside
    PLACE   \boundary, \inside
.Lfunction\@:
    str     x30, [sp, #-16]!
.Lsite\@:
    bl      .Lstub\@
    ldr     x30, [sp], #16
    ret
.Lstub\@:
    READ    carry_op_placed_call
    br      x16
    RECORD  .Lsite\@, carry_op_placed_call, .Lstub\@-., CALL, 4, 0
    LIST    call, .Lfunction\@, .Lsite\@
.endm

/* x0 = placed_jump(x0) */
.macro JUMP_SITE boundary, inside
    PLACE   \boundary, \inside
.Lfunction\@:
    hint    #34
.Lsite\@:
    b       .Lstub\@
.Lstub\@:
    READ    carry_op_placed_jump
    br      x16
    RECORD  .Lsite\@, carry_op_placed_jump, .Lstub\@-., JUMP, 4, 0
    LIST    jump, .Lfunction\@, .Lsite\@
.endm

/* x0 = 1 if the branch is taken, else 0 */
.macro BRANCH_SITE kind, boundary, inside, test, flags
    PLACE   \boundary, \inside
.Lfunction\@:
    mov     x0, #0
.Lsite\@:
    b       .Lstub\@
    ret
.Laway\@:
    mov     x0, #1
    ret
.Lstub\@:
    READ    carry_key_placed_\kind
    \test   x16, .Lback\@
    b       .Laway\@
.Lback\@:
    b       .Lsite\@ + 4
    RECORD  .Lsite\@, carry_key_placed_\kind, .Lstub\@-., BRANCH, 4, \flags
    LIST    \kind, .Lfunction\@, .Lsite\@
.endm

/* x0 = the result of the alternative, initially 0 */
.macro ALTERNATIVE_SITE kind, boundary, inside
    PLACE   \boundary, \inside
.Lfunction\@:
    mov     x0, #0
.Lsite\@:
    \kind\()_old
    ret
    .pushsection carry_bytes, "ao", %progbits, .Lsite\@
    .balign 4
.Laux\@:
    .byte   .Lnew\@ - .Lold\@, .Lstop\@ - .Lnew\@
    .balign 4
.Lold\@:
    \kind\()_old
.Lnew\@:
    \kind\()_new
.Lstop\@:
    .popsection
    RECORD  .Lsite\@, carry_key_placed_\kind, .Laux\@-., ALTERNATIVE, 4, SINGLE
    LIST    \kind, .Lfunction\@, .Lsite\@
.endm

.macro word_old
    mov     x0, #1
.endm
.macro word_new
    mov     x0, #2
.endm
.macro empty_old
    mov     x0, #1
.endm
.macro empty_new
.endm

.irp boundary, 64, 4096
    .irp inside, 0, 4
        CALL_SITE \boundary, \inside
        JUMP_SITE \boundary, \inside
        BRANCH_SITE unlikely, \boundary, \inside, cbz, JUMPS_IF_ON
        BRANCH_SITE likely, \boundary, \inside, cbnz, 0
        ALTERNATIVE_SITE word, \boundary, \inside
        ALTERNATIVE_SITE empty, \boundary, \inside
    .endr
.endr

.irp kind, call, jump, unlikely, likely, word, empty
    LIST_ENDS \kind
.endr

    .section .note.GNU-stack, "", %progbits
