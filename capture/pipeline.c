/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

/*
 * Batches in progress for each thread besides the calling one: enough to keep it busy while the
 * calling thread does something else. Without other threads, the calling thread examines each batch
 * while it is still in the cache.
 */
#define BATCHES_PER_THREAD 8
#define BATCHES_MAX        32u

/* The batch being filled, and the next one. */
#define BATCHES_AHEAD 2

/* Limits batches: a window may hold more of the smallest records than this. */
#define BATCH_PACKETS 8192u

/* Bytes in windows above which batches are finished before more is read: windows grow for huge
   records. */
#define WINDOWS_BYTES ((size_t)20 << 20)

/* Memory that slots and threads must leave for windows and notes. If less is available, fewer of
   them are allocated. */
#define ROOM_BYTES ((size_t)32 << 20)

/*
 * Initial notes of a batch. The calling thread allocates them, as each thread that allocates gets
 * its own heap (glibc: 64 MiB of addresses). A thread whose batch needs more allocates in its own.
 */
#define NOTES_FIRST 64

struct slot {
    struct batch batch;
    struct carry_capture_packet *packets; /* room for the batch's */
    struct window window; /* holds the batch's packets; empty until it is submitted */
    bool examined;
};

/*
 * Batches are numbered; number n is in slot n % slot_count. Those before `finished` are done. Then
 * follow those that a thread has taken, from `taken` on those that wait for a thread, and last the
 * one being filled: its number is `submitted`.
 */
struct pipeline {
    struct pipeline_work work;
    struct slot *slots;
    unsigned slot_count;
    struct threads *threads;
    unsigned threads_wanted, threads_count; /* besides the one that runs the pipeline */

    /* Only for the thread that runs the pipeline. */
    struct carry_capture *capture;
    struct slot *filling; /* the slot of the batch being filled, */
    struct carry_capture_packet
        *next; /* and the place of its next packet; `count` is set when the batch ends */
    uint64_t finished;
    uint64_t read;        /* packets of the capture */
    size_t windows_bytes; /* of batches that are submitted but not finished */
    bool ended;           /* by finish() or watch_pipeline() */

    /* Shared by all threads under the lock, like `examined` of each slot. */
    uint64_t taken, submitted;
    bool closing;
};

static struct slot *batch_slot(struct pipeline *pipeline, uint64_t number) {
    return &pipeline->slots[number % pipeline->slot_count];
}

/* --- Any thread --- */

/* Examines the oldest waiting batch. The lock is held at the call and the return, but not
   meanwhile. */
static void examine_next(struct pipeline *pipeline, unsigned worker) {
    struct slot *slot = batch_slot(pipeline, pipeline->taken++);
    carry_threads_unlock(pipeline->threads);
    pipeline->work.examine(pipeline->work.context, worker, &slot->batch);
    carry_threads_lock(pipeline->threads);
    slot->examined = true;
    carry_threads_signal(pipeline->threads, THREADS_DONE);
}

static void run_worker(void *context, unsigned worker) {
    struct pipeline *pipeline = context;
    carry_threads_lock(pipeline->threads);
    while (!pipeline->closing) {
        if (pipeline->taken == pipeline->submitted)
            carry_threads_wait(pipeline->threads, THREADS_WORK);
        else
            examine_next(pipeline, worker);
    }
    carry_threads_unlock(pipeline->threads);
}

void carry_pipeline_note(struct batch *batch, const struct note *note) {
    if (batch->notes_count == batch->notes_capacity) {
        size_t capacity = 2 * batch->notes_capacity;
        struct note *notes = realloc(batch->notes, capacity * sizeof *notes);
        batch->no_memory |= !notes;
        if (!notes)
            return;
        batch->notes = notes;
        batch->notes_capacity = capacity;
    }
    batch->notes[batch->notes_count++] = *note;
}

/* --- The thread that runs the pipeline --- */

static void start_batch(struct pipeline *pipeline) {
    pipeline->filling = batch_slot(pipeline, pipeline->submitted);
    pipeline->next = pipeline->filling->packets;
}

static void end_batch(struct pipeline *pipeline) {
    struct slot *slot = pipeline->filling;
    slot->batch.packets = slot->packets;
    slot->batch.count = (uint32_t)(pipeline->next - slot->packets);
}

static void empty_batch(struct batch *batch) {
    batch->notes_count = 0;
    batch->no_memory = false;
}

/* Allocates ROOM_BYTES. The pointer is volatile, as Clang removes an allocation that is never
   written. */
static void *allocate_room(void) {
    void *volatile room = malloc(ROOM_BYTES);
    return room;
}

