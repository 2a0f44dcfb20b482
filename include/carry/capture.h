/* SPDX-License-Identifier: MIT */
/*
 * Reads, checks, repairs and explains captures (pcap, pcapng, snoop, ERF, Network Monitor), also
 * compressed by gzip, zstd, xz, lz4 or bzip2; writes pcap and pcapng. A separate library,
 * libcarry-capture, for processes.
 *
 *     struct carry_capture *capture;
 *     struct carry_capture_error error;
 *     struct carry_capture_summary *summary;
 *     if (carry_capture_open_path("trace.pcap", &capture, &error) == CARRY_OK) {
 *         if (carry_capture_check(capture, NULL, &summary) == CARRY_OK)
 *             report(carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS));
 *         carry_capture_summary_free(summary);
 *         carry_capture_close(capture);
 *     }
 *
 * Contract shared by all functions here:
 *  - functions that can fail return CARRY_OK, or an error of <carry/base.h>. The input determines
 *    these:
 *     - CARRY_ERROR_UNRECOGNISED: the file is not a capture in a format that the library reads;
 *     - CARRY_ERROR_DAMAGED: the capture contradicts its format from some offset on;
 *     - CARRY_ERROR_READ, CARRY_ERROR_WRITE: the source or the sink failed;
 *     - CARRY_ERROR_CANCELLED: a callback that may cancel returned false. The capture must then be
 *       rewound before another packet can be read;
 *     - CARRY_ERROR_MEMORY;
 *    carry_capture_last_error() has the details of a failure that concerns a capture. Results found
 *    before an error are kept: a summary holds them, and callbacks have reported them. After
 *    CARRY_ERROR_CANCELLED or CARRY_ERROR_MEMORY, what a summary holds may depend on the threads;
 *  - input is never trusted. Memory, and the time for each packet, have bounds that do not depend
 *    on the input's size;
 *  - a capture, checker, summary, list of repairs or writer must be used by one thread at a time.
 *    Different ones may be used by different threads at once: the library has no global and no
 *    thread-local state of its own;
 *  - callbacks run in the thread that called the library, in the order of the packets, and must not
 *    use the object that is calling them. Those of a judge run in worker threads too;
 *  - worker threads block all signals except SIGSEGV and SIGBUS. The library handles no signal,
 *    prints nothing and never ends the process;
 *  - the caller frees what a function creates. Functions that free or close accept NULL;
 *  - structures of totals and explanations may grow at the end in later releases: never copy them,
 *    use them through the pointers given. All other structures keep their size;
 *  - reserved members must be 0. `options` may be NULL (the defaults, the same as a struct of
 *    zeros). Structures of options, sources, sinks and judges are copied where they are kept. What
 *    their `user` points to must remain valid until the object is freed or closed;
 *  - offsets count bytes of the capture, uncompressed. Times are nanoseconds since 1970 in UTC.
 */
#ifndef CARRY_CAPTURE_H
#define CARRY_CAPTURE_H

#include <carry/packet.h>

CARRY_BEGIN_DECLS

/* --- Opening --- */

struct carry_capture;

struct carry_capture_error {
    int32_t code;    /* enum carry_error */
    int32_t system;  /* errno, or 0 */
    uint64_t offset; /* of the record, block or header that cannot be read; else 0 */
    char text[160];  /* one line, without the name of the file */
    uint64_t reserved[4];
};

/*
 * Reads at most `size` bytes into `buffer` and returns how many (0: the end), or a negative errno.
 * -EAGAIN: no bytes have arrived yet. The library reports what it has found, then calls again at
 * once. That call should wait: a source that never waits keeps a core busy. After -EINTR the
 * library calls again.
 */
typedef int64_t carry_capture_read_fn(void *user, void *buffer, size_t size);

/* Goes back to the first byte; returns 0 or a negative errno. */
typedef int carry_capture_rewind_fn(void *user);

struct carry_capture_source {
    carry_capture_read_fn *read;
    carry_capture_rewind_fn *rewind; /* NULL: the source can be read only once */
    void *user;
    uint64_t size; /* bytes of the file (0: not known) */
    uint64_t reserved[4];
};

/*
 * Opens a capture without reading any of it. On failure *capture is NULL. *error, unless `error`
 * is NULL, holds the result: CARRY_OK, CARRY_ERROR_MEMORY, or CARRY_ERROR_READ with errno. errno is
 * EISDIR for a directory, and EBADF for a descriptor that is not open for reading. A path of NULL
 * is CARRY_ERROR_INVALID.
 *
 * A descriptor still belongs to the caller. It is read from its present position on, and must stay
 * open until the capture is closed. Bytes in memory must not change until then.
 */
CARRY_API int carry_capture_open_path(const char *path, struct carry_capture **capture,
                                      struct carry_capture_error *error);
CARRY_API int carry_capture_open_fd(int descriptor, struct carry_capture **capture,
                                    struct carry_capture_error *error);
CARRY_API int carry_capture_open_memory(const void *bytes, size_t size,
                                        struct carry_capture **capture,
                                        struct carry_capture_error *error);
CARRY_API int carry_capture_open_source(const struct carry_capture_source *source,
                                        struct carry_capture **capture,
                                        struct carry_capture_error *error);
CARRY_API void carry_capture_close(struct carry_capture *capture);

/*
 * Describes the last failure of a function for this capture. The code is CARRY_OK if no function
 * has failed since the capture was opened or rewound, or reached its end. Valid until the next call
 * for this capture.
 */
CARRY_API const struct carry_capture_error *
carry_capture_last_error(const struct carry_capture *capture);

/* Begins again at the first byte. Returns CARRY_ERROR_UNSUPPORTED if the source can be read only
 * once, like a pipe: see carry_capture_can_rewind(). */
CARRY_API int carry_capture_rewind(struct carry_capture *capture);
CARRY_API bool carry_capture_can_rewind(const struct carry_capture *capture);

enum carry_capture_format {
#define CARRY_CAPTURE_FORMAT(id, name, text, magic) CARRY_CAPTURE_FORMAT_##id,
#include <carry/capture_formats.def>
#undef CARRY_CAPTURE_FORMAT
    CARRY_CAPTURE_FORMAT_COUNT
};

