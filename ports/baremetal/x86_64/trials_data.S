/* SPDX-License-Identifier: MIT */
/* The trials that `make TRIALS=file` puts into the kernel, if any. */
    .section .rodata
    .balign 64
    .globl trials_start, trials_end
trials_start:
#ifdef TRIALS
    .incbin TRIALS
#endif
trials_end:
    .section .note.GNU-stack, "", @progbits
