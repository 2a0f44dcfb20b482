/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Thunks (carry/thunk.h): callbacks around a call, or at any point of the text.
 *
 * In: r11 = const struct carry_thunk *, all other registers as at the start of a function. rbp is
 * the frame, because the stack pointer is aligned to 64; the CFI is right at each instruction.
 * Jumps to targets are notrack: a target may start with the NOPs of a patched entry, without a
 * landing pad.
 *
 * Vectors are kept with the width that is in use: 16, 32 or 64 bytes. XGETBV(1) determines the
 * width if it is fast (fast_xgetbv1), otherwise the thunk examines the values. This writes zmm8, so
 * VZEROUPPER follows before any SSE instruction. The upper halves of narrow vectors were zero, and
 * still are after VZEROUPPER.
 */
#include "base/asm.h"
#include "xstate/area.h"
#include "xstate/x86_64/thunk.h"

/* The frame of calls: struct carry_thunk_call, the thunk's own words, zmm0 to zmm7. After it, below
 * rbp, are rax, and the frame's address for code that moves the stack pointer. */
#define FRAME_R10      112
#define FRAME_THUNK    120
#define FRAME_VECTORS  128
#define FRAME_BYTES    640
#define FRAME_ADDRESS  -8
#define FRAME_RAX      -16

#define XINUSE_AVX       4
#define XINUSE_ZMM_HI256 64

.macro THUNK_FUNCTION name
    .text
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
.endm

/* Makes a frame, and stores in it the registers that may hold arguments. Clobbers rax. */
.macro OPEN
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register rbp
    subq    $FRAME_BYTES + 16, %rsp
    andq    $-64, %rsp
    movq    %rsp, FRAME_ADDRESS(%rbp)
    movq    %rax, FRAME_RAX(%rbp)
    movq    %rdi, CALL_INTEGER(%rsp)
    movq    %rsi, CALL_INTEGER + 8(%rsp)
    movq    %rdx, CALL_INTEGER + 16(%rsp)
    movq    %rcx, CALL_INTEGER + 24(%rsp)
    movq    %r8, CALL_INTEGER + 32(%rsp)
    movq    %r9, CALL_INTEGER + 40(%rsp)
    movq    %r10, FRAME_R10(%rsp)
    movq    %r11, FRAME_THUNK(%rsp)
    leaq    16(%rbp), %rax
    movq    %rax, CALL_STACK(%rsp)
    movq    8(%rbp), %rax
    movq    %rax, CALL_RETURN(%rsp)
    movq    $0, CALL_WORD(%rsp)
    movq    $0, CALL_LIBRARY(%rsp)
.endm

/* Undoes OPEN, except for the stack; \frame holds the frame's address. */
.macro LOAD_ARGUMENTS frame
    movq    CALL_INTEGER(%\frame), %rdi
    movq    CALL_INTEGER + 8(%\frame), %rsi
    movq    CALL_INTEGER + 16(%\frame), %rdx
    movq    CALL_INTEGER + 24(%\frame), %rcx
    movq    CALL_INTEGER + 32(%\frame), %r8
    movq    CALL_INTEGER + 40(%\frame), %r9
    movq    FRAME_RAX(%rbp), %rax
    movq    FRAME_R10(%\frame), %r10
.endm

.macro CLOSE
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
.endm

.macro CALL_BACK function
    movq    FRAME_THUNK(%rsp), %rdi
    movq    %rsp, %rsi
    call    *\function
.endm

/* zmm8 or ymm8 = all eight of \vector combined; in pairs, as a chain would cost twice as much. */
.macro MERGE_8 instruction, vector
    \instruction %\vector\()0, %\vector\()1, %\vector\()8
    \instruction %\vector\()2, %\vector\()3, %\vector\()9
    \instruction %\vector\()4, %\vector\()5, %\vector\()10
    \instruction %\vector\()6, %\vector\()7, %\vector\()11
    \instruction %\vector\()8, %\vector\()9, %\vector\()8
    \instruction %\vector\()10, %\vector\()11, %\vector\()10
    \instruction %\vector\()8, %\vector\()10, %\vector\()8
.endm

.macro MERGE_2 instruction, vector
    \instruction %\vector\()0, %\vector\()1, %\vector\()8
.endm

/* Stores the \count vectors of \list (2 or 8), and cleans the upper halves. Clobbers rax, rcx, rdx,
 * r8, r9, and zmm8 to zmm11 and k1 if it examines the vectors. */
