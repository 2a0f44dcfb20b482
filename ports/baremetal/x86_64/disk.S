/* SPDX-License-Identifier: MIT */
/*
 * Boots machines that cannot start kernels themselves (Bochs): this boot sector loads the kernel,
 * as flat bytes, from the sectors after it, and starts the kernel as PVH does.
 *
 * The Makefile defines KERNEL_SECTORS, KERNEL_ENTRY, KERNEL_END and COMMAND_LINE.
 */
#define BUFFER        0x10000                   /* in low memory, where the BIOS can write */
#define KERNEL_START  0x100000
#define CHUNK_SECTORS 64                        /* BIOSes read no more than 127 at once */

    .code16
    .globl _start
_start:
    cli
    cld
    xorw    %ax, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movw    $_start, %sp
    movw    $(KERNEL_SECTORS + CHUNK_SECTORS - 1) / CHUNK_SECTORS, %cx
load:
    pushw   %cx
    movw    $request, %si
    movw    $0x4200, %ax                        /* extended read */
    movb    $0x80, %dl
    int     $0x13
    jc      fail
    movw    $move, %si
    movb    $0x87, %ah                          /* move a block to extended memory */
    movw    $CHUNK_SECTORS * 512 / 2, %cx
    int     $0x15
    jc      fail
    addl    $CHUNK_SECTORS, request_sector
    addl    $CHUNK_SECTORS * 512, move_target
    popw    %cx
    loop    load
    inb     $0x92, %al
    orb     $2, %al                             /* enables the line A20 */
    outb    %al, $0x92
    lgdtl   gdtr
    movl    %cr0, %eax
    orb     $1, %al
    movl    %eax, %cr0
    ljmpl   $8, $protected
fail:
    hlt
    jmp     fail

    .code32
protected:
    movl    $16, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movl    $KERNEL_START + KERNEL_SECTORS * 512, %edi
    movl    $KERNEL_END, %ecx                   /* zeroes the part that is not in the file */
    subl    %edi, %ecx
    xorl    %eax, %eax
    rep stosb
    movl    $start_info, %ebx
    movl    $KERNEL_ENTRY, %eax
    jmp     *%eax

    .balign 8
gdt:
    .quad   0
    .quad   0x00cf9b000000ffff
    .quad   0x00cf93000000ffff
gdtr:
    .word   gdtr - gdt - 1
    .long   gdt
request:
    .byte   16, 0
    .word   CHUNK_SECTORS
    .word   0
    .word   BUFFER / 16
request_sector:
    .quad   1

/* Descriptors: of this table, of source and target, and two that the BIOS fills in. */
move:
    .quad   0, 0
    .quad   0x000093000000ffff | BUFFER << 16
    .word   0xffff
move_target:
    .long   0x93000000 | KERNEL_START           /* three bytes of address, then the rights */
    .word   0
    .quad   0, 0

/* hvm_start_info (Xen's start_info.h): magic, version, flags, modules, their list, command line */
    .balign 8
start_info:
    .long   0x336ec578, 0, 0, 0
    .quad   0
    .quad   command_line
command_line:
    .asciz  COMMAND_LINE

    .org    510
    .word   0xaa55
