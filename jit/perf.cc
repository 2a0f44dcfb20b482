/* SPDX-License-Identifier: MIT */
/*
 * Writes /tmp/perf-PID.map, with lines "ADDRESS SIZE NAME", the numbers in hexadecimal digits, in
 * the format of perf's Documentation/jit-interface.txt. A single line is never removed. The file is
 * opened for each line, so that a forked child writes its own file, and programs may close all
 * descriptors.
 *
 * The file may exist already. Other generators of this process may write to it too, and their lines
 * must remain. Lines of an earlier process with the same number are dropped, as no other program
 * removes them.
 */
#include "listing.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carry::jit {
namespace {

constexpr size_t LINE_MAX_BYTES = 256;
constexpr size_t STAT_MAX_BYTES = 1024;
constexpr int STAT_START = 22;       /* the field with the start time, by proc(5) */
constexpr time_t MARGIN_SECONDS = 4; /* the compared times are rounded to seconds */

/* Checks whether `fd` is a file of our own: any user may have put a link, pipe or file there. */
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

/* Returns when this process started, by the clock that dates files, or 0 if that is unknown. */
time_t start_of_process() {
    char text[STAT_MAX_BYTES];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size < 0 ? 0 : size] = '\0';
    const char *at = strrchr(text, ')'); /* ends field 2, a name with any characters */
    for (int field = 2; at && field < STAT_START; field++)
        at = strchr(at + 1, ' ');
    struct timespec now, since_boot;
    if (!at || clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_BOOTTIME, &since_boot))
        return 0;
    const long long ticks = strtoll(at, nullptr, 10);
    return now.tv_sec - since_boot.tv_sec + static_cast<time_t>(ticks / sysconf(_SC_CLK_TCK));
}

/*
 * Empties a map of an earlier process, before this process writes its first line. This must not be
 * repeated: if the clock was set since, this process's own lines would look old. Runs under the
 * cache's lock.
 */
void drop_earlier_lines(int fd) {
    static pid_t done_by;
    struct stat status;
    if (done_by == getpid())
        return;
    done_by = getpid();
    if (!fstat(fd, &status) && status.st_mtime < start_of_process() - MARGIN_SECONDS)
        (void)!ftruncate(fd, 0);
}

} // namespace

bool perf_has_map() noexcept {
    int fd = open_map();
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Writes the line in one call, so that it does not mix with lines of other writers. perf stops
   reading at a truncated line. */
void perf_list(const std::string &name, const struct carry_jit &jit) {
    char line[LINE_MAX_BYTES];
    int fd = open_map();
    if (fd < 0)
        return;
    drop_earlier_lines(fd);
    int size = snprintf(line, sizeof line, "%" PRIxPTR " %zx %.200s\n",
                        reinterpret_cast<uintptr_t>(jit.sum), jit.text_size, name.c_str());
    (void)!write(fd, line, static_cast<size_t>(size));
    close(fd);
}

} // namespace carry::jit
