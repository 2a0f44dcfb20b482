/* SPDX-License-Identifier: MIT */
#include "jit_text.h"

#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <carry/base.h>

#ifndef MFD_EXEC /* since Linux 6.3 */
#define MFD_EXEC 0x0010U
#endif

namespace carry::jit {
namespace {

constexpr size_t CACHE_LINE = 64; /* a multiple of the alignment of constants */
constexpr size_t BEHIND = 16;     /* bytes that valgrind reads after the code that it translates */

/* Converts an errno of system calls that create files in memory, or map pages, to an error of the
 * library. */
int error_of_system(int number) {
    switch (number) {
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
        return CARRY_ERROR_MEMORY;
    default:
        return CARRY_ERROR_PERMISSION;
    }
}

/* Returns the offset of the next function on its first page, at most `slack`. If all functions
 * began at the start of a page, they would share a few sets of the instruction cache. */
size_t next_offset(size_t slack) {
    static size_t lines;
    lines += 5; /* most functions fit into five lines */
    return lines % (slack / CACHE_LINE + 1) * CACHE_LINE;
}

/* Opens a file in memory. Some systems refuse files without MFD_EXEC, others files with it. */
int open_memory_file() {
    int fd = memfd_create("carry-jit", MFD_CLOEXEC | MFD_EXEC);
    return fd < 0 ? memfd_create("carry-jit", MFD_CLOEXEC) : fd;
}

bool write_all(int fd, const uint8_t *bytes, size_t size) {
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

} // namespace

Text::Text(Text &&other) noexcept
    : pages(std::exchange(other.pages, nullptr)), bytes(other.bytes), offset(other.offset) {
}

Text::~Text() {
    if (pages)
        munmap(pages, bytes);
}

int Text::map(size_t size) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t whole = (size + BEHIND + page - 1) / page * page;
    void *place = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        return error_of_system(errno);
    pages = static_cast<uint8_t *>(place);
    bytes = whole;
    offset = next_offset(whole - size - BEHIND);
    return CARRY_OK;
}

/*
 * Maps a file in place of the pages. Systems that do not let writable pages become executable
 * (PR_SET_MDWE, SELinux, systemd) may still allow this. It is the second choice, because perf reads
 * the symbols of a mapped file from the file, not from its map of names.
 */
int Text::replace_by_file() {
    void *place = MAP_FAILED;
    int fd = open_memory_file();
    if (fd >= 0 && write_all(fd, pages, bytes))
        place = mmap(pages, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
    int error = place == MAP_FAILED ? error_of_system(errno) : CARRY_OK;
    if (fd >= 0)
        close(fd);
    return error;
}

int Text::finish() {
    int error = CARRY_OK;
    if (mprotect(pages, bytes, PROT_READ | PROT_EXEC))
        error = errno == ENOMEM ? CARRY_ERROR_MEMORY : replace_by_file();
    if (!error)
        __builtin___clear_cache(reinterpret_cast<char *>(pages),
                                reinterpret_cast<char *>(pages + bytes));
    return error;
}

} // namespace carry::jit