/* Starts the threads, with the second batch: for a single one, they are not worth it. */
static void start_workers(struct pipeline *pipeline) {
    if (pipeline->threads_count == pipeline->threads_wanted)
        return;
    void *room = allocate_room();
    while (
        room && pipeline->threads_count < pipeline->threads_wanted &&
        carry_threads_start(pipeline->threads, run_worker, pipeline, pipeline->threads_count + 1))
        pipeline->threads_count++;
    free(room);
    pipeline->threads_wanted = pipeline->threads_count;
}

static void submit_batch(struct pipeline *pipeline, struct window window) {
    struct slot *slot = pipeline->filling;
    end_batch(pipeline);
    slot->window = window;
    pipeline->windows_bytes += window.capacity;
    carry_threads_lock(pipeline->threads);
    slot->examined = false;
    pipeline->submitted++;
    if (pipeline->submitted - pipeline->taken >= BATCHES_PER_THREAD / 2)
        carry_threads_signal(pipeline->threads, THREADS_WORK);
    carry_threads_unlock(pipeline->threads);
    start_batch(pipeline);
}

/* Waits until the oldest batch was examined, and examines others meanwhile. */
static struct slot *await_oldest(struct pipeline *pipeline) {
    struct slot *slot = batch_slot(pipeline, pipeline->finished);
    carry_threads_lock(pipeline->threads);
    while (!slot->examined) {
        if (pipeline->taken < pipeline->submitted)
            examine_next(pipeline, 0);
        else
            carry_threads_wait(pipeline->threads, THREADS_DONE);
    }
    carry_threads_unlock(pipeline->threads);
    return slot;
}

static void finish_oldest(struct pipeline *pipeline) {
    struct slot *slot = await_oldest(pipeline);
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.finish(pipeline->work.context, &slot->batch);
    empty_batch(&slot->batch);
    pipeline->windows_bytes -= slot->window.capacity;
    if (slot->window.capacity > WINDOW_BYTES) {
        free(slot->window.bytes);
        slot->window = (struct window){0};
    }
    pipeline->finished++;
}

/* Examines a batch and finishes it at once. */
static void do_batch(struct pipeline *pipeline, struct batch *batch) {
    pipeline->work.examine(pipeline->work.context, 0, batch);
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.finish(pipeline->work.context, batch);
    empty_batch(batch);
}

/* Finishes all batches, including the one being filled; its window stays in use. */
static void finish_all(struct pipeline *pipeline) {
    while (pipeline->finished < pipeline->submitted)
        finish_oldest(pipeline);
    end_batch(pipeline);
    if (!pipeline->filling->batch.count)
        return;
    do_batch(pipeline, &pipeline->filling->batch);
    start_batch(pipeline);
}

/* Returns a window for more than `held` bytes: that of the slot after the one being filled, or a
   new one. */
static struct window next_window(struct pipeline *pipeline, size_t held) {
    struct slot *slot = batch_slot(pipeline, pipeline->submitted + 1);
    struct window window = slot->window;
    slot->window = (struct window){0};
    if (window.capacity > held)
        return window;
    free(window.bytes);
    window.capacity = held < WINDOW_BYTES ? WINDOW_BYTES : held + 1;
    window.bytes = malloc(window.capacity);
    return window;
}

static void watch_pipeline(struct pipeline *pipeline) {
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.watch(pipeline->work.context, pipeline->read);
}

/* Gives the input another window, and its current one to the batch whose packets it holds. */
static int submit_window(struct pipeline *pipeline, struct input *input) {
    struct window window = next_window(pipeline, carry_input_held(input));
    if (!window.bytes)
        return ENOMEM;
    start_workers(pipeline);
    submit_batch(pipeline, carry_input_swap(input, window));
    while (pipeline->submitted - pipeline->finished > pipeline->slot_count - BATCHES_AHEAD ||
           pipeline->windows_bytes > WINDOWS_BYTES)
        finish_oldest(pipeline);
    return 0;
}

/* Submits the batch when the input's window is full. */
static int submit_on_full(void *context) {
    struct pipeline *pipeline = context;
    int error = 0;
    if (pipeline->next != pipeline->filling->packets)
        error = submit_window(pipeline, &pipeline->capture->input);
    watch_pipeline(pipeline);
    return pipeline->ended ? ECANCELED : error;
}

/* Finishes all batches when the input is idle, so that what a pipe has delivered is reported. */
static bool finish_on_idle(void *context) {
    struct pipeline *pipeline = context;
    finish_all(pipeline);
    watch_pipeline(pipeline);
    return !pipeline->ended;
}

/* Adds a packet to the batch, and copies it there if another batch began since it was read. */
static void add_packet(struct pipeline *pipeline, const struct carry_capture_packet *packet) {
    if (pipeline->next != packet)
        *pipeline->next = *packet;
    if (++pipeline->next < pipeline->filling->packets + BATCH_PACKETS)
        return;
    finish_all(pipeline);
    watch_pipeline(pipeline);
}

