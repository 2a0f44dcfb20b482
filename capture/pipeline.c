/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

/*
 * Batches under way for each thread beside the calling one: enough to keep it busy while that does
 * something else. Alone, the calling thread looks at each batch while the cache still has it.
 */
#define BATCHES_PER_THREAD 8
#define BATCHES_MAX        32u

/* The batch that is being filled, and the one that will be next. */
#define BATCHES_AHEAD 2

/* Of records of the least size, a batch holds fewer than would fit into its window. */
#define BATCH_PACKETS 8192u

/* Windows that had to grow for a huge record are looked at before more are read. */
#define WINDOWS_BYTES ((size_t)20 << 20)

/* Memory that slots and threads leave to windows and notes: without it, there are fewer of them. */
#define ROOM_BYTES ((size_t)32 << 20)

/*
 * Notes that a batch begins with. They come from the calling thread, as each thread that allocates
 * gets a heap of its own (glibc: 64 MiB of addresses); one that asks for more stays in theirs.
 */
#define NOTES_FIRST 64

struct slot {
    struct batch batch;
    struct carry_capture_packet *packets; /* room for the batch's */
    struct window window; /* the batch's packets lie here; empty until it is submitted */
    bool looked_at;
};

/*
 * Batches are numbered; number n lies in slot n % slot_count. Those before `finished` are history,
 * then come those that were taken by a thread, then those that wait for one, then the one that is
 * being filled: its number is `submitted`.
 */
struct pipeline {
    struct pipeline_work work;
    struct slot *slots;
    unsigned slot_count;
    struct threads *threads;
    unsigned threads_wanted, threads_count; /* beside the one that runs the pipeline */

    /* Of the thread that runs the pipeline. */
    struct carry_capture *capture;
    struct slot *filling; /* where the batch lies that is being filled, */
    struct carry_capture_packet
        *next; /* and where its next packet will lie; its count is told in the end */
    uint64_t finished;
    uint64_t read;        /* packets of the capture */
    size_t windows_bytes; /* of the batches submitted and not finished */
    bool ended;           /* by finish() or watch() */

    /* Of all threads, as looked_at of each slot is: with the lock held. */
    uint64_t taken, submitted;
    bool closing;
};

static struct slot *slot_of(struct pipeline *pipeline, uint64_t number) {
    return &pipeline->slots[number % pipeline->slot_count];
}

/* --- Any thread --- */

/* Looks at the batch that has waited longest; the lock is held, but not meanwhile. */
static void look_at_next(struct pipeline *pipeline, unsigned worker) {
    struct slot *slot = slot_of(pipeline, pipeline->taken++);
    carry_threads_unlock(pipeline->threads);
    pipeline->work.look(pipeline->work.context, worker, &slot->batch);
    carry_threads_lock(pipeline->threads);
    slot->looked_at = true;
    carry_threads_signal(pipeline->threads, THREADS_DONE);
}