/*
 * Returns the format that the first bytes show, under at most one layer of compression; the rest
 * may still be damaged. Before the first packet, this function reads the first bytes and keeps them
 * for carry_capture_next(). If it cannot read them, it returns CARRY_CAPTURE_FORMAT_UNKNOWN.
 */
CARRY_API enum carry_capture_format carry_capture_format(struct carry_capture *capture);

/* Returns the name of a format: "pcap", "netmon". */
CARRY_API const char *carry_capture_format_name(unsigned format);

/* Returns whether the capture is compressed; false before carry_capture_format() or the first
 * packet. */
CARRY_API bool carry_capture_is_compressed(const struct carry_capture *capture);

/* Returns the size of the file in bytes, as compressed; 0 if not known, as for pipes. */
CARRY_API uint64_t carry_capture_size(const struct carry_capture *capture);

/* Returns how many bytes of the file were read so far. */
CARRY_API uint64_t carry_capture_position(const struct carry_capture *capture);

/*
 * Returns how many bytes of the capture, uncompressed, were read so far: a caller can use it to
 * limit how much is unpacked. Callbacks, too, may call this function and
 * carry_capture_descriptions().
 */
CARRY_API uint64_t carry_capture_offset(const struct carry_capture *capture);

/* Returns how many pcapng blocks that describe others (sections and interfaces) were read so far; 0
 * for other formats. */
CARRY_API uint64_t carry_capture_descriptions(const struct carry_capture *capture);

/* Returns the descriptor of a capture that was opened by path or descriptor; -1 for others. */
CARRY_API int carry_capture_descriptor(const struct carry_capture *capture);

/*
 * Ends a capture that was opened by path or descriptor once `descriptor` becomes readable. From a
 * pipe, socket or device the library still reads the bytes that have arrived, and those that arrive
 * within half a second; from a regular file it reads no more. It drops a packet that this end
 * truncates, and reports no damage, unless the end is within a pcapng block that is skipped.
 * `descriptor` may be an eventfd, or a pipe that a signal handler writes to; it is never read. -1
 * cancels the request. Other captures ignore it.
 */
CARRY_API void carry_capture_stop_on(struct carry_capture *capture, int descriptor);

/*
 * Allows the library to map the file of a capture that was opened by path or descriptor, instead of
 * reading it: carry_capture_check() and checkers then take less time. They map regular files only.
 *
 * The caller must have called carry_fault_acquire() of <carry/fault.h>, and may release it only
 * after the capture is closed: the file may be truncated meanwhile, and accesses to it then fault.
 * Without carry_fault_acquire(), files are read. Packets that callbacks and judges get are copies,
 * which do not fault. Do not allow this for a file that a user may change who is not trusted.
 */
CARRY_API void carry_capture_map(struct carry_capture *capture);

/* --- Packets --- */

/* Facts that the capturing machine recorded about a packet; bits to be or-ed. No bit is set if
 * nothing is known. */
enum carry_capture_packet_flag {
    CARRY_CAPTURE_PACKET_RECEIVED = 1 << 0,  /* by the interface that captured it */
    CARRY_CAPTURE_PACKET_SENT = 1 << 1,      /* by that interface */
    CARRY_CAPTURE_PACKET_SUM_LEFT = 1 << 2,  /* a checksum was left to the network card */
    CARRY_CAPTURE_PACKET_SUM_VALID = 1 << 3, /* the card or the system had verified a checksum */
    CARRY_CAPTURE_PACKET_SEGMENTED = 1 << 4, /* merged from, or to be cut into, TCP segments */
};

/* A packet as the capture holds it. The frame check sequence is part of its bytes. */
struct carry_capture_packet {
    const uint8_t *data;
    uint32_t captured;  /* bytes at `data` */
    uint32_t wire;      /* bytes that were on the wire, as the record says */
    uint32_t linktype;  /* LINKTYPE_ value; above 65,535: a private one of pcap */
    uint32_t fcs;       /* bytes of frame check sequence at the end of `wire`, where known */
    uint32_t interface; /* pcapng: its index in its section; else 0 */
    uint32_t flags;     /* enum carry_capture_packet_flag, or-ed */
    uint64_t number;    /* from 1 */
    uint64_t time_ns;   /* 0: not known */
    uint64_t offset;    /* of data[0] in the capture */
    uint32_t left_from; /* with SUM_LEFT, where known: the first byte that the card sums, */
    uint32_t left_at;   /* and the field for the result, offsets in the frame; else both 0 */
};

/* A packet, or a pcapng block of a packet or an interface, with more bytes than this counts as
 * damage. */
#define CARRY_CAPTURE_PACKET_MAX (16u << 20)

enum { CARRY_CAPTURE_END = 0, CARRY_CAPTURE_PACKET = 1 };

/*
 * Reads the next packet. Returns CARRY_CAPTURE_PACKET with *packet set, valid until the next call
 * for this capture; CARRY_CAPTURE_END; or an error. Any other result than CARRY_CAPTURE_PACKET is
 * final until the capture is rewound.
 */
CARRY_API int carry_capture_next(struct carry_capture *capture,
                                 const struct carry_capture_packet **packet);

/* Returns a packet's frame, without its frame check sequence. */
CARRY_API_INLINE struct carry_frame carry_capture_frame(const struct carry_capture_packet *packet) {
    uint32_t all = packet->wire > packet->captured ? packet->wire : packet->captured;
    uint32_t wire = all > packet->fcs ? all - packet->fcs : all;
    struct carry_frame frame = {packet->data, packet->captured < wire ? packet->captured : wire,
                                wire, packet->linktype, 0};
    return frame;
}

/* Returns a link type in words, such as "Ethernet"; NULL if the library knows no name for it. */
CARRY_API const char *carry_capture_describe_link(uint32_t linktype);

/* --- What is known about a checksum --- */

/* The offset of something that is not in the capture, or not in one piece. */
#define CARRY_CAPTURE_NOWHERE UINT64_MAX

/* The verdicts that count as wrong by default, as a set: 1u << verdict, or-ed. */
#define CARRY_CAPTURE_WRONG_VERDICTS (1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_ILLEGAL)

