/* SPDX-License-Identifier: MIT */
/*
 * Reads and examines a piece of a capture in any thread, with a reader of its own, from a place
 * that is guessed. The thread that runs the pipeline compares each piece with the end of the piece
 * before it, and has the piece read again if the guess was wrong.
 */
#ifndef CARRY_CAPTURE_SRC_PIECE_H
#define CARRY_CAPTURE_SRC_PIECE_H

#include "loan.h"
#include "pipeline.h"

/* Limits the packets of a piece, which ends earlier if it has more. */
#define PIECE_PACKETS 16384u

/* A piece with more notes ends early. The thread that finishes them reads the packets that follow,
   as they are then in its cache. */
#define PIECE_NOTES 256u

/* The state that the pieces of a capture share. */
struct pieces {
    struct loan loan;
    struct carry_capture seed; /* the state in which each piece begins to read */
    const struct pipeline_work *work;
    bool copies; /* copy packets before they are examined, because they will be needed */
};

/* The records of packets that begin from `from` on and before `to`. */
struct piece {
    struct carry_capture_packet *packets; /* room for PIECE_PACKETS */
    size_t from, to;
    size_t start, end; /* the records that were read; they end early at bytes that only a reader of
                          the whole capture understands */
    bool lost;         /* bytes could not be read, or there is no memory: the piece is without
                          meaning */
    uint8_t *copy;     /* memory for copies, kept for further pieces, */
    size_t capacity;   /* its bytes, */
    size_t copied;     /* and how many are used; 0: the packets are in the loan */
};

/* Stands for a start that is guessed. */
#define PIECE_GUESS (SIZE_MAX - 1)

/* Reads and examines the piece from `start` on into the batch; drops what both held. Numbers of
   packets count from 1. */
void carry_piece_take(const struct pieces *pieces, struct piece *piece, size_t start,
                      unsigned worker, struct batch *batch);

/* Numbers the packets of a piece with notes, after the `before` packets before it. */
void carry_piece_number(struct piece *piece, const struct batch *batch, uint64_t before);

/* Empties the piece and its batch, and frees what the piece holds. */
void carry_piece_clear(struct piece *piece, struct batch *batch);

#endif
