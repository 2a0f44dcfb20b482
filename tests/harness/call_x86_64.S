/* SPDX-License-Identifier: MIT */
/*
 * void call_x86_64(struct frame *frame, call_fn *fn);
 *
 * Loads the stack pointer, the registers and the flags from the frame, calls fn, and stores the
 * registers in the frame after fn returns. fn may have changed every register, even rsp, so the
 * address of the frame and the result are kept in memory.
 *
 * bool call_x86_64_xinuse_works(void);
 *
 * Returns whether XGETBV(1) distinguishes dirty upper halves from clean ones: a CPU may report
 * unused state as in use (Intel SDM vol. 1, 13.6), and emulators do so.
 */
#include "base/asm.h"
#include "harness/call_x86_64.h"

    .local call_frame, call_target, call_result
    .comm call_frame, 8, 8
    .comm call_target, 8, 8
    .comm call_result, 8, 8

/* Stores at offset(rax) the state that must be equal on entry and on return. Clobbers rcx, rdx,
 * r11, flags. */
.macro SNAPSHOT offset
    testl $HAS_XINUSE, FRAME_HAS(%rax)
    jz 1f
    movq %rax, %r11
    movl $1, %ecx
    xgetbv
    movl %eax, \offset + SNAP_XINUSE(%r11)
    movq %r11, %rax
1:  testl $HAS_AVX, FRAME_HAS(%rax)
    jz 2f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vextractf128 $1, %ymm\n, \offset + SNAP_YMM + 16 * \n(%rax)
    .endr
2:  testl $HAS_AVX512, FRAME_HAS(%rax)
    jz 3f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vextracti64x4 $1, %zmm\n, \offset + SNAP_ZMM + 32 * \n(%rax)
    .endr
3:  stmxcsr \offset + SNAP_MXCSR(%rax)
    fnstenv \offset + SNAP_X87(%rax)    /* FNSTENV masks all exceptions, so FLDENV follows */
    fldenv \offset + SNAP_X87(%rax)
.endm

CARRY_FUNCTION call_x86_64
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rdi, %rax
    movq %rax, call_frame(%rip)
    movq %rsi, call_target(%rip)
    movq %rsp, FRAME_CALLER_STACK(%rax)

    /* Puts garbage in every vector and mask register, then cleans the upper halves. */
    testl $HAS_AVX512, FRAME_HAS(%rax)
    jz 4f
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmovdqu64 FRAME_GARBAGE + 64 * \n(%rax), %zmm\n
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq FRAME_GARBAGE + 64 * 32 + 8 * \n(%rax), %k\n
    .endr
4:  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqu FRAME_GARBAGE + 64 * \n(%rax), %xmm\n
    .endr
    testl $HAS_AVX, FRAME_HAS(%rax)
    jz 5f
    vzeroupper
5:  SNAPSHOT FRAME_ENTRY

    movq FRAME_STACK(%rax), %rsp
    pushq FRAME_FLAGS(%rax)
    popfq                               /* no move below changes the flags */
    movq FRAME_SAVED(%rax), %rbx
    movq FRAME_SAVED + 8(%rax), %rbp
    movq FRAME_SAVED + 16(%rax), %r12
    movq FRAME_SAVED + 24(%rax), %r13
    movq FRAME_SAVED + 32(%rax), %r14
    movq FRAME_SAVED + 40(%rax), %r15
    movq FRAME_VOLATILE + 8(%rax), %rcx
    movq FRAME_VOLATILE + 16(%rax), %r8
    movq FRAME_VOLATILE + 24(%rax), %r9
    movq FRAME_VOLATILE + 32(%rax), %r10
    movq FRAME_VOLATILE + 40(%rax), %r11
    movq FRAME_ARGUMENTS(%rax), %rdi
    movq FRAME_ARGUMENTS + 8(%rax), %rsi
    movq FRAME_ARGUMENTS + 16(%rax), %rdx
    movq FRAME_VOLATILE(%rax), %rax
    call *call_target(%rip)

    movq %rax, call_result(%rip)
    movq call_frame(%rip), %rax
    movq %rsp, FRAME_STACK_AFTER(%rax)
    movq FRAME_CALLER_STACK(%rax), %rsp
    pushfq
    popq FRAME_FLAGS_AFTER(%rax)
    cld
    movq call_result(%rip), %rcx
    movq %rcx, FRAME_RESULT(%rax)
    movq %rbx, FRAME_AFTER(%rax)
    movq %rbp, FRAME_AFTER + 8(%rax)
    movq %r12, FRAME_AFTER + 16(%rax)
    movq %r13, FRAME_AFTER + 24(%rax)
    movq %r14, FRAME_AFTER + 32(%rax)
    movq %r15, FRAME_AFTER + 40(%rax)
    SNAPSHOT FRAME_RETURN

    /* Restores the caller's registers, whatever fn has changed. */
    testl $HAS_AVX, FRAME_HAS(%rax)
    jz 6f
    vzeroupper
6:  ldmxcsr FRAME_ENTRY + SNAP_MXCSR(%rax)
    fldenv FRAME_ENTRY + SNAP_X87(%rax)
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
CARRY_END call_x86_64

CARRY_FUNCTION call_x86_64_xinuse_works
    movl $1, %ecx
    vcmpps $15, %ymm0, %ymm0, %ymm0     /* always true: all ones */
    xgetbv
    movl %eax, %r8d
    vzeroupper
    xgetbv
    notl %eax
    andl %r8d, %eax
    shrl $2, %eax                       /* bit 2 (AVX): in use before VZEROUPPER, not after it */
    andl $1, %eax
    ret
CARRY_END call_x86_64_xinuse_works

CARRY_NOTES
