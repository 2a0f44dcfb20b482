/* SPDX-License-Identifier: MIT */
#include "capture/pipeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/progress.h"
#include "common/signals.h"

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
    unsigned threads_wanted, threads_count; /* beside the one that runs the pipeline */
    pthread_t threads[PIPELINE_THREADS_MAX];

    /* Of the thread that runs the pipeline. */
    struct capture *capture;
    struct slot *filling; /* where the batch lies that is being filled, */
    struct packet *next;  /* and where its next packet will lie; its count is told in the end */
    uint64_t finished;
    uint64_t read;        /* packets of the capture */
    size_t windows_bytes; /* of the batches submitted and not finished */
    bool ended;           /* by finish() */

    pthread_mutex_t mutex; /* for what follows, and looked_at of each slot */
    pthread_cond_t submission, completion;
    uint64_t taken, submitted;
    bool closing;
};

static struct slot *slot_of(struct pipeline *pipeline, uint64_t number) {
    return &pipeline->slots[number % pipeline->slot_count];
}

/* --- Any thread --- */

/* Looks at the batch that has waited longest; the mutex is held, but not meanwhile. */
static void look_at_next(struct pipeline *pipeline) {
    struct slot *slot = slot_of(pipeline, pipeline->taken++);
    pthread_mutex_unlock(&pipeline->mutex);
    pipeline->work.look(pipeline->work.context, &slot->batch);
    pthread_mutex_lock(&pipeline->mutex);
    slot->looked_at = true;
    pthread_cond_signal(&pipeline->completion);
}

static void *run_thread(void *context) {
    struct pipeline *pipeline = context;
    pthread_mutex_lock(&pipeline->mutex);
    while (!pipeline->closing) {
        if (pipeline->taken == pipeline->submitted)
            pthread_cond_wait(&pipeline->submission, &pipeline->mutex);
        else
            look_at_next(pipeline);
    }
    pthread_mutex_unlock(&pipeline->mutex);
    return NULL;
}

void pipeline_note(struct batch *batch, const struct note *note) {
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
    pipeline->next = pipeline->filling->batch.packets;
}

static void end_batch(struct pipeline *pipeline) {
    struct batch *batch = &pipeline->filling->batch;
    batch->count = (uint32_t)(pipeline->next - batch->packets);
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
    sigset_t before;
    if (pipeline->threads_count == pipeline->threads_wanted)
        return;
    void *room = take_room();
    signals_hold(&before);
    while (room && pipeline->threads_count < pipeline->threads_wanted &&
           pthread_create(&pipeline->threads[pipeline->threads_count], NULL, run_thread,
                          pipeline) == 0)
        pipeline->threads_count++;
    signals_release(&before);
    free(room);
    pipeline->threads_wanted = pipeline->threads_count;
}

static void submit(struct pipeline *pipeline, struct window window) {
    struct slot *slot = pipeline->filling;
    end_batch(pipeline);
    slot->window = window;
    pipeline->windows_bytes += window.capacity;
    pthread_mutex_lock(&pipeline->mutex);
    slot->looked_at = false;
    pipeline->submitted++;
    if (pipeline->submitted - pipeline->taken >= BATCHES_PER_THREAD / 2)
        pthread_cond_signal(&pipeline->submission);
    pthread_mutex_unlock(&pipeline->mutex);
    start_batch(pipeline);
}

/* Waits until the oldest batch was looked at, and looks at others meanwhile. */
static struct slot *await_oldest(struct pipeline *pipeline) {
    struct slot *slot = slot_of(pipeline, pipeline->finished);
    pthread_mutex_lock(&pipeline->mutex);
    while (!slot->looked_at) {
        if (pipeline->taken < pipeline->submitted)
            look_at_next(pipeline);
        else
            pthread_cond_wait(&pipeline->completion, &pipeline->mutex);
    }
    pthread_mutex_unlock(&pipeline->mutex);
    return slot;
}

static void finish_oldest(struct pipeline *pipeline) {
    struct slot *slot = await_oldest(pipeline);
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.finish(pipeline->work.context, &slot->batch);
    empty(&slot->batch);
    pipeline->windows_bytes -= slot->window.capacity;
    if (slot->window.capacity > CAPTURE_WINDOW_BYTES) {
        free(slot->window.bytes);
        slot->window = (struct window){0};
    }
    pipeline->finished++;
}

/* Finishes what is under way, and the batch that is being filled, of which the window stays. */
static void finish_all(struct pipeline *pipeline) {
    while (pipeline->finished < pipeline->submitted)
        finish_oldest(pipeline);
    struct batch *batch = &pipeline->filling->batch;
    end_batch(pipeline);
    if (!batch->count)
        return;
    pipeline->work.look(pipeline->work.context, batch);
    if (!pipeline->ended)
        pipeline->ended = !pipeline->work.finish(pipeline->work.context, batch);
    empty(batch);
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
    window.capacity = held < CAPTURE_WINDOW_BYTES ? CAPTURE_WINDOW_BYTES : held + 1;
    window.bytes = malloc(window.capacity);
    return window;
}