/* The verdicts that findings, repairs and lists of senders are about. */
#define CARRY_CAPTURE_FINDING_VERDICTS (CARRY_CAPTURE_WRONG_VERDICTS | 1u << CARRY_VERDICT_PARTIAL)

/*
 * Causes of bad, illegal and partial checksums, one for each row of <carry/capture_causes.def>.
 * They are found from the frame, from what the capturing machine said about the packet, and from
 * other frames. A bad checksum without a cause is probably due to damage.
 *
 * A cause found from the frame alone may be a coincidence: one or two in 65,536 damaged checksums
 * fit such a cause by chance, and one in 2,048 fits ONE_BIT. Causes by flow are named once
 * CARRY_CAPTURE_FLOW_AGREES different bad checksums of one flow agree: they are off by the same
 * difference, for example. A later bad checksum that does not agree, or a later good one after the
 * same headers, refutes the cause for the whole flow. Several flows between two addresses may
 * also agree. At most 256 flows and 256 pairs of addresses are kept; a further one replaces
 * another.
 */
enum carry_capture_cause {
    CARRY_CAPTURE_CAUSE_NONE,
#define CARRY_CAPTURE_CAUSE(id, name, verdict, evidence, one, many, advice)                        \
    CARRY_CAPTURE_CAUSE_##id,
#include <carry/capture_causes.def>
#undef CARRY_CAPTURE_CAUSE
    CARRY_CAPTURE_CAUSE_COUNT
};

#define CARRY_CAPTURE_FLOW_AGREES 3

/* Whether a verdict follows from the bytes, or from what the capturing machine said of them. */
enum carry_capture_certainty {
    CARRY_CAPTURE_COMPUTED, /* any verdict except partial: the bytes decide */
    CARRY_CAPTURE_INFERRED, /* partial: the bytes look like it */
    CARRY_CAPTURE_CERTAIN,  /* partial: the packet's flags say that a checksum was left to the card
                               (SUM_LEFT), and it is this one: its field is at left_at, or without
                               left_at no other field holds the sum of its pseudo-header */
};

struct carry_capture_address {
    uint8_t version; /* 4, 6, or 0: none */
    uint8_t bytes[16];
    uint8_t reserved;
};

/* One checksum of a capture. */
struct carry_capture_finding {
    struct carry_packet_sum sum; /* its offsets count from the start of the frame or datagram */
    uint32_t cause;              /* enum carry_capture_cause */
    bool reassembled;            /* the sum covers a datagram that arrived in fragments */
    uint64_t number;             /* of the packet, or of the packet that completed the datagram */
    uint64_t time_ns;
    uint64_t offset; /* of the checksum field in the capture, or CARRY_CAPTURE_NOWHERE */
    struct carry_capture_address from, to;
    int32_t from_port, to_port; /* -1: none */
    const struct carry_capture_packet
        *packet;        /* in carry_capture_finding_fn, the packet of `number`; else NULL */
    uint32_t certainty; /* enum carry_capture_certainty */
    uint32_t bit;       /* with CAUSE_ONE_BIT: which bit of its 16-bit word is wrong, 0 the least
                           significant; else 0 */
    bool early;         /* in carry_capture_finding_fn: later packets may change verdict or cause */
    uint64_t reserved[2];
};

/* Returns whether sum->expected holds what should be stored. For an illegal sum it may not be
 * known. */
CARRY_API bool carry_capture_has_expected(const struct carry_packet_sum *sum);

/* Returns the name of a cause: "zero", "by_sender". */
CARRY_API const char *carry_capture_cause_name(unsigned cause);

/* The texts that describe a cause. */
struct carry_capture_cause_words {
    const char *name;
    const char *one;    /* of one checksum, to follow "it": "is right without the pseudo-header" */
    const char *many;   /* of several, to follow a number; NULL: a summary does not mention it */
    const char *advice; /* what to do about it, to follow "try: "; NULL: nothing */
    uint32_t verdict;   /* that the cause explains: BAD, ILLEGAL or PARTIAL */
    uint32_t reserved[3];
};

/* Returns the texts of a cause; NULL for CARRY_CAPTURE_CAUSE_NONE. */
CARRY_API const struct carry_capture_cause_words *carry_capture_describe_cause(unsigned cause);

/* Returns a reason in words, to follow a count: "in fragments", "cut short by the capture". */
CARRY_API const char *carry_capture_reason_text(unsigned reason);

/* --- Checking --- */

/* The progress of the check of one capture. */
struct carry_capture_progress {
    uint64_t position; /* as carry_capture_position() */
    uint64_t packets;
    uint64_t wrong; /* checksums with a verdict of options->wrong */
};

/*
 * Returns false to cancel. Called about every 128 KiB (unpacked), or every MiB of a capture that is
 * mapped or in memory, before waiting for input, and when a signal interrupts the wait; by
 * carry_capture_check() also at the end.
 */
typedef bool carry_capture_progress_fn(void *user, const struct carry_capture_progress *progress);

/*
 * Called for each checksum with a verdict of options->listed. A checksum over a fragmented datagram
 * is reported with the packet that completed the datagram. Returns false to cancel.
 */
typedef bool carry_capture_finding_fn(void *user, const struct carry_capture_finding *finding);

/*
 * Returns whether a packet is selected. Called for each packet that is read, also for packets of
 * unknown link types; a second time if carry_capture_fix() reads the capture twice. Packets that
 * are not selected are only counted, in `unselected` of the totals: verdicts, reassembly and
 * senders are as in a capture that holds only the selected packets. Packets keep their numbers.
 */
typedef bool carry_capture_select_fn(void *user, const struct carry_capture_packet *packet);

/*
 * Called, with options->alone, for each packet whose results depend on other packets, or affect the
 * results of others. It is one of these:
 *  - a packet with a fragment;
 *  - a packet with a bad checksum that may have a cause by flow;
 *  - a packet with an IPv4 header's sum of 0 that is bad by its own frame;
 *  - the first packet that shows that its sender leaves such sums to a network card.
 * The findings of such a packet are neither reported nor kept. The caller must check such packets
 * again, together with such packets of other parts of the capture. A packet with only good
 * checksums is not reported on account of its flow. Returns false to cancel.
 */
typedef bool carry_capture_related_fn(void *user, const struct carry_capture_packet *packet);

