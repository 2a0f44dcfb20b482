/* SPDX-License-Identifier: MIT */
/* Copies captures with their checksums repaired: reads packets from a source, repairs them, and
   writes to a sink. */
#include <errno.h>
#include <stdlib.h>

#include "repair.h"

/* The most bytes to which a compressed capture may unpack: UNPACKED_FREE, plus UNPACKED_FACTOR for
   each compressed byte. */
#define UNPACKED_FREE   ((uint64_t)64 << 20)
#define UNPACKED_FACTOR 200u

struct fix {
    struct repair repair;
    struct carry_capture *capture;
    const struct carry_capture_sink *sink;
    struct carry_capture_progress progress;
    uint64_t before; /* bytes of the file that the first pass read */
    bool is_bomb;    /* the capture unpacks to more than the limit */
    bool cancelled;  /* options.progress cancelled */
};

/* Sets is_bomb if a compressed capture unpacks to more than the limit. */
static void count_bytes(struct fix *fix) {
    const struct carry_capture *capture = fix->capture;
    if (carry_capture_is_compressed(capture))
        fix->is_bomb |= carry_input_offset(&capture->input) >
                        UNPACKED_FREE + UNPACKED_FACTOR * carry_capture_position(capture);
}

/* Writes a changed span, as far as it is before `end`. */
static int rewrite_span(struct fix *fix, const struct span *span, const uint8_t *bytes,
                        uint64_t end) {
    const uint64_t start = carry_input_start(&fix->capture->input);
    const uint64_t from = span->from > start ? span->from : start;
    const uint64_t to = span->to < end ? span->to : end;
    return from < to ? fix->sink->rewrite(fix->sink->user, from, bytes + (from - start),
                                          (size_t)(to - from))
                     : 0;
}

/* Writes the changed blocks among the bytes that leave the window, for a sink that holds the
   others. Returns 0 or a negative errno. */
static int rewrite_changed(struct fix *fix, const uint8_t *bytes, size_t size) {
    const struct spans changed = fix->repair.changed;
    const uint64_t end = carry_input_start(&fix->capture->input) + size;
    int result = 0;
    fix->repair.changed.count = 0;
    for (const struct span *span = changed.all; span < changed.all + changed.count && !result;
         span++) {
        result = rewrite_span(fix, span, bytes, end);
        if (span->to > end)
            carry_spans_add(&fix->repair.changed, end, span->to);
    }
    return result;
}

static bool take_bytes(void *context, const void *bytes, size_t size) {
    struct fix *fix = context;
    const struct carry_capture_sink *sink = fix->sink;
    int *error = &fix->repair.sink_error;
    if (size && !*error)
        *error = -(sink->write ? sink->write(sink->user, bytes, size)
                               : rewrite_changed(fix, bytes, size));
    count_bytes(fix);
    return !fix->is_bomb && !*error;
}

static bool fix_has_ended(const struct fix *fix) {
    return fix->is_bomb || fix->repair.sink_error || fix->repair.cancelled || fix->cancelled;
}

static bool is_stream(const struct fix *fix) {
    return fix->sink && !fix->sink->rewrite;
}

/* Checks whether the sink holds all bytes already. */
static bool is_place(const struct fix *fix) {
    return fix->sink && !fix->sink->write;
}

static void report_progress(struct fix *fix) {
    const struct carry_capture_fix_options *options = &fix->repair.options;
    fix->progress.position = fix->before + carry_capture_position(fix->capture);
    if (options->progress)
        fix->cancelled |= !options->progress(options->user, &fix->progress);
}

static bool wants_more(struct fix *fix) {
    report_progress(fix);
    return !fix_has_ended(fix);
}

/* Counts bytes between packets too: a single skipped block may unpack to any number of bytes. */
static int count_on_full(void *context) {
    count_bytes(context);
    return wants_more(context) ? 0 : ECANCELED;
}

/* Keeps fragments in the window until the rest of their datagram arrives, as long as reading does
   not wait. */
static uint64_t keep_fragments(void *context, uint64_t from) {
    const struct fix *fix = context;
    return carry_reassembler_earliest(fix->repair.reassembler, from);
}

/* Keeps the block that the next packet may change, too, so that whole blocks are rewritten. */
static uint64_t keep_block(void *context, uint64_t from) {
    const struct fix *fix = context;
    const uint64_t block = carry_input_offset(&fix->capture->input) & ~(SPANS_BLOCK - 1);
    return block > from ? block : from;
}

/* Flushes while the input is idle, so that a reader of the stream gets each packet at once. */
static bool flush_on_idle(void *context) {
    struct fix *fix = context;
    if (is_stream(fix))
        carry_input_flush(&fix->capture->input);
    return wants_more(fix);
}

bool carry_capture_fix_reads_twice(const struct carry_capture *capture,
                                   const struct carry_capture_fix_options *options) {
    const struct carry_packet_options defaults = {0};
    return carry_repair_wants_either_only(options ? &options->packet : &defaults) &&
           carry_capture_can_rewind(capture);
}

