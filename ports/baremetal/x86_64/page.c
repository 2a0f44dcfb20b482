/* SPDX-License-Identifier: MIT */
/* Implements page tables (Intel SDM vol. 3, 4.5), permissions, and writes to text. */
#include "io.h"
#include "kernel.h"

#include <string.h>

extern uint64_t boot_pml4[512];

uint64_t *page_root(void) {
    return boot_pml4;
}

uint64_t page_table_entry(const void *table) {
    return (uint64_t)table | PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
}

uint64_t page_entry(const void *memory, unsigned flags) {
    return (uint64_t)memory | flags | PAGE_PRESENT;
}

void page_forget(void *address) {
    io_forget_page((uint64_t)address);
}

bool page_protects_user(void) {
    return io_cr4() & CR4_SMAP;
}

bool page_has_leave(void) {
    return cpu_flags() & EFLAGS_AC;
}

void page_allow_user(void) {
    if (page_protects_user())
        __asm__ volatile("stac" : : : "memory", "cc");
}

void page_forbid_user(void) {
    if (page_protects_user())
        __asm__ volatile("clac" : : : "memory", "cc");
}

/* Writes text directly: all text is writable. */
void text_write(uintptr_t address, const void *bytes, size_t size) {
    memcpy((void *)address, bytes, size);
}