/*
 * A faster replacement for carry_packet_check_fragment(): functions made at run time, or a device.
 * Each worker, the calling thread included, has its own state. All functions must be given.
 */
struct carry_capture_judge {
    /* Called in each worker before its first packet. Returns a state; NULL: the library judges. */
    void *(*open)(void *user);
    /* Called for each state that is not NULL, in the thread that frees the checker. */
    void (*close)(void *user, void *state);
    /* Called before consecutive packets are judged. Returns false: the library judges them all. */
    bool (*prepare)(void *state, const struct carry_capture_packet *packets, size_t count);
    /*
     * Judges a frame as carry_packet_check() does with options->packet and a capacity of
     * CARRY_PACKET_SUMS_MAX. Must return -1 for a frame that holds a fragment or headers too deep,
     * and may return -1 for any other frame: the library then judges the frame.
     */
    int (*check)(void *state, const struct carry_frame *frame, struct carry_packet_sum *sums);
    void *user;
    uint64_t reserved[3];
};

struct carry_capture_check_options {
    struct carry_packet_options packet; /* `fix` is not used */
    uint32_t threads; /* including the calling one, at most 256 (0: one for each core) */
    uint32_t wrong;   /* the verdicts that progress counts: a set of bad, partial and illegal,
                         1u << verdict (0: bad and illegal) */
    uint32_t listed;  /* the verdicts of findings, a set like `wrong` (0: the same as `wrong`) */
    uint32_t kept;    /* how many findings, the first ones, the summary keeps; memory for twice as
                         many is allocated */
    uint64_t packets; /* to check at most (0: all): then reading ends */
    const enum carry_protocol *protocols; /* whose checksums count (NULL: all) */
    size_t protocol_count;
    const struct carry_capture_judge *judge; /* NULL: none */
    bool no_reassembly;                      /* do not reassemble fragmented datagrams */
    bool timeline;                           /* count verdicts over time: carry_capture_span() */
    bool alone;                              /* judge each packet by itself: no reassembly, no cause
                                                by flow, no IPv4 header's 0 by its sender. Then the
                                                counts of parts of a capture add up */
    carry_capture_finding_fn *finding;       /* NULL: not called */
    carry_capture_progress_fn *progress;     /* NULL: not called */
    void *user;                              /* for the callbacks */
    carry_capture_select_fn *select;         /* NULL: all packets are selected */
    carry_capture_related_fn *related;       /* NULL: not called */
    const struct carry_capture_summary *settled; /* of an earlier check of the same capture, with
                                                    the same options: then findings are reported as
                                                    this summary counts them, and the new summary is
                                                    without meaning (NULL: none) */
    uint64_t reserved[5];
};

#define CARRY_CAPTURE_THREADS_MAX 256u

struct carry_capture_summary;

/*
 * Checks every checksum from the next unread packet to the end. *summary is always set, to NULL
 * only if there is no memory for it; free it with carry_capture_summary_free(). The result is the
 * same for any number of threads.
 *
 * An IPv4 header's sum of 0 that is bad by its own frame may turn out to be partial by other frames
 * of its sender, and a bad sum may have a cause that other frames of its flow show. A summary uses
 * all frames. A reported finding uses only the frames before it, and has `early` set where later
 * frames may change it. To report what the summary counts, check the capture a second time, with
 * options->settled.
 */
CARRY_API int carry_capture_check(struct carry_capture *capture,
                                  const struct carry_capture_check_options *options,
                                  struct carry_capture_summary **summary);

/*
 * Create, run and free a checker, which checks many captures, and keeps threads and memory between
 * them. Options, protocols and judge are copied. What their `user` points to must remain valid
 * until the checker is freed. `summary` must come from carry_capture_summary_create() or a check;
 * it is cleared first. CARRY_ERROR_INVALID: too many threads, another verdict in `wrong` or
 * `listed`, an unknown protocol, or a judge without all functions.
 */
struct carry_capture_checker;
CARRY_API int carry_capture_checker_create(const struct carry_capture_check_options *options,
                                           struct carry_capture_checker **checker);
CARRY_API int carry_capture_checker_run(struct carry_capture_checker *checker,
                                        struct carry_capture *capture,
                                        struct carry_capture_summary *summary);
CARRY_API void carry_capture_checker_free(struct carry_capture_checker *checker);

/*
 * Checks packets that are not in a capture, such as those that a network interface receives: begin,
 * add any number of times, end. carry_capture_checker_add() judges its packets before it returns,
 * in the calling thread, and keeps none of their bytes. options->progress, packets and select are
 * not used. The caller numbers the packets.
 *
 * Between two calls, the totals and counts of `summary` include all packets added so far, and may
 * be merged into another summary. carry_capture_checker_end() adds what only the end shows:
 * datagrams that are still incomplete, headers that their senders leave to a network card, and
 * causes by flow.
 *
 * After CARRY_ERROR_CANCELLED and CARRY_ERROR_MEMORY, further packets are not judged.
 * CARRY_ERROR_INVALID: begin while packets are being added, add or end while none are. While
 * packets are being added, carry_capture_checker_run() must not be called, and `summary` must
 * remain valid.
 */
CARRY_API int carry_capture_checker_begin(struct carry_capture_checker *checker,
                                          struct carry_capture_summary *summary);
CARRY_API int carry_capture_checker_add(struct carry_capture_checker *checker,
                                        const struct carry_capture_packet *packets, size_t count);
CARRY_API int carry_capture_checker_end(struct carry_capture_checker *checker);

/* --- Summaries --- */

/* The outcomes of reassembly, one for each fragmented datagram. */
enum carry_capture_reassembly {
    CARRY_CAPTURE_REASSEMBLY_COMPLETE,
    CARRY_CAPTURE_REASSEMBLY_MISSING,     /* fragments did not arrive, or not in time */
    CARRY_CAPTURE_REASSEMBLY_OVERLAPPING, /* fragments contradict each other */
    CARRY_CAPTURE_REASSEMBLY_MALFORMED,   /* a fragment is empty or goes too far, or is not the last
                                             and has a size that is no multiple of 8 */
    CARRY_CAPTURE_REASSEMBLY_EVICTED,     /* given up: too many were incomplete */
    CARRY_CAPTURE_REASSEMBLY_EVICTED_BYTES, /* given up: together, incomplete datagrams held too
                                               many bytes */
    CARRY_CAPTURE_REASSEMBLY_NO_MEMORY,
    CARRY_CAPTURE_REASSEMBLY_COUNT
};