static bool fix_selects(const struct fix *fix, const struct carry_capture_packet *packet) {
    const struct carry_capture_fix_options *options = &fix->repair.options;
    return !options->select || options->select(options->user, packet);
}

/* Learns about senders in a first pass, if the capture is read twice. */
static int learn_senders(struct fix *fix) {
    struct carry_capture_packet packet;
    if (!carry_capture_fix_reads_twice(fix->capture, &fix->repair.options))
        return CARRY_OK;
    while (!fix_has_ended(fix) &&
           carry_reader_next(fix->capture, &packet) == CARRY_CAPTURE_PACKET) {
        count_bytes(fix);
        if (fix_selects(fix, &packet))
            carry_repair_learn(&fix->repair, &packet);
        fix->progress.packets++;
    }
    carry_repair_learned(&fix->repair);
    if (fix_has_ended(fix))
        return CARRY_OK;
    fix->before = carry_capture_position(fix->capture);
    fix->progress.packets = 0;
    return carry_capture_rewind(fix->capture);
}

static int repair_packets(struct fix *fix) {
    struct carry_capture_packet packet;
    int result;
    while ((result = carry_reader_next(fix->capture, &packet)) == CARRY_CAPTURE_PACKET) {
        if (fix_selects(fix, &packet))
            carry_repair_packet(&fix->repair, &packet);
        else
            fix->repair.repairs->totals.unselected++;
        count_bytes(fix);
        fix->progress.packets++;
        if (fix_has_ended(fix))
            return CARRY_CAPTURE_END;
    }
    const bool readable = result == CARRY_CAPTURE_END || result == CARRY_ERROR_DAMAGED;
    if (readable && !carry_reader_pass_rest(fix->capture))
        return fix->capture->error.code;
    return result;
}

/* Returns the first failure in the order of these conditions, or else `end`. */
static int fix_result(struct fix *fix, bool has_memory, int end) {
    struct carry_capture *capture = fix->capture;
    if (!has_memory)
        return carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (fix->is_bomb)
        return carry_format_fail_text(capture, CARRY_ERROR_TOO_LARGE,
                                      "decompresses to far more bytes than captures do");
    if (fix->repair.sink_error)
        return carry_format_fail(capture, CARRY_ERROR_WRITE, fix->repair.sink_error);
    if (fix->repair.cancelled || fix->cancelled)
        return carry_format_end(capture, CARRY_ERROR_CANCELLED, 0);
    return end;
}

/* Returns the error for a file of an unrecognised format. Damage at its beginning counts as
   unrecognised. */
static int refuse_capture(struct fix *fix) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture = fix->capture;
    if (fix_has_ended(fix))
        return carry_format_end(capture, CARRY_ERROR_CANCELLED, 0);
    int code = carry_capture_next(capture, &packet);
    if (code == CARRY_ERROR_DAMAGED)
        capture->error.code = code = CARRY_ERROR_UNRECOGNISED;
    return code < 0 ? code : carry_format_fail(capture, CARRY_ERROR_UNRECOGNISED, 0);
}

static int copy_capture(struct fix *fix) {
    int result = learn_senders(fix);
    if (result != CARRY_OK)
        return result;
    if (fix->sink)
        carry_reader_pass_to(fix->capture, take_bytes, fix);
    if (!fix_has_ended(fix))
        result = repair_packets(fix);
    result = fix_result(fix, carry_repair_end(&fix->repair), result);
    carry_repairs_total(fix->repair.repairs);
    carry_reader_pass_to(fix->capture, NULL, NULL);
    return result;
}

static int run_repair(struct fix *fix) {
    struct carry_capture *capture = fix->capture;
    if (!carry_reader_is_fresh(capture))
        return carry_format_fail_text(capture, CARRY_ERROR_INVALID, "has been read from already");
    if (fix->sink && !fix->sink->write && !fix->sink->rewrite)
        return carry_format_fail_text(capture, CARRY_ERROR_INVALID, "has no place for its copy");
    if (!carry_repair_open(&fix->repair))
        return carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    capture->input.watcher = (struct input_watcher){
        .full = count_on_full,
        .idle = flush_on_idle,
        .keep = is_stream(fix)  ? keep_fragments
                : is_place(fix) ? keep_block
                                : NULL,
        .context = fix,
    };
    int result = carry_reader_recognises(capture) ? copy_capture(fix) : refuse_capture(fix);
    capture->input.watcher = (struct input_watcher){0};
    return result;
}

int carry_capture_fix(struct carry_capture *capture,
                      const struct carry_capture_fix_options *options,
                      const struct carry_capture_sink *sink,
                      struct carry_capture_repairs **repairs) {
    *repairs = calloc(1, sizeof **repairs);
    if (!*repairs)
        return carry_format_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    struct fix fix = {
        .repair = {.capture = capture, .sink = sink, .repairs = *repairs},
        .capture = capture,
        .sink = sink,
    };
    if (options)
        fix.repair.options = *options;
    int result = run_repair(&fix);
    carry_repair_close(&fix.repair);
    return result;
}
