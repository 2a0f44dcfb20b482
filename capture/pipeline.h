/* SPDX-License-Identifier: MIT */
/*
 * Processes a capture's packets in several threads, and finishes them in their order.
 *
 * The calling thread reads, and ends a batch of packets where a window of the input is full. Any
 * thread examines a batch, independently of others; then the calling thread finishes the batches in
 * the order of the packets. While it must not read on, it examines batches like the others. So all
 * that depends on the order is the same for any number of threads, including one, wherever batches
 * end. The ring of batches limits memory, whatever the input holds.
 */
#ifndef CARRY_CAPTURE_SRC_PIPELINE_H
#define CARRY_CAPTURE_SRC_PIPELINE_H

#include "format.h"
#include "summary.h"

/* Why the finishing thread must see a packet. */
enum note_kind {
    NOTE_SUM,          /* a sum whose sender must be remembered */
    NOTE_UNKNOWN_LINK, /* a packet of a link type that the walk does not know */
    NOTE_FRAGMENT,     /* a packet that holds a fragment */
};

struct note {
    uint32_t packet; /* its index in the batch */
    uint32_t kind;   /* enum note_kind */
    struct carry_packet_sum sum;
    struct evidence evidence;
};

struct batch {
    const struct carry_capture_packet *packets; /* valid, with their bytes, until it is finished */
    uint32_t count;
    struct tally tally; /* includes those of earlier batches */
    struct note *notes; /* in the order of the packets */
    size_t notes_count, notes_capacity;
    bool no_memory; /* some note could not be stored */
};

struct pipeline_work {
    /* Examines a batch, in any thread. `worker` is the thread's number: from 0, and below the
       number of threads. */
    void (*examine)(void *context, unsigned worker, struct batch *batch);
    /* Finishes a batch: in the thread that runs the pipeline, and in the order of the packets.
       False ends the pipeline. */
    bool (*finish)(void *context, const struct batch *batch);
    /* Selects each packet as that thread reads it; false skips it. NULL: all are processed. */
    bool (*select)(void *context, const struct carry_capture_packet *packet);
    /* Watches the progress, in that thread, after batches were finished; `packets` of the capture
       were read. False ends the pipeline. */
    bool (*watch)(void *context, uint64_t packets);
    void *context;
};

struct pipeline;

/* Opens a pipeline of `threads`, including the calling one; fewer if the system cannot start them.
   NULL if there is no memory. */
struct pipeline *carry_pipeline_open(unsigned threads, const struct pipeline_work *work);
void carry_pipeline_close(struct pipeline *pipeline);

/*
 * Processes a capture's next `limit` selected packets. Returns what ended it, with all batches
 * finished; CARRY_CAPTURE_END at the limit, or if finish() or watch() returned false.
 */
int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit);

/*
 * Examines and finishes packets of the caller, in the calling thread, between runs. Returns false
 * if finish() returned false: the rest was not examined.
 */
bool carry_pipeline_pass(struct pipeline *pipeline, const struct carry_capture_packet *packets,
                         size_t count);

/* Adds to `tally` all that the batches counted since the last call. Call it only between runs. */
void carry_pipeline_take_tally(struct pipeline *pipeline, struct tally *tally);

/* Adds a note to a batch, in examine(). */
void carry_pipeline_note(struct batch *batch, const struct note *note);

#endif
