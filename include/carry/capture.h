/* SPDX-License-Identifier: MIT */
/*
 * Reads, checks, repairs, explains and writes captures: pcap and pcapng, also compressed by gzip or
 * zstd. A separate library, libcarry-capture, for processes.
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
 *  - functions that can fail return CARRY_OK, or an error of <carry/base.h>. The input decides over
 *    these:
 *     - CARRY_ERROR_UNRECOGNISED: the file is no capture of a format that is read here;
 *     - CARRY_ERROR_DAMAGED: the capture contradicts its format from some offset on;
 *     - CARRY_ERROR_READ, CARRY_ERROR_WRITE: the source or the sink failed;
 *     - CARRY_ERROR_CANCELLED: a callback returned false. No packet can be read then, unless the
 *       capture is rewound;
 *     - CARRY_ERROR_MEMORY;
 *    carry_capture_last_error() has the details. What was found before an error is kept: a summary
 *    holds it, and callbacks have reported it. Only what a summary holds after
 * CARRY_ERROR_CANCELLED depends on the threads;
 *  - input is never trusted. Memory has a bound that does not depend on the input's size, and so
 *    has the time for each packet;
 *  - a capture, a checker, a summary and a writer are each used by one thread at a time. Different
 *    ones may be used by different threads at once: the library has no global and no thread-local
 *    state of its own;
 *  - callbacks run in the thread that called the library, in the order of the packets, and must not
 *    use the object that is calling them. Those of a judge run in worker threads too;
 *  - worker threads block all signals. The library handles no signal, prints nothing and never ends
 *    the process;
 *  - the caller frees what a function creates. Functions that free or close accept NULL;
 *  - totals and explanations may grow at the end in later releases: use them where they are,
 * through the pointers given. All other structures keep their size; their reserved members must be
 * 0. Options of zeros ask for the defaults;
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
    uint64_t offset; /* of the record, block or header that cannot be read */
    char text[160];  /* one line, without the name of the file */
    uint64_t reserved[4];
};

/*
 * Reads at most `size` bytes to `buffer` and returns how many; 0 at the end, or a negative errno.
 * -EAGAIN says that nothing has come yet: the library reports what it has found so far, and calls
 * again. That call may wait.
 */
typedef int64_t carry_capture_read_fn(void *user, void *buffer, size_t size);

/* Goes back to the first byte; returns 0 or a negative errno. */
typedef int carry_capture_rewind_fn(void *user);

struct carry_capture_source {
    carry_capture_read_fn *read;
    carry_capture_rewind_fn *rewind; /* NULL: it can be read once */
    void *user;
    uint64_t size; /* bytes that there are; 0: not known */
    uint64_t reserved[4];
};

/*
 * Opens a capture, and reads nothing of it yet. On failure *capture is NULL, and *error, unless
 * `error` is NULL, tells why: CARRY_ERROR_READ with errno, or CARRY_ERROR_MEMORY. EISDIR is errno
 * for folders, EBADF for descriptors that cannot be read.
 *
 * A descriptor remains the caller's, is read from its present position on, and must stay open.
 * Bytes in memory must stay as they are until the capture is closed.
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

/* Why the last function that failed did so; of code CARRY_OK if none has. Until the next one. */
CARRY_API const struct carry_capture_error *
carry_capture_last_error(const struct carry_capture *capture);

/*
 * Begins again at the first byte. CARRY_ERROR_UNSUPPORTED for what can be read once only, such as
 * pipes; see carry_capture_can_rewind().
 */
CARRY_API int carry_capture_rewind(struct carry_capture *capture);
CARRY_API bool carry_capture_can_rewind(const struct carry_capture *capture);

enum carry_capture_format {
#define CARRY_CAPTURE_FORMAT(id, name, text, magic) CARRY_CAPTURE_FORMAT_##id,
#include <carry/capture_formats.def>
#undef CARRY_CAPTURE_FORMAT
    CARRY_CAPTURE_FORMAT_COUNT
};

/*
 * What it starts like, beneath one layer of compression; what follows may still be damaged. Before
 * the first packet was read this reads the first bytes, and leaves them to be read.
 */
