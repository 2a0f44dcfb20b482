/* SPDX-License-Identifier: MIT */
/* Implements page tables (Arm ARM, D8.3), permissions, and writes to text. */
#include "kernel.h"

#define PAN_SHIFT 20 /* shift of PAN in ID_AA64MMFR1_EL1 */
#define PAN_MASK  0xf

/* Fields of CTR_EL0 (D19.2.34). */
#define CTR_IMINLINE(ctr) ((ctr)&0xf)
#define CTR_DMINLINE(ctr) ((ctr) >> 16 & 0xf)
#define CTR_IDC(ctr)      ((ctr) >> 28 & 1) /* data need not be cleaned for instructions */
#define CTR_DIC(ctr)      ((ctr) >> 29 & 1) /* instructions need not be invalidated */

extern uint64_t boot_root[512];

uint64_t *page_root(void) {
    return boot_root;
}

uint64_t page_table_entry(const void *table) {
    return (uint64_t)table | ENTRY_TABLE;
}

uint64_t page_entry(const void *memory, unsigned flags) {
    return (uint64_t)memory | ENTRY_PAGE | ENTRY_NORMAL | ENTRY_SHARED | ENTRY_ACCESSED |
           ENTRY_DATA | (flags & PAGE_USER ? ENTRY_USER : 0) |
           (flags & PAGE_WRITABLE ? 0 : ENTRY_READ_ONLY);
}

/* Invalidates the translation of `address` on all CPUs. */
void page_forget(void *address) {
    __asm__ volatile("dsb ishst; tlbi vaae1is, %0; dsb ish; isb"
                     :
                     : "r"((uint64_t)address >> 12)
                     : "memory");
}

bool page_protects_user(void) {
    return CPU_READ("id_aa64mmfr1_el1") >> PAN_SHIFT & PAN_MASK;
}

bool page_has_leave(void) {
    return !page_protects_user() || !(CPU_READ("s3_0_c4_c2_3") & PSTATE_PAN); /* PAN */
}

void page_allow_user(void) {
    if (page_protects_user())
        __asm__ volatile(".inst 0xd500409f" : : : "memory"); /* msr pan, #0 */
}

void page_forbid_user(void) {
    if (page_protects_user())
        __asm__ volatile(".inst 0xd500419f" : : : "memory"); /* msr pan, #1 */
}

/* --- Text --- */

/* Stores each instruction atomically, because CPUs fetch whole instructions. */
static void store_words(uintptr_t address, const uint8_t *bytes, size_t size) {
    uintptr_t to = TEXT_ALIAS + address;
    while (size) {
        size_t step = to % 4 || size < 4 ? 1 : 4;
        if (step == 4) {
            uint32_t instruction;
            __builtin_memcpy(&instruction, bytes, sizeof instruction);
            __atomic_store_n((uint32_t *)to, instruction, __ATOMIC_RELAXED);
        } else {
            __atomic_store_n((uint8_t *)to, *bytes, __ATOMIC_RELAXED);
        }
        to += step;
        bytes += step;
        size -= step;
    }
}

/* Makes all CPUs fetch the stored instructions from then on (B2.4.4). */
static void publish_text(uintptr_t low, uintptr_t high) {
    const uint64_t ctr = CPU_READ("ctr_el0");
    const uintptr_t data_line = UINT64_C(4) << CTR_DMINLINE(ctr);
    const uintptr_t line = UINT64_C(4) << CTR_IMINLINE(ctr);
    for (uintptr_t at = low & -data_line; at < high && !CTR_IDC(ctr); at += data_line)
        __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    for (uintptr_t at = low & -line; at < high && !CTR_DIC(ctr); at += line)
        __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish; isb" : : : "memory");
}

void text_write(uintptr_t address, const void *bytes, size_t size) {
    store_words(address, bytes, size);
    publish_text(address, address + size);
}
