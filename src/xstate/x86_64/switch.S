/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"
#include "xstate/area.h"
#include "xstate/switch.h"


/* Components. */
#define X87    0x01
#define SSE    0x02
#define UPPERS 0x44 /* AVX, ZMM_HI256 */

/* The size of the fields of `from` that a switch reads; a multiple of 16. */
#define FEW_FIELDS 80

/* The words popped for a preempted context: all general registers except rsp; rflags; rip. */
#define POPPED 17

/* The frame of a suspended context, below its return address: see struct frame. */
#define FRAME_MXCSR      0
#define FRAME_FCW        4
#define FRAME_LOADED_FCW 6
#define FRAME_SIZE       56

/* rcx = the stack pointer of the context rsi, loaded early, but after that of rdi is stored: both
 * may be one context. STMXCSR is last: if it closely follows the LDMXCSR of the previous switch, an
 * Intel Xeon with AMX needs a cycle more. */
.macro PUSH_FRAME
    leaq    -FRAME_SIZE(%rsp), %rsp
    .cfi_adjust_cfa_offset FRAME_SIZE
    movq    %rsp, CONTEXT_STACK_POINTER(%rdi)
    movq    CONTEXT_STACK_POINTER(%rsi), %rcx
    .set    slot, 8
    .irp    register, r15, r14, r13, r12, rbx, rbp
    movq    %\register, slot(%rsp)
    .cfi_rel_offset \register, slot
    .set    slot, slot + 8
    .endr
    fnstcw  FRAME_FCW(%rsp)
    stmxcsr FRAME_MXCSR(%rsp)
.endm

/*
 * rcx = the return address, loaded before MXCSR: after LDMXCSR, an Intel Xeon with AMX needs a
 * cycle more. Zen 3 loads fastest through rsp what was stored through rsp: through rcx, a switch
 * costs 7.9 ns instead of 5.9. Comparing MXCSR costs more than loading it on Zen 3 and Zen 5,
 * because a value that was just stored is read late.
 */
.macro POP_FRAME
    movq    FRAME_SIZE(%rsp), %rcx
    ldmxcsr FRAME_MXCSR(%rsp)
    .set    slot, 8
    .irp    register, r15, r14, r13, r12, rbx, rbp
    movq    slot(%rsp), %\register
    .cfi_restore \register
    .set    slot, slot + 8
    .endr
    .cfi_register rip, rcx
    leaq    FRAME_SIZE + 8(%rsp), %rsp
    .cfi_adjust_cfa_offset -FRAME_SIZE - 8
.endm

/* edx:eax = a mask of a context */
.macro LOAD_MASK context, offset
    movl    \offset(\context), %eax
    movl    \offset + 4(\context), %edx
.endm

/* eax, r10d = components up to 30 in use except SSE; clobbers ecx, edx. No vectors are above 30. */
.macro XINUSE
    movl    $1, %ecx
    xgetbv
    andl    $0x7fffffff & ~SSE, %eax
    movl    %eax, %r10d
.endm

/* Loads the components edx:eax of the context rsi from its area at r9. FXRSTOR loads the whole
 * area. */
.macro LOAD_AREA
    testl   $FLAG_XSAVE, CONTEXT_FLAGS(%rsi)
    jz      1f
    xrstor64 (%r9)
    jmp     2f
1:  fxrstor64 (%r9)
2:
.endm

/* Clears the bit of x87 in the area at r9 if its registers are initial. On CPUs that count writes
 * as use, x87 would otherwise remain in use after one FLDCW or signal. Jumps to .Lkept if the bit
 * must stay, or is clear; clobbers rax. */
.macro DROP_INITIAL_X87
    testb   $X87, CARRY_AREA_XSTATE_BV(%r9)
    jz      .Lkept
    movq    CARRY_AREA_FCW(%r9), %rax
    xorq    $CARRY_FCW_INITIAL, %rax
    .set    offset, 8
    .rept   2
    orq     CARRY_AREA_FCW + offset(%r9), %rax
    .set    offset, offset + 8
    .endr
    .set    offset, CARRY_AREA_ST
    .rept   (CARRY_AREA_XMM - CARRY_AREA_ST) / 8
    orq     offset(%r9), %rax
    .set    offset, offset + 8
    .endr
    jnz     .Lkept
    andb    $~X87, CARRY_AREA_XSTATE_BV(%r9)
.endm

/* CFI of the registers that carry_context_restore pops: all are on the stack. */
.macro POPPED_REGISTERS
    .cfi_def_cfa rsp, RED_ZONE + 8 * POPPED
    .cfi_offset rip, -RED_ZONE - 8
    .set    slot, 0
    .irp    register, r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx
    .cfi_offset \register, 8 * slot - RED_ZONE - 8 * POPPED
    .set    slot, slot + 1
    .endr
.endm

/* Loads all xmm from the area \from, or stores them to the area \to. */
.macro XMM move, from, to
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .ifnb \from
    \move  CARRY_AREA_XMM + 16 * \number(\from), %xmm\number
    .else
    \move  %xmm\number, CARRY_AREA_XMM + 16 * \number(\to)
    .endif
    .endr