CARRY_API enum carry_capture_format carry_capture_format(struct carry_capture *capture);

/* "pcap", "snoop". */
CARRY_API const char *carry_capture_format_name(unsigned format);

/* True if it is compressed, which is known once something was read. */
CARRY_API bool carry_capture_is_compressed(const struct carry_capture *capture);

/* Bytes of the file; 0 where that is not known, as of pipes. Compressed ones count as they are. */
CARRY_API uint64_t carry_capture_size(const struct carry_capture *capture);

/* Bytes of the file that were read so far. */
CARRY_API uint64_t carry_capture_position(const struct carry_capture *capture);

/* The descriptor of a capture that was opened by path or descriptor; -1 for others. */
CARRY_API int carry_capture_descriptor(const struct carry_capture *capture);

/*
 * Ends a capture from a pipe, socket or device once `descriptor` can be read from. What has come by
 * then is read, and what still comes within half a second. A packet that is cut by this end is
 * dropped, and is no damage. `descriptor` may be an eventfd, or a pipe that a signal handler writes
 * to; -1 takes the request back. Other captures ignore it.
 */
CARRY_API void carry_capture_stop_on(struct carry_capture *capture, int descriptor);

/* --- Packets --- */

/* A packet as the capture holds it. The frame check sequence is part of its bytes. */
struct carry_capture_packet {
    const uint8_t *data;
    uint32_t captured;  /* bytes at `data` */
    uint32_t wire;      /* bytes that were on the wire, as the record says */
    uint32_t linktype;  /* LINKTYPE_ value */
    uint32_t fcs;       /* bytes of frame check sequence at the end of `wire`, where known */
    uint32_t interface; /* pcapng: within its section; else 0 */
    uint32_t reserved;
    uint64_t number;  /* from 1 */
    uint64_t time_ns; /* 0: not known */
    uint64_t offset;  /* of data[0] in the capture */
    uint64_t reserved2;
};

/* Most bytes of one packet, and of the block of pcapng around it: what claims more is damage. */
#define CARRY_CAPTURE_PACKET_MAX (16u << 20)

enum { CARRY_CAPTURE_END = 0, CARRY_CAPTURE_PACKET = 1 };

/*
 * Reads the next packet. Returns CARRY_CAPTURE_PACKET with *packet set, valid until the next call
 * for this capture; CARRY_CAPTURE_END; or an error. Any other result than CARRY_CAPTURE_PACKET is
 * final.
 */
CARRY_API int carry_capture_next(struct carry_capture *capture,
                                 const struct carry_capture_packet **packet);

/* A packet's frame, without its frame check sequence. */
CARRY_API_INLINE struct carry_frame carry_capture_frame(const struct carry_capture_packet *packet) {
    uint32_t all = packet->wire > packet->captured ? packet->wire : packet->captured;
    uint32_t wire = all > packet->fcs ? all - packet->fcs : all;
    struct carry_frame frame = {packet->data, packet->captured < wire ? packet->captured : wire,
                                wire, packet->linktype, 0};
    return frame;
}

/* A link type in words, such as "Ethernet"; NULL if the library knows no name. */
CARRY_API const char *carry_capture_link_name(uint32_t linktype);

/* --- What is known of a checksum --- */

/* No offset: what is asked for is not in the capture, or not in one piece. */
#define CARRY_CAPTURE_NOWHERE UINT64_MAX

/* The verdicts that count as wrong by default, as a set: 1u << verdict, or-ed. */
#define CARRY_CAPTURE_WRONG_VERDICTS (1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_ILLEGAL)

/* What is known of a checksum beside its verdict, by its frame and by its sender's others. */
enum carry_capture_cause {
    CARRY_CAPTURE_CAUSE_NONE,
    CARRY_CAPTURE_CAUSE_ZERO,           /* bad: it holds 0 */
    CARRY_CAPTURE_CAUSE_BESIDE_PARTIAL, /* partial, an IPv4 header's: it holds 0, in a frame with
                                           other partial sums */
    CARRY_CAPTURE_CAUSE_BY_SENDER,      /* the same, and shown by other frames of its sender */
    CARRY_CAPTURE_CAUSE_ADLER32,        /* bad, SCTP's: it verifies as Adler-32 */
    CARRY_CAPTURE_CAUSE_COUNT
};