/*
 * Return an outcome as a name such as "complete", and as a text to follow "a datagram": "with
 * fragments missing".
 */
CARRY_API const char *carry_capture_reassembly_name(unsigned reassembly);
CARRY_API const char *carry_capture_reassembly_text(unsigned reassembly);

struct carry_capture_totals {
    uint64_t packets;
    uint64_t bytes;         /* captured */
    uint64_t without;       /* packets of known link types that hold no checksum */
    uint64_t deeper;        /* packets with headers too deep to be examined */
    uint64_t unknown_links; /* packets of link types that are not known */
    uint64_t early;         /* checksums judged bad at first that turned out to be partial */
    uint32_t longest_cut;   /* the most captured bytes of any packet that has a checksum that is
                               unverifiable (SNAPLEN) */
    bool reassembled;       /* reassembly was asked for */
    uint64_t unselected;    /* packets that options->select left out; not among the others */
    uint64_t left_without; /* packets whose flags say that a checksum was left (SUM_LEFT), and whose
                              checksums are all good or bad; no fragments */
    uint64_t first_ns;     /* the earliest time of a packet, */
    uint64_t last_ns;      /* and the latest; 0: no packet has a known time */
    uint64_t raw_ip;       /* of `without`: said to be Ethernet, but IP without a link header */
};

/* The link header before a sender's IP header; in a tunnel, before the inner IP header. */
#define CARRY_CAPTURE_VLANS_MAX 4

struct carry_capture_link {
    uint8_t mac[6];
    bool has_mac;
    uint8_t vlans_count;
    uint16_t vlans[CARRY_CAPTURE_VLANS_MAX]; /* outermost first */
};

struct carry_capture_sender {
    struct carry_capture_address address;
    struct carry_capture_link link;
    uint64_t at_least, at_most; /* numbers of checksums; equal unless some senders were not kept */
    uint64_t reserved[2];
};

/*
 * How many senders are kept at most for each protocol and verdict (the most frequent). May grow
 * later.
 */
#define CARRY_CAPTURE_SENDERS_MAX 64

/* Creates an empty summary, for a checker or to merge others into; returns NULL if there is no
 * memory. */
CARRY_API struct carry_capture_summary *carry_capture_summary_create(void);
CARRY_API void carry_capture_summary_free(struct carry_capture_summary *summary);

/* Adds what the functions below return for `from`, except its findings. Call it once the check of
 * `from` has ended: until then, later packets may change verdicts and causes. */
CARRY_API void carry_capture_summary_merge(struct carry_capture_summary *into,
                                           const struct carry_capture_summary *from);

/* Returns the totals of a summary; valid until the summary is freed. */
CARRY_API const struct carry_capture_totals *
carry_capture_totals(const struct carry_capture_summary *summary);

/* Counts checksums: by protocol and verdict, or over all protocols by a set of verdicts. */
CARRY_API uint64_t carry_capture_count(const struct carry_capture_summary *summary,
                                       unsigned protocol, unsigned verdict);
CARRY_API uint64_t carry_capture_total(const struct carry_capture_summary *summary,
                                       unsigned verdicts);

/* Count checksums of a protocol: unverifiable checksums by enum carry_reason, and checksums that
 * are not good by enum carry_capture_cause. */
CARRY_API uint64_t carry_capture_reason_count(const struct carry_capture_summary *summary,
                                              unsigned protocol, unsigned reason);
CARRY_API uint64_t carry_capture_cause_count(const struct carry_capture_summary *summary,
                                             unsigned protocol, unsigned cause);

/* Counts the partial checksums of a protocol that are CARRY_CAPTURE_CERTAIN. */
CARRY_API uint64_t carry_capture_certain_count(const struct carry_capture_summary *summary,
                                               unsigned protocol);

/* Counts fragmented datagrams by enum carry_capture_reassembly. */
CARRY_API uint64_t carry_capture_reassembly_count(const struct carry_capture_summary *summary,
                                                  unsigned reassembly);

/* How many spans of time are kept at most. May grow later. */
#define CARRY_CAPTURE_SPANS_MAX 64

/*
 * Gets span `index` of the time of the packets, from 0: from *from_ns on, and earlier than *to_ns.
 * Spans follow each other without a gap and are equally long; they are as short as
 * CARRY_CAPTURE_SPANS_MAX allows. Returns false if there are fewer spans. There are none unless
 * options->timeline was set.
 */
CARRY_API bool carry_capture_span(const struct carry_capture_summary *summary, size_t index,
                                  uint64_t *from_ns, uint64_t *to_ns);

/*
 * Counts the checksums of packets of known time in span `index`, by verdict. Unverifiable ones are
 * not counted, since reassembly may verify them later. An IPv4 header's sum of 0 has the verdict
 * that was known when its packet was read.
 */
CARRY_API uint64_t carry_capture_span_count(const struct carry_capture_summary *summary,
                                            size_t index, unsigned verdict);

/*
 * Writes at most `capacity` senders of bad, partial or illegal checksums, the most frequent first,
 * and returns how many it wrote. With `by_address`, the links of one address are added up into one
 * sender with an empty link. Unless `complete` is NULL, *complete is set to whether all senders
 * were kept.
 */
CARRY_API size_t carry_capture_senders(const struct carry_capture_summary *summary,
                                       unsigned protocol, unsigned verdict, bool by_address,
                                       struct carry_capture_sender *senders, size_t capacity,
                                       bool *complete);

/* Gets unknown link type `index`, from 0; the first 16 are kept. Returns false if there are
 * fewer. */
CARRY_API bool carry_capture_unknown_link(const struct carry_capture_summary *summary, size_t index,
                                          uint32_t *linktype, uint64_t *packets);

/* Returns kept finding `index`, from 0, in the order of the packets; NULL if there are fewer. */
CARRY_API const struct carry_capture_finding *
carry_capture_kept(const struct carry_capture_summary *summary, size_t index);

