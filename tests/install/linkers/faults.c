/* SPDX-License-Identifier: MIT */
/* Copies that survive faults, in a program that test_faults.py links in several ways. */
#include "expect.h"

#include <carry/fault.h>
#include <carry/sum.h>

#include <sys/mman.h>

#define PAGE           4096
#define SIZE_MAX_TRIED 600

int main(void) {
    static unsigned char copy[SIZE_MAX_TRIED];
    int private_pages = MAP_PRIVATE | MAP_ANONYMOUS;
    unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, private_pages, -1, 0);
    EXPECT(pages != MAP_FAILED, 1);
    EXPECT(munmap(pages + PAGE, PAGE), 0);
    EXPECT(carry_fault_acquire(), 0);
    for (size_t size = 1; size <= SIZE_MAX_TRIED; size++) {
        EXPECT(carry_copy_try(copy, pages + PAGE, size), size);
        uint32_t sum = 0;
        EXPECT(carry_sum_copy_try(copy, pages + PAGE, size, &sum), size);
    }
    carry_fault_release();
    return result();
}