struct carry_capture_address {
    uint8_t version; /* 4, 6, or 0: none */
    uint8_t bytes[16];
    uint8_t reserved;
};

/* One checksum of a capture. */
struct carry_capture_finding {
    struct carry_packet_sum sum; /* its offsets count from the frame, or from the datagram */
    uint32_t cause;              /* enum carry_capture_cause */
    bool reassembled;            /* the sum covers a datagram that came in fragments */
    uint64_t number;             /* of the packet, which completed the datagram if there is one */
    uint64_t time_ns;
    uint64_t offset; /* of the checksum field in the capture, or CARRY_CAPTURE_NOWHERE */
    struct carry_capture_address from, to;
    int32_t from_port, to_port;                /* -1: none */
    const struct carry_capture_packet *packet; /* in callbacks; else NULL */
    uint64_t reserved[4];
};

/* True if sum->expected holds what should be stored: of an illegal sum only where that is known. */
CARRY_API bool carry_capture_has_expected(const struct carry_packet_sum *sum);

/* "zero", "by_sender". */
CARRY_API const char *carry_capture_cause_name(unsigned cause);

/* A reason in words, behind a number of checksums: "in fragments", "cut short by the capture". */
CARRY_API const char *carry_capture_reason_text(unsigned reason);

/* --- Checking --- */

/* So far, of one capture. */
struct carry_capture_progress {
    uint64_t position; /* as carry_capture_position() */
    uint64_t packets;
    uint64_t wrong; /* checksums with a verdict of options->wrong */
};

/* Returns false to cancel. Called at least once for each 128 KiB, and before waiting for input. */
typedef bool carry_capture_progress_fn(void *user, const struct carry_capture_progress *progress);

/*
 * Called for each checksum with a verdict of options->listed, also with one that covers a datagram:
 * at the packet that completed it. Returns false to cancel.
 */
typedef bool carry_capture_finding_fn(void *user, const struct carry_capture_finding *finding);

/*
 * Judges packets in place of carry_packet_check_fragment(), faster: functions made at run time, or
 * a device. Each worker, the calling thread included, has a state of its own. All functions must be
 * given.
 */
struct carry_capture_judge {
    /* Called in the worker before its first packet. Returns its state, or NULL to do without. */
    void *(*open)(void *user);
    /* Called for each state when the checker is freed. */
    void (*close)(void *user, void *state);
    /* Called for packets in a row before they are judged. Returns false to leave them all. */
    bool (*prepare)(void *state, const struct carry_capture_packet *packets, size_t count);
    /*
     * As carry_packet_check() with the same options and room for CARRY_PACKET_SUMS_MAX, of a frame
     * that holds no fragment and no header too deep. -1 for any other frame: the library judges it.
     */
    int (*check)(void *state, const struct carry_frame *frame, struct carry_packet_sum *sums);
    void *user;
    uint64_t reserved[3];
};

struct carry_capture_check_options {
    struct carry_packet_options packet; /* `fix` is not used */
    uint32_t threads;                   /* with the calling one; 0: one for each core */
    uint32_t wrong;     /* set of bad, partial and illegal, 1u << verdict (0: bad and illegal) */
    uint32_t listed;    /* the same: checksums with these verdicts are findings (0: as `wrong`) */
    uint32_t kept;      /* so many findings, the first, go to the summary: room for twice as many
                           is allocated */
    uint64_t packets;   /* that are read at most (0: all) */
    uint64_t protocols; /* set of those to be judged, UINT64_C(1) << protocol (0: all) */
    const struct carry_capture_judge *judge; /* NULL: none */
    bool no_reassembly;                      /* of fragmented datagrams */
    carry_capture_finding_fn *finding;       /* NULL: not called */
    carry_capture_progress_fn *progress;     /* NULL: not called */
    void *user;                              /* for these two */
    uint64_t reserved[8];
};

#define CARRY_CAPTURE_THREADS_MAX 256u

struct carry_capture_summary;

