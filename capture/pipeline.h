/* SPDX-License-Identifier: MIT */
/*
 * Processes a capture's packets in several threads, and finishes them in their order.
 *
 * The calling thread reads, and ends a batch of packets where a window of the input is full. Any
 * thread examines a batch, independently of others; then the calling thread finishes the batches in
 * the order of the packets. While the calling thread must not read further, it examines batches
 * too. So everything that depends on the order is the same for any number of threads, including
 * one, wherever batches end. The ring of batches limits memory, whatever the input holds.
 */
#ifndef CARRY_CAPTURE_SRC_PIPELINE_H
#define CARRY_CAPTURE_SRC_PIPELINE_H

#include "format.h"
#include "summary.h"

/* The reasons why the finishing thread must see a packet. */
enum note_kind {
    NOTE_SUM,          /* a possible finding, whose sender is remembered */
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
    uint32_t count, done; /* packets, and how many of them were examined before */
    struct tally tally;   /* counts of this and earlier batches in the slot */
    struct note *notes;   /* in the order of the packets */
    size_t notes_count, notes_capacity;
    bool no_memory; /* some note could not be stored */
};

struct pipeline_work {
    /* Examines the packets of a batch after the first `done`, in any thread. `worker` is the
       thread's number: from 0, and below the number of threads. */
    void (*examine)(void *context, unsigned worker, struct batch *batch);
    /* Finishes a batch: in the thread that runs the pipeline, and in the order of the packets.
       False ends the pipeline. */
    bool (*finish)(void *context, const struct batch *batch);
    /* Checks whether finish() will read packets without notes. It stays so for a capture. */
    bool (*reads)(void *context);
    /* Decides, in the thread that runs the pipeline, whether a packet is processed. NULL: all
       packets are. */
    bool (*select)(void *context, const struct carry_capture_packet *packet);
    /* Watches the progress, in the thread that runs the pipeline, after batches were finished;
       `packets` of the capture were read. False ends the pipeline. */
    bool (*watch)(void *context, uint64_t packets);
    bool copies; /* examine() may not be left: it needs packets whose bytes cannot vanish */
    void *context;
};

struct pipeline;

/* Opens a pipeline of `threads` threads, including the calling one; fewer if the system cannot
   start them. Returns NULL if there is no memory. */
struct pipeline *carry_pipeline_open(unsigned threads, const struct pipeline_work *work);
void carry_pipeline_close(struct pipeline *pipeline);

/*
 * Processes a capture's next `limit` selected packets, and finishes all batches. Returns the result
 * of the reader that ended the run, or CARRY_CAPTURE_END at the limit or if finish() or watch()
 * returned false.
 */
int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit);

/*
 * Examines and finishes packets of the caller, in the calling thread, between runs. Returns false
 * if finish() returned false: the rest was not examined.
 */
bool carry_pipeline_pass(struct pipeline *pipeline, const struct carry_capture_packet *packets,
                         size_t count);

/* Adds to `tally` all counts of the batches since the last call. Call it only between runs. */
void carry_pipeline_take_tally(struct pipeline *pipeline, struct tally *tally);

/* Adds a note to a batch, in examine(). */
void carry_pipeline_note(struct batch *batch, const struct note *note);

#endif
