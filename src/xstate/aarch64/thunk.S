/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Thunks (carry/thunk.h): callbacks around a call.
 *
 * In: x16 = const struct carry_thunk *, all other registers as at the start of a function. x29 is
 * the frame; the CFI is right at each instruction.
 *
 * Each thunk exists twice (AAPCS64, 6):
 *  - for a base function, whose arguments are in x0 to x8, x18 and q0 to q7, whose results are in
 *    x0, x1 and q0 to q3, and which preserves no register that callbacks change;
 *  - whole, for a function of any standard: in the vector PCS, arguments are in z0 to z7 and p0 to
 *    p3, and z8 to z23, or q8 to q23, and p4 to p15 are preserved; functions of some compilers
 *    preserve x9 to x15. The target may also be the middle of a function, where BTI permits RET,
 *    but neither BR nor BLR.
 *
 * SME: ordinary functions, such as callbacks, must not run in streaming mode, nor while ZA is live
 * without a promise to save it (TPIDR2_EL0). In such a state, the thunk only jumps to the target.
 */
#include "base/asm_aarch64.h"
#include "xstate/aarch64/thunk.h"

    .arch_extension sve

/* The frame, from x29: x29, x30, struct carry_thunk_call, the thunk's own words. Above them are the
 * vectors of a base function. The vectors of any function are below the frame, because their size
 * depends on the CPU. */
#define FRAME_CALL    16
#define FRAME_X8      (FRAME_CALL + CALL_BYTES)
#define FRAME_THUNK   (FRAME_X8 + 8)
#define FRAME_X18     (FRAME_X8 + 16)
#define FRAME_SVE     (FRAME_X8 + 24)           /* bit 0: the vectors are scalable */
#define FRAME_VECTORS (FRAME_X8 + 32)
#define FRAME_X9      (FRAME_X8 + 32)           /* to x15 */

/* Sizes of the frames of both forms: see ENTER. */
    .set    BASE_BYTES, FRAME_VECTORS + 8 * 16
    .set    WHOLE_BYTES, FRAME_X9 + 8 * 8

#define SVCR       S3_3_C4_C2_2
#define SVCR_SM    0
#define SVCR_ZA    1
#define TPIDR2_EL0 S3_3_C13_C0_5