/*
 * Checks every checksum from the present packet to the end. *summary is new in any case, and NULL
 * only if there is no memory for it; free it with carry_capture_summary_free(). The result is the
 * same for any number of threads.
 *
 * An IPv4 header's sum of 0 that is bad by its own frame may turn out to be partial by later frames
 * of its sender. The summary knows all; a finding knows the frames before it.
 */
CARRY_API int carry_capture_check(struct carry_capture *capture,
                                  const struct carry_capture_check_options *options,
                                  struct carry_capture_summary **summary);

/*
 * The same for many captures: threads and memory are kept between them. Options and judge are
 * copied; what their `user` points to must stay. `summary` is cleared first. CARRY_ERROR_INVALID if
 * the options contradict what is said above.
 */
struct carry_capture_checker;
CARRY_API int carry_capture_checker_create(const struct carry_capture_check_options *options,
                                           struct carry_capture_checker **checker);
CARRY_API int carry_capture_checker_run(struct carry_capture_checker *checker,
                                        struct carry_capture *capture,
                                        struct carry_capture_summary *summary);
CARRY_API void carry_capture_checker_free(struct carry_capture_checker *checker);

/* --- Summaries --- */

/* What became of fragmented datagrams. */
enum carry_capture_reassembly {
    CARRY_CAPTURE_REASSEMBLY_COMPLETE,
    CARRY_CAPTURE_REASSEMBLY_MISSING,       /* fragments did not come, or not in time */
    CARRY_CAPTURE_REASSEMBLY_OVERLAPPING,   /* fragments contradict each other */
    CARRY_CAPTURE_REASSEMBLY_MALFORMED,     /* a fragment without bytes, or one too long */
    CARRY_CAPTURE_REASSEMBLY_EVICTED,       /* given up: too many were incomplete */
    CARRY_CAPTURE_REASSEMBLY_EVICTED_BYTES, /* given up: all held too many bytes */
    CARRY_CAPTURE_REASSEMBLY_NO_MEMORY,
    CARRY_CAPTURE_REASSEMBLY_COUNT
};

/* "complete"; and behind "a datagram", in words: "with fragments missing". */
CARRY_API const char *carry_capture_reassembly_name(unsigned reassembly);
CARRY_API const char *carry_capture_reassembly_text(unsigned reassembly);

struct carry_capture_totals {
    uint64_t packets;
    uint64_t bytes;         /* captured */
    uint64_t without;       /* packets of known link types that hold no checksum */
    uint64_t deeper;        /* packets of which some headers were not examined */
    uint64_t unknown_links; /* packets of link types that are not known */
    uint64_t early;         /* findings that were reported as bad and turned out to be partial */
    uint32_t longest_cut;   /* most bytes captured of a packet that the capture cut */
    bool reassembled;       /* reassembly was asked for */
};

/* The link header around the IP header of a sender: in a tunnel, of the one inside. */
#define CARRY_CAPTURE_VLANS_MAX 4

struct carry_capture_link {
    uint8_t mac[6];
    bool has_mac;
    uint8_t vlans_count;
    uint16_t vlans[CARRY_CAPTURE_VLANS_MAX]; /* from the outside */
};

struct carry_capture_sender {
    struct carry_capture_address address;
    struct carry_capture_link link;
    uint64_t at_least, at_most; /* checksums; equal unless there were more senders than are kept */
    uint64_t reserved[2];
};

/* The most senders of one protocol and verdict in this release; of more, the most frequent are
 * kept.
 */
#define CARRY_CAPTURE_SENDERS_MAX 64

/* An empty summary, to merge others into; NULL without memory. */
CARRY_API struct carry_capture_summary *carry_capture_summary_create(void);
CARRY_API void carry_capture_summary_free(struct carry_capture_summary *summary);

/* Adds all of `from` but its findings. */
CARRY_API void carry_capture_summary_merge(struct carry_capture_summary *into,
                                           const struct carry_capture_summary *from);

CARRY_API const struct carry_capture_totals *
carry_capture_totals(const struct carry_capture_summary *summary);

/* Checksums by protocol and verdict, and of a set of verdicts over all protocols. */
CARRY_API uint64_t carry_capture_count(const struct carry_capture_summary *summary,
                                       unsigned protocol, unsigned verdict);
