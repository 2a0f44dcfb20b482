/* SPDX-License-Identifier: MIT */
/* Implements the public functions that recognise and read captures, on top of sources of bytes and
   formats. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format.h"
#include "magic.h"

#define MAGIC_BYTES 4

/* --- Recognition --- */

/* Names and magic numbers of formats, by enum carry_capture_format. */
static const struct {
    const char *name, *text;
    char magic[5];
} formats[CARRY_CAPTURE_FORMAT_COUNT] = {
#define CARRY_CAPTURE_FORMAT(id, name, text, magic) {name, text, magic},
#include <carry/capture_formats.def>
#undef CARRY_CAPTURE_FORMAT
};

const char *carry_capture_format_name(unsigned format) {
    return format < CARRY_CAPTURE_FORMAT_COUNT ? formats[format].name : "unknown";
}

/* Returns the format of a file that may be mistaken for a capture, but cannot be read as one. */
static enum carry_capture_format find_foreign(struct carry_capture *capture) {
    const uint8_t *magic = carry_input_peek(&capture->input, MAGIC_BYTES);
    for (unsigned i = 0; i < CARRY_CAPTURE_FORMAT_COUNT; i++)
        if (*formats[i].magic && memcmp(magic, formats[i].magic, strlen(formats[i].magic)) == 0)
            return (enum carry_capture_format)i;
    const uint8_t *more = carry_input_peek(&capture->input, ETL_MAGIC_BYTES);
    return more && carry_magic_is_etl(more) ? CARRY_CAPTURE_FORMAT_ETL
                                            : CARRY_CAPTURE_FORMAT_UNKNOWN;
}

/* Inserts the unpacker between the file and the capture. The unpacker begins with the bytes already
   read. Returns false if there is no memory. */
