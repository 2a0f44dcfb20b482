/* SPDX-License-Identifier: MIT */
/*
 * Lends all bytes of a capture at once, without copying them: bytes in memory, or a file that is
 * mapped.
 *
 * A mapped file may be truncated meanwhile. Code that reads lent bytes then faults, so it runs in a
 * frame (<carry/fault.h>) if the loan is of a mapping.
 */
#ifndef CARRY_CAPTURE_SRC_LOAN_H
#define CARRY_CAPTURE_SRC_LOAN_H

#include "format.h"

struct loan {
    const uint8_t *bytes; /* those of the capture, from its first byte on */
    size_t size;
    void *map; /* NULL: the bytes are not of a mapping */
    size_t map_size;
    size_t dropped; /* so many bytes were given back */
};

/* Lends the bytes of a capture. Returns false if that is not possible or not allowed. */
bool carry_loan_begin(struct loan *loan, const struct carry_capture *capture);

/* Ends the loan. The capture continues at `offset`; if that fails, its next read fails. */
void carry_loan_end(struct loan *loan, struct carry_capture *capture, size_t offset);

/* Checks whether the file still has all bytes that were lent: those behind its end may read as
   zeros. */
bool carry_loan_holds(const struct loan *loan, const struct carry_capture *capture);

/* Maps bytes that will be read: prefetches skip those that are not mapped yet. */
void carry_loan_prepare(const struct loan *loan, size_t from, size_t to);

/* Gives back the memory of the bytes before `to`, which are read no more. */
void carry_loan_drop(struct loan *loan, size_t to);

#endif