CARRY_API uint64_t carry_capture_total(const struct carry_capture_summary *summary,
                                       unsigned verdicts);

/* Of these, by enum carry_reason (unverifiable ones) and by enum carry_capture_cause. */
CARRY_API uint64_t carry_capture_reason_count(const struct carry_capture_summary *summary,
                                              unsigned protocol, unsigned reason);
CARRY_API uint64_t carry_capture_cause_count(const struct carry_capture_summary *summary,
                                             unsigned protocol, unsigned cause);

/* Fragmented datagrams. */
CARRY_API uint64_t carry_capture_reassembly_count(const struct carry_capture_summary *summary,
                                                  unsigned reassembly);

/*
 * The senders of bad, partial or illegal checksums, the most frequent first. Writes at most
 * `capacity` and returns how many. With `by_address`, what one address sends through
 * several links is one sender with an empty link. *complete, unless NULL, tells whether all
 * senders were kept.
 */
CARRY_API size_t carry_capture_senders(const struct carry_capture_summary *summary,
                                       unsigned protocol, unsigned verdict, bool by_address,
                                       struct carry_capture_sender *senders, size_t capacity,
                                       bool *complete);

/* Link types that are not known, the first 16: number `index`; false if there are fewer. */
CARRY_API bool carry_capture_unknown_link(const struct carry_capture_summary *summary, size_t index,
                                          uint32_t *linktype, uint64_t *packets);

/* The findings that were kept, the first of the capture; NULL if there are fewer. */
CARRY_API const struct carry_capture_finding *
carry_capture_kept(const struct carry_capture_summary *summary, size_t index);

/* What all checksums say together. */
enum carry_capture_outcome {
    CARRY_CAPTURE_CLEAN,     /* some were verified, and none is wrong */
    CARRY_CAPTURE_WRONG,     /* some are */
    CARRY_CAPTURE_UNCHECKED, /* none is wrong, and none was verified */
};

/* `wrong` is a set of verdicts. */
CARRY_API enum carry_capture_outcome
carry_capture_outcome(const struct carry_capture_summary *summary, unsigned wrong);

/* "clean", "wrong", "unchecked". */
CARRY_API const char *carry_capture_outcome_name(unsigned outcome);

/* True if every checksum of every packet was verified, and there was one. */
CARRY_API bool carry_capture_is_complete(const struct carry_capture_summary *summary,
                                         unsigned wrong);

/* --- Repairing --- */

/* Writes all `size` bytes; returns 0 or a negative errno. */
typedef int carry_capture_write_fn(void *user, const void *bytes, size_t size);

/* Overwrites bytes that were written before, `offset` bytes behind the first; returns the same. */
typedef int carry_capture_rewrite_fn(void *user, uint64_t offset, const void *bytes, size_t size);

/* Where bytes go. */
struct carry_capture_sink {
    carry_capture_write_fn *write;
    carry_capture_rewrite_fn *rewrite; /* NULL: what was written is gone */
    void *user;
    uint64_t reserved[4];
};

/* Why a bad, partial or illegal checksum is left as it is. */
enum carry_capture_left {
    CARRY_CAPTURE_LEFT_ONLY,    /* options->packet.fix does not name its verdict */
    CARRY_CAPTURE_LEFT_EARLY,   /* the frame that shows its verdict to be one came behind it */
    CARRY_CAPTURE_LEFT_BESIDE,  /* of IPv4 headers of 0 in one frame, only some are partial */
    CARRY_CAPTURE_LEFT_QUOTED,  /* an ICMP error quotes it */
    CARRY_CAPTURE_LEFT_COVERED, /* a sum that cannot be verified covers it */
    CARRY_CAPTURE_LEFT_PARTIAL, /* a sum covers it that is right once a partial one is complete */
    CARRY_CAPTURE_LEFT_SNAPLEN, /* the capture cut bytes that it covers */
    CARRY_CAPTURE_LEFT_ADLER32, /* it verifies as Adler-32, and options->packet.fix is 0 */
    CARRY_CAPTURE_LEFT_NESTED,  /* in a fragmented datagram inside another */
    CARRY_CAPTURE_LEFT_TUNNEL,  /* in a datagram with fragments that a checksum around covers */
    CARRY_CAPTURE_LEFT_UNKNOWN, /* what it should hold is not certain */
    CARRY_CAPTURE_LEFT_WRITTEN, /* in a fragment that was written before the last one came, and the
                                   sink cannot rewrite */
    CARRY_CAPTURE_LEFT_DATAGRAM = 64, /* from here on: what became of its datagram, as
                                         LEFT_DATAGRAM + enum carry_capture_reassembly */
    CARRY_CAPTURE_LEFT_COUNT = CARRY_CAPTURE_LEFT_DATAGRAM + CARRY_CAPTURE_REASSEMBLY_COUNT
};