static void run_thread(void *context, unsigned worker) {
    struct pipeline *pipeline = context;
    carry_threads_lock(pipeline->threads);
    while (!pipeline->closing) {
        if (pipeline->taken == pipeline->submitted)
            carry_threads_wait(pipeline->threads, THREADS_WORK);
        else
            look_at_next(pipeline, worker);
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
    pipeline->filling = slot_of(pipeline, pipeline->submitted);
    pipeline->next = pipeline->filling->packets;
}

static void end_batch(struct pipeline *pipeline) {
    struct slot *slot = pipeline->filling;
    slot->batch.packets = slot->packets;
    slot->batch.count = (uint32_t)(pipeline->next - slot->packets);
}

static void empty(struct batch *batch) {
    batch->notes_count = 0;
    batch->no_memory = false;
}

/* Volatile, as Clang drops memory that nobody writes to. */
static void *take_room(void) {
    void *volatile room = malloc(ROOM_BYTES);
    return room;
}

/* Threads are worth their start once there is a second batch. */
static void start_threads(struct pipeline *pipeline) {
    if (pipeline->threads_count == pipeline->threads_wanted)
        return;
    void *room = take_room();
    while (
        room && pipeline->threads_count < pipeline->threads_wanted &&
        carry_threads_start(pipeline->threads, run_thread, pipeline, pipeline->threads_count + 1))
        pipeline->threads_count++;
    free(room);
    pipeline->threads_wanted = pipeline->threads_count;
}

static void submit(struct pipeline *pipeline, struct window window) {
    struct slot *slot = pipeline->filling;
    end_batch(pipeline);
    slot->window = window;
    pipeline->windows_bytes += window.capacity;
    carry_threads_lock(pipeline->threads);
    slot->looked_at = false;
    pipeline->submitted++;
    if (pipeline->submitted - pipeline->taken >= BATCHES_PER_THREAD / 2)
        carry_threads_signal(pipeline->threads, THREADS_WORK);
    carry_threads_unlock(pipeline->threads);
    start_batch(pipeline);
}

/* Waits until the oldest batch was looked at, and looks at others meanwhile. */
static struct slot *await_oldest(struct pipeline *pipeline) {
    struct slot *slot = slot_of(pipeline, pipeline->finished);
    carry_threads_lock(pipeline->threads);
    while (!slot->looked_at) {
        if (pipeline->taken < pipeline->submitted)
            look_at_next(pipeline, 0);
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
    empty(&slot->batch);
    pipeline->windows_bytes -= slot->window.capacity;
    if (slot->window.capacity > WINDOW_BYTES) {
        free(slot->window.bytes);
        slot->window = (struct window){0};
    }
    pipeline->finished++;
}

/* Looks at a batch and finishes it, at once. */
static void do_batch(struct pipeline *pipeline, struct batch *batch) {
    pipeline->work.look(pipeline->work.context, 0, batch);
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.finish(pipeline->work.context, batch);
    empty(batch);
}

/* Finishes what is under way, and the batch that is being filled, of which the window stays. */
static void finish_all(struct pipeline *pipeline) {
    while (pipeline->finished < pipeline->submitted)
        finish_oldest(pipeline);
    end_batch(pipeline);
    if (!pipeline->filling->batch.count)
        return;
    do_batch(pipeline, &pipeline->filling->batch);
    start_batch(pipeline);
}

/* A window for `held` bytes and more: that of the slot which will be filled next, or a new one. */
static struct window next_window(struct pipeline *pipeline, size_t held) {
    struct slot *slot = slot_of(pipeline, pipeline->submitted + 1);
    struct window window = slot->window;
    slot->window = (struct window){0};
    if (window.capacity > held)
        return window;
    free(window.bytes);
    window.capacity = held < WINDOW_BYTES ? WINDOW_BYTES : held + 1;
    window.bytes = malloc(window.capacity);
    return window;
}

static void watch(struct pipeline *pipeline) {
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.watch(pipeline->work.context, pipeline->read);
}

/* Gives the input another window, and this one to the batch that lies in it. */
static int hand_over(struct pipeline *pipeline, struct input *input) {
    struct window window = next_window(pipeline, carry_input_held(input));
    if (!window.bytes)
        return ENOMEM;
    start_threads(pipeline);
    submit(pipeline, carry_input_swap(input, window));
    while (pipeline->submitted - pipeline->finished > pipeline->slot_count - BATCHES_AHEAD ||
           pipeline->windows_bytes > WINDOWS_BYTES)
        finish_oldest(pipeline);
    return 0;
}

/* The input's window is full. */
static int on_full(void *context) {
    struct pipeline *pipeline = context;
    int error = 0;
    if (pipeline->next != pipeline->filling->packets)
        error = hand_over(pipeline, &pipeline->capture->input);
    watch(pipeline);
    return pipeline->ended ? ECANCELED : error;
}

/* Whoever watches a pipe is to see what has come so far. */
static bool on_idle(void *context) {
    struct pipeline *pipeline = context;
    finish_all(pipeline);
    watch(pipeline);
    return !pipeline->ended;
}

/* Adds the packet that was read to where the next was to lie, unless another batch began. */
static void add(struct pipeline *pipeline, const struct carry_capture_packet *packet) {
    if (pipeline->next != packet)
        *pipeline->next = *packet;
    if (++pipeline->next < pipeline->filling->packets + BATCH_PACKETS)
        return;
    finish_all(pipeline);
    watch(pipeline);
}

static bool selects(const struct pipeline *pipeline, const struct carry_capture_packet *packet) {
    const struct pipeline_work *work = &pipeline->work;
    return !work->select || work->select(work->context, packet);
}

int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit) {
    int result = CARRY_CAPTURE_END;
    pipeline->capture = capture;
    pipeline->ended = false;
    capture->input.watcher =
        (struct input_watcher){.full = on_full, .idle = on_idle, .context = pipeline};
    for (pipeline->read = 0; limit && !pipeline->ended; pipeline->read++) {
        /* Read where it stays: a copy would load in wide words what was just stored in narrow ones,
           and wait for it (6 % of the time that carry check takes, on Zen 5). */
        struct carry_capture_packet *packet = pipeline->next;
        result = carry_reader_next(capture, packet);
        if (result != CARRY_CAPTURE_PACKET)
            break;
        if (!selects(pipeline, packet))
            continue;
        add(pipeline, packet);
        limit--;
    }
    finish_all(pipeline);
    watch(pipeline);
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

/* What is in a batch's tally was counted with a packet. Of few packets, most batches had none. */
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

/* As many slots as there is memory for, but no fewer than one thread needs. */
static bool allocate(struct pipeline *pipeline, unsigned slots) {
    void *room = take_room();
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
    if (!pipeline->threads || !allocate(pipeline, slots < BATCHES_MAX ? slots : BATCHES_MAX)) {
        carry_pipeline_close(pipeline);
        return NULL;
    }
    start_batch(pipeline);
    return pipeline;
}

static void end_threads(struct pipeline *pipeline) {
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
    end_threads(pipeline);
    for (unsigned i = 0; pipeline->slots && i < pipeline->slot_count; i++) {
        free(pipeline->slots[i].packets);
        free(pipeline->slots[i].batch.notes);
        free(pipeline->slots[i].window.bytes);
    }
    free(pipeline->slots);
    free(pipeline);
}