static bool insert_unpacker(struct carry_capture *capture, const uint8_t *magic) {
    struct input packed = capture->input;
    struct unpack *unpack = carry_unpack_open(magic, &capture->packed);
    if (!unpack)
        return false;
    if (!carry_input_open(&capture->input, carry_unpack_read, unpack, packed.capacity)) {
        capture->input = packed;
        carry_unpack_close(unpack);
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

/* Returns the first bytes of the capture, unpacked. Returns NULL if there are fewer than
   MAGIC_BYTES, or if they cannot be read. */
static const uint8_t *peek_magic(struct carry_capture *capture) {
    const uint8_t *magic = carry_input_peek(&capture->input, MAGIC_BYTES);
    if (!magic || capture->unpack || !carry_unpack_recognises(magic))
        return magic;
    if (insert_unpacker(capture, magic))
        return carry_input_peek(&capture->input, MAGIC_BYTES);
    capture->input.error = ENOMEM;
    return NULL;
}

/* Formats that can be read, in the order in which they are tried: ERF is last, because it has no
   magic number. */
static const struct {
    enum carry_capture_format format;
    format_recognise_fn *recognise;
} readers[] = {
    {CARRY_CAPTURE_FORMAT_PCAP, carry_pcap_recognise},
    {CARRY_CAPTURE_FORMAT_PCAPNG, carry_pcapng_recognise},
    {CARRY_CAPTURE_FORMAT_SNOOP, carry_snoop_recognise},
    {CARRY_CAPTURE_FORMAT_NETMON, carry_netmon_recognise},
    {CARRY_CAPTURE_FORMAT_NETMON1, carry_netmon1_recognise},
    {CARRY_CAPTURE_FORMAT_ERF, carry_erf_recognise},
};

/* Finds the format of a file of at least MAGIC_BYTES. Returns the function that reads it, or NULL
   if no format fits. */
static format_next_fn *recognise_format(struct carry_capture *capture) {
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const uint8_t *magic = carry_input_peek(&capture->input, MAGIC_BYTES);
        format_next_fn *next = readers[i].recognise(capture, magic);
        capture->format = readers[i].format;
        if (next)
            return next;
    }
    capture->format = find_foreign(capture);
    return NULL;
}

static int refuse_foreign(struct carry_capture *capture) {
    const char *name = formats[capture->format].name;
    const char *lacks = carry_unpack_lacks(name);
    if (lacks && !capture->unpack)
        return carry_format_stop(capture, CARRY_ERROR_UNRECOGNISED,
                                 "not a capture but compressed with %s, and this build lacks %s",
                                 name, lacks);
    if (capture->format != CARRY_CAPTURE_FORMAT_UNKNOWN)
        return carry_format_stop(capture, CARRY_ERROR_UNRECOGNISED, "not a capture but %s",
                                 formats[capture->format].text);
    const uint8_t *magic = carry_input_peek(&capture->input, MAGIC_BYTES);
    return carry_format_stop(capture, CARRY_ERROR_UNRECOGNISED,
                             "not a capture: it starts with %02x %02x %02x %02x", magic[0],
                             magic[1], magic[2], magic[3]);
}

/* Recognises the format, and reads the first packet. */
static int read_first(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint8_t *magic = peek_magic(capture);
    if (!magic && !capture->input.error && !carry_input_held(&capture->input))
        return carry_format_stop(capture, CARRY_ERROR_UNRECOGNISED, "empty file");
    if (!magic)
        return carry_format_cut(capture, "file header", MAGIC_BYTES);
    capture->next = recognise_format(capture);
    if (!capture->next && capture->input.error)
        return carry_format_cut(capture, "file header", MAGIC_BYTES);
    if (!capture->next)
        return refuse_foreign(capture);
    return capture->next(capture, packet);
}

bool carry_reader_is_fresh(const struct carry_capture *capture) {
    return capture->next == read_first;
}

bool carry_reader_recognises(struct carry_capture *capture) {
    const enum carry_capture_format format = carry_capture_format(capture);
    return format != CARRY_CAPTURE_FORMAT_UNKNOWN && !*formats[format].text;
}

enum carry_capture_format carry_capture_format(struct carry_capture *capture) {
    if (!carry_reader_is_fresh(capture))
        return capture->format;
    const uint8_t *magic = peek_magic(capture);
    if (magic)
        recognise_format(capture);
    if (!magic && capture->input.error)
        carry_format_fail(capture, carry_format_read_code(capture->input.error),
                          capture->input.error);
    return capture->format;
}

/* --- Opening --- */

/* Reads from the source of bytes. Calls the input's watcher where reading would block. */
static int64_t read_from_source(void *context, void *buffer, size_t size) {
    struct carry_capture *capture = context;
    int64_t got;
    do
        got = capture->source.read(capture->source.user, buffer, size);
    while (got == -EAGAIN && carry_input_idle(&capture->input));
    if (got == -EAGAIN)
        return 0;
    return got > (int64_t)size ? -EIO : got;
}

struct carry_capture *carry_reader_create(const struct carry_capture_source *source,
                                          size_t window) {
    struct carry_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return NULL;
    if (!carry_input_open(&capture->input, read_from_source, capture, window)) {
        free(capture);
        return NULL;
    }
    capture->source = *source;
    capture->file = (struct file){.descriptor = -1, .stop = -1};
    capture->next = read_first;
    capture->piece_bytes = PIECE_BYTES;
    return capture;
}

int carry_capture_open_source(const struct carry_capture_source *source,
                              struct carry_capture **capture, struct carry_capture_error *error) {
    *capture = carry_reader_create(source, WINDOW_BYTES);
    return carry_format_error(error, *capture ? CARRY_OK : CARRY_ERROR_MEMORY, 0);
}

static int64_t read_from_memory(void *context, void *buffer, size_t size) {
    struct memory *memory = &((struct carry_capture *)context)->memory;
    size_t rest = memory->size - memory->at;
    size_t got = size < rest ? size : rest;
    if (got)
        memcpy(buffer, memory->bytes + memory->at, got);
    memory->at += got;
    return (int64_t)got;
}

static int rewind_memory(void *context) {
    ((struct carry_capture *)context)->memory.at = 0;
    return 0;
}

int carry_capture_open_memory(const void *bytes, size_t size, struct carry_capture **capture,
                              struct carry_capture_error *error) {
    const struct carry_capture_source source = {
        .read = read_from_memory, .rewind = rewind_memory, .size = size};
    int code = carry_capture_open_source(&source, capture, error);
    if (code == CARRY_OK) {
        (*capture)->source.user = *capture;
        (*capture)->memory = (struct memory){.bytes = bytes, .size = size};
    }
    return code;
}

bool carry_reader_can_seek(const struct carry_capture *capture) {
    const struct file *file = &capture->file;
    return capture->memory.bytes || (file->descriptor >= 0 && !file->waits && file->stop < 0);
}

static size_t read_memory_at(const struct memory *memory, uint64_t offset, void *buffer,
                             size_t size) {
    const size_t left = offset < memory->size ? memory->size - (size_t)offset : 0;
    const size_t got = size < left ? size : left;
    if (got)
        memcpy(buffer, memory->bytes + offset, got);
    return got;
}

size_t carry_reader_read_at(const struct carry_capture *capture, uint64_t offset, void *buffer,
                            size_t size) {
    if (capture->memory.bytes)
        return read_memory_at(&capture->memory, offset, buffer, size);
    const off_t at = capture->file.start + (off_t)offset;
    const ssize_t got = pread(capture->file.descriptor, buffer, size, at);
    return got > 0 ? (size_t)got : 0;
}

void carry_reader_seek(struct carry_capture *capture, uint64_t offset) {
    struct input *source = carry_format_source(capture);
    carry_input_move(source, offset);
    if (capture->memory.bytes)
        capture->memory.at = (size_t)offset;
    else if (lseek(capture->file.descriptor, capture->file.start + (off_t)offset, SEEK_SET) < 0)
        source->error = errno;
}

static void stop_unpacking(struct carry_capture *capture) {
    if (!capture->unpack)
        return;
    carry_unpack_close(capture->unpack);
    capture->packed.watcher = capture->input.watcher;
    capture->packed.sink = capture->input.sink;
    capture->packed.sink_context = capture->input.sink_context;
    carry_input_close(&capture->input);
    capture->input = capture->packed;
    capture->unpack = NULL;
}

void carry_capture_close(struct carry_capture *capture) {
    if (!capture)
        return;
    stop_unpacking(capture);
    carry_file_close(&capture->file);
    carry_pcapng_close(capture);
    carry_input_close(&capture->input);
    free(capture);
}

bool carry_capture_can_rewind(const struct carry_capture *capture) {
    return capture->source.rewind != NULL;
}

int carry_capture_rewind(struct carry_capture *capture) {
    if (!capture->source.rewind)
        return carry_format_fail_text(capture, CARRY_ERROR_UNSUPPORTED, "it can be read only once");
    int result = capture->source.rewind(capture->source.user);
    if (result < 0)
        return carry_format_fail(capture, CARRY_ERROR_READ, -result);
    stop_unpacking(capture);
    carry_input_restart(&capture->input);
    capture->next = read_first;
    capture->format = CARRY_CAPTURE_FORMAT_UNKNOWN;
    capture->swap = false;
    capture->record = capture->packets = 0;
    capture->pcapng.count = 0;
    capture->pcapng.descriptions = 0;
    capture->error = (struct carry_capture_error){0};
    return CARRY_OK;
}

/* --- Reading --- */

extern inline struct carry_frame carry_capture_frame(const struct carry_capture_packet *packet);

void carry_reader_pass_to(struct carry_capture *capture, input_sink_fn *sink, void *context) {
    capture->input.sink = sink;
    capture->input.sink_context = context;
}

bool carry_reader_pass_rest(struct carry_capture *capture) {
    const bool drained = carry_input_drain(&capture->input);
    if (drained || (capture->unpack && carry_unpack_problem(capture->unpack)))
        return true;
    capture->record = carry_input_offset(&capture->input);
    carry_format_cut(capture, "file", 0);
    return false;
}

int carry_reader_next(struct carry_capture *capture, struct carry_capture_packet *packet) {
    int result = capture->next(capture, packet);
    if (result == CARRY_CAPTURE_PACKET)
        packet->number = ++capture->packets;
    return result;
}

int carry_capture_next(struct carry_capture *capture, const struct carry_capture_packet **packet) {
    *packet = &capture->packet;
    return carry_reader_next(capture, &capture->packet);
}

const struct carry_capture_error *carry_capture_last_error(const struct carry_capture *capture) {
    return &capture->error;
}

bool carry_capture_is_compressed(const struct carry_capture *capture) {
    return capture->unpack != NULL;
}

uint64_t carry_capture_size(const struct carry_capture *capture) {
    return capture->source.size;
}

uint64_t carry_capture_position(const struct carry_capture *capture) {
    return carry_input_offset(capture->unpack ? &capture->packed : &capture->input);
}

uint64_t carry_capture_offset(const struct carry_capture *capture) {
    return carry_input_offset(&capture->input);
}

uint64_t carry_capture_descriptions(const struct carry_capture *capture) {
    return capture->pcapng.descriptions;
}

int carry_capture_descriptor(const struct carry_capture *capture) {
    return capture->file.descriptor;
}
