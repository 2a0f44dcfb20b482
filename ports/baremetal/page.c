/* SPDX-License-Identifier: MIT */
/* Defines two windows of addresses in which tests map, protect and unmap pages. */
#include "kernel.h"

struct window {
    uint64_t second[512];
    uint64_t third[512];
    uint64_t pages[WINDOW_PAGES];
} __attribute__((aligned(PAGE_BYTES)));

static struct window windows[2];
static uint8_t memory[2][64][PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

static unsigned window_index(uint64_t window) {
    return window == WINDOW_USER;
}

/* Returns the entry of a page. Upper tables allow every access: only this entry restricts it. */
static uint64_t *entry_of(uint64_t window, unsigned index) {
    struct window *w = &windows[window_index(window)];
    page_root()[window >> 39 & 511] = page_table_entry(w->second);
    w->second[window >> 30 & 511] = page_table_entry(w->third);
    w->third[window >> 21 & 511] = page_table_entry(w->pages);
    return &w->pages[index];
}

static void change_entry(uint64_t window, unsigned index, uint64_t entry) {
    void *address = (void *)(window + (uint64_t)index * PAGE_BYTES);
    __atomic_store_n(entry_of(window, index), entry, __ATOMIC_RELEASE);
    page_forget(address);
    cpu_call_other(page_forget, address);
}

void page_map(uint64_t window, unsigned index, unsigned flags) {
    change_entry(window, index, page_entry(memory[window_index(window)][index % 64], flags));
}

void page_unmap(uint64_t window, unsigned index) {
    change_entry(window, index, 0);
}