/* The outcome of all checksums together. */
enum carry_capture_outcome {
    CARRY_CAPTURE_CLEAN,     /* some are good or partial, and none is wrong */
    CARRY_CAPTURE_WRONG,     /* at least one is wrong */
    CARRY_CAPTURE_UNCHECKED, /* none is wrong, good or partial */
};

/* Returns the outcome of a summary. `wrong` is the set of verdicts that count as wrong, each
 * 1u << verdict, or-ed. */
CARRY_API enum carry_capture_outcome
carry_capture_outcome(const struct carry_capture_summary *summary, unsigned wrong);

/* Returns the name of an outcome: "clean", "wrong", "unchecked". */
CARRY_API const char *carry_capture_outcome_name(unsigned outcome);

/*
 * Returns true if some checksums are bad or illegal and all that were judged hold 0: none is good,
 * partial or unverifiable, and all bad ones have the cause ZERO. Simulators and generators write
 * such captures.
 */
CARRY_API bool carry_capture_is_all_zero(const struct carry_capture_summary *summary);

/*
 * Returns whether nothing was left unexamined: the outcome for `wrong` is not
 * CARRY_CAPTURE_UNCHECKED, no checksum is unverifiable, every link type is known, and no header was
 * too deep. Wrong and absent checksums do not make the result false.
 */
CARRY_API bool carry_capture_is_complete(const struct carry_capture_summary *summary,
                                         unsigned wrong);

/* --- Repairing --- */

/* Writes all `size` bytes; returns 0 or a negative errno. */
typedef int carry_capture_write_fn(void *user, const void *bytes, size_t size);

/* Overwrites written bytes, `offset` bytes from the first one; returns 0 or a negative errno. */
typedef int carry_capture_rewrite_fn(void *user, uint64_t offset, const void *bytes, size_t size);

/*
 * Where bytes go. Without `rewrite` it is a stream, such as a pipe. Without `write` it holds all
 * bytes of the capture already, as a copy in memory does, and `rewrite` gets only changed parts of
 * it: blocks of 4 KiB as far as possible.
 */
struct carry_capture_sink {
    carry_capture_write_fn *write;     /* NULL: all bytes are there */
    carry_capture_rewrite_fn *rewrite; /* NULL: written bytes cannot change */
    void *user;
    uint64_t reserved[4];
};

/* Why a bad, partial or illegal checksum is left as it is. */
enum carry_capture_left {
    CARRY_CAPTURE_LEFT_ONLY,    /* options->packet.fix does not name its verdict */
    CARRY_CAPTURE_LEFT_EARLY,   /* an IPv4 header's 0: only a later frame showed it to be partial,
                                   which is a verdict to repair */
    CARRY_CAPTURE_LEFT_BESIDE,  /* an IPv4 header's 0, partial by its sender: to judge it so would
                                   change the verdict of another sum in its frame */
    CARRY_CAPTURE_LEFT_QUOTED,  /* an ICMP error quotes it */
    CARRY_CAPTURE_LEFT_COVERED, /* an unverifiable sum covers it */
    CARRY_CAPTURE_LEFT_PARTIAL, /* a sum that verifies only once a partial one is complete covers
                                   it */
    CARRY_CAPTURE_LEFT_SNAPLEN, /* the capture cut bytes that it covers */
    CARRY_CAPTURE_LEFT_ADLER32, /* it verifies as Adler-32, and options->packet.fix is 0 */
    CARRY_CAPTURE_LEFT_NESTED,  /* in a fragmented datagram inside another fragmented datagram */
    CARRY_CAPTURE_LEFT_TUNNEL,  /* in a fragmented datagram; an outer checksum covers a fragment */
    CARRY_CAPTURE_LEFT_UNCERTAIN, /* what it should hold is not certain */
    CARRY_CAPTURE_LEFT_WRITTEN,   /* in a datagram of which a fragment was written before the last
                                     one arrived; the sink cannot rewrite */
    CARRY_CAPTURE_LEFT_DATAGRAM = 64, /* its datagram was not reassembled: this value + enum
                                         carry_capture_reassembly */
    CARRY_CAPTURE_LEFT_COUNT = CARRY_CAPTURE_LEFT_DATAGRAM + CARRY_CAPTURE_REASSEMBLY_COUNT
};

/*
 * Return the reason why a checksum is left, as a name such as "quoted", and as a text such as
 * "quoted in an ICMP error, which is evidence".
 */
CARRY_API const char *carry_capture_left_name(unsigned left);
CARRY_API const char *carry_capture_left_text(unsigned left);

/* A checksum field, or the part of it in one fragment, that was repaired or is left. */
struct carry_capture_change {
    const struct carry_packet_sum
        *sum; /* repaired: as judged before; left: as judged in the copy. Valid in the callback */
    uint64_t number;       /* of the packet with which carry_capture_check() reports it */
    uint64_t field_number; /* of the packet that holds the field; 0: not known */
    uint64_t offset;       /* of the field in the capture, or CARRY_CAPTURE_NOWHERE */
    uint32_t skip, size;   /* bytes of the field before this part; bytes of this part */
    bool is_left;
    uint32_t left; /* if is_left: enum carry_capture_left */
};

/*
 * Returns false to cancel. Checksums in a fragment, repaired or left, are reported when their
 * datagram is complete. If the datagram can no longer be completed, these checksums are left, and
 * reported as soon as that is certain.
 */
typedef bool carry_capture_change_fn(void *user, const struct carry_capture_change *change);

struct carry_capture_fix_options {
    struct carry_packet_options packet;
    carry_capture_change_fn *change;     /* NULL: not called */
    carry_capture_progress_fn *progress; /* NULL: not called; `wrong` is 0 */
    void *user;                          /* for the callbacks */
    carry_capture_select_fn *select;     /* NULL: all packets are selected; others are copied
                                            unchanged */
    uint64_t reserved[7];
};

struct carry_capture_repairs;