.macro KEEP count, list:vararg
    leaq    FRAME_VECTORS(%rsp), %r8
    movq    %r8, CALL_VECTORS(%rsp)
    movl    carry_thunk_machine(%rip), %r9d
    testl   $MACHINE_AVX, %r9d
    jz      .Lsse\@
    testl   $MACHINE_XGETBV1, %r9d
    jz      .Llook\@

    movl    $1, %ecx
    xgetbv
    testl   $XINUSE_AVX | XINUSE_ZMM_HI256, %eax
    jz      .Lsse\@
    testl   $MACHINE_AVX512, %r9d
    jz      .Lymm\@
    testl   $XINUSE_ZMM_HI256, %eax
    jz      .Lymm\@
    jmp     .Lzmm\@

.Llook\@:
    testl   $MACHINE_AVX512, %r9d
    jz      .Llook_ymm\@
    MERGE_\count vporq, zmm
    vptestmq %zmm8, %zmm8, %k1
    kmovw   %k1, %eax                           /* a bit for each 8 bytes */
    testl   $0xf0, %eax
    jnz     .Lzmm\@
    testl   $0x0c, %eax
    jnz     .Lymm\@
    vzeroupper
    jmp     .Lsse\@
.Llook_ymm\@:
    MERGE_\count vorps, ymm
    vextractf128 $1, %ymm8, %xmm8
    vptest  %xmm8, %xmm8
    jnz     .Lymm\@
    vzeroupper

.Lsse\@:
    movq    $16, CALL_VECTOR_SIZE(%rsp)
    .irp n, \list
    movaps  %xmm\n, FRAME_VECTORS + 16 * \n(%rsp)
    .endr
    jmp     .Lkept\@
.Lymm\@:
    movq    $32, CALL_VECTOR_SIZE(%rsp)
    .irp n, \list
    vmovaps %ymm\n, FRAME_VECTORS + 32 * \n(%rsp)
    .endr
    vzeroupper
    jmp     .Lkept\@
.Lzmm\@:
    movq    $64, CALL_VECTOR_SIZE(%rsp)
    .irp n, \list
    vmovaps %zmm\n, FRAME_VECTORS + 64 * \n(%rsp)
    .endr
    vzeroupper
.Lkept\@:
.endm

/* Loads the vectors of \list, and cleans upper halves that the callback left dirty. Only the size
 * shows how KEEP stored the vectors: features may have been masked after that. */
.macro LOAD_VECTORS list:vararg
    testl   $MACHINE_AVX, carry_thunk_machine(%rip)
    jz      .Lclean\@
    vzeroupper
.Lclean\@:
    movq    CALL_VECTOR_SIZE(%rsp), %rax
    cmpl    $32, %eax
    ja      .Lload_zmm\@
    je      .Lload_ymm\@
.Lload_sse\@:
    .irp n, \list
    movaps  FRAME_VECTORS + 16 * \n(%rsp), %xmm\n
    .endr
    jmp     .Lloaded\@
.Lload_ymm\@:
    .irp n, \list
    vmovaps FRAME_VECTORS + 32 * \n(%rsp), %ymm\n
    .endr
    jmp     .Lloaded\@
.Lload_zmm\@:
    .irp n, \list
    vmovaps FRAME_VECTORS + 64 * \n(%rsp), %zmm\n
    .endr
.Lloaded\@:
.endm

/* Starts a thunk of either kind: makes the frame, calls `enter`, and loads the vectors. Until
 * carry_thunk_prepare() has been called, jumps to \unprepared before it changes anything. */
.macro BEGIN unprepared
    endbr64
    cmpl    $0, carry_thunk_machine(%rip)
    je      \unprepared
    OPEN
    movq    THUNK_ENTER(%r11), %r10
    testq   %r10, %r10
    jz      .Lentered\@
    KEEP    8, 0, 1, 2, 3, 4, 5, 6, 7
    CALL_BACK %r10
    LOAD_VECTORS 0, 1, 2, 3, 4, 5, 6, 7
.Lentered\@:
.endm

/*
 * thunk->enter(thunk, &call), then a jump to thunk->target(arguments)
 *
 * Clobbers r11, the flags, and any of zmm8 to zmm31 and k0 to k7. Stack: 720 bytes.
 */
THUNK_FUNCTION carry_thunk_enter
    BEGIN   .Ltarget
    LOAD_ARGUMENTS rsp
    movq    FRAME_THUNK(%rsp), %r11
    CLOSE
.Ltarget:
    movq    THUNK_TARGET(%r11), %r11
    notrack jmp *%r11
