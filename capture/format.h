/* SPDX-License-Identifier: MIT */
/*
 * The inside of struct carry_capture: what reader.c, the sources of bytes and the formats share.
 *
 * Nothing in a file is trusted, memory does not grow with the file's size, packets are not copied,
 * and nothing seeks: pipes are as good as files.
 */
#ifndef CARRY_CAPTURE_SRC_FORMAT_H
#define CARRY_CAPTURE_SRC_FORMAT_H

#include <string.h>

#include <carry/capture.h>

#include "bytes.h"
#include "input.h"
#include "unpack.h"

/* Large enough to make read() calls cheap, small enough to stay in the second-level cache. */
#define WINDOW_BYTES ((size_t)128 << 10)

/* The next packet; CARRY_CAPTURE_END and errors, of which the capture has the details. */
typedef int format_next_fn(struct carry_capture *capture, struct carry_capture_packet *packet);

struct pcap {
    uint32_t record_header; /* bytes in front of each packet */
    uint32_t ns_per_tick;   /* of the record's sub-second field */
    uint32_t captured_at;   /* where the record header has the bytes captured, */
    uint32_t wire_at;       /* and those on the wire */
    uint32_t linktype;
    uint32_t fcs;
};

struct snoop {
    uint32_t linktype;
};

struct interface {
    uint64_t start; /* seconds to add to each timestamp */
    uint64_t ticks_per_second;
    uint32_t snaplen; /* 0: none */
    uint16_t linktype;
    uint16_t fcs;
};

struct pcapng {
    struct interface *interfaces; /* of this section */
    uint32_t count;
    uint32_t capacity;
    uint64_t descriptions; /* sections and interfaces of the capture so far */
    uint8_t *flags;        /* of the packet that was read last, in the window; NULL: it has none */
};

/* Bytes in memory. */
struct memory {
    const uint8_t *bytes;
    size_t size, at;
};

/* A file, pipe, socket or device. */
struct file {
    int descriptor; /* -1: there is none */
    bool owned;     /* the descriptor is to be closed */
    bool waits;     /* it may have to be waited for */
    int64_t start;  /* where in its file reading began */
    int stop;       /* the descriptor that stops it, or -1 */
    bool stopped;
    int64_t patience; /* once it was stopped: until when it waits, in nanoseconds */
    int owed;         /* bytes that had come by then, and are still to be read */
};

struct carry_capture {
    struct carry_capture_source source;
    struct memory memory;
    struct file file;
    struct input input;
    struct unpack *unpack; /* what the input reads from, if the file is compressed, */
    struct input packed;   /* and what that reads from */
    format_next_fn *next;
    enum carry_capture_format format; /* once the first bytes were looked at */
    bool swap;                        /* the file's byte order is not this machine's */
    uint64_t record;                  /* offset of what is being parsed: where damage is reported */
    uint64_t packets;
    struct pcap pcap;
    struct pcapng pcapng;
    struct snoop snoop;
    int result;                         /* the final one, */
    struct carry_capture_error final;   /* and why */
    struct carry_capture_error error;   /* of what failed last */
    struct carry_capture_packet packet; /* that carry_capture_next() returned */
};

/* Where the bytes of the file come in, unpacked or not. */
static inline struct input *carry_format_source(struct carry_capture *capture) {
    return capture->unpack ? &capture->packed : &capture->input;
}

/* --- For the formats --- */

/* Ends the capture with an error at capture->record, of which the text follows. Returns the code.
 */
__attribute__((format(printf, 3, 4))) int carry_format_stop(struct carry_capture *capture, int code,
                                                            const char *format, ...);

/* The same, as what is there is damaged. */
#define carry_format_damage(capture, ...)                                                          \
    carry_format_stop(capture, CARRY_ERROR_DAMAGED, __VA_ARGS__)

/*
 * Ends the capture because `what`, of `size` bytes, could not be had: cleanly if the file ends
 * where it begins, or reading was stopped, which forgets what is held of it; as damage if the file
 * ends inside; as a failure if reading failed.
 */
int carry_format_cut(struct carry_capture *capture, const char *what, uint64_t size);

/* Ends the capture where another one begins, as in two files that cat has concatenated. */
int carry_format_second(struct carry_capture *capture);

/*
 * What reads a file that starts with these 4 bytes; NULL if it is not of this format. One that
 * needs more of them asks the input.
 */
typedef format_next_fn *format_recognise_fn(struct carry_capture *capture, const uint8_t *magic);
format_recognise_fn carry_pcap_recognise, carry_pcapng_recognise, carry_snoop_recognise,
    carry_erf_recognise;

void carry_pcapng_close(struct carry_capture *capture);

/*
 * Takes SUM_LEFT from the flags of the packet that was read last, where the file holds it. As with
 * the packet's bytes, this is for what is handed to the sink of carry_reader_pass_to().
 */
void carry_pcapng_clear_left(struct carry_capture *capture);

/* --- For what reads --- */

/* carry_capture_next() into a packet of the caller's. */
int carry_reader_next(struct carry_capture *capture, struct carry_capture_packet *packet);

/* Sets the error of a capture, whose text is that of errno, or of the code. Returns the code. */
int carry_format_fail(struct carry_capture *capture, int code, int system);

/* The same with a text; and for good, so that no packet follows. */
int carry_format_fail_text(struct carry_capture *capture, int code, const char *text);
int carry_format_end(struct carry_capture *capture, int code, int system);

/* The code for what cannot be read, by its errno. */
int carry_format_read_code(int system);

/* True if nothing of it was read yet. */
bool carry_reader_is_fresh(const struct carry_capture *capture);

/* True if the first bytes are of a format that is read here. */
bool carry_reader_recognises(struct carry_capture *capture);

/* carry_capture_open_source() with a window of this size at first. */
struct carry_capture *carry_reader_create(const struct carry_capture_source *source, size_t window);

/* Fills in what `error` says, unless it is NULL. Returns the code. */
int carry_format_error(struct carry_capture_error *error, int code, int system);

/*
 * Hands every byte of the file, unpacked if it was compressed, to `sink`, once and in order, until
 * that wants no more: packets, and all bytes between them, damage included. The caller may change a
 * packet in place until the call of carry_reader_next() after the one that returned it, and by
 * carry_input_overwrite() until its bytes have been handed on. The sink gets the changed bytes.
 * carry_reader_pass_rest() ends it: at the end of the file, or of what can be unpacked of it, or
 * false if reading failed.
 */
void carry_reader_pass_to(struct carry_capture *capture, input_sink_fn *sink, void *context);
bool carry_reader_pass_rest(struct carry_capture *capture);

/* --- Sources of bytes --- */

/* Of a file: carry_capture_read_fn and carry_capture_rewind_fn. */
int64_t carry_file_read(void *capture, void *buffer, size_t size);
int carry_file_rewind(void *capture);
void carry_file_close(struct file *file);

#endif
