/* SPDX-License-Identifier: MIT */
/*
 * Sets up each CPU from its start until it can call C functions. The first CPU starts in 32-bit
 * protected mode without paging (PVH, Xen's docs/misc/pvh.pandoc), the second in 16-bit real mode
 * (INIT-SIPI, Intel SDM vol. 3, 9.4). Both end in 64-bit mode, with the first 4 GiB mapped one to
 * one.
 */
#include "kernel.h"

    .section .note.Xen, "a", @note
    .balign 4
    .long   4, 4, 18                            /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz  "Xen"
    .long   start32

    .section .boot, "ax"
    .code32
    .globl start32
start32:
    cli
    cld
    movl    $boot_stacks + BOOT_STACK_BYTES, %esp
    movl    %ebx, boot_info
    call    map_memory
    lgdtl   boot_gdtr
    call    enter_long_mode
    ljmp    $CODE64, $start64

/* Fills the page tables: pml4 -> pdpt -> four tables of 512 pages of 2 MiB. */
map_memory:
    movl    $boot_pdpt + 3, boot_pml4
    movl    $boot_pd + 3, %eax
    xorl    %ecx, %ecx
1:  movl    %eax, boot_pdpt(, %ecx, 8)
    addl    $4096, %eax
    incl    %ecx
    cmpl    $4, %ecx
    jne     1b
    movl    $0x83, %eax                         /* present, writable, 2 MiB */
    xorl    %ecx, %ecx
2:  movl    %eax, boot_pd(, %ecx, 8)
    addl    $0x200000, %eax
    incl    %ecx
    cmpl    $2048, %ecx
    jne     2b
    ret

enter_long_mode:
    movl    %cr4, %eax
    orl     $CR4_PAE, %eax
    movl    %eax, %cr4
    movl    $boot_pml4, %eax
    movl    %eax, %cr3
    movl    $MSR_EFER, %ecx
    rdmsr
    orl     $EFER_LME | EFER_NXE, %eax
    wrmsr
    movl    %cr0, %eax
    andl    $~(CR0_EM | CR0_TS), %eax
    orl     $CR0_PG | CR0_WP | CR0_NE | CR0_MP, %eax
    movl    %eax, %cr0
    ret

/* The code of the second CPU, which is copied to the address where SIPI starts this CPU. */
    .code16
    .globl boot_second, boot_second_end
boot_second:
    cli
    xorw    %ax, %ax
    movw    %ax, %ds
    lgdtl   SECOND_START + (boot_second_gdtr - boot_second)
    movl    %cr0, %eax
    orl     $1, %eax
    movl    %eax, %cr0
    ljmpl   $CODE32, $second32
boot_second_gdtr:
    .word   boot_gdt_end - boot_gdt - 1
    .long   boot_gdt
boot_second_end:

    .code32
second32:
    movl    $DATA, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movl    $boot_stacks + 2 * BOOT_STACK_BYTES, %esp
    call    enter_long_mode
    ljmp    $CODE64, $second64

    .code64
start64:
    call    load_segments
    call    kernel_main
second64:
    call    load_segments
    call    kernel_second_main

load_segments:
    movl    $DATA, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    xorl    %eax, %eax
    movl    %eax, %fs
    movl    %eax, %gs
    xorl    %ebp, %ebp
    ret

    .data
    .balign 8
boot_gdt:
    .quad   0
    .quad   0x00af9b000000ffff                  /* CODE64 */
    .quad   0x00cf93000000ffff                  /* DATA */
    .quad   0x00cf9b000000ffff                  /* CODE32 */
boot_gdt_end:
boot_gdtr:
    .word   boot_gdt_end - boot_gdt - 1
    .quad   boot_gdt
    .globl boot_info
boot_info:
    .quad   0

    .bss
    .balign 4096
    .globl boot_pml4
boot_pml4:
    .skip   4096
boot_pdpt:
    .skip   4096
boot_pd:
    .skip   4 * 4096
boot_stacks:
    .skip   2 * BOOT_STACK_BYTES

    .section .note.GNU-stack, "", @progbits