/* "quoted"; and in words: "quoted in an ICMP error, which is evidence". */
CARRY_API const char *carry_capture_left_name(unsigned left);
CARRY_API const char *carry_capture_left_text(unsigned left);

/* A checksum field that was repaired, or part of it in a fragment; or one that is left. */
struct carry_capture_change {
    const struct carry_packet_sum *sum; /* as it was judged before; valid in the callback */
    uint64_t number;       /* of the packet with which carry_capture_check() lists it */
    uint64_t field_number; /* of the packet that holds the field; 0: not known */
    uint64_t offset;       /* of the field in the capture, or CARRY_CAPTURE_NOWHERE */
    uint32_t skip, size;   /* bytes of the field in front of this part, and of the part */
    bool is_left;
    uint32_t left; /* why: enum carry_capture_left */
};

/*
 * Returns false to cancel. Changes in fragments are reported when their datagram is complete, and
 * what is left in them when it is certain that it never will be.
 */
typedef bool carry_capture_change_fn(void *user, const struct carry_capture_change *change);

struct carry_capture_fix_options {
    struct carry_packet_options packet;
    carry_capture_change_fn *change;     /* NULL: not called */
    carry_capture_progress_fn *progress; /* NULL: not called; `wrong` is 0 */
    void *user;                          /* for these two */
    uint64_t reserved[8];
};

struct carry_capture_repairs;

/*
 * Writes all bytes of a capture, from the first on, to `sink`, with the checksums repaired as
 * carry_packet_fix() repairs them; every other byte is as it was, damage and what follows it
 * included. What was compressed is written uncompressed. Nothing of the capture may have been read
 * before, or CARRY_ERROR_INVALID is returned. Without a sink (NULL) nothing is written, and the
 * repairs are those that would be made.
 *
 * Sums over fragmented datagrams are repaired when the last fragment has come. For fragments that
 * were written by then, the sink must be able to rewrite.
 *
 * Whether an IPv4 header's sum of 0 is bad or partial may depend on all packets of its sender. If
 * options->packet.fix names only one of these verdicts, and the capture can rewind, it is read
 * twice; else the packets before decide.
 *
 * *repairs is new in any case, and NULL only if there is no memory for it. After
 * CARRY_ERROR_DAMAGED all bytes were written; after any other error the copy is not whole.
 * CARRY_ERROR_TOO_LARGE: a compressed capture unpacks to more than 64 MiB and 200 times its size.
 */
CARRY_API int carry_capture_fix(struct carry_capture *capture,
                                const struct carry_capture_fix_options *options,
                                const struct carry_capture_sink *sink,
                                struct carry_capture_repairs **repairs);
CARRY_API void carry_capture_repairs_free(struct carry_capture_repairs *repairs);

/* True if carry_capture_fix() will read it twice. */
CARRY_API bool carry_capture_fix_reads_twice(const struct carry_capture *capture,
                                             const struct carry_capture_fix_options *options);

struct carry_capture_repair_totals {
    uint64_t packets;
    uint64_t bytes;           /* captured */
    uint64_t changed_packets; /* in which a checksum was repaired */
    uint64_t repaired;        /* checksums */
    uint64_t left_wrong;      /* checksums that are bad or illegal in the copy */
};

CARRY_API const struct carry_capture_repair_totals *
carry_capture_repair_totals(const struct carry_capture_repairs *repairs);

/* Checksums by the verdict before the repair; and those left, by the verdict in the copy. */
CARRY_API uint64_t carry_capture_repaired(const struct carry_capture_repairs *repairs,
                                          unsigned protocol, unsigned verdict);
