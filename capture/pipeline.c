/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "boundary.h"
#include "piece.h"
#include "stream_parts.h"
#include "threads.h"

/*
 * Batches in progress for each thread besides the calling one: enough to keep that thread busy
 * while the calling thread does something else. Without other threads, the calling thread examines
 * each batch while the batch is still in the cache.
 */
#define BATCHES_PER_THREAD 8
#define BATCHES_MAX        32u

/* The batch being filled, and the next one. */
#define BATCHES_AHEAD 2

/* Limits batches: a window may hold more packets than this, if they are small. */
#define BATCH_PACKETS 8192u

/* If windows hold more bytes than this, batches are finished before more is read: windows grow for
   huge records. */
#define WINDOWS_BYTES ((size_t)20 << 20)

/* Memory that slots and threads must leave for windows and notes. If less is available, fewer slots
   and threads are created. */
#define ROOM_BYTES ((size_t)32 << 20)

/*
 * Initial notes of a batch. The calling thread allocates them, because each thread that allocates
 * gets its own heap (glibc: 64 MiB of addresses). A thread whose batch needs more notes allocates
 * them in its own heap.
 */
#define NOTES_FIRST 64

struct slot {
    struct batch batch;
    struct carry_capture_packet *packets; /* room for the batch's packets */
    struct window window; /* holds the batch's packets; empty until the batch is submitted */
    struct piece piece;   /* of a capture that is read in pieces */
    bool examined;
    size_t start, reached; /* where the piece begins, and where it ended when it was examined */
};

/*
 * Batches are numbered; batch n is in slot n % slot_count. Batches below `finished` are done,
 * further batches below `taken` were taken by a thread, and further batches below `submitted` wait
 * for a thread. Batch number `submitted` is being filled.
 */
struct pipeline {
    struct pipeline_work work;
    struct slot *slots;
    unsigned slot_count;
    struct threads *threads;
    unsigned threads_wanted, threads_count; /* besides the thread that runs the pipeline */

    /* Only for the thread that runs the pipeline. */
    struct carry_capture *capture;
    struct slot *filling; /* the slot of the batch being filled */
    struct carry_capture_packet
        *next; /* the place of that batch's next packet; `count` is set when the batch ends */
    uint64_t finished;
    uint64_t read;        /* packets of the capture */
    size_t windows_bytes; /* size of the windows of submitted batches that are not finished */
    bool ended;           /* finish() or watch_pipeline() ended the run */
    struct tally tally;   /* counts of finished pieces */
    size_t at;            /* in pieces: the end of the finished records */
    size_t cut;           /* in pieces: the end of the submitted pieces */

    /* Set while no batch is submitted; NULL: the capture is not read in pieces. */
    struct pieces *pieces;

    /* Shared by all threads under the lock, like `examined` of each slot. */
    uint64_t taken, submitted;
    struct parts *parts; /* of a compressed capture that threads unpack; or NULL */
    bool closing;
};

static struct slot *batch_slot(struct pipeline *pipeline, uint64_t number) {
    return &pipeline->slots[number % pipeline->slot_count];
}

/* --- Any thread --- */

/* Returns where a piece begins, if the piece before it was examined; else it is guessed. */
static size_t piece_start(struct pipeline *pipeline, const struct slot *slot, uint64_t number) {
    const struct slot *before = batch_slot(pipeline, number - 1);
    return before->examined && before->reached >= slot->piece.from ? before->reached : PIECE_GUESS;
}

static void examine_slot(struct pipeline *pipeline, struct slot *slot, unsigned worker) {
    if (pipeline->pieces)
        carry_piece_take(pipeline->pieces, &slot->piece, slot->start, worker, &slot->batch);
    else
        pipeline->work.examine(pipeline->work.context, worker, &slot->batch);
}

/* Examines the oldest waiting batch. The caller holds the lock, which is released while the batch
   is examined. */