CARRY_END carry_thunk_enter

/*
 * thunk->enter(thunk, &call); thunk->target(arguments); thunk->leave(thunk, &call)
 *
 * Clobbers what calls may. Stack: 784 bytes, and 8 for each of thunk->stack_words. Reads no more
 * words than CALL_WORDS_END allows; `enter` may set this limit.
 */
THUNK_FUNCTION carry_thunk_around
    BEGIN   .Ltarget_alone

    /* Copies stack arguments below the frame, from the last to the first, so that the stack grows
     * page by page. */
    movq    FRAME_THUNK(%rsp), %rcx
    movq    THUNK_STACK_WORDS(%rcx), %rcx
    addq    $2, %rcx
    movl    CALL_WORDS_END(%rsp), %eax
    decq    %rax                                /* 0, no limit, becomes the largest */
    cmpq    %rax, %rcx
    cmovaq  %rax, %rcx
    movq    %rsp, %r11
    leaq    56(, %rcx, 8), %rax
    andq    $-64, %rax
    subq    %rax, %rsp
    jmp     2f
1:  movq    8(%rbp, %rcx, 8), %rax
    movq    %rax, -8(%rsp, %rcx, 8)
    decq    %rcx
2:  jrcxz   4f
    testb   $1, %cl
    jnz     1b
    cmpq    $16, CALL_VECTOR_SIZE(%r11)         /* dirty upper halves would slow SSE down */
    jne     1b
3:  movups  (%rbp, %rcx, 8), %xmm8
    movups  %xmm8, -16(%rsp, %rcx, 8)
    subq    $2, %rcx
    jz      4f
    movups  (%rbp, %rcx, 8), %xmm9
    movups  %xmm9, -16(%rsp, %rcx, 8)
    subq    $2, %rcx
    jnz     3b
4:  LOAD_ARGUMENTS r11
    movq    FRAME_THUNK(%r11), %r11
    movq    THUNK_TARGET(%r11), %r11
    notrack call *%r11

    movq    FRAME_ADDRESS(%rbp), %rsp
    movq    FRAME_THUNK(%rsp), %r11
    movq    THUNK_LEAVE(%r11), %r10
    testq   %r10, %r10
    jz      .Lleft
    movq    %rax, CALL_RESULT(%rsp)
    movq    %rdx, CALL_RESULT + 8(%rsp)
    KEEP    2, 0, 1
    CALL_BACK %r10
    LOAD_VECTORS 0, 1
    movq    CALL_RESULT(%rsp), %rax
    movq    CALL_RESULT + 8(%rsp), %rdx
.Lleft:
    CLOSE
    ret
.Ltarget_alone:
    movq    THUNK_TARGET(%r11), %r11
    notrack jmp *%r11
CARRY_END carry_thunk_around

/* The frame of carry_thunk_any, below rbp; the area is below the frame. */
#define ANY_FLAGS    -8
#define ANY_RAX      -16
#define ANY_R10      -24
#define ANY_THUNK    -32
#define ANY_MASK     -40
#define ANY_MACHINE  -48
#define ANY_CALL     (ANY_MACHINE - CALL_BYTES)

#define FSW_PENDING 0x80

/*
 * thunk->enter(thunk, &call); all registers are as before
 *
 * In: (rsp) = r11, 8(rsp) = the return address. Clobbers nothing. Stack: 280 bytes and an area. The
 * CFI describes all registers of the surrounding code, because any of them may hold its CFA.
 */
