/* SPDX-License-Identifier: MIT */
/* Mutants of kernels that survive faults: right as long as nothing faults. */
#include "base/asm_aarch64.h"
#include "base/fault_aarch64.h"

/*
 * Copies all bytes one by one. After a fault, execution continues at `faulted`. Returns how many
 * bytes are left.
 */
.macro BYTES faulted
1:  cbz     x2, 2f
    CARRY_FAULT_ROW \faulted, 0, ldrb w3, [x1]
    CARRY_FAULT_ROW \faulted, 0, strb w3, [x0]
    add     x0, x0, #1
    add     x1, x1, #1
    sub     x2, x2, #1
    b       1b
2:  mov     x0, x2
    ret
.endm

/*
 * Loads the first and the last 16 bytes if the size is from 16 to 32, and continues after the
 * macro. Copies other sizes correctly, and returns.
 */
.macro ENDS faulted
    cmp     x2, #16
    b.lo    1f
    cmp     x2, #32
    b.ls    3f
    BYTES   2f
3:  sub     x4, x2, #16
    CARRY_FAULT_ROW \faulted, 0, ldr q0, [x1]
    CARRY_FAULT_ROW \faulted, 0, ldr q1, [x1, x4]
.endm

.macro STORE_ENDS faulted
    CARRY_FAULT_ROW \faulted, 0, str q0, [x0]
    CARRY_FAULT_ROW \faulted, 0, str q1, [x0, x4]
    mov     x0, #0
    ret
.endm

CARRY_FUNCTION broken_try_says_more
    BYTES   .Lsays_more
.Lsays_more:
    add     x0, x2, #1
    ret
CARRY_END broken_try_says_more

/* Stores the end of the target before its start. */
CARRY_FUNCTION broken_try_end_first
    mov     x4, x2
1:  cbz     x4, 2f
    sub     x4, x4, #1
    CARRY_LOAD 0, ldrb w3, [x1, x4]
    CARRY_STORE 0, strb w3, [x0, x4]
    b       1b
2:  mov     x0, #0
    ret
CARRY_END broken_try_end_first

/* Computes how many bytes can be copied, but does not copy them. */
CARRY_FUNCTION broken_try_copies_none
    ENDS    .Lcopies_none
    STORE_ENDS .Lnone_stored
.Lcopies_none:
    subs    x16, x16, x1
    b       1f
.Lnone_stored:
    subs    x16, x16, x0
1:  csel    x16, x16, xzr, hi
    sub     x0, x2, x16
    ret
CARRY_END broken_try_copies_none

/* Copies up to the missing page after a fault, and so faults a second time there. */
CARRY_FUNCTION broken_try_two_signals
    ENDS    .Ltwo_signals
    STORE_ENDS .Ltwo_signals
.Ltwo_signals:
    BYTES   2f
CARRY_END broken_try_two_signals

/* Includes the top bytes of addresses, which the CPU ignores, in comparisons. */
CARRY_FUNCTION broken_try_keeps_tag
    ENDS    .Lkeeps_tag
    BYTES   2f
.Lkeeps_tag:
    subs    x10, x16, x1
    csel    x10, x10, xzr, hi
    b       .Lnext_byte
CARRY_END broken_try_keeps_tag

/* Lacks a row in the table: the fault is not recognised. */
CARRY_FUNCTION broken_try_unmarked
1:  cbz     x2, 2f
    ldrb    w3, [x1], #1
    strb    w3, [x0], #1
    sub     x2, x2, #1
    b       1b
2:  mov     x0, #0
    ret
CARRY_END broken_try_unmarked

/*
 * Copies by two vectors, and stores both before the pointers advance. A fault at the first vector
 * reports `first` bytes as done, a fault at the second one `second`. Recovers by the CARRY_RECOVER
 * below, like all mutants with CARRY_LOAD and CARRY_STORE.
 */
.macro PAIRS first, second
1:  cmp     x2, #32
    b.lo    2f
    CARRY_LOAD \first, ldr q0, [x1]
    CARRY_STORE \first, str q0, [x0]
    CARRY_LOAD \second, ldr q0, [x1, #16]
    CARRY_STORE \second, str q0, [x0, #16]
    add     x0, x0, #32
    add     x1, x1, #32
    sub     x2, x2, #32
    b       1b
2:  mov     x10, x2
    b       .Lnext_byte
.endm

/* Reports a vector as done before it is stored. */
CARRY_FUNCTION broken_try_says_stored
    PAIRS   16, 16
CARRY_END broken_try_says_stored

/* Does not report the first vector as done after it is stored. */
CARRY_FUNCTION broken_try_forgets_stored
    PAIRS   0, 0
CARRY_END broken_try_forgets_stored

/* Stores whole vectors, which may cross the end of a page. */
CARRY_FUNCTION broken_try_crosses_page
    PAIRS   0, 16
CARRY_END broken_try_crosses_page

/* Uses only the lower 32 bits of the size. */
CARRY_FUNCTION broken_try_cuts_size
    mov     w2, w2
    BYTES   2f
    CARRY_RECOVER
CARRY_END broken_try_cuts_size

CARRY_NOTES