/* Loads carry_thunk_machine into \word, the lower half of \reg. */
.macro MACHINE reg, word
    adrp    \reg, carry_thunk_machine
    ldr     \word, [\reg, #:lo12:carry_thunk_machine]
.endm

/* Jumps to \forward if no callback may run, before anything has changed. Clobbers x17. */
.macro ASK forward
    MACHINE x17, w17
    tbz     w17, #MACHINE_KNOWN, \forward
    tbz     w17, #MACHINE_SME, .Lask\@
    mrs     x17, SVCR
    tbnz    w17, #SVCR_SM, \forward
    tbz     w17, #SVCR_ZA, .Lask\@
    mrs     x17, TPIDR2_EL0
    cbz     x17, \forward
.Lask\@:
.endm

.macro OF_CALL instruction
    \instruction x0, x1, [x29, #FRAME_CALL + CALL_INTEGER]
    \instruction x2, x3, [x29, #FRAME_CALL + CALL_INTEGER + 16]
    \instruction x4, x5, [x29, #FRAME_CALL + CALL_INTEGER + 32]
    \instruction x6, x7, [x29, #FRAME_CALL + CALL_INTEGER + 48]
.endm

/* Stores or loads x9 to x15, which some functions preserve. */
.macro TEMPORARIES pair, single
    \pair   x9, x10, [x29, #FRAME_X9]
    \pair   x11, x12, [x29, #FRAME_X9 + 16]
    \pair   x13, x14, [x29, #FRAME_X9 + 32]
    \single x15, [x29, #FRAME_X9 + 48]
.endm

/* Makes a frame, and stores in it the integer registers that may hold arguments. Clobbers x17. */
.macro OPEN bytes
    stp     x29, x30, [sp, #-\bytes]!
    .cfi_def_cfa_offset \bytes
    .cfi_offset x29, -\bytes
    .cfi_offset x30, 8 - \bytes
    mov     x29, sp
    .cfi_def_cfa_register x29
    OF_CALL stp
    stp     x8, x16, [x29, #FRAME_X8]
    str     x18, [x29, #FRAME_X18]
    add     x17, x29, #\bytes
    stp     x17, x30, [x29, #FRAME_CALL + CALL_STACK]
    stp     xzr, xzr, [x29, #FRAME_CALL + CALL_WORD]
.endm

.macro CLOSE bytes
    mov     sp, x29
    .cfi_def_cfa_register sp
    ldp     x29, x30, [sp], #\bytes
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
.endm

/* \function(thunk, &call) */
.macro CALL_BACK function
    ldr     x0, [x29, #FRAME_THUNK]
    add     x1, x29, #FRAME_CALL
    blr     \function
.endm

/* --- The first \count vectors of base functions --- */

.macro BASE_VECTORS pair, count
    \pair   q0, q1, [x29, #FRAME_VECTORS]
    \pair   q2, q3, [x29, #FRAME_VECTORS + 32]
    .if \count > 4
    \pair   q4, q5, [x29, #FRAME_VECTORS + 64]
    \pair   q6, q7, [x29, #FRAME_VECTORS + 96]
    .endif
.endm

/* Stores \count vectors in the frame, and their place and size in the call. Clobbers x12, x13. */
.macro KEEP_BASE count
    add     x12, x29, #FRAME_VECTORS
    mov     x13, #16
    stp     x12, x13, [x29, #FRAME_CALL + CALL_VECTORS]
    BASE_VECTORS stp, \count
.endm

.macro LOAD_BASE count
    BASE_VECTORS ldp, \count
.endm

/* --- All vectors, below the frame, whatever \count is --- */

/*
 * Stores or loads from the top down, so that the stack grows page by page. The predicates, at x12,
 * are on top.
 */
.macro SCALABLE instruction
    .irp n, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    \instruction p\n, [x12, #\n, mul vl]
    .endr
    .irp n, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
            10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    \instruction z\n, [sp, #\n, mul vl]
    .endr
.endm

.macro QUADS pair, a, b
    \pair   q\a, q\b, [sp, #16 * \a]
.endm

.macro ALL_QUADS pair
    QUADS   \pair, 30, 31
    QUADS   \pair, 28, 29
    QUADS   \pair, 26, 27
    QUADS   \pair, 24, 25
    QUADS   \pair, 22, 23
    QUADS   \pair, 20, 21
    QUADS   \pair, 18, 19
    QUADS   \pair, 16, 17
    QUADS   \pair, 14, 15
    QUADS   \pair, 12, 13
    QUADS   \pair, 10, 11
    QUADS   \pair, 8, 9
    QUADS   \pair, 6, 7
    QUADS   \pair, 4, 5
    QUADS   \pair, 2, 3
    QUADS   \pair, 0, 1
.endm

/* Stores 32 vectors, and 16 predicates of an eighth of a vector: the size of 34 vectors. Clobbers
 * x12, x13. */
.macro KEEP_WHOLE count
    MACHINE x12, w12
    ubfx    x12, x12, #MACHINE_SVE, #1
    str     x12, [x29, #FRAME_SVE]
    cbz     x12, .Lquads\@
    rdvl    x13, #17
    sub     sp, sp, x13, lsl #1
    rdvl    x13, #1
    addvl   x12, sp, #16
    addvl   x12, x12, #16
    SCALABLE str
    b       .Lkept\@
.Lquads\@:
    mov     x13, #16
    sub     sp, sp, #32 * 16
    ALL_QUADS stp
.Lkept\@:
    mov     x12, sp
    stp     x12, x13, [x29, #FRAME_CALL + CALL_VECTORS]
.endm

/*
 * Loads what KEEP_WHOLE stored. The frame shows in which form: carry_thunk_prepare() may have
 * changed carry_thunk_machine in between.
 */
.macro LOAD_WHOLE count
    ldr     x12, [x29, #FRAME_SVE]
    cbz     x12, .Lload_quads\@
    addvl   x12, sp, #16
    addvl   x12, x12, #16
    SCALABLE ldr
    b       .Lloaded\@
.Lload_quads\@:
    ALL_QUADS ldp
.Lloaded\@:
    mov     sp, x29
.endm

/* --- Ways to the target --- */

/*
 * Jumps to x17 with RET, because BTI then needs no landing pad. The call before it keeps the depth
 * of the CPU's stack of return addresses.
 *
 * Clobbers x16
 */
    .text
    .type thunk_go, %function
    .balign 64
thunk_go:
    .cfi_startproc
    mov     x16, x30
    .cfi_register x30, x16
    bl      1f
1:  mov     x30, x16
    .cfi_restore x30
    ret     x17
    CARRY_END thunk_go

/* Jump to thunk->target, or call it, from x16 = thunk. */
.macro JUMP_BASE
    ldr     x17, [x16, #THUNK_TARGET]
    br      x17
.endm

.macro CALL_BASE
    ldr     x17, [x16, #THUNK_TARGET]
    blr     x17
.endm

.macro JUMP_WHOLE
    ldr     x17, [x16, #THUNK_TARGET]
    MACHINE x16, w16
    tbnz    w16, #MACHINE_BTI, thunk_go
    br      x17
.endm

.macro CALL_WHOLE
    ldr     x17, [x16, #THUNK_TARGET]
    MACHINE x16, w16
    tbnz    w16, #MACHINE_BTI, .Lgo\@
    blr     x17
    b       .Lback\@
.Lgo\@:
    bl      thunk_go
.Lback\@:
.endm

/* --- The thunks, by \form: BASE or WHOLE --- */

/* Loads the integers that OPEN stored and `enter` may have changed, and x16 = thunk. */
.macro LOAD_ARGUMENTS form
    .ifc \form, WHOLE
    TEMPORARIES ldp, ldr
    .endif
    OF_CALL ldp
    ldp     x8, x16, [x29, #FRAME_X8]
    ldr     x18, [x29, #FRAME_X18]
.endm

/* Starts a thunk of either kind: makes the frame, and calls `enter`. */
.macro BEGIN form, forward
    ASK     \forward
    OPEN    \form\()_BYTES
    .ifc \form, WHOLE
    TEMPORARIES stp, str
    .endif
    ldr     x11, [x16, #THUNK_ENTER]
    cbz     x11, .Lentered\@
    KEEP_\form 8
    CALL_BACK x11
    LOAD_\form 8
.Lentered\@:
.endm

/*
 * thunk->enter(thunk, &call), then a jump to thunk->target(arguments)
 *
 * Clobbers, BASE: x9 to x17, v16 to v31, upper halves of v8 to v15, predicates. WHOLE: x16, x17.
 * Stack: 304 bytes. WHOLE: 752 bytes, or 240 bytes and 34 scalable vectors.
 */
.macro ENTER name, form
CARRY_EXPORTED_FUNCTION \name
    BEGIN   \form, .Ltarget\@
    LOAD_ARGUMENTS \form
    CLOSE   \form\()_BYTES
.Ltarget\@:
    JUMP_\form
CARRY_END \name
.endm

/*
 * Copies the stack's arguments below the frame, from the last to the first, so that the stack grows
 * page by page. Copies no more than CALL_WORDS_END allows; `enter` may set this limit. Clobbers x9
 * to x14.
 */
.macro COPY_WORDS bytes
    ldr     x9, [x29, #FRAME_THUNK]
    ldr     x9, [x9, #THUNK_STACK_WORDS]
    add     x9, x9, #2
    ldr     w10, [x29, #FRAME_CALL + CALL_WORDS_END]
    sub     x10, x10, #1                        /* 0, no limit, becomes the largest */
    cmp     x9, x10
    csel    x9, x9, x10, ls
    add     x10, x9, #1
    and     x10, x10, #~1
    sub     sp, sp, x10, lsl #3
    add     x11, x29, #\bytes
    tbz     x9, #0, .Leven\@
    sub     x9, x9, #1
    ldr     x12, [x11, x9, lsl #3]
    str     x12, [sp, x9, lsl #3]
.Leven\@:
    cbz     x9, .Lcopied\@
.Lcopy\@:
    sub     x9, x9, #2
    add     x12, x11, x9, lsl #3
    add     x10, sp, x9, lsl #3
    ldp     x13, x14, [x12]
    stp     x13, x14, [x10]
    cbnz    x9, .Lcopy\@
.Lcopied\@:
.endm

/*
 * thunk->enter(thunk, &call); thunk->target(arguments); thunk->leave(thunk, &call)
 *
 * Clobbers what calls may; WHOLE: what the target clobbers. Stack: as above, and 8 bytes for each
 * word of arguments, rounded up to a multiple of 16.
 */
.macro AROUND name, form
CARRY_EXPORTED_FUNCTION \name
    BEGIN   \form, .Ltarget\@
    COPY_WORDS \form\()_BYTES
    LOAD_ARGUMENTS \form
    CALL_\form

    mov     sp, x29
    ldr     x16, [x29, #FRAME_THUNK]
    ldr     x17, [x16, #THUNK_LEAVE]
    cbz     x17, .Lleft\@
    .ifc \form, WHOLE
    TEMPORARIES stp, str
    .endif
    str     x18, [x29, #FRAME_X18]
    stp     x0, x1, [x29, #FRAME_CALL + CALL_RESULT]
    KEEP_\form 4
    CALL_BACK x17
    LOAD_\form 4
    ldp     x0, x1, [x29, #FRAME_CALL + CALL_RESULT]
    ldr     x18, [x29, #FRAME_X18]
    .ifc \form, WHOLE
    TEMPORARIES ldp, ldr
    .endif
.Lleft\@:
    CLOSE   \form\()_BYTES
    ret
.Ltarget\@:
    JUMP_\form
CARRY_END \name
.endm

#ifdef __AARCH64EL__ /* as CARRY_HAS_THUNKS */
ENTER carry_thunk_enter, BASE
AROUND carry_thunk_around, BASE
ENTER carry_thunk_enter_whole, WHOLE
AROUND carry_thunk_around_whole, WHOLE
    .hidden carry_thunk_enter_whole
    .hidden carry_thunk_around_whole
    .hidden carry_thunk_machine
#endif

CARRY_NOTES
