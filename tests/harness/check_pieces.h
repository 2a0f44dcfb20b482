/* SPDX-License-Identifier: MIT */
/*
 * Checks captures in pieces of any size, in any number of threads: the results are those of reading
 * them.
 */
#ifndef CARRY_TESTS_CHECK_PIECES_H
#define CARRY_TESTS_CHECK_PIECES_H

#include "harness/captures.h"

/* How the library gets the bytes of a capture. */
enum way { READ, MEMORY, MAPPED };

/* The settings of one check. */
struct how {
    enum way way;
    size_t piece;
    unsigned threads;
    bool judges;
    bool alone; /* without flows, whose packets are not read in pieces */
};

/* The results of a check. */
struct found {
    int code;
    struct carry_capture_error error;
    struct carry_capture_totals totals;
    uint64_t counts[CARRY_PROTOCOL_COUNT][CARRY_VERDICT_COUNT];
    uint64_t causes[CARRY_PROTOCOL_COUNT][CARRY_CAPTURE_CAUSE_COUNT];
    uint64_t reassembly[CARRY_CAPTURE_REASSEMBLY_COUNT];
    uint64_t digest; /* of findings, in their order */
    uint64_t offset, descriptions;
};

/* Sizes of pieces that are worth a check. */
#define PIECE_SIZES 7
extern const size_t piece_sizes[PIECE_SIZES];

/* Leaves all sums to the library. */
extern const struct carry_capture_judge lax_judge;

/* Returns a digest of one more value. */
uint64_t add_digest(uint64_t digest, uint64_t value);

/* Returns the descriptor of a file with these bytes. */
int make_file(const struct bytes *bytes);

/* Opens a capture. `descriptor` becomes that of the file that it is read from, or -1; the caller
   closes it. */
struct carry_capture *open_bytes(const struct bytes *bytes, const struct how *how,
                                 struct feed *feed, int *descriptor);

/* Checks a capture, and then reads on: that must fail or end in the same way. */
void check_capture(struct carry_capture *capture, const struct how *how, struct found *found);

struct found check_bytes(const struct bytes *bytes, const struct how *how);

/* Check that all ways find the same; the second one with flows and without. */
bool is_same_in_all_ways(const struct bytes *bytes, size_t piece, bool alone);
bool is_same_in_pieces(const struct bytes *bytes, size_t piece);

#endif
