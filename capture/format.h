/* SPDX-License-Identifier: MIT */
/*
 * Defines struct carry_capture, the state that reader.c, the sources of bytes and the formats
 * share.
 *
 * Nothing in a file is trusted, memory does not grow with the file's size, packets are not copied,
 * and nothing seeks: pipes are read like files.
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

/* Reads the next packet. Returns CARRY_CAPTURE_PACKET, CARRY_CAPTURE_END or an error; the capture
   holds its details. */
typedef int format_next_fn(struct carry_capture *capture, struct carry_capture_packet *packet);

struct pcap {
    uint32_t record_header; /* bytes before each packet */
    uint32_t ns_per_tick;   /* of the record's sub-second field */
    uint32_t captured_at;   /* offsets in the record header of the captured size */
    uint32_t wire_at;       /* and of the size on the wire */
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
    uint8_t *flags;        /* of the last packet read, in the window; NULL: it has none */
};

/* Bytes in memory. */
struct memory {
    const uint8_t *bytes;
    size_t size, at;
};

/* A file, pipe, socket or device. */
struct file {
    int descriptor; /* -1: there is none */
    bool owned;     /* the descriptor is closed with the capture */
    bool waits;     /* reading may block */
    int64_t start;  /* where in its file reading began */
    int stop;       /* the descriptor that stops it, or -1 */
    bool stopped;
    int64_t deadline; /* once stopped: when waiting ends, in nanoseconds */
    int unread;       /* once stopped: bytes that had arrived and are still unread */
};

struct carry_capture {
    struct carry_capture_source source;
    struct memory memory;
    struct file file;
    struct input input;
    struct unpack *unpack; /* source of the input if the file is compressed */
    struct input packed;   /* source of `unpack` */
    format_next_fn *next;
    enum carry_capture_format format; /* once the first bytes were read */
    bool swap;                        /* the file's byte order is not this machine's */
    uint64_t record;                  /* offset of what is being parsed: where damage is reported */
    uint64_t packets;
    struct pcap pcap;
    struct pcapng pcapng;
    struct snoop snoop;
    int result;                         /* what every further read returns, */
    struct carry_capture_error final;   /* and its error */
    struct carry_capture_error error;   /* of the last failure */
    struct carry_capture_packet packet; /* returned by carry_capture_next() */
};

/* Returns the input that reads the file's own bytes, compressed or not. */
static inline struct input *carry_format_source(struct carry_capture *capture) {
    return capture->unpack ? &capture->packed : &capture->input;
}

/* --- For the formats --- */

/* Ends the capture with an error at capture->record. Its text is formatted as by printf(). Returns
   the code. */
__attribute__((format(printf, 3, 4))) int carry_format_stop(struct carry_capture *capture, int code,
                                                            const char *format, ...);

/* Stops reading as carry_format_stop() does, because the capture is damaged. */
#define carry_format_damage(capture, ...)                                                          \
    carry_format_stop(capture, CARRY_ERROR_DAMAGED, __VA_ARGS__)

/*
 * Ends the capture because `what`, of `size` bytes, could not be read. The end is clean if the file
 * ends where `what` begins, or if reading was stopped; bytes of `what` that are held are then
 * dropped. The end is damage if the file ends within `what`, and a failure if reading failed.
 */
int carry_format_cut(struct carry_capture *capture, const char *what, uint64_t size);

/* Ends the capture where a second one begins, as after `cat` of two files. */
int carry_format_second(struct carry_capture *capture);

/*
 * Returns the function that reads a file that starts with these 4 bytes; NULL if the file does not
 * have this format. A function that needs more bytes reads them from the input.
 */
typedef format_next_fn *format_recognise_fn(struct carry_capture *capture, const uint8_t *magic);
format_recognise_fn carry_pcap_recognise, carry_pcapng_recognise, carry_snoop_recognise,
    carry_erf_recognise;

void carry_pcapng_close(struct carry_capture *capture);

/*
 * Clears SUM_LEFT in the flags of the last packet read, in the bytes of the file. Like changes to
 * the packet's bytes, this reaches the sink of carry_reader_pass_to().
 */
void carry_pcapng_clear_left(struct carry_capture *capture);

/* --- For readers --- */

/* Reads the next packet like carry_capture_next(), but into the caller's packet. */
int carry_reader_next(struct carry_capture *capture, struct carry_capture_packet *packet);

/* Sets the error of a capture, with the text of the errno `system`, or of the code if `system` is
   0. Returns the code. */
int carry_format_fail(struct carry_capture *capture, int code, int system);

/* Set the error of a capture: with a given text, and for good. No packet follows after
   carry_format_end(). */
int carry_format_fail_text(struct carry_capture *capture, int code, const char *text);
int carry_format_end(struct carry_capture *capture, int code, int system);

/* Returns the error code for a read that failed with this errno. */
int carry_format_read_code(int system);

/* Returns true if no packet has been read. */
bool carry_reader_is_fresh(const struct carry_capture *capture);

/* Returns true if the first bytes belong to a format that can be read. */
bool carry_reader_recognises(struct carry_capture *capture);

/* Creates a capture like carry_capture_open_source(), with an initial window of this size. */
struct carry_capture *carry_reader_create(const struct carry_capture_source *source, size_t window);

/* Fills in `error`, unless it is NULL. Returns the code. */
int carry_format_error(struct carry_capture_error *error, int code, int system);

/*
 * Passes every byte of the file, unpacked if it was compressed, to `sink`, once and in order, until
 * the sink returns false: packets and all bytes between them, including damage. The caller may
 * change a packet in place until the call of carry_reader_next() after the one that returned it,
 * and with carry_input_overwrite() until its bytes have been passed on. The sink gets the changed
 * bytes. carry_reader_pass_rest() passes the rest, up to the end of the file or of what can be
 * unpacked; false if reading failed.
 */
void carry_reader_pass_to(struct carry_capture *capture, input_sink_fn *sink, void *context);
bool carry_reader_pass_rest(struct carry_capture *capture);

/* --- Sources of bytes --- */

/* Read and rewind a file: a carry_capture_read_fn and a carry_capture_rewind_fn for a capture. */
int64_t carry_file_read(void *capture, void *buffer, size_t size);
int carry_file_rewind(void *capture);
void carry_file_close(struct file *file);

#endif