static bool pipeline_selects(const struct pipeline *pipeline,
                             const struct carry_capture_packet *packet) {
    const struct pipeline_work *work = &pipeline->work;
    return !work->select || work->select(work->context, packet);
}

int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit) {
    int result = CARRY_CAPTURE_END;
    pipeline->capture = capture;
    pipeline->ended = false;
    capture->input.watcher =
        (struct input_watcher){.full = submit_on_full, .idle = finish_on_idle, .context = pipeline};
    for (pipeline->read = 0; limit && !pipeline->ended; pipeline->read++) {
        /* Read into its place in the batch: a copy would load in wide words what was just stored in
           narrow ones, and stall (6 % of the time of carry check, on Zen 5). */
        struct carry_capture_packet *packet = pipeline->next;
        result = carry_reader_next(capture, packet);
        if (result != CARRY_CAPTURE_PACKET)
            break;
        if (!pipeline_selects(pipeline, packet))
            continue;
        add_packet(pipeline, packet);
        limit--;
    }
    finish_all(pipeline);
    watch_pipeline(pipeline);
    capture->input.watcher = (struct input_watcher){0};
    return result == CARRY_CAPTURE_PACKET ? CARRY_CAPTURE_END : result;
}

bool carry_pipeline_pass(struct pipeline *pipeline, const struct carry_capture_packet *packets,
                         size_t count) {
    struct batch *batch = &pipeline->filling->batch;
    pipeline->ended = false;
    for (size_t done = 0; done < count && !pipeline->ended; done += batch->count) {
        batch->packets = packets + done;
        batch->count = (uint32_t)(count - done < BATCH_PACKETS ? count - done : BATCH_PACKETS);
        do_batch(pipeline, batch);
    }
    return !pipeline->ended;
}

/* Skips tallies without packets: after a short capture, most have none. */
void carry_pipeline_take_tally(struct pipeline *pipeline, struct tally *tally) {
    for (unsigned i = 0; i < pipeline->slot_count; i++) {
        struct batch *batch = &pipeline->slots[i].batch;
        if (!batch->tally.totals.packets)
            continue;
        carry_tally_merge(tally, &batch->tally);
        batch->tally = (struct tally){0};
    }
}

static bool allocate_slot(struct slot *slot) {
    struct batch *batch = &slot->batch;
    slot->packets = malloc(BATCH_PACKETS * sizeof *slot->packets);
    batch->notes = malloc(NOTES_FIRST * sizeof *batch->notes);
    batch->notes_capacity = NOTES_FIRST;
    if (slot->packets && batch->notes)
        return true;
    free(slot->packets);
    free(batch->notes);
    return false;
}

/* Allocates as many slots as memory allows, but no fewer than one thread needs. */
static bool allocate_slots(struct pipeline *pipeline, unsigned slots) {
    void *room = allocate_room();
    unsigned wanted = room ? slots : BATCHES_AHEAD;
    pipeline->slots = calloc(slots, sizeof *pipeline->slots);
    while (pipeline->slots && pipeline->slot_count < wanted &&
           allocate_slot(&pipeline->slots[pipeline->slot_count]))
        pipeline->slot_count++;
    free(room);
    return pipeline->slot_count >= BATCHES_AHEAD;
}

struct pipeline *carry_pipeline_open(unsigned threads, const struct pipeline_work *work) {
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline)
        return NULL;
    unsigned slots = BATCHES_PER_THREAD * (threads - 1) + BATCHES_AHEAD;
    pipeline->threads_wanted = threads - 1;
    pipeline->work = *work;
    pipeline->threads = carry_threads_create();
    if (!pipeline->threads ||
        !allocate_slots(pipeline, slots < BATCHES_MAX ? slots : BATCHES_MAX)) {
        carry_pipeline_close(pipeline);
        return NULL;
    }
    start_batch(pipeline);
    return pipeline;
}

static void end_workers(struct pipeline *pipeline) {
    if (!pipeline->threads)
        return;
    carry_threads_lock(pipeline->threads);
    pipeline->closing = true;
    carry_threads_broadcast(pipeline->threads, THREADS_WORK);
    carry_threads_unlock(pipeline->threads);
    carry_threads_free(pipeline->threads);
}

void carry_pipeline_close(struct pipeline *pipeline) {
    if (!pipeline)
        return;
    end_workers(pipeline);
    for (unsigned i = 0; pipeline->slots && i < pipeline->slot_count; i++) {
        free(pipeline->slots[i].packets);
        free(pipeline->slots[i].batch.notes);
        free(pipeline->slots[i].window.bytes);
    }
    free(pipeline->slots);
    free(pipeline);
}
