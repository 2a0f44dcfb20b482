/* SPDX-License-Identifier: MIT */
/*
 * Defines struct carry_capture, the state that reader.c, the sources of bytes and the formats
 * share.
 *
 * Nothing in a file is trusted, memory has a limit that does not depend on the file's size, packets
 * are not copied, and nothing seeks: pipes are read like files.
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

/* A piece of a capture that threads share: large enough to make it cheap to guess where a piece
   begins, small enough to share the end of the capture evenly. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Reads the next packet. Returns CARRY_CAPTURE_PACKET, CARRY_CAPTURE_END or an error, whose details
   are in capture->error. */
typedef int format_next_fn(struct carry_capture *capture, struct carry_capture_packet *packet);

struct pcap {
    uint32_t file_header;   /* bytes before the first record */
    uint32_t record_header; /* bytes before each packet */
    uint32_t ns_per_tick;   /* unit of the sub-second field of a record */
    uint32_t captured_at;   /* offset of the captured size in a record header */
    uint32_t wire_at;       /* offset of the size on the wire in a record header */
    uint32_t linktype;
    uint32_t fcs;
};

struct snoop {
    uint32_t linktype;
};

struct netmon {
    uint32_t record_header, trailer; /* bytes before and after each packet */
    uint16_t network;                /* network type of the file */
    uint64_t start_ns;               /* time at which the capture begins; 0: not known */
    uint32_t table;                  /* offset of the table of frames in the file */
    uint32_t count, next;            /* entries of the table, and the next one */
    uint64_t used;                   /* bytes of all frames so far */
};

struct interface {
    uint64_t start; /* seconds to add to each timestamp */
    uint64_t ticks_per_second;
    uint32_t snaplen; /* 0: none */
    uint16_t linktype;
    uint16_t fcs;
};

struct pcapng {
    struct interface *interfaces; /* interfaces of this section */
    uint32_t count;
    uint32_t capacity;
    uint64_t descriptions; /* sections and interfaces of the capture so far */
    uint8_t *flags;        /* flags of the last packet read, in the window; NULL: it has none */
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
    int64_t start;  /* where in the file reading began */
    int stop;       /* the descriptor that stops reading once it is readable; -1: none */
    bool stopped;
    bool maps;        /* the host allows the library to map the file */
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
    bool is_part;                     /* reading ends before a block that describes others */
    size_t piece_bytes;               /* PIECE_BYTES, or less in tests */
    uint64_t record;                  /* offset of the record being parsed, for errors */
    uint64_t packets;
    struct pcap pcap;
    struct pcapng pcapng;
    struct snoop snoop;
    struct netmon netmon;
    int result;                       /* once reading has ended: the result of every further read */
    struct carry_capture_error final; /* the error that belongs to `result` */
    struct carry_capture_error error; /* the last failure */
    struct carry_capture_packet packet; /* returned by carry_capture_next() */
};

/* Returns the input that reads the file's own bytes, compressed or not. */
static inline struct input *carry_format_source(struct carry_capture *capture) {
    return capture->unpack ? &capture->packed : &capture->input;
}

/* --- For the formats --- */

/* Ends the capture with an error at capture->record. The error's text is formatted as by printf().
   Returns the code. */
__attribute__((format(printf, 3, 4))) int carry_format_stop(struct carry_capture *capture, int code,
                                                            const char *format, ...);

/* Stops reading as carry_format_stop() does, because the capture is damaged. */
#define carry_format_damage(capture, ...)                                                          \
    carry_format_stop(capture, CARRY_ERROR_DAMAGED, __VA_ARGS__)

/*
 * Ends the capture because `what`, of `size` bytes, could not be read. The end is clean if the file
 * ends where `what` begins, or if reading was stopped after the file header; bytes of `what` that
 * are held are then dropped. The end is damage if the file ends within `what` or cannot be
 * unpacked, and a failure if reading failed.
 */
int carry_format_cut(struct carry_capture *capture, const char *what, uint64_t size);

/* Ends the capture where a second capture begins, as after `cat` of two files. */
int carry_format_second(struct carry_capture *capture);

/*
 * Returns the function that reads a file that starts with these 4 bytes, or NULL if the file does
 * not have this format. A function that needs more bytes reads them from the input.
 */
typedef format_next_fn *format_recognise_fn(struct carry_capture *capture, const uint8_t *magic);
format_recognise_fn carry_pcap_recognise, carry_pcapng_recognise, carry_snoop_recognise,
    carry_netmon_recognise, carry_netmon1_recognise, carry_erf_recognise;

void carry_pcapng_close(struct carry_capture *capture);

/*
 * Clears SUM_LEFT in the flags of the last packet read, which has that flag, in the bytes of the
 * file. Like changes to the packet's bytes, this reaches the sink of carry_reader_pass_to().
 * Returns the offset of the flags, PCAPNG_FLAGS_BYTES, in the file.
 */
uint64_t carry_pcapng_clear_left(struct carry_capture *capture);

/* --- For readers --- */

/* Reads the next packet like carry_capture_next(), but into the caller's packet. */
int carry_reader_next(struct carry_capture *capture, struct carry_capture_packet *packet);

/* Sets the error of a capture, with the text of the errno `system`, or of the code if `system` is
   0. Returns the code. */
int carry_format_fail(struct carry_capture *capture, int code, int system);

/* Set the error of a capture. carry_format_fail_text() sets a given text. carry_format_end() ends
   reading: no packet follows. */
int carry_format_fail_text(struct carry_capture *capture, int code, const char *text);
int carry_format_end(struct carry_capture *capture, int code, int system);

/* Returns the error code for a read that failed with this errno. */
int carry_format_read_code(int system);

/* Checks whether no packet has been read yet. */
bool carry_reader_is_fresh(const struct carry_capture *capture);

/* Checks whether the first bytes belong to a format that can be read. */
bool carry_reader_recognises(struct carry_capture *capture);

/* Creates a capture like carry_capture_open_source(), with an initial window of this size. */
struct carry_capture *carry_reader_create(const struct carry_capture_source *source, size_t window);

/* Checks whether bytes of the source can be read at any offset: those of memory and of regular
   files. */
bool carry_reader_can_seek(const struct carry_capture *capture);

/* Reads bytes of the source at an offset, in any thread. Returns how many there are: fewer at the
   end, or where reading fails. */
size_t carry_reader_read_at(const struct carry_capture *capture, uint64_t offset, void *buffer,
                            size_t size);

/* Continues to read the source at an offset. If that fails, the next read fails. */
void carry_reader_seek(struct carry_capture *capture, uint64_t offset);

/* Fills in `error`, unless it is NULL. Returns the code. */
int carry_format_error(struct carry_capture_error *error, int code, int system);

/*
 * Passes every byte of the file, unpacked if it was compressed, to `sink`, once and in order, until
 * the sink returns false: packets and all bytes between them, including damage. The sink gets bytes
 * as the caller has changed them: the caller may change a packet in place until the next call of
 * carry_reader_next(), and with carry_input_overwrite() until the bytes have been passed on.
 * carry_reader_pass_rest() passes the rest, up to the end of the file or of the bytes that can be
 * unpacked. It returns false if reading failed.
 */
void carry_reader_pass_to(struct carry_capture *capture, input_sink_fn *sink, void *context);
bool carry_reader_pass_rest(struct carry_capture *capture);

/* --- Sources of bytes --- */

/* Read and rewind a file: a carry_capture_read_fn and a carry_capture_rewind_fn for a capture. */
int64_t carry_file_read(void *capture, void *buffer, size_t size);
int carry_file_rewind(void *capture);
void carry_file_close(struct file *file);

#endif