.endm

/*
 * rax = the value that the switch back to `from` passes
 *
 * uintptr_t carry_context_switch(struct carry_context *from, struct carry_context *to,
 *                                uintptr_t value)
 *
 * Between `carry_context_switching` and `carry_context_switched` the registers belong to neither of
 * the two contexts, and carry_context_exchange() refuses.
 *
 * In:       rdi from, rsi to, rdx value
 * Uses:     r8 value, r9 area, r10d components in use except SSE, or -1 if they are unknown
 * Out:      rax; the registers that calls preserve have the values of `to`
 * Clobbers: all others
 */
    .globl carry_context_switching, carry_context_resume, carry_context_switched
    .hidden carry_context_switching, carry_context_resume, carry_context_switched
    .globl carry_context_switch
    .type carry_context_switch, @function
    .text
    .balign 64
carry_context_switching:
carry_context_switch:
    .cfi_startproc
    endbr64
    PUSH_FRAME
    /* One test for all rare cases: each instruction of this code costs time on cores that execute
     * four in a cycle. */
    movl    CONTEXT_FLAGS(%rdi), %eax
    orl     CONTEXT_FLAGS(%rsi), %eax
    testb   $FLAG_KEEPS | FLAG_PREEMPTED | FLAG_NO_AVX | FLAG_FIBERS, %al
    jnz     .Lextended
    vzeroupper
    movzwl  FRAME_FCW(%rsp), %eax
.Lfcw_known:
    /* Loading x87's control word costs more than comparing it, and puts x87 in use on CPUs that
     * count writes as use. */
    cmpw    FRAME_FCW(%rcx), %ax                /* if `to` has finished, faults on this stack */
    jne     .Lfcw
.Lfcw_loaded:
    movq    %rcx, %rsp
    movq    %rdx, %rax
    .cfi_remember_state
    POP_FRAME
    notrack jmp *%rcx                           /* `ret` would be predicted to return to `from` */
    .cfi_restore_state

.Lfcw:
    fldcw   FRAME_FCW(%rcx)
    jmp     .Lfcw_loaded

    /*
     * After carry_context_exchange() to a context that a switch suspended, the handler returns to
     * this address, with rsp on the context's stack.
     */
carry_context_resume:
    movq    %rdx, %r8
    movq    $-1, %r10
    jmp     .Lload

.Lextended:
    movq    %rdx, %r8
    movq    $-1, %r10
    testl   $FLAG_KEEPS, CONTEXT_FLAGS(%rdi)
    jz      .Lkept
    movq    CONTEXT_AREA(%rdi), %r9
    testl   $FLAG_WIDE, CONTEXT_FLAGS(%rdi)
    jz      .Lsave_xmm
    testl   $FLAG_XGETBV1, CONTEXT_FLAGS(%rdi)
    jz      .Lsave_more
    /* Components in use at the last save are likely to be in use again; XSAVEC determines which. */
    testl   $~SSE, CARRY_AREA_XSTATE_BV(%r9)
    jnz     .Lsave_more
    XINUSE
    testl   CONTEXT_MASK(%rdi), %eax
    jnz     .Lsave_more
.Lsave_xmm:
    XMM     movaps, , %r9
    movl    FRAME_MXCSR(%rsp), %eax
    movl    %eax, CARRY_AREA_MXCSR(%r9)         /* XRSTOR loads it with xmm */
    movl    CONTEXT_MASK(%rdi), %eax
    andl    $SSE, %eax
    movq    %rax, CARRY_AREA_XSTATE_BV(%r9)
    jmp     .Lkept
.Lsave_more:
    LOAD_MASK %rdi, CONTEXT_MASK
    testl   $FLAG_XSAVEC, CONTEXT_FLAGS(%rdi)
    jz      .Lsave_standard
    xsavec64 (%r9)
    jmp     .Lsaved
.Lsave_standard:
    testl   $FLAG_XSAVE, CONTEXT_FLAGS(%rdi)
    jz      .Lsave_legacy
    xsave64 (%r9)
.Lsaved:
    DROP_INITIAL_X87
    jmp     .Lkept
.Lsave_legacy:
    fxsave64 (%r9)

.Lkept:
    testl   $FLAG_FIBERS, CONTEXT_FLAGS(%rdi)
    jnz     .Lfibers
.Lload:
    movq    CONTEXT_AREA(%rsi), %r9
    testl   $FLAG_PREEMPTED, CONTEXT_FLAGS(%rsi)
    jnz     .Lpreempted
    testl   $FLAG_KEEPS, CONTEXT_FLAGS(%rsi)
    jz      .Lloaded
    cmpq    $SSE, CARRY_AREA_XSTATE_BV(%r9)
    jne     .Lload_more
    testl   $FLAG_WIDE, CONTEXT_FLAGS(%rsi)
    jz      .Lload_xmm
    testl   $FLAG_XGETBV1, CONTEXT_FLAGS(%rsi)
    jz      .Lload_more
    movl    %r10d, %eax
    testl   %eax, %eax
    jns     1f
    XINUSE