/* The input's window is full: it goes with the batch that lies in it. */
static bool on_full(void *context) {
    struct pipeline *pipeline = context;
    struct input *input = capture_input(pipeline->capture);
    if (pipeline->next == pipeline->filling->batch.packets)
        return true;
    struct window window = next_window(pipeline, input_held(input));
    if (!window.bytes)
        return false;
    start_threads(pipeline);
    submit(pipeline, input_swap(input, window));
    while (pipeline->submitted - pipeline->finished > pipeline->slot_count - BATCHES_AHEAD ||
           pipeline->windows_bytes > WINDOWS_BYTES)
        finish_oldest(pipeline);
    return true;
}

static void draw_if_due(struct pipeline *pipeline) {
    if (progress_due)
        pipeline->work.draw(pipeline->work.context, pipeline->read);
}

/* Whoever watches a pipe is to see what has come so far. */
static void on_idle(void *context) {
    finish_all(context);
    draw_if_due(context);
}

/* Adds the packet that was read to where the next was to lie, unless another batch began. */
static void add(struct pipeline *pipeline, const struct packet *packet) {
    if (pipeline->next != packet)
        *pipeline->next = *packet;
    if (++pipeline->next == pipeline->filling->batch.packets + BATCH_PACKETS)
        finish_all(pipeline);
}

enum capture_result pipeline_run(struct pipeline *pipeline, struct capture *capture,
                                 uint64_t limit) {
    enum capture_result result = CAPTURE_END;
    pipeline->capture = capture;
    pipeline->ended = false;
    capture_input(capture)->watcher = (struct input_watcher){on_full, on_idle, pipeline};
    for (pipeline->read = 0; pipeline->read < limit && !pipeline->ended; pipeline->read++) {
        /* Read where it stays: a copy would load in wide words what was just stored in narrow ones,
           and wait for it (6 % of the time that carry check takes, on Zen 5). */
        struct packet *packet = pipeline->next;
        result = capture_next(capture, packet);
        if (result != CAPTURE_PACKET)
            break;
        add(pipeline, packet);
        draw_if_due(pipeline);
    }
    finish_all(pipeline);
    return result == CAPTURE_PACKET ? CAPTURE_END : result;
}

void pipeline_take_tally(struct pipeline *pipeline, struct tally *tally) {
    for (unsigned i = 0; i < pipeline->slot_count; i++) {
        struct batch *batch = &pipeline->slots[i].batch;
        tally_merge(tally, &batch->tally);
        batch->tally = (struct tally){0};
    }
}

static bool allocate_batch(struct batch *batch) {
    batch->packets = malloc(BATCH_PACKETS * sizeof *batch->packets);
    batch->notes = malloc(NOTES_FIRST * sizeof *batch->notes);
    batch->notes_capacity = NOTES_FIRST;
    if (batch->packets && batch->notes)
        return true;
    free(batch->packets);
    free(batch->notes);
    return false;
}

/* As many slots as there is memory for, but no fewer than one thread needs. */
static bool allocate(struct pipeline *pipeline, unsigned slots) {
    void *room = take_room();
    unsigned wanted = room ? slots : BATCHES_AHEAD;
    pipeline->slots = calloc(slots, sizeof *pipeline->slots);
    while (pipeline->slots && pipeline->slot_count < wanted &&
           allocate_batch(&pipeline->slots[pipeline->slot_count].batch))
        pipeline->slot_count++;
    free(room);
    return pipeline->slot_count >= BATCHES_AHEAD;
}

struct pipeline *pipeline_open(unsigned threads, const struct pipeline_work *work) {
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline)
        return NULL;
    unsigned slots = BATCHES_PER_THREAD * (threads - 1) + BATCHES_AHEAD;
    pipeline->threads_wanted = threads - 1;
    pipeline->work = *work;
    pthread_mutex_init(&pipeline->mutex, NULL);
    pthread_cond_init(&pipeline->submission, NULL);
    pthread_cond_init(&pipeline->completion, NULL);
    if (!allocate(pipeline, slots < BATCHES_MAX ? slots : BATCHES_MAX)) {
        pipeline_close(pipeline);
        return NULL;
    }
    start_batch(pipeline);
    return pipeline;
}

void pipeline_close(struct pipeline *pipeline) {
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->closing = true;
    pthread_cond_broadcast(&pipeline->submission);
    pthread_mutex_unlock(&pipeline->mutex);
    for (unsigned i = 0; i < pipeline->threads_count; i++)
        pthread_join(pipeline->threads[i], NULL);
    for (unsigned i = 0; pipeline->slots && i < pipeline->slot_count; i++) {
        free(pipeline->slots[i].batch.packets);
        free(pipeline->slots[i].batch.notes);
        free(pipeline->slots[i].window.bytes);
    }
    free(pipeline->slots);
    pthread_mutex_destroy(&pipeline->mutex);
    pthread_cond_destroy(&pipeline->submission);
    pthread_cond_destroy(&pipeline->completion);
    free(pipeline);
}