THUNK_FUNCTION carry_thunk_any
    .cfi_def_cfa_offset 16
    .cfi_offset r11, -16
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 24
    .cfi_offset rbp, -24
    movq    %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushfq
    cld
    pushq   %rax
    pushq   %r10
    pushq   %r11
    movq    carry_thunk_any_mask(%rip), %rax
    pushq   %rax
    movl    carry_thunk_machine(%rip), %eax
    pushq   %rax
    subq    $CALL_BYTES, %rsp
    movq    %rdi, ANY_CALL + CALL_INTEGER(%rbp)
    movq    %rsi, ANY_CALL + CALL_INTEGER + 8(%rbp)
    movq    %rdx, ANY_CALL + CALL_INTEGER + 16(%rbp)
    movq    %rcx, ANY_CALL + CALL_INTEGER + 24(%rbp)
    movq    %r8, ANY_CALL + CALL_INTEGER + 32(%rbp)
    movq    %r9, ANY_CALL + CALL_INTEGER + 40(%rbp)
    .cfi_offset rax, ANY_RAX - 24
    .cfi_offset r10, ANY_R10 - 24
    .cfi_offset rdi, ANY_CALL + CALL_INTEGER - 24
    .cfi_offset rsi, ANY_CALL + CALL_INTEGER + 8 - 24
    .cfi_offset rdx, ANY_CALL + CALL_INTEGER + 16 - 24
    .cfi_offset rcx, ANY_CALL + CALL_INTEGER + 24 - 24
    .cfi_offset r8, ANY_CALL + CALL_INTEGER + 32 - 24
    .cfi_offset r9, ANY_CALL + CALL_INTEGER + 40 - 24
    movq    THUNK_ENTER(%r11), %r10
    testq   %r10, %r10
    jz      .Lany_done
    testl   %eax, %eax
    jz      .Lany_done

    leaq    24(%rbp), %rcx
    movq    %rcx, ANY_CALL + CALL_STACK(%rbp)
    movq    16(%rbp), %rcx
    movq    %rcx, ANY_CALL + CALL_RETURN(%rbp)
    xorl    %ecx, %ecx
    movq    %rcx, ANY_CALL + CALL_VECTORS(%rbp)
    movq    %rcx, ANY_CALL + CALL_VECTOR_SIZE(%rbp)
    movq    %rcx, ANY_CALL + CALL_WORD(%rbp)
    movq    %rcx, ANY_CALL + CALL_LIBRARY(%rbp)
    subq    carry_thunk_any_size(%rip), %rsp
    andq    $-64, %rsp

    movl    %eax, %esi
    testl   $MACHINE_XSAVE, %esi
    jz      .Lany_fxsave
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movq    %rcx, CARRY_AREA_XSTATE_BV + 8 * \n(%rsp)
    .endr
    movl    ANY_MASK(%rbp), %eax
    movl    ANY_MASK + 4(%rbp), %edx
    testl   $MACHINE_XSAVEC, %esi
    jz      .Lany_xsave
    xsavec64 (%rsp)
    jmp     .Lany_saved
.Lany_xsave:
    xsave64 (%rsp)
.Lany_saved:
    testb   $1, CARRY_AREA_XSTATE_BV(%rsp)      /* otherwise x87 is not in the area */
    jz      .Lany_clean
    jmp     .Lany_x87
.Lany_fxsave:
    fxsave64 (%rsp)
.Lany_x87:
    testb   $FSW_PENDING, CARRY_AREA_FSW(%rsp)
    jnz     .Lany_empty
    cmpb    $0, CARRY_AREA_FTW(%rsp)
    je      .Lany_clean
.Lany_empty:
    fnclex
    emms
.Lany_clean:
    testl   $MACHINE_AVX, %esi
    jz      .Lany_call
    vzeroupper
.Lany_call:
    movq    ANY_THUNK(%rbp), %rdi
    leaq    ANY_CALL(%rbp), %rsi
    call    *%r10

    movl    ANY_MASK(%rbp), %eax
    movl    ANY_MASK + 4(%rbp), %edx
    testl   $MACHINE_XSAVE, ANY_MACHINE(%rbp)
    jz      .Lany_fxrstor
    xrstor64 (%rsp)
    jmp     .Lany_done
.Lany_fxrstor:
    fxrstor64 (%rsp)

.Lany_done:
    movq    ANY_CALL + CALL_INTEGER(%rbp), %rdi
    movq    ANY_CALL + CALL_INTEGER + 8(%rbp), %rsi
    movq    ANY_CALL + CALL_INTEGER + 16(%rbp), %rdx
    movq    ANY_CALL + CALL_INTEGER + 24(%rbp), %rcx
    movq    ANY_CALL + CALL_INTEGER + 32(%rbp), %r8
    movq    ANY_CALL + CALL_INTEGER + 40(%rbp), %r9
    movq    ANY_R10(%rbp), %r10
    movq    ANY_RAX(%rbp), %rax
    .cfi_same_value rdi
    .cfi_same_value rsi
    .cfi_same_value rdx
    .cfi_same_value rcx
    .cfi_same_value r8
    .cfi_same_value r9
    .cfi_same_value r10
    .cfi_same_value rax
    leaq    ANY_FLAGS(%rbp), %rsp
    popfq
    popq    %rbp
    .cfi_def_cfa rsp, 16
    .cfi_restore rbp
    popq    %r11
    .cfi_def_cfa_offset 8
    .cfi_restore r11
    ret
CARRY_END carry_thunk_any

CARRY_NOTES
