/* SPDX-License-Identifier: MIT */
#include "harness/guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include "harness/bail.h"

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

struct guard guard_open(size_t capacity) {
    size_t page = page_size();
    size_t size = round_up(capacity ? capacity : 1, page);
    unsigned char *map = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, size, PROT_READ | PROT_WRITE))
        bail_out("no memory for guard pages");
    return (struct guard){map + page, map + page + size};
}

void guard_close(struct guard *guard) {
    size_t page = page_size();
    munmap(guard->start - page, (size_t)(guard->end - guard->start) + 2 * page);
}

static bool fill_file(int file, const void *block, size_t block_size) {
    return file >= 0 && write(file, block, block_size) == (ssize_t)block_size;
}

static bool map_over(unsigned char *map, size_t mapped, int file, size_t block_size) {
    for (size_t at = 0; at < mapped; at += block_size)
        if (mmap(map + at, block_size, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            return false;
    return true;
}

const unsigned char *guard_repeat(const void *block, size_t block_size, size_t size) {
    size_t mapped = round_up(size, block_size);
    int file = memfd_create("repeat", MFD_CLOEXEC);
    bool filled = fill_file(file, block, block_size);
    unsigned char *map =
        mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool done = filled && map != MAP_FAILED && map_over(map, mapped, file, block_size);
    if (!done && map != MAP_FAILED)
        munmap(map, mapped);
    if (file >= 0)
        close(file);
    return done ? map : NULL;
}

void guard_repeat_close(const unsigned char *data, size_t block_size, size_t size) {
    munmap((void *)data, round_up(size, block_size));
}
