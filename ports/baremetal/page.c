/* SPDX-License-Identifier: MIT */
/* Two windows of pages that tests map, protect and take away (Intel SDM vol. 3, 4.5). */
#include "io.h"
#include "kernel.h"

struct window {
    uint64_t pdpt[512];
    uint64_t pd[512];
    uint64_t pages[WINDOW_PAGES];
} __attribute__((aligned(PAGE_BYTES)));

static struct window windows[2];
static uint8_t memory[2][64][PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

extern uint64_t boot_pml4[512];

static unsigned which(uint64_t window) {
    return window == WINDOW_USER;
}

/* The tables above allow all: rights are those of the page. */
static uint64_t *entry_of(uint64_t window, unsigned index) {
    struct window *w = &windows[which(window)];
    const uint64_t all = PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
    boot_pml4[window >> 39 & 511] = (uint64_t)w->pdpt | all;
    w->pdpt[window >> 30 & 511] = (uint64_t)w->pd | all;
    w->pd[window >> 21 & 511] = (uint64_t)w->pages | all;
    return &w->pages[index];
}

static void forget(void *address) {
    io_forget_page((uint64_t)address);
}

static void change(uint64_t window, unsigned index, uint64_t entry) {
    void *address = (void *)(window + (uint64_t)index * PAGE_BYTES);
    *entry_of(window, index) = entry;
    forget(address);
    cpu_call_other(forget, address);
}

void page_map(uint64_t window, unsigned index, unsigned flags) {
    uint64_t frame = (uint64_t)memory[which(window)][index % 64];
    change(window, index, frame | flags | PAGE_PRESENT);
}

void page_unmap(uint64_t window, unsigned index) {
    change(window, index, 0);
}

bool page_has_smap(void) {
    return io_cr4() & CR4_SMAP;
}

void page_allow_user(void) {
    if (page_has_smap())
        __asm__ volatile("stac" : : : "memory", "cc");
}

void page_forbid_user(void) {
    if (page_has_smap())
        __asm__ volatile("clac" : : : "memory", "cc");
}