CARRY_API uint64_t carry_capture_left(const struct carry_capture_repairs *repairs,
                                      unsigned protocol, unsigned verdict);

/* Of checksums that are left for one reason, the first frames. */
#define CARRY_CAPTURE_GROUP_FRAMES 5

struct carry_capture_group {
    uint64_t count;
    uint64_t frames[CARRY_CAPTURE_GROUP_FRAMES]; /* numbers of packets; as many as there are */
};

CARRY_API const struct carry_capture_group *
carry_capture_left_group(const struct carry_capture_repairs *repairs, unsigned protocol,
                         unsigned verdict, unsigned left);

/* --- Explaining --- */

/* One frame, or one datagram of which the frame holds a fragment. */
struct carry_capture_explanation {
    bool is_datagram;
    uint32_t reassembly; /* of a datagram: enum carry_capture_reassembly. Only of a COMPLETE one is
                            there more than the numbers of its frames */
    const uint64_t *frames; /* of a datagram: the numbers of the packets that hold its fragments, */
    size_t frames_count;    /* in their order */
    struct carry_capture_packet packet; /* of a datagram: raw IP, with number and time of the packet
                                           that completed it */
    struct carry_frame frame;           /* what sums and layers count from */
    const struct carry_packet_layer *layers;
    size_t layers_count;
    const struct carry_capture_finding *findings; /* every checksum, good ones included */
    size_t findings_count;
};

typedef bool carry_capture_explain_fn(void *user,
                                      const struct carry_capture_explanation *explanation);

/*
 * Explains packet `number`, from 1: calls `explain` for its frame, and for each datagram of which
 * it holds a fragment. Reads on as far as that takes; if the capture cannot be read so far, what is
 * missing counts as never having come. A frame whose verdicts depend on later frames of its sender
 * comes last. CARRY_ERROR_INVALID if the packet was read before, CARRY_ERROR_UNKNOWN if the capture
 * has fewer packets; *packets, unless NULL, then says how many.
 */
CARRY_API int carry_capture_explain(struct carry_capture *capture, uint64_t number,
                                    carry_capture_explain_fn *explain, void *user,
                                    uint64_t *packets);

/* Why a checksum of this frame has its verdict, in one sentence. */
CARRY_API const char *carry_capture_why(const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum);

/* By which of several rules in use it was judged, in words; NULL if there is one rule only. */
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
 * Writes captures in this machine's byte order, with times in nanoseconds. pcapng has an interface
 * for each link type and length of frame check sequence; a pcap file has the link type of its first
 * packet. The first call that adds a packet writes the head of the file.
 *
 * carry_capture_writer_add() returns CARRY_ERROR_INVALID, and writes nothing, for what the format
 * cannot hold:
 *  - a packet above CARRY_CAPTURE_PACKET_MAX, or a link type above 65,535;
 *  - in pcap: another link type, or length of frame check sequence, than the first packet's; a time
 *    beyond 2106; a frame check sequence of an odd length, or above 30 bytes;
 *  - in pcapng: a comment above 65,535 bytes; a frame check sequence above 7 bytes; more than
 * 65,536 interfaces. CARRY_ERROR_WRITE and CARRY_ERROR_MEMORY are final. `comment` may be NULL;
 * pcap has none. carry_capture_writer_end() writes the head if no packet came. The sink need not
 * rewrite.
 */
CARRY_API int carry_capture_writer_create(const struct carry_capture_writer_options *options,
                                          const struct carry_capture_sink *sink,
                                          struct carry_capture_writer **writer);
CARRY_API int carry_capture_writer_add(struct carry_capture_writer *writer,
                                       const struct carry_capture_packet *packet,
                                       const char *comment);
CARRY_API int carry_capture_writer_end(struct carry_capture_writer *writer);

/* errno of the sink, after CARRY_ERROR_WRITE; else 0. */
CARRY_API int carry_capture_writer_errno(const struct carry_capture_writer *writer);
CARRY_API void carry_capture_writer_free(struct carry_capture_writer *writer);

CARRY_END_DECLS

#endif
