/* SPDX-License-Identifier: MIT */
/* Copies captures with their checksums repaired: the pass of repair.h between a source and a sink.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "repair.h"

/* What a compressed capture may unpack to: so many bytes, and so many for each that it holds. */
#define UNPACKED_FREE   ((uint64_t)64 << 20)
#define UNPACKED_FACTOR 200u

struct fix {
    struct repair repair;
    struct carry_capture *capture;
    const struct carry_capture_sink *sink;
    struct carry_capture_progress progress;
    uint64_t drawn;    /* the position that was reported last */
    uint64_t unpacked; /* bytes */
    uint64_t before;   /* bytes of the file that were read before it is copied */
    bool is_bomb;      /* more came out than captures hold */
    bool cancelled;    /* by options.progress */
};

/* Does more come out of a compressed capture than any capture holds? */
static bool is_bomb(const struct fix *fix) {
    const uint64_t most = UNPACKED_FREE + UNPACKED_FACTOR * carry_capture_position(fix->capture);
    return carry_capture_is_compressed(fix->capture) && fix->unpacked > most;
}

static bool take_bytes(void *context, const void *bytes, size_t size) {
    struct fix *fix = context;
    int *error = &fix->repair.sink_error;
    if (size && !*error)
        *error = -fix->sink->write(fix->sink->user, bytes, size);
    fix->unpacked += size;
    fix->is_bomb = is_bomb(fix);
    return !fix->is_bomb && !*error;
}

static bool has_ended(const struct fix *fix) {
    return fix->is_bomb || fix->repair.sink_error || fix->repair.cancelled || fix->cancelled;
}

/* Calls back once for each window. */
static void report_progress(struct fix *fix) {
    const struct carry_capture_fix_options *options = &fix->repair.options;
    const uint64_t position = fix->before + carry_capture_position(fix->capture);
    fix->progress.packets++;
    if (!options->progress || position == fix->drawn || fix->cancelled)
        return;
    fix->drawn = fix->progress.position = position;
    fix->cancelled = !options->progress(options->user, &fix->progress);
}

bool carry_capture_fix_reads_twice(const struct carry_capture *capture,
                                   const struct carry_capture_fix_options *options) {
    const struct carry_packet_options defaults = {0};
    return carry_repair_tells_apart(options ? &options->packet : &defaults) &&
           carry_capture_can_rewind(capture);
}

/* The first time, if it is read twice. */
static int learn(struct fix *fix) {
    struct carry_capture_packet packet;
    if (!carry_capture_fix_reads_twice(fix->capture, &fix->repair.options))
        return CARRY_OK;
    while (!has_ended(fix) && carry_reader_next(fix->capture, &packet) == CARRY_CAPTURE_PACKET) {
        fix->unpacked = carry_input_offset(&fix->capture->input);
        fix->is_bomb = is_bomb(fix);
        carry_repair_learn(&fix->repair, &packet);
        report_progress(fix);
    }
    carry_repair_learned(&fix->repair);
    if (has_ended(fix))
        return CARRY_OK;
    fix->before = carry_capture_position(fix->capture);
    fix->unpacked = fix->progress.packets = 0;
    return carry_capture_rewind(fix->capture);
}

/* Waiting is the time for callbacks, too. */
static bool on_idle(void *context) {
    report_progress(context);
    return !has_ended(context);
}

static int repair_all(struct fix *fix) {
    struct carry_capture_packet packet;
    int result;
    fix->capture->input.watcher = (struct input_watcher){NULL, on_idle, fix};
    while ((result = carry_reader_next(fix->capture, &packet)) == CARRY_CAPTURE_PACKET) {
        carry_repair_packet(&fix->repair, &packet);
        report_progress(fix);
        if (has_ended(fix))
            return CARRY_CAPTURE_END;
    }
    const bool readable = result == CARRY_CAPTURE_END || result == CARRY_ERROR_DAMAGED;
    if (readable && !carry_reader_pass_rest(fix->capture))
        return fix->capture->error.code;
    return result;
}

/* In the order in which one stands for another. */
static int result_of(struct fix *fix, bool has_memory, int end) {
    struct carry_capture *capture = fix->capture;
    if (!has_memory)
        return carry_reader_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (fix->is_bomb) {
        carry_reader_fail(capture, CARRY_ERROR_TOO_LARGE, 0);
        snprintf(capture->error.text, sizeof capture->error.text,
                 "unpacks to far more than captures do");
        return CARRY_ERROR_TOO_LARGE;
    }
    if (fix->repair.sink_error)
        return carry_reader_fail(capture, CARRY_ERROR_WRITE, fix->repair.sink_error);
    if (fix->repair.cancelled || fix->cancelled)
        return carry_reader_fail(capture, CARRY_ERROR_CANCELLED, 0);
    return end;
}

/* Of a file in which nothing is recognised there is no copy. */
static bool is_recognised(struct carry_capture *capture) {
    const enum carry_capture_format format = carry_capture_format(capture);
    return format == CARRY_CAPTURE_FORMAT_PCAP || format == CARRY_CAPTURE_FORMAT_PCAPNG;
}

/* However it ends: if nothing is recognised, the damage is all there is. */
static int refuse(struct carry_capture *capture) {
    const struct carry_capture_packet *packet;
    if (carry_capture_next(capture, &packet) == CARRY_ERROR_DAMAGED)
        capture->error.code = CARRY_ERROR_UNRECOGNISED;
    return capture->error.code;
}

static int run(struct fix *fix) {
    if (fix->capture->packets)
        return carry_reader_fail(fix->capture, CARRY_ERROR_INVALID, 0);
    if (!carry_repair_open(&fix->repair))
        return carry_reader_fail(fix->capture, CARRY_ERROR_MEMORY, ENOMEM);
    if (!is_recognised(fix->capture))
        return refuse(fix->capture);
    int result = learn(fix);
    if (result != CARRY_OK)
        return result;
    if (fix->sink)
        carry_reader_pass_to(fix->capture, take_bytes, fix);
    if (!has_ended(fix))
        result = repair_all(fix);
    result = result_of(fix, carry_repair_end(&fix->repair), result);
    carry_repairs_total(fix->repair.repairs);
    carry_reader_pass_to(fix->capture, NULL, NULL);
    fix->capture->input.watcher = (struct input_watcher){0};
    return result;
}

int carry_capture_fix(struct carry_capture *capture,
                      const struct carry_capture_fix_options *options,
                      const struct carry_capture_sink *sink,
                      struct carry_capture_repairs **repairs) {
    *repairs = calloc(1, sizeof **repairs);
    if (!*repairs)
        return carry_reader_fail(capture, CARRY_ERROR_MEMORY, ENOMEM);
    struct fix fix = {
        .repair = {.capture = capture, .sink = sink, .repairs = *repairs},
        .capture = capture,
        .sink = sink,
    };
    if (options)
        fix.repair.options = *options;
    int result = run(&fix);
    carry_repair_close(&fix.repair);
    return result;
}
