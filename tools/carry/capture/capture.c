/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/format.h"

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

bool capture_begins(const uint8_t *bytes) {
    return pcap_begins(bytes) || pcapng_begins(bytes);
}

enum capture_result capture_second(struct capture *capture) {
    return capture_damage(capture, "a second capture starts here: check it by itself");
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
    /* What was asked to stop may end within a record, but without a header it is no capture. */
    if (format_source(capture)->stopped && capture->record &&
        input_offset(input) == capture->record) {
        input_drop(&capture->input);
        return stop(capture, CAPTURE_END);
    }
    return capture_damage(capture, "%s cut: %llu of %llu bytes", what, (unsigned long long)have,
                          (unsigned long long)size);
}

/* Files that people take for captures, so that they learn what to do. */
static const struct foreign {
    const char magic[5];
    bool is_capture; /* of a format that is not read here */
    const char *advice;
} foreign[] = {
    {"\x1f\x8b", false, "compressed once more: zcat FILE | carry check -"},
    {"\x28\xb5\x2f\xfd", false, "compressed once more: zstdcat FILE | carry check -"},
    {"\xfd\x37zX", false, "compressed: xzcat FILE | carry check -"},
    {"BZh", false, "compressed: bzcat FILE | carry check -"},
    {"\x04\x22\x4d\x18", false, "compressed: lz4cat FILE | carry check -"},
    {"snoo", true, "a snoop file: convert it with editcap -F pcap"},
    {"GMBU", true, "a Network Monitor file: convert it with editcap -F pcap"},
    {"RTSS", true, "a Network Monitor file: convert it with editcap -F pcap"},
    {"XCP", true, "a NetXray or Windows Sniffer file: convert it with editcap -F pcap"},
    {"TRSN", true, "a DOS Sniffer file: convert it with editcap -F pcap"},
    {"iptr", true, "an iptrace file: convert it with editcap -F pcap"},
};

/* Its row; NULL for what people take for no capture. */
static const struct foreign *find_foreign(const uint8_t *magic) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (memcmp(magic, foreign[i].magic, strlen(foreign[i].magic)) == 0)
            return &foreign[i];
    return NULL;
}

/*
 * A record of ERF (Endace) begins with the time (32 bits of fraction, then of seconds, the lowest
 * byte first), the type, flags, the size of the record, a counter and the size on the wire.
 */
#define ERF_RECORD_BYTES 16
#define ERF_YEAR_1995    788918400u /* in seconds; such clocks count from 1970 to 2106 */
#define ERF_TYPE_MAX     48

static bool is_erf_record(const uint8_t *record) {
    uint32_t seconds = (uint32_t)record[7] << 24 | (uint32_t)record[6] << 16 |
                       (uint32_t)record[5] << 8 | record[4];
    uint32_t type = record[8] & 0x7f, size = (uint32_t)record[10] << 8 | record[11];
    return seconds >= ERF_YEAR_1995 && type >= 1 && type <= ERF_TYPE_MAX && size > ERF_RECORD_BYTES;
}

/* ERF has no magic number: two records in a row, or one that is all there is. */
static bool is_erf(struct capture *capture) {
    struct input *input = &capture->input;
    const uint8_t *record = input_peek(input, ERF_RECORD_BYTES);
    if (!record || !is_erf_record(record))
        return false;
    size_t size = (size_t)record[10] << 8 | record[11];
    const uint8_t *next = input_peek(input, size + ERF_RECORD_BYTES);
    return next ? is_erf_record(next + size) : input_held(input) == size;
}

static enum capture_result no_capture(struct capture *capture, const uint8_t *magic) {
    const struct foreign *known = find_foreign(magic);
    if (known)
        return capture_damage(capture, "not a capture but %s", known->advice);
    if (is_erf(capture))
        return capture_damage(capture, "not a capture but an ERF file: convert it with editcap -F "
                                       "pcap");
    magic = input_peek(&capture->input, MAGIC_BYTES);
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

bool capture_is_foreign(struct capture *capture) {
    const uint8_t *magic = peek_magic(capture);
    const struct foreign *known = magic ? find_foreign(magic) : NULL;
    return known && known->is_capture;
}

struct capture *capture_open_source(input_read_fn *read, void *context, size_t window) {
    struct capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return NULL;
    if (!input_open(&capture->input, read, context, window)) {
        free(capture);
        return NULL;
    }
    capture->descriptor = capture->stop = -1;
    capture->next = start;
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
    const bool drained = input_drain(&capture->input);
    if (drained || (capture->unpack && unpack_problem(capture->unpack)))
        return true;
    capture->record = input_offset(&capture->input);
    capture_cut(capture, "file", 0);
    return false;
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

bool capture_is_packed(const struct capture *capture) {
    return capture->unpack != NULL;
}

uint64_t capture_size(const struct capture *capture) {
    return capture->size;
}

uint64_t capture_position(const struct capture *capture) {
    return input_offset(capture->unpack ? &capture->packed : &capture->input);
}
