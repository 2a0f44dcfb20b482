/* SPDX-License-Identifier: MIT */
/* Opens a capture from a path or from a descriptor of the caller. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"

/* Returns 0 if the descriptor can be read as a capture, or an errno if it cannot, whatever its file
   holds. */
static int open_errno(int descriptor, struct stat *status) {
    if (fstat(descriptor, status))
        return errno;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY ? EBADF : 0;
}

/* Returns the size of a file from its current position on. */
static uint64_t remaining_size(int descriptor, const struct stat *status) {
    const off_t position = lseek(descriptor, 0, SEEK_CUR);
    return position < status->st_size ? (uint64_t)(status->st_size - position) : 0;
}

static int open_descriptor(int descriptor, bool owned, struct carry_capture **capture,
                           struct carry_capture_error *error) {
    struct stat status;
    const int problem = open_errno(descriptor, &status);
    if (problem)
        return carry_format_error(error, CARRY_ERROR_READ, problem);
    const bool waits = !S_ISREG(status.st_mode);
    const struct carry_capture_source source = {
        .read = carry_file_read,
        .rewind = waits ? NULL : carry_file_rewind,
        .size = waits ? 0 : remaining_size(descriptor, &status),
    };
    int code = carry_capture_open_source(&source, capture, error);
    if (code != CARRY_OK)
        return code;
    (*capture)->source.user = *capture;
    (*capture)->file = (struct file){
        .descriptor = descriptor,
        .owned = owned,
        .waits = waits,
        .start = waits ? 0 : lseek(descriptor, 0, SEEK_CUR),
        .stop = -1,
    };
    return CARRY_OK;
}

int carry_capture_open_fd(int descriptor, struct carry_capture **capture,
                          struct carry_capture_error *error) {
    *capture = NULL;
    return open_descriptor(descriptor, false, capture, error);
}

int carry_capture_open_path(const char *path, struct carry_capture **capture,
                            struct carry_capture_error *error) {
    *capture = NULL;
    if (!path)
        return carry_format_error(error, CARRY_ERROR_INVALID, 0);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return carry_format_error(error, CARRY_ERROR_READ, errno);
    int code = open_descriptor(descriptor, true, capture, error);
    if (code != CARRY_OK)
        close(descriptor);
    return code;
}
