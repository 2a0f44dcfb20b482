/* SPDX-License-Identifier: MIT */
/* What the system opens as the source of a capture's bytes: files, pipes, sockets, devices. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "capture/format.h"
#include "common/clock.h"

/* Whoever writes into the pipe got the same Ctrl-C, and has this long to write the rest. */
#define LAST_WORDS_NS (CLOCK_SECOND / 2)

/* As poll() counts: -1 is for as long as it takes. */
static int patience_ms(const struct capture *capture) {
    if (!capture->stopped_at)
        return -1;
    const int64_t rest = capture->stopped_at + LAST_WORDS_NS - clock_ns();
    return rest > 0 ? (int)(rest / 1000000) + 1 : 0;
}

static void stop_reading(struct capture *capture) {
    capture->stop = -1;
    capture->stopped_at = clock_ns();
    format_source(capture)->stopped = true;
    if (ioctl(capture->descriptor, FIONREAD, &capture->owed))
        capture->owed = 0;
}

/* Waits until read() does not; false if that is no longer wanted. The watcher looks after signals.
 */
static bool await_bytes(struct capture *capture) {
    const struct input_watcher *watcher = &capture->input.watcher;
    struct pollfd waits[] = {{.fd = capture->descriptor, .events = POLLIN},
                             {.fd = capture->stop, .events = POLLIN}};
    if (capture->owed <= 0 && !patience_ms(capture))
        return false;
    int ready = poll(waits, 2, 0);
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        if (watcher->idle)
            watcher->idle(watcher->context);
        const int patience = patience_ms(capture);
        if (!patience)
            return false;
        ready = poll(waits, 2, patience);
    }
    if (ready < 0 || !waits[1].revents)
        return true;
    stop_reading(capture);
    return await_bytes(capture);
}

static ssize_t read_descriptor(void *context, void *buffer, size_t size) {
    struct capture *capture = context;
    ssize_t got;
    do {
        if (capture->waits && !await_bytes(capture))
            return 0;
        got = read(capture->descriptor, buffer, size);
    } while (got < 0 && errno == EAGAIN && capture->waits);
    if (got > 0 && capture->owed > 0)
        capture->owed -= (int)got;
    return got;
}

/* What cannot be a capture, whatever it holds, as an errno; 0 if it can. */
static int obstacle(int descriptor, const struct stat *status) {
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY ? EBADF : 0;
}

static struct capture *use_descriptor(int descriptor, bool owned) {
    struct stat status;
    if (fstat(descriptor, &status))
        return NULL;
    errno = obstacle(descriptor, &status);
    if (errno)
        return NULL;
    struct capture *capture = capture_open_source(read_descriptor, NULL, CAPTURE_WINDOW_BYTES);
    if (!capture)
        return NULL;
    capture->input.context = capture;
    capture->descriptor = descriptor;
    capture->owned = owned;
    capture->waits = !S_ISREG(status.st_mode);
    capture->size = capture->waits ? 0 : (uint64_t)status.st_size;
    capture->start = capture->waits ? 0 : lseek(descriptor, 0, SEEK_CUR);
    return capture;
}

/* An owned one is closed if that fails. */
static struct capture *open_descriptor(int descriptor, bool owned) {
    struct capture *capture = use_descriptor(descriptor, owned);
    if (!capture && owned) {
        int error = errno;
        close(descriptor);
        errno = error;
    }
    return capture;
}

struct capture *capture_open(const char *path) {
    bool standard_input = strcmp(path, "-") == 0;
    int descriptor = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? NULL : open_descriptor(descriptor, !standard_input);
}

struct capture *capture_again(struct capture *capture) {
    const int descriptor = capture->descriptor;
    const bool owned = capture->owned;
    if (lseek(descriptor, capture->start, SEEK_SET) < 0) {
        capture_close(capture);
        errno = ESPIPE;
        return NULL;
    }
    capture->owned = false;
    capture_close(capture);
    return open_descriptor(descriptor, owned);
}

bool capture_status(const struct capture *capture, struct stat *status) {
    return fstat(capture->descriptor, status) == 0;
}

bool capture_waits(const struct capture *capture) {
    return capture->waits;
}

void capture_stop_on(struct capture *capture, int descriptor) {
    capture->stop = descriptor;
}