static void examine_next(struct pipeline *pipeline, unsigned worker) {
    const uint64_t number = pipeline->taken++;
    struct slot *slot = batch_slot(pipeline, number);
    if (slot->start == PIECE_GUESS)
        slot->start = piece_start(pipeline, slot, number);
    carry_threads_unlock(pipeline->threads);
    examine_slot(pipeline, slot, worker);
    carry_threads_lock(pipeline->threads);
    slot->examined = true;
    slot->reached = slot->piece.lost ? 0 : slot->piece.end;
    carry_threads_signal(pipeline->threads, THREADS_DONE);
}

static void run_worker(void *context, unsigned worker) {
    struct pipeline *pipeline = context;
    carry_threads_lock(pipeline->threads);
    while (!pipeline->closing) {
        if (pipeline->taken < pipeline->submitted)
            examine_next(pipeline, worker);
        else if (!pipeline->parts || !carry_parts_unpack(pipeline->parts))
            carry_threads_wait(pipeline->threads, THREADS_WORK);
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

/* Starts the threads when the first batch is submitted: a capture of a single batch does not need
   them. */
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

/* Submits the batch in a slot. Wakes a thread once `enough` batches wait. */
static void submit_slot(struct pipeline *pipeline, struct slot *slot, unsigned enough) {
    carry_threads_lock(pipeline->threads);
    slot->examined = false;
    pipeline->submitted++;
    if (pipeline->submitted - pipeline->taken >= enough)
        carry_threads_signal(pipeline->threads, THREADS_WORK);
    carry_threads_unlock(pipeline->threads);
}

static void submit_batch(struct pipeline *pipeline, struct window window) {
    struct slot *slot = pipeline->filling;
    end_batch(pipeline);
    free(slot->window.bytes); /* kept since before pieces were read, which need no windows */
    slot->window = window;
    pipeline->windows_bytes += window.capacity;
    submit_slot(pipeline, slot, BATCHES_PER_THREAD / 2);
    start_batch(pipeline);
}

/* Waits until the oldest batch has been examined, and examines waiting batches until then. */
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

/* Returns a window for more than `held` bytes: the window of the slot after the one being filled,
   or a new window. Its `bytes` are NULL if there is no memory. */
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

/* Gives the input another window, and submits the batch with the window that holds its packets. */
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

/* Finishes all batches when the input is idle, so that all packets that a pipe has delivered are
   reported. */
static bool finish_on_idle(void *context) {
    struct pipeline *pipeline = context;
    finish_all(pipeline);
    watch_pipeline(pipeline);
    return !pipeline->ended;
}

/* Adds a packet to the batch. Copies the packet if another batch has begun since it was read. */
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

/* Reads and processes at most `limit` selected packets, up to one that ends at or behind the offset
   `until`. Returns the result of the reader: CARRY_CAPTURE_PACKET if there may be more. */
static int run_records(struct pipeline *pipeline, uint64_t limit, uint64_t until) {
    struct carry_capture *capture = pipeline->capture;
    int result = CARRY_CAPTURE_PACKET;
    capture->input.watcher =
        (struct input_watcher){.full = submit_on_full, .idle = finish_on_idle, .context = pipeline};
    for (; limit && !pipeline->ended; pipeline->read++) {
        /* Reads the packet into its place in the batch: a copy would load in wide words the bytes
           just stored in narrow words, and stall (6 % of the time of carry check, on Zen 5). */
        struct carry_capture_packet *packet = pipeline->next;
        if (carry_input_offset(&capture->input) >= until)
            break;
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
    return result;
}

/* --- Pieces --- */

/* Returns the size of the next piece. If one thread does everything, packets that it copies for
   finish() remain in the cache until then. */
static size_t piece_size(const struct pipeline *pipeline) {
    const size_t size = pipeline->capture->piece_bytes;
    const bool copies = pipeline->pieces->copies && !pipeline->threads_count;
    return copies && size > WINDOW_BYTES ? WINDOW_BYTES : size;
}

static void submit_piece(struct pipeline *pipeline) {
    struct slot *slot = batch_slot(pipeline, pipeline->submitted);
    const size_t left = pipeline->pieces->loan.size - pipeline->cut;
    const size_t most = piece_size(pipeline);
    slot->piece.packets = slot->packets;
    slot->piece.from = pipeline->cut;
    slot->piece.to = pipeline->cut + (left < most ? left : most);
    slot->start = pipeline->cut == pipeline->at ? pipeline->at : PIECE_GUESS;
    pipeline->cut = slot->piece.to;
    submit_slot(pipeline, slot, 1);
}

/* Finishes the records of a piece that begins where the records before it end. Returns false if
   there are none. */
static bool finish_records(struct pipeline *pipeline, struct slot *slot) {
    struct pieces *pieces = pipeline->pieces;
    struct batch *batch = &slot->batch;
    struct carry_capture *capture = pipeline->capture;
    if (slot->piece.lost || slot->piece.end == pipeline->at ||
        !carry_loan_holds(&pieces->loan, capture))
        return false;
    carry_piece_number(&slot->piece, batch, capture->packets);
    pipeline->ended = !pipeline->work.finish(pipeline->work.context, batch);
    __atomic_store_n(&pieces->copies, batch->notes_count, __ATOMIC_RELAXED);
    carry_tally_merge(&pipeline->tally, &batch->tally);
    pipeline->at = slot->piece.end;
    pipeline->read += batch->count;
    capture->packets += batch->count;
    carry_input_move(&capture->input, pipeline->at);
    carry_loan_drop(&pieces->loan, pipeline->at);
    return true;
}

/* Checks whether finish() will read all packets from now on. The thread that finishes them then
   reads them itself, since it would wait for the caches of other threads. */
static bool reads_all(const struct pipeline *pipeline) {
    return pipeline->work.reads(pipeline->work.context);
}

/* Finishes the oldest piece. Reads it again, or what is left of it, if it does not begin where the
   records before it end. Returns false if the rest of the capture must be read otherwise. */
static bool finish_piece(struct pipeline *pipeline) {
    struct slot *slot = await_oldest(pipeline);
    bool read = true;
    while (read && !pipeline->ended && pipeline->at < slot->piece.to) {
        if (slot->piece.start != pipeline->at)
            carry_piece_take(pipeline->pieces, &slot->piece, pipeline->at, 0, &slot->batch);
        read = finish_records(pipeline, slot) && !reads_all(pipeline) &&
               slot->batch.notes_count <= PIECE_NOTES;
    }
    pipeline->finished++;
    watch_pipeline(pipeline);
    return read;
}

/* Drops the pieces that no thread has taken, and awaits the others. Empties all batches. */
static void drop_pieces(struct pipeline *pipeline) {
    carry_threads_lock(pipeline->threads);
    pipeline->submitted = pipeline->taken;
    carry_threads_unlock(pipeline->threads);
    for (; pipeline->finished < pipeline->submitted; pipeline->finished++)
        await_oldest(pipeline);
    for (unsigned i = 0; i < pipeline->slot_count; i++)
        carry_piece_clear(&pipeline->slots[i].piece, &pipeline->slots[i].batch);
}

/* Submits pieces: with each piece that is finished, one more may be in progress. So little work is
   lost where pieces turn out not to be worth it. */
static void submit_pieces(struct pipeline *pipeline, uint64_t done) {
    const uint64_t most = done + 1 < pipeline->slot_count - 1 ? done + 1 : pipeline->slot_count - 1;
    while (pipeline->cut < pipeline->pieces->loan.size &&
           pipeline->submitted - pipeline->finished < most)
        submit_piece(pipeline);
}

static void finish_pieces(struct pipeline *pipeline) {
    const uint64_t first = pipeline->finished;
    bool read = true;
    while (read && !pipeline->ended && pipeline->at < pipeline->pieces->loan.size) {
        submit_pieces(pipeline, pipeline->finished - first);
        read = finish_piece(pipeline);
    }
    drop_pieces(pipeline);
}

/* Checks whether the records of a capture can be found from within, in the order of the file. */
static bool has_pieces(const struct pipeline *pipeline) {
    const struct carry_capture *capture = pipeline->capture;
    return !pipeline->work.select && !capture->unpack && !capture->input.sink &&
           carry_boundary_is_known(capture);
}

/* Reads the rest of the capture in pieces, as far as that is possible. Returns false if it is not
   possible at all. */
static bool run_pieces(struct pipeline *pipeline) {
    struct carry_capture *capture = pipeline->capture;
    struct pieces pieces = {.seed = *capture, .work = &pipeline->work};
    pipeline->at = pipeline->cut = (size_t)carry_input_offset(&capture->input);
    if (!has_pieces(pipeline) || reads_all(pipeline) || !carry_loan_begin(&pieces.loan, capture))
        return false;
    const bool large = pieces.loan.size > pipeline->at + capture->piece_bytes;
    if (large) {
        carry_pipeline_take_tally(pipeline, &pipeline->tally);
        start_workers(pipeline);
        pipeline->pieces = &pieces;
        finish_pieces(pipeline);
        pipeline->pieces = NULL;
        start_batch(pipeline);
    }
    const bool holds = carry_loan_holds(&pieces.loan, capture);
    carry_loan_end(&pieces.loan, capture, pipeline->at);
    return large && holds && !reads_all(pipeline);
}

/* --- Parts of compressed captures --- */

static void set_parts(struct pipeline *pipeline, struct parts *parts) {
    carry_threads_lock(pipeline->threads);
    pipeline->parts = parts;
    carry_threads_unlock(pipeline->threads);
}

/* Lets all threads unpack the rest of a compressed capture. */
static void begin_parts(struct pipeline *pipeline) {
    if (!pipeline->threads_wanted || !carry_parts_can_begin(pipeline->capture))
        return;
    start_workers(pipeline);
    if (pipeline->threads_count)
        set_parts(pipeline, carry_parts_open(pipeline->capture, pipeline->threads,
                                             pipeline->threads_count + 1));
}

static void end_parts(struct pipeline *pipeline) {
    struct parts *parts = pipeline->parts;
    set_parts(pipeline, NULL);
    carry_parts_close(parts);
}

/* Reads in pieces as far as that is possible. Otherwise reads the capture as a whole for a stretch,
   each twice as long as the one before it. */
int carry_pipeline_run(struct pipeline *pipeline, struct carry_capture *capture, uint64_t limit) {
    uint64_t stretch = 1;
    int result = CARRY_CAPTURE_PACKET;
    bool divides = limit == UINT64_MAX;
    pipeline->capture = capture;
    pipeline->ended = false;
    pipeline->read = 0;
    do {
        const uint64_t until = carry_input_offset(&capture->input) + stretch;
        result = run_records(pipeline, limit, divides ? until : UINT64_MAX);
        if (result == CARRY_CAPTURE_PACKET && !pipeline->ended && divides) {
            begin_parts(pipeline);
            divides = run_pieces(pipeline);
        }
        stretch = stretch > 1 ? 2 * stretch : capture->piece_bytes;
    } while (result == CARRY_CAPTURE_PACKET && !pipeline->ended && limit == UINT64_MAX);
    end_parts(pipeline);
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

/* Skips tallies without packets: after a short capture, most tallies have none. */
void carry_pipeline_take_tally(struct pipeline *pipeline, struct tally *tally) {
    if (tally != &pipeline->tally) {
        carry_tally_merge(tally, &pipeline->tally);
        pipeline->tally = (struct tally){0};
    }
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
    slot->packets = malloc(PIECE_PACKETS * sizeof *slot->packets);
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
