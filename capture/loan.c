/* SPDX-License-Identifier: MIT */
#include "loan.h"

#include <carry/fault.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef MADV_POPULATE_READ /* C libraries before 2022 */
#define MADV_POPULATE_READ 22
#endif

/* A multiple of any page size. */
#define PAGES_BYTES ((size_t)64 << 10)

/* Bytes that are given back together: each time, the other threads' processors are interrupted. */
#define DROP_BYTES ((size_t)8 << 20)

/* Checks whether the host handles faults in frames. */
static bool can_recover(void) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame))
        return false;
    carry_fault_leave(&frame);
    return true;
}

static bool map_file(struct loan *loan, const struct file *file) {
    struct stat status;
    if (!file->maps || fstat(file->descriptor, &status) || status.st_size <= file->start ||
        (uint64_t)status.st_size > SIZE_MAX / 2 || !can_recover())
        return false;
    loan->map_size = (size_t)status.st_size;
    loan->map = mmap(NULL, loan->map_size, PROT_READ, MAP_SHARED, file->descriptor, 0);
    if (loan->map == MAP_FAILED)
        return false;
    loan->bytes = (const uint8_t *)loan->map + file->start;
    loan->size = loan->map_size - (size_t)file->start;
    return true;
}

bool carry_loan_begin(struct loan *loan, const struct carry_capture *capture) {
    *loan = (struct loan){.bytes = capture->memory.bytes, .size = capture->memory.size};
    return carry_reader_can_seek(capture) && (loan->bytes || map_file(loan, &capture->file));
}

void carry_loan_end(struct loan *loan, struct carry_capture *capture, size_t offset) {
    carry_reader_seek(capture, offset);
    if (loan->map)
        munmap(loan->map, loan->map_size);
}

bool carry_loan_holds(const struct loan *loan, const struct carry_capture *capture) {
    struct stat status;
    return !loan->map || (fstat(capture->file.descriptor, &status) == 0 &&
                          (uint64_t)status.st_size >= loan->map_size);
}

/* Advises the system about the whole pages of a range of the mapping. */
static void advise_pages(const struct loan *loan, size_t from, size_t to, int advice) {
    const size_t before = (size_t)(loan->bytes - (const uint8_t *)loan->map);
    const size_t first = (before + from) & ~(PAGES_BYTES - 1);
    const size_t end = (before + to) & ~(PAGES_BYTES - 1);
    if (first < end)
        madvise((uint8_t *)loan->map + first, end - first, advice);
}

/* Without this request, in systems before 5.14, the first access to each page maps it. */
void carry_loan_prepare(const struct loan *loan, size_t from, size_t to) {
    if (loan->map)
        advise_pages(loan, from, to, MADV_POPULATE_READ);
}

void carry_loan_drop(struct loan *loan, size_t to) {
    if (!loan->map || to - loan->dropped < DROP_BYTES)
        return;
    advise_pages(loan, loan->dropped, to, MADV_DONTNEED);
    loan->dropped = to;
}
