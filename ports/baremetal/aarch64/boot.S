/* SPDX-License-Identifier: MIT */
/*
 * Sets up each CPU, which starts at EL1 without an MMU, until it can call C functions. QEMU jumps
 * to `start` on the first CPU, and PSCI to `boot_second` on the second. Memory is mapped one to
 * one. Text is read-only, writable memory is never executable, and only text is executable.
 */
#include "kernel.h"

#define MEMORY_DATA (ENTRY_NORMAL | ENTRY_SHARED | ENTRY_ACCESSED | ENTRY_DATA)
#define DEVICES     (ENTRY_BLOCK | ENTRY_ACCESSED | ENTRY_DATA)

#define MAIR  0xff04                    /* 0: device (nGnRE), 1: normal, written back */
#define TCR   0x0000000200803510        /* 48 bits, only in TTBR0_EL1; tables cached like memory */
#define SCTLR 0x30d8180d                /* RES1, WXN, I, SA, C, M */

/* Sets x to the address of a symbol that ADRP can reach. */
.macro ADDRESS x, symbol
    adrp    \x, \symbol
    add     \x, \x, :lo12:\symbol
.endm

/* Sets the entries of the pages from `from` up to `to`. Clobbers x0 to x3. */
.macro PROTECT from, to, entry
    ADDRESS x0, \from
    ADDRESS x1, \to
1:  ADDRESS x2, boot_pages
    ubfx    x3, x0, #12, #9
    add     x2, x2, x3, lsl #3
    ldr     x3, =\entry
    orr     x3, x3, x0
    str     x3, [x2]
    add     x0, x0, #4096
    cmp     x0, x1
    b.lo    1b
.endm

    .section .boot, "ax"
    .globl start, boot_second
start:
    PROTECT text_start, rodata_start, \
        ENTRY_PAGE | ENTRY_NORMAL | ENTRY_SHARED | ENTRY_ACCESSED | ENTRY_READ_ONLY
    PROTECT rodata_start, data_start, ENTRY_PAGE | MEMORY_DATA | ENTRY_READ_ONLY
    bl      enter_virtual
    ADDRESS x0, boot_stacks + BOOT_STACK_BYTES
    mov     sp, x0
    bl      kernel_main

boot_second:
    bl      enter_virtual
    ADDRESS x0, boot_stacks + 2 * BOOT_STACK_BYTES
    mov     sp, x0
    bl      kernel_second_main

enter_virtual:
    msr     spsel, #1
    msr     daifset, #15
    mov     x29, xzr
    ldr     x0, =MAIR
    msr     mair_el1, x0
    ldr     x0, =TCR
    msr     tcr_el1, x0
    ADDRESS x0, boot_root
    msr     ttbr0_el1, x0
    dsb     sy
    tlbi    vmalle1
    ic      iallu
    dsb     sy
    isb
    ldr     x0, =SCTLR
    msr     sctlr_el1, x0
    isb
    ret
    .ltorg

/* Tables of 512 entries each: an entry maps 512 GiB, 1 GiB, 2 MiB or 4 KiB. */
    .data
    .balign 4096
    .globl boot_root
boot_root:
    .quad   boot_first + ENTRY_TABLE, 0, 0, boot_alias + ENTRY_TABLE
    .skip   508 * 8
boot_first:
    .quad   DEVICES, boot_second_level + ENTRY_TABLE
    .skip   510 * 8
boot_second_level:
    .quad   MEMORY_START + (ENTRY_BLOCK | MEMORY_DATA)
    .quad   boot_pages + ENTRY_TABLE
    .set    address, MEMORY_START + 2 * BLOCK_BYTES
    .rept   510
    .quad   address + (ENTRY_BLOCK | MEMORY_DATA)
    .set    address, address + BLOCK_BYTES
    .endr
boot_pages:
    .set    address, MEMORY_START + BLOCK_BYTES
    .rept   512
    .quad   address + (ENTRY_PAGE | MEMORY_DATA)
    .set    address, address + 4096
    .endr
boot_alias:
    .quad   0, boot_alias_blocks + ENTRY_TABLE
    .skip   510 * 8
boot_alias_blocks:
    .quad   0, MEMORY_START + BLOCK_BYTES + (ENTRY_BLOCK | MEMORY_DATA)
    .skip   510 * 8

    .bss
    .balign 4096
boot_stacks:
    .skip   2 * BOOT_STACK_BYTES

    .section .note.GNU-stack, "", %progbits
