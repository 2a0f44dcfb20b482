/* SPDX-License-Identifier: MIT */
#include "bench/capture_sum.h"

#include <carry/sum.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/command.h"

/* Bytes that are mapped at a time: page tables of more would not fit in the caches. */
#define WINDOW_BYTES ((off_t)2 << 20)

static bool sum_window(int file, off_t from, size_t size) {
    volatile uint32_t sum; /* keeps the compiler from removing the call */
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, from);
    if (bytes == MAP_FAILED)
        return false;
    sum = carry_sum(bytes, size, 0);
    (void)sum;
    return munmap(bytes, size) == 0;
}

static bool sum_file(int file) {
    struct stat status;
    if (file < 0 || fstat(file, &status))
        return false;
    for (off_t at = 0; at < status.st_size; at += WINDOW_BYTES) {
        const off_t left = status.st_size - at;
        if (!sum_window(file, at, (size_t)(left < WINDOW_BYTES ? left : WINDOW_BYTES)))
            return false;
    }
    return true;
}

int bench_capture_sum(const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool summed = sum_file(file);
    const int status = summed ? STATUS_CLEAN : command_error("%s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return status;
}
