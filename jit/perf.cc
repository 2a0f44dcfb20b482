/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map, of lines "ADDRESS SIZE NAME" in hexadecimal digits, as Documentation/jit-
 * interface.txt of perf has it. Lines can only be added. The file is opened for each line: so a
 * child that was forked writes one of its own, and programs may close all descriptors they find.
 */
#include "listing.h"

#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carry::jit {
namespace {

constexpr size_t LINE_MAX_BYTES = 256;

/* Anybody may have put something else there: links, pipes, files of theirs. */
bool is_own_file(int fd) {
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1;
}

int open_map() {
    char path[40];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", static_cast<long>(getpid()));
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || is_own_file(fd))
        return fd;
    close(fd);
    return -1;
}

} // namespace

bool perf_has_map() noexcept {
    int fd = open_map();
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* In one call, so that lines of others stay whole. One that is cut short ends the map for perf. */
void perf_list(const std::string &name, const struct carry_jit &jit) {
    char line[LINE_MAX_BYTES];
    int fd = open_map();
    if (fd < 0)
        return;
    int size = snprintf(line, sizeof line, "%" PRIxPTR " %zx %.200s\n",
                        reinterpret_cast<uintptr_t>(jit.sum), jit.text_size, name.c_str());
    (void)!write(fd, line, static_cast<size_t>(size));
    close(fd);
}

} // namespace carry::jit