/*
 * Writes all bytes of a capture, from its first byte, to `sink`, and repairs checksums as
 * carry_packet_fix() does. Where the repair completes all partial checksums of a pcapng packet
 * whose flags say that one was left to the card (SUM_LEFT), bit 9 of these flags is cleared. In
 * fragments of a datagram that has the checksum, the bit remains set. Every other byte is copied as
 * it is, including damage and what follows it. A compressed capture is written uncompressed. No
 * packet may have been read before, unless the capture was rewound (otherwise CARRY_ERROR_INVALID).
 * With `sink` NULL nothing is written, and the repairs are those that would be made.
 *
 * A stream gets every whole packet that has been read before the library waits for input: before a
 * descriptor blocks, and whenever a source returns -EAGAIN. While the library need not wait, it
 * writes one window at a time, and holds back fragments of incomplete datagrams: datagrams whose
 * fragments lie within 64 KiB of the capture are repaired.
 *
 * A checksum over a fragmented datagram is repaired when the last fragment arrives. If a fragment
 * was already written by then and sink->rewrite is NULL, the checksum is left
 * (CARRY_CAPTURE_LEFT_WRITTEN).
 *
 * Whether an IPv4 header's sum of 0 is bad or partial may depend on all packets of its sender. If
 * options->packet.fix names exactly one of BAD and PARTIAL and the capture can be rewound, the
 * capture is read twice. Otherwise only the packets read so far decide.
 *
 * *repairs is always set, to NULL only if there is no memory for it; free it with
 * carry_capture_repairs_free(). After CARRY_ERROR_DAMAGED all bytes were written (of a compressed
 * capture, all that could be unpacked). After any other error the copy is incomplete; after
 * CARRY_ERROR_UNRECOGNISED nothing was written. CARRY_ERROR_TOO_LARGE: a compressed capture unpacks
 * to more than 64 MiB plus 200 times the compressed bytes read so far.
 */
CARRY_API int carry_capture_fix(struct carry_capture *capture,
                                const struct carry_capture_fix_options *options,
                                const struct carry_capture_sink *sink,
                                struct carry_capture_repairs **repairs);
CARRY_API void carry_capture_repairs_free(struct carry_capture_repairs *repairs);

/*
 * Writes a repaired copy of a capture as carry_capture_fix() does, to an empty regular file that is
 * open for reading and writing (otherwise CARRY_ERROR_INVALID).
 *
 * An uncompressed regular file, opened by path or descriptor, is copied by a thread and by the
 * system, or cloned, and only changes are written. This takes less time than carry_capture_fix().
 * A clone that cannot be trusted, because the file has changed since then, is CARRY_ERROR_READ. If
 * carry_capture_stop_on() was called, the bytes are written as by carry_capture_fix().
 */
CARRY_API int carry_capture_fix_fd(struct carry_capture *capture,
                                   const struct carry_capture_fix_options *options, int descriptor,
                                   struct carry_capture_repairs **repairs);

/* Returns whether carry_capture_fix() will read the capture twice. */
CARRY_API bool carry_capture_fix_reads_twice(const struct carry_capture *capture,
                                             const struct carry_capture_fix_options *options);

struct carry_capture_repair_totals {
    uint64_t packets;
    uint64_t bytes;           /* captured */
    uint64_t changed_packets; /* in which a checksum was repaired */
    uint64_t repaired;        /* checksums */
    uint64_t left_wrong;      /* checksums that are bad or illegal in the copy */
    uint64_t unselected;      /* packets that options->select left out; not among `packets` */
};

/* Returns the totals of all repairs; valid until the repairs are freed. */
CARRY_API const struct carry_capture_repair_totals *
carry_capture_repair_totals(const struct carry_capture_repairs *repairs);

/*
 * carry_capture_repaired() returns how many repaired checksums of the protocol had the verdict
 * before the repair. carry_capture_left() returns how many of the other checksums have it.
 */
CARRY_API uint64_t carry_capture_repaired(const struct carry_capture_repairs *repairs,
                                          unsigned protocol, unsigned verdict);
CARRY_API uint64_t carry_capture_left(const struct carry_capture_repairs *repairs,
                                      unsigned protocol, unsigned verdict);

/* The most packet numbers that a group of checksums left for one reason holds: the numbers of its
 * first checksums. */
#define CARRY_CAPTURE_GROUP_FRAMES 5

struct carry_capture_group {
    uint64_t count;
    uint64_t frames[CARRY_CAPTURE_GROUP_FRAMES]; /* packet numbers of the first checksums; only
                                                    `count` are set if fewer */
};

/*
 * Returns the group of checksums of one protocol and verdict that were left for one reason (enum
 * carry_capture_left); an empty group for values out of range. Valid until the repairs are freed.
 */
CARRY_API const struct carry_capture_group *
carry_capture_left_group(const struct carry_capture_repairs *repairs, unsigned protocol,
                         unsigned verdict, unsigned left);

/* --- Explaining --- */

/* The most other bad checksums, and the most assumptions, that evidence lists. */
#define CARRY_CAPTURE_OTHERS      5
#define CARRY_CAPTURE_ASSUMPTIONS 24

/* Another bad checksum of the flow, or between its addresses. */
struct carry_capture_other {
    uint64_t number; /* of the packet, or of the packet that completed the datagram */
    uint32_t stored, expected;
    uint32_t difference; /* stored minus expected, modulo 65535 */
    uint32_t reserved;
};

/* The value that would be right if the sender, or what changed the packet, had made one mistake. */
struct carry_capture_assumption {
    const char *text; /* to follow "would be right": "without the pseudo-header" */
    uint32_t cause;   /* enum carry_capture_cause: the cause whose test assumes this */
    uint32_t value;
};

/*
 * Evidence by which a reader can judge the cause of a bad checksum of 16 bits. Of any other
 * checksum, all members are 0.
 *
 * If the frame shows the cause, the assumptions are those that the stored value fits. If the cause
 * is one by flow, there are none. Without a cause, and if the capturing machine's flags show it,
 * they are all that were tried, except those that make no difference to this packet.
 */
struct carry_capture_evidence {
    bool is_known;
    uint32_t difference;                      /* stored minus expected, modulo 65535 */
    const struct carry_capture_other *others; /* the flow's first bad checksums, except this one */
    size_t others_count;                      /* and checksums that their frames explain otherwise.
                                                 If there are none, bad checksums of other flows of
                                                 the same protocol between its addresses */
    uint64_t others_total;                    /* how many were read, those not listed included */
    const struct carry_capture_assumption *assumptions;
    size_t assumptions_count;
    uint64_t reserved[3];
};

