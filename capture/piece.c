/* SPDX-License-Identifier: MIT */
#include "piece.h"

#include <carry/copy.h>
#include <carry/fault.h>
#include <stdlib.h>

#include "boundary.h"

/* Packets are read and then examined in small steps, so that their bytes arrive from memory while
   others are examined. A judge gets larger steps, of packets that were copied. */
#define STEP_BYTES        ((size_t)1 << 10)
#define COPIED_STEP_BYTES ((size_t)64 << 10)

/*
 * Bytes are prefetched so far ahead: the walk over record headers, each of which depends on the one
 * before it, would otherwise wait for memory at each of them. Each packet prefetches a part of what
 * is missing, since a processor waits if many lines are missing at once.
 */
#define AHEAD_BYTES ((size_t)4 << 10)
#define AHEAD_PART  4
#define LINE_BYTES  64

/* Bytes behind a piece that its last record may have. */
#define BEHIND_BYTES ((size_t)512 << 10)

/* The state of reading a piece. */
struct walk {
    const struct pieces *pieces;
    struct piece *piece;
    struct batch *batch;
    struct carry_capture reader;
    size_t ahead; /* bytes before this offset were prefetched */
    bool ended;   /* no more packets belong to the piece */
};

static void forget_batch(struct batch *batch) {
    batch->tally = (struct tally){0};
    batch->notes_count = 0;
    batch->no_memory = false;
    batch->done = 0;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* --- Copies --- */

/* Provides memory for the packets of a piece. Its last record may end behind it. */
static bool reserve_copy(struct piece *piece) {
    const size_t needed = piece->to - piece->start + BEHIND_BYTES;
    if (piece->capacity >= needed)
        return true;
    free(piece->copy);
    piece->copy = malloc(needed);
    piece->capacity = piece->copy ? needed : 0;
    return piece->copy;
}

/* Copies the bytes of packets from the loan, from index `first` on. */
static void copy_packets(struct piece *piece, const struct batch *batch, uint32_t first) {
    struct carry_capture_packet *packets = piece->packets;
    if (!piece->copied)
        piece->lost = !reserve_copy(piece);
    for (uint32_t i = first; i < batch->count && !piece->lost; i++) {
        uint8_t *copy = piece->copy + piece->copied;
        piece->lost = carry_copy_try(copy, packets[i].data, packets[i].captured) != 0;
        piece->copied += packets[i].captured;
        packets[i].data = copy;
    }
}

/* --- Any thread --- */

static void begin_walk(struct walk *walk, size_t start) {
    struct piece *piece = walk->piece;
    const struct loan *loan = &walk->pieces->loan;
    const size_t limit = smaller(loan->size, piece->to + BEHIND_BYTES);
    walk->reader = walk->pieces->seed;
    walk->reader.is_part = true;
    walk->reader.packets = 0;
    carry_input_lend(&walk->reader.input, loan->bytes, limit, start);
    walk->ahead = start;
}

static void prefetch_ahead(struct walk *walk) {
    const uint8_t *bytes = walk->pieces->loan.bytes;
    const size_t wanted = walk->piece->end + AHEAD_BYTES;
    const size_t missing = wanted > walk->ahead ? wanted - walk->ahead : 0;
    const size_t end = walk->ahead + missing / AHEAD_PART;
    for (; walk->ahead < end; walk->ahead += LINE_BYTES)
        __builtin_prefetch(bytes + walk->ahead);
}

/* Reads the next packet. A packet behind other blocks belongs to the piece in which its own record
   begins. */
static void read_packet(struct walk *walk) {
    struct carry_capture *reader = &walk->reader;
    struct carry_capture_packet *packet = &walk->piece->packets[walk->batch->count];
    walk->ended = carry_reader_next(reader, packet) != CARRY_CAPTURE_PACKET;
    if (walk->ended)
        return;
    walk->ended = reader->record >= walk->piece->to;
    walk->piece->end =
        walk->ended ? (size_t)reader->record : (size_t)carry_input_offset(&reader->input);
    walk->batch->count += !walk->ended;
    prefetch_ahead(walk);
}

static void read_step(struct walk *walk, size_t size) {
    struct piece *piece = walk->piece;
    const size_t to = smaller(piece->end + size, piece->to);
    while (!walk->ended && piece->end < to && walk->batch->count < PIECE_PACKETS)
        read_packet(walk);
}

/* Examines the packets that were read since the last step. */
static void examine_step(struct walk *walk, unsigned worker) {
    const struct pipeline_work *work = walk->pieces->work;
    work->examine(work->context, worker, walk->batch);
    walk->batch->done = walk->batch->count;
}

/* Examines the packets again, in copies: they will be needed, and the file might change. */
static void examine_copies(struct walk *walk, unsigned worker) {
    struct batch *batch = walk->batch;
    copy_packets(walk->piece, batch, 0);
    forget_batch(batch);
    if (!walk->piece->lost)
        examine_step(walk, worker);
}

static bool has_room(const struct walk *walk) {
    const struct piece *piece = walk->piece;
    return !walk->ended && !piece->lost && piece->end < piece->to &&
           walk->batch->count < PIECE_PACKETS && walk->batch->notes_count <= PIECE_NOTES;
}

static void walk_piece(struct walk *walk, unsigned worker) {
    const bool is_map = walk->pieces->loan.map;
    const bool copies = is_map && (walk->pieces->work->copies ||
                                   __atomic_load_n(&walk->pieces->copies, __ATOMIC_RELAXED));
    while (has_room(walk)) {
        read_step(walk, copies ? COPIED_STEP_BYTES : STEP_BYTES);
        if (copies)
            copy_packets(walk->piece, walk->batch, walk->batch->done);
        if (!walk->piece->lost)
            examine_step(walk, worker);
    }
    if (is_map && !copies && walk->batch->notes_count)
        examine_copies(walk, worker);
}

static void take_piece(const struct pieces *pieces, struct piece *piece, size_t start,
                       unsigned worker, struct batch *batch) {
    struct walk walk = {.pieces = pieces, .piece = piece, .batch = batch};
    const struct loan *loan = &pieces->loan;
    carry_loan_prepare(loan, piece->from, smaller(loan->size, piece->to + AHEAD_BYTES));
    if (start == PIECE_GUESS)
        start = carry_boundary_find(&pieces->seed, loan->bytes, loan->size, piece->from);
    piece->start = piece->end = start;
    if (start >= piece->to)
        return;
    begin_walk(&walk, start);
    walk_piece(&walk, worker);
    piece->lost |= batch->no_memory;
}

/* Leaves the frame, and the piece, if bytes of a mapped file are gone. */
static void take_in_frame(const struct pieces *pieces, struct piece *piece, size_t start,
                          unsigned worker, struct batch *batch) {
    struct carry_fault_frame frame;
    piece->lost = carry_fault_enter(&frame) != 0;
    if (piece->lost)
        return;
    take_piece(pieces, piece, start, worker, batch);
    carry_fault_leave(&frame);
}

static void empty_piece(struct piece *piece, struct batch *batch) {
    piece->start = piece->end = SIZE_MAX;
    piece->copied = 0;
    piece->lost = false;
    batch->packets = piece->packets;
    batch->count = 0;
    forget_batch(batch);
}

void carry_piece_clear(struct piece *piece, struct batch *batch) {
    empty_piece(piece, batch);
    free(piece->copy);
    piece->copy = NULL;
    piece->capacity = 0;
}

void carry_piece_take(const struct pieces *pieces, struct piece *piece, size_t start,
                      unsigned worker, struct batch *batch) {
    empty_piece(piece, batch);
    if (pieces->loan.map)
        take_in_frame(pieces, piece, start, worker, batch);
    else
        take_piece(pieces, piece, start, worker, batch);
}

/* --- The thread that runs the pipeline --- */

/* Numbers all packets if any has a note: to finish a note, packets after it may be read too. */
void carry_piece_number(struct piece *piece, const struct batch *batch, uint64_t before) {
    for (uint32_t i = 0; batch->notes_count && i < batch->count; i++)
        piece->packets[i].number += before;
}
