/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"

#define MAGIC_BYTES 4

static enum capture_result stopped(struct capture *capture, struct packet *packet) {
    (void)packet;
    return capture->result;
}

static enum capture_result stop(struct capture *capture, enum capture_result result) {
    capture->result = result;
    capture->next = stopped;
    return result;
}

enum capture_result capture_damage(struct capture *capture, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    capture->problem.offset = capture->record;
    vsnprintf(capture->problem.reason, sizeof capture->problem.reason, format, arguments);
    va_end(arguments);
    return stop(capture, CAPTURE_DAMAGED);
}

enum capture_result capture_cut(struct capture *capture, const char *what, uint64_t size) {
    const struct input *input = &capture->input;
    uint64_t have = input->end_offset - capture->record;
    const char *unpacked_to_here = capture->unpack ? unpack_problem(capture->unpack) : NULL;
    if (unpacked_to_here)
        return capture_damage(capture, "%s", unpacked_to_here);
    if (input->error) {
        capture_damage(capture, "cannot read: %s", strerror(input->error));
        return stop(capture, CAPTURE_FAILED);
    }
    if (have == 0)
        return stop(capture, CAPTURE_END);
    return capture_damage(capture, "%s cut: %llu of %llu bytes", what, (unsigned long long)have,
                          (unsigned long long)size);
}

/* Files that people take for captures, so that they learn what to do. */
static const struct {
    const char magic[5];
    const char *advice;
} foreign[] = {
    {"\x1f\x8b", "compressed once more: zcat FILE | carry check -"},
    {"\x28\xb5\x2f\xfd", "compressed once more: zstdcat FILE | carry check -"},
    {"\xfd\x37zX", "compressed: xzcat FILE | carry check -"},
    {"BZh", "compressed: bzcat FILE | carry check -"},
    {"snoo", "a snoop file: convert it with editcap -F pcap"},
};

static enum capture_result no_capture(struct capture *capture, const uint8_t *magic) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (memcmp(magic, foreign[i].magic, strlen(foreign[i].magic)) == 0)
            return capture_damage(capture, "not a capture but %s", foreign[i].advice);
    return capture_damage(capture, "not a capture: it starts with %02x %02x %02x %02x", magic[0],
                          magic[1], magic[2], magic[3]);
}

/* Puts what unpacks between the bytes read so far, with those that will be, and the capture. */
static bool unpack(struct capture *capture, const uint8_t *magic) {
    struct input packed = capture->input;
    struct unpack *unpack = unpack_open(magic, &capture->packed);
    if (!unpack)
        return false;
    if (!input_open(&capture->input, unpack_read, unpack, packed.capacity)) {
        capture->input = packed;
        unpack_close(unpack);
        return false;
    }
    capture->input.watcher = packed.watcher;
    capture->input.sink = packed.sink;
    capture->input.sink_context = packed.sink_context;
    capture->packed = packed;
    capture->packed.watcher = (struct input_watcher){0};
    capture->packed.sink = NULL;
    capture->unpack = unpack;
    return true;
}

/* The first bytes of the capture itself; NULL if there are fewer. */
static const uint8_t *peek_magic(struct capture *capture) {
    const uint8_t *magic = input_peek(&capture->input, MAGIC_BYTES);
    if (!magic || capture->unpack || !unpack(capture, magic))
        return magic;
    return input_peek(&capture->input, MAGIC_BYTES);
}

static format_next_fn *recognise(struct capture *capture, const uint8_t *magic) {
    format_next_fn *next = pcap_recognise(capture, magic);
    return next ? next : pcapng_recognise(capture, magic);
}

static enum capture_result start(struct capture *capture, struct packet *packet) {
    const uint8_t *magic = peek_magic(capture);
    if (!magic && !capture->input.error && !input_held(&capture->input))
        return capture_damage(capture, "empty file");
    if (!magic)
        return capture_cut(capture, "file header", MAGIC_BYTES);
    capture->next = recognise(capture, magic);
    if (!capture->next)
        return no_capture(capture, magic);
    return capture->next(capture, packet);
}

bool capture_recognised(struct capture *capture) {
    const uint8_t *magic = peek_magic(capture);
    return magic && recognise(capture, magic);
}

struct capture *capture_open_source(input_read_fn *read, void *context, size_t window) {
    struct capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return NULL;
    if (!input_open(&capture->input, read, context, window)) {
        free(capture);
        return NULL;
    }
    capture->next = start;
    return capture;
}

static ssize_t read_descriptor(void *context, void *buffer, size_t size) {
    const struct capture *capture = context;
    const struct input_watcher *watcher = &capture->input.watcher;
    struct pollfd readable = {.fd = capture->descriptor, .events = POLLIN};
    if (watcher->idle && poll(&readable, 1, 0) == 0)
        watcher->idle(watcher->context);
    return read(capture->descriptor, buffer, size);
}

static struct capture *open_descriptor(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status))
        return NULL;
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    struct capture *capture = capture_open_source(read_descriptor, NULL, CAPTURE_WINDOW_BYTES);
    if (!capture)
        return NULL;
    capture->input.context = capture;
    capture->descriptor = descriptor;
    capture->size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    return capture;
}

struct capture *capture_open(const char *path) {
    bool standard_input = strcmp(path, "-") == 0;
    int descriptor = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    struct capture *capture = open_descriptor(descriptor);
    if (capture)
        capture->owned = !standard_input;
    if (!capture && !standard_input) {
        int error = errno;
        close(descriptor);
        errno = error;
    }
    return capture;
}

void capture_close(struct capture *capture) {
    if (capture->owned)
        close(capture->descriptor);
    pcapng_close(capture);
    if (capture->unpack) {
        unpack_close(capture->unpack);
        input_close(&capture->packed);
    }
    input_close(&capture->input);
    free(capture);
}

void capture_pass_to(struct capture *capture, input_sink_fn *sink, void *context) {
    capture->input.sink = sink;
    capture->input.sink_context = context;
}

bool capture_pass_rest(struct capture *capture) {
    if (input_drain(&capture->input))
        return true;
    capture->record = input_offset(&capture->input);
    capture_cut(capture, "file", 0);
    return false;
}

bool capture_status(const struct capture *capture, struct stat *status) {
    return fstat(capture->descriptor, status) == 0;
}

enum capture_result capture_next(struct capture *capture, struct packet *packet) {
    enum capture_result result = capture->next(capture, packet);
    if (result == CAPTURE_PACKET)
        packet->number = ++capture->packets;
    return result;
}

struct input *capture_input(struct capture *capture) {
    return &capture->input;
}

const struct capture_problem *capture_problem(const struct capture *capture) {
    return &capture->problem;
}

uint64_t capture_size(const struct capture *capture) {
    return capture->size;
}

uint64_t capture_position(const struct capture *capture) {
    return input_offset(capture->unpack ? &capture->packed : &capture->input);
}
