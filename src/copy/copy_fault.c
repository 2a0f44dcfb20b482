/* SPDX-License-Identifier: MIT */
/* The search for the recovery of a faulting instruction, and accesses and copies that survive
 * faults. */
#include "copy/copy_fault.h"

#include "copy/copy_internal.h"

#define PAGE_BYTES UINT64_C(4096)

extern const struct carry_fault_row __start_carry_faults[]
    __attribute__((weak, visibility("hidden")));
extern const struct carry_fault_row __stop_carry_faults[]
    __attribute__((weak, visibility("hidden")));

static uintptr_t follow_offset(const int32_t *offset) {
    return (uintptr_t)offset + (uintptr_t)(intptr_t)*offset;
}

static const struct carry_fault_row *find_fault_row(uintptr_t instruction) {
    /* A linear search: the rows are few, and a fault costs a hundred times as much. */
    for (const struct carry_fault_row *row = __start_carry_faults; row < __stop_carry_faults; row++)
        if (follow_offset(&row->instruction) == instruction)
            return row;
    return NULL;
}

uintptr_t carry_fault_find(uintptr_t instruction, uintptr_t *value) {
    const struct carry_fault_row *row = find_fault_row(instruction);
    if (!row)
        return 0;
    *value += row->done;
    return follow_offset(&row->recovery);
}

static bool is_access_size(size_t size) {
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/*
 * Copies all bytes or none, like a single access. If the range spans two pages, the system may copy
 * only a part: this function then restores the bytes of that part. Returns whether it copied all
 * bytes.
 */
static bool access_by_system(void *dst, const void *src, size_t size) {
    unsigned char from[8];
    unsigned char before[8];
    if (carry_host_copy(from, src, size))
        return false;
    carry_host_copy(before, dst, size);
    size_t left = carry_host_copy(dst, from, size);
    if (left)
        carry_host_copy(dst, before, size - left);
    return !left;
}

bool carry_read_try(void *value, const void *src, size_t size) {
    if (!is_access_size(size))
        return false;
    return carry_host_recovers(CARRY_HOST_COPIES) ? carry_read_once(value, src, size)
                                                  : access_by_system(value, src, size);
}

bool carry_write_try(void *dst, const void *value, size_t size) {
    if (!is_access_size(size))
        return false;
    return carry_host_recovers(CARRY_HOST_COPIES) ? carry_write_once(dst, value, size)
                                                  : access_by_system(dst, value, size);
}

uint64_t carry_load_zeropad(const void *src) {
    uint64_t word = 0;
    /* No page is smaller than PAGE_BYTES, and within a page all bytes are readable if one is. */
    if ((uintptr_t)src % PAGE_BYTES <= PAGE_BYTES - sizeof word)
        __builtin_memcpy(&word, src, sizeof word);
    else
        carry_copy_try(&word, src, sizeof word);
    return word;
}

size_t carry_copy_try(void *dst, const void *src, size_t size) {
    return carry_host_recovers(CARRY_HOST_COPIES) ? carry_copy_try_call(dst, src, size)
                                                  : carry_host_copy(dst, src, size);
}