/* One frame, or one datagram that has a fragment in the frame. Valid in the callback. */
struct carry_capture_explanation {
    bool is_datagram;
    uint32_t reassembly;    /* of a datagram: enum carry_capture_reassembly. Unless it is COMPLETE,
                               of the other members only `frames` and `frames_count` are set */
    const uint64_t *frames; /* of a datagram: the numbers of the packets that hold its fragments, */
    size_t frames_count;    /* in the order in which they arrived */
    struct carry_capture_packet packet; /* of a datagram: raw IP, with number and time of the packet
                                           that completed it */
    struct carry_frame frame;           /* offsets in sums and layers count from its start */
    const struct carry_packet_layer *layers;
    size_t layers_count;
    const struct carry_capture_finding *findings; /* every checksum, also good ones, except the
                                                     checksum of a datagram's own IP header */
    size_t findings_count;
    const struct carry_capture_evidence *evidence; /* of each finding, in the same order */
};

/* Receives one explanation. Returns false to cancel. */
typedef bool carry_capture_explain_fn(void *user,
                                      const struct carry_capture_explanation *explanation);

/*
 * Explains packet `number`, counted from 1: calls `explain` for its frame, then for each datagram
 * that has a fragment in the frame, each once no later packet can change its verdicts or causes.
 * Reads as many later packets as needed. If reading fails after the packet, missing fragments count
 * as never sent, and the result is CARRY_OK. Fragments in packets read before the call are missing
 * too.
 *
 * CARRY_ERROR_INVALID: the packet was read before, or `number` is 0. CARRY_ERROR_UNKNOWN: the
 * capture has fewer packets. Unless `packets` is NULL, *packets is set to how many packets were
 * read while looking for the packet; CARRY_ERROR_INVALID leaves it unchanged.
 */
CARRY_API int carry_capture_explain(struct carry_capture *capture, uint64_t number,
                                    carry_capture_explain_fn *explain, void *user,
                                    uint64_t *packets);

/* Return one sentence that says why a checksum of this frame has its verdict: by the frame alone,
 * and by all that is known about a finding. */
CARRY_API const char *carry_capture_why(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);
CARRY_API const char *carry_capture_why_found(const struct carry_frame *frame,
                                              const struct carry_capture_finding *finding);

/* Returns in words the rule that decided the verdict, where several rules are in use; NULL if there
 * is only one. */
CARRY_API const char *carry_capture_rule(const struct carry_frame *frame,
                                         const struct carry_packet_sum *sum);

/* --- Writing --- */

struct carry_capture_writer;

struct carry_capture_writer_options {
    enum carry_capture_format format; /* PCAP or PCAPNG (0: PCAPNG) */
    const char *application;          /* pcapng: the program that writes; NULL: not said */
    uint64_t reserved[4];
};

/*
 * Writes captures in this machine's byte order, with times in nanoseconds. A pcapng file has one
 * interface for each pair of link type and frame check sequence length (see also
 * carry_capture_writer_name()), and holds the flags of packets. A pcap file has the link type of
 * its first packet. Adding the first packet writes the file header; carry_capture_writer_end()
 * writes it if no packet was added (in pcap: link type Ethernet).
 *
 * carry_capture_writer_add() returns CARRY_ERROR_INVALID and writes nothing if the format cannot
 * hold the packet:
 *  - more than CARRY_CAPTURE_PACKET_MAX bytes, or a link type above 65,535;
 *  - in pcap: a link type or frame check sequence length other than the first packet's; a time
 *    beyond 2106; a frame check sequence of an odd length, or above 30 bytes;
 *  - in pcapng: a block, comment included, above CARRY_CAPTURE_PACKET_MAX; a comment above 65,535
 *    bytes; a frame check sequence above 7 bytes; an interface beyond the 65,536th.
 *
 * carry_capture_writer_create() returns CARRY_ERROR_INVALID for any other format, and for an
 * application name above 65,535 bytes. CARRY_ERROR_WRITE and CARRY_ERROR_MEMORY of a writer are
 * final. `comment` may be NULL; pcap ignores it. sink->rewrite is not used.
 */
CARRY_API int carry_capture_writer_create(const struct carry_capture_writer_options *options,
                                          const struct carry_capture_sink *sink,
                                          struct carry_capture_writer **writer);
CARRY_API int carry_capture_writer_add(struct carry_capture_writer *writer,
                                       const struct carry_capture_packet *packet,
                                       const char *comment);
CARRY_API int carry_capture_writer_end(struct carry_capture_writer *writer);

/*
 * Names the interface of the packets that have this number as their `interface`. In pcapng the
 * interface gets a block of its own for each link type, and packets added later refer to that
 * block; pcap has no such block. CARRY_ERROR_INVALID: the number is 65,536 or more, or has a name;
 * the name is NULL, or longer than 65,535 bytes.
 */
CARRY_API int carry_capture_writer_name(struct carry_capture_writer *writer, uint32_t interface,
                                        const char *name);

#define CARRY_CAPTURE_NOT_COUNTED UINT64_MAX

/* Counts of an interface during the capture. Each may be CARRY_CAPTURE_NOT_COUNTED. */
struct carry_capture_statistics {
    uint64_t time_ns;  /* when they were counted, since 1970 */
    uint64_t received; /* packets, including those that were dropped */
    uint64_t dropped;  /* packets for which there was no room */
    uint64_t reserved[4];
};

/*
 * Writes the counts of the interface with this number, usually just before
 * carry_capture_writer_end(). If the interface had packets of several link types, the first of its
 * blocks gets the statistics. CARRY_ERROR_INVALID: the interface has no name, no packet of it was
 * added, or the format is pcap, which has no place for statistics.
 */
CARRY_API int carry_capture_writer_statistics(struct carry_capture_writer *writer,
                                              uint32_t interface,
                                              const struct carry_capture_statistics *statistics);

/* Returns errno of the sink after CARRY_ERROR_WRITE, else 0. */
CARRY_API int carry_capture_writer_errno(const struct carry_capture_writer *writer);
CARRY_API void carry_capture_writer_free(struct carry_capture_writer *writer);

CARRY_END_DECLS

#endif
