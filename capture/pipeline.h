/* SPDX-License-Identifier: MIT */
/*
 * Carries a capture's packets through several threads and back into their order.
 *
 * The calling thread reads, and cuts the packets into batches where a window of the input is full;
 * any thread looks at a batch, on its own; then the calling thread finishes the batches in the
 * order of the packets. When it has nothing to read into, it looks at batches like the others. So
 * all that is done in order is the same for any number of threads, one included, wherever batches
 * end. Memory is bounded by the ring of batches, whatever the input holds.
 */
#ifndef CARRY_CAPTURE_SRC_PIPELINE_H
#define CARRY_CAPTURE_SRC_PIPELINE_H

#include "format.h"
#include "summary.h"

/* Why a packet has to be looked at again, in the order of the packets. */
enum note_kind {
    NOTE_SUM,          /* a sum whose sender is remembered */
    NOTE_UNKNOWN_LINK, /* a packet that the walk cannot look into */
    NOTE_FRAGMENT,     /* a packet that holds a part of a datagram */
};

struct note {
    uint32_t packet; /* its index in the batch */
    uint32_t kind;   /* enum note_kind */
    struct carry_packet_sum sum;
    struct evidence evidence;
};

struct batch {
    const struct carry_capture_packet *packets; /* their bytes stay until the batch is finished */
    uint32_t count;
    struct tally tally; /* of former batches too */
    struct note *notes; /* in the order of the packets */
    size_t notes_count, notes_capacity;
    bool no_memory; /* for all notes */
};

struct pipeline_work {
    /* Called by any thread, for one batch at a time. `worker` is its number, from 0, below the
       number of threads. */
    void (*look)(void *context, unsigned worker, struct batch *batch);
    /* Called by the thread that runs the pipeline, in the order of the packets; false ends it. */
    bool (*finish)(void *context, const struct batch *batch);
    /* Called by that thread for each packet as it is read: does it go through? NULL: all do. */
    bool (*select)(void *context, const struct carry_capture_packet *packet);
    /* Called by that thread where batches were finished; this many packets of the capture were
       read. False ends it. */
    bool (*watch)(void *context, uint64_t packets);
    void *context;
};

struct pipeline;

/* `threads` with the calling one; NULL without memory. Fewer are started where more cannot be. */
struct pipeline *carry_pipeline_open(unsigned threads, const struct pipeline_work *work);
void carry_pipeline_close(struct pipeline *pipeline);

/*
 * Sends a capture's next `limit` selected packets through. Returns what ended it, with all batches
 * finished; CARRY_CAPTURE_END at the limit, or where finish() or watch() ended it.
 */
int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit);

/*
 * Looks at packets of the caller's and finishes them, in the calling thread, between runs. False if
 * finish() returned false: the rest was not looked at.
 */
bool carry_pipeline_pass(struct pipeline *pipeline, const struct carry_capture_packet *packets,
                         size_t count);

/* Adds what the batches' tallies hold since this was last called, between runs. */
void carry_pipeline_take_tally(struct pipeline *pipeline, struct tally *tally);

/* Adds a note to a batch, for look(). */
void carry_pipeline_note(struct batch *batch, const struct note *note);

#endif