1:  testl   CONTEXT_MASK(%rsi), %eax
    jnz     .Lload_more
.Lload_xmm:
    XMM     movaps, %r9
    jmp     .Lloaded
.Lload_more:
    LOAD_MASK %rsi, CONTEXT_MASK
    LOAD_AREA
    fnstcw  FRAME_LOADED_FCW(%rsp)              /* the value from the area, if x87 was loaded */
    movzwl  FRAME_LOADED_FCW(%rsp), %eax
    jmp     .Lloaded_fcw
.Lloaded:
    movzwl  FRAME_FCW(%rsp), %eax
.Lloaded_fcw:
    movq    %r8, %rdx
    movq    CONTEXT_STACK_POINTER(%rsi), %rcx
    testl   $UPPERS, CONTEXT_MASK(%rsi)
    jnz     .Lfcw_known
    testl   $FLAG_NO_AVX, CONTEXT_FLAGS(%rsi)
    jnz     .Lfcw_known
    vzeroupper
    jmp     .Lfcw_known

    /* All kept components are in the area, and nothing of `to` is loaded: C may change other
     * registers. */
.Lfibers:
    pushq   %rdi
    .cfi_def_cfa_offset FRAME_SIZE + 16         /* LLVM 14 does not adjust a restored offset */
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %r8
    .cfi_adjust_cfa_offset 8
    pushq   %r8
    .cfi_adjust_cfa_offset 8
    movl    CONTEXT_FLAGS(%rdi), %edx
    andl    $FLAG_FINISHED, %edx
    shrl    $8, %edx
    call    carry_host_fiber_switch
    popq    %r8
    .cfi_adjust_cfa_offset -8
    popq    %r8
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    movq    $-1, %r10
    jmp     .Lload

.Lpreempted:
    /* The words to pop are stored on the context's own stack: a signal may arrive at any time. */
    movq    CONTEXT_REGISTERS + REGISTERS_RSP(%rsi), %r8
    subq    $RED_ZONE + 8 * POPPED, %r8
    .set    slot, 0
    .rept   POPPED - 2
    movq    CONTEXT_REGISTERS + 8 * slot(%rsi), %rax
    movq    %rax, 8 * slot(%r8)
    .set    slot, slot + 1
    .endr
    movq    CONTEXT_REGISTERS + REGISTERS_RFLAGS(%rsi), %rax
    movq    %rax, 8 * (POPPED - 2)(%r8)
    movq    CONTEXT_REGISTERS + REGISTERS_RIP(%rsi), %rax
    movq    %rax, 8 * (POPPED - 1)(%r8)
    LOAD_MASK %rsi, CONTEXT_FULL_MASK
    LOAD_AREA
    andl    $~FLAG_PREEMPTED, CONTEXT_FLAGS(%rsi)
    movq    %r8, %rsp
    POPPED_REGISTERS
    jmp     carry_context_restore
carry_context_switched:
CARRY_END carry_context_switch

/*
 * all registers = the words at rsp
 *
 * The end of a switch to a preempted context. To unwinders, its caller is the interrupted
 * instruction, not the instruction after a call.
 *
 * In:  r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rflags, rip on the stack, below the red zone
 */
    .type carry_context_restore, @function
    .balign 16
carry_context_restore:
    .cfi_startproc
    .cfi_signal_frame
    POPPED_REGISTERS
    .irp    register, r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx
    popq    %\register                           /* popped words remain in the red zone */
    .cfi_adjust_cfa_offset -8
    .endr
    popfq
    .cfi_adjust_cfa_offset -8
    ret     $RED_ZONE
CARRY_END carry_context_restore

/*
 * never returns
 *
 * The start and the end of a new context. The first switch to the context returns here. There is no
 * caller, as the CFI states. The first instruction is for unwinders, which look at the instruction
 * before a return address.
 *
 * In:  rax value, r12 entry, r13 argument, r14 the context
 */
    .globl carry_context_start
    .hidden carry_context_start
    .type carry_context_start, @function
    .balign 16
    .cfi_startproc
    .cfi_undefined rip
    nop
carry_context_start:
    movq    %r13, %rdi
    movq    %rax, %rsi
    call    *%r12
    testq   %rax, %rax
    jz      .Lnowhere
    /* Leaves the context, which has ended. `from` of this switch is a temporary structure on this
     * stack. */
    movq    $0, CONTEXT_STACK_POINTER(%r14)
    subq    $FEW_FIELDS, %rsp
    .cfi_adjust_cfa_offset FEW_FIELDS
    movl    CONTEXT_FLAGS(%r14), %ecx
    andl    $FLAG_FIBERS, %ecx
    orl     $FLAG_FINISHED, %ecx
    movl    %ecx, CONTEXT_FLAGS(%rsp)
    movq    %rsp, %rdi
    movq    %rax, %rsi
    xorl    %edx, %edx
    call    carry_context_switch
.Lnowhere:
    ud2
CARRY_END carry_context_start

CARRY_NOTES
