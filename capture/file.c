/* SPDX-License-Identifier: MIT */
/* What the system opens as the source of a capture's bytes: files, pipes, sockets, devices. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format.h"

#define SECOND INT64_C(1000000000)

/* Whoever writes into a pipe may have been stopped too, and has this long to write the rest. */
#define LAST_WORDS_NS (SECOND / 2)

static int64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

/* As poll() counts: -1 is for as long as it takes. */
static int patience_ms(const struct file *file) {
    if (!file->stopped)
        return -1;
    const int64_t rest = file->patience - clock_ns();
    return rest > 0 ? (int)(rest / 1000000) + 1 : 0;
}

static void stop_reading(struct carry_capture *capture) {
    struct file *file = &capture->file;
    file->stop = -1;
    file->stopped = true;
    file->patience = clock_ns() + LAST_WORDS_NS;
    carry_format_source(capture)->stopped = true;
    if (ioctl(file->descriptor, FIONREAD, &file->owed))
        file->owed = 0;
}

/* Waits until read() does not; false if that is no longer wanted. */
static bool await_bytes(struct carry_capture *capture) {
    struct file *file = &capture->file;
    struct pollfd waits[] = {{.fd = file->descriptor, .events = POLLIN},
                             {.fd = file->stop, .events = POLLIN}};
    if (file->owed <= 0 && !patience_ms(file))
        return false;
    int ready = poll(waits, 2, 0);
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        if (!carry_input_idle(&capture->input))
            return false;
        const int patience = patience_ms(file);
        if (!patience)
            return false;
        ready = poll(waits, 2, patience);
    }
    if (ready < 0 || !waits[1].revents)
        return true;
    stop_reading(capture);
    return await_bytes(capture);
}

int64_t carry_file_read(void *context, void *buffer, size_t size) {
    struct carry_capture *capture = context;
    struct file *file = &capture->file;
    ssize_t got;
    do {
        if (file->waits && !await_bytes(capture))
            return 0;
        got = read(file->descriptor, buffer, size);
    } while (got < 0 && errno == EAGAIN && file->waits);
    if (got > 0 && file->owed > 0)
        file->owed -= (int)got;
    return got < 0 ? -errno : got;
}

int carry_file_rewind(void *context) {
    const struct file *file = &((struct carry_capture *)context)->file;
    return lseek(file->descriptor, file->start, SEEK_SET) < 0 ? -errno : 0;
}

void carry_file_close(struct file *file) {
    if (file->owned)
        close(file->descriptor);
}

/* What cannot be a capture, whatever it holds, as an errno; 0 if it can. */
static int obstacle(int descriptor, struct stat *status) {
    if (fstat(descriptor, status))
        return errno;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY ? EBADF : 0;
}

/* Bytes of a file from its present position on. */
static uint64_t rest_of(int descriptor, const struct stat *status) {
    const off_t position = lseek(descriptor, 0, SEEK_CUR);
    return position < status->st_size ? (uint64_t)(status->st_size - position) : 0;
}

static int open_descriptor(int descriptor, bool owned, struct carry_capture **capture,
                           struct carry_capture_error *error) {
    struct stat status;
    const int problem = obstacle(descriptor, &status);
    if (problem)
        return carry_format_error(error, CARRY_ERROR_READ, problem);
    const bool waits = !S_ISREG(status.st_mode);
    const struct carry_capture_source source = {
        .read = carry_file_read,
        .rewind = waits ? NULL : carry_file_rewind,
        .size = waits ? 0 : rest_of(descriptor, &status),
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

void carry_capture_stop_on(struct carry_capture *capture, int descriptor) {
    if (capture->file.waits)
        capture->file.stop = descriptor;
}
