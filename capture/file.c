/* SPDX-License-Identifier: MIT */
/* Reads the bytes of a capture from a file, pipe, socket or device. */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "format.h"

#define SECOND INT64_C(1000000000)

/* How long to wait for more bytes from the writer of a pipe: the signal that stopped the reader may
   have stopped the writer too. */
#define GRACE_NS (SECOND / 2)

static int64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

/* Returns the time left to wait, in milliseconds as poll() takes it: -1 waits without a limit. */
static int read_timeout_ms(const struct file *file) {
    if (!file->stopped)
        return -1;
    const int64_t rest = file->deadline - clock_ns();
    return rest > 0 ? (int)(rest / 1000000) + 1 : 0;
}

static void stop_reading(struct carry_capture *capture) {
    struct file *file = &capture->file;
    file->stop = -1;
    file->stopped = true;
    file->deadline = clock_ns() + GRACE_NS;
    carry_format_source(capture)->stopped = true;
    if (ioctl(file->descriptor, FIONREAD, &file->unread))
        file->unread = 0;
}

/* Waits until read() would not block. Returns false if bytes are no longer wanted. */
static bool await_bytes(struct carry_capture *capture) {
    struct file *file = &capture->file;
    struct pollfd waits[] = {{.fd = file->descriptor, .events = POLLIN},
                             {.fd = file->stop, .events = POLLIN}};
    if (file->unread <= 0 && !read_timeout_ms(file))
        return false;
    int ready = poll(waits, 2, 0);
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        if (!carry_input_idle(&capture->input))
            return false;
        const int timeout = read_timeout_ms(file);
        if (!timeout)
            return false;
        ready = poll(waits, 2, timeout);
    }
    if (ready < 0 || !waits[1].revents)
        return true;
    stop_reading(capture);
    return await_bytes(capture);
}

/* Checks whether reading may continue. If not, notes that it was stopped. A regular file never
   blocks, and its bytes can be read later, so no bytes are waited for. */
static bool may_read(struct carry_capture *capture) {
    struct pollfd stop = {.fd = capture->file.stop, .events = POLLIN};
    if (stop.fd < 0 || poll(&stop, 1, 0) <= 0)
        return true;
    carry_format_source(capture)->stopped = true;
    return false;
}

int64_t carry_file_read(void *context, void *buffer, size_t size) {
    struct carry_capture *capture = context;
    struct file *file = &capture->file;
    ssize_t got;
    do {
        if (file->waits ? !await_bytes(capture) : !may_read(capture))
            return 0;
        got = read(file->descriptor, buffer, size);
    } while (got < 0 && errno == EAGAIN && file->waits);
    if (got > 0 && file->unread > 0)
        file->unread -= (int)got;
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

void carry_capture_map(struct carry_capture *capture) {
    capture->file.maps = true;
}

void carry_capture_stop_on(struct carry_capture *capture, int descriptor) {
    capture->file.stop = descriptor;
}
