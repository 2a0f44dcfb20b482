/* SPDX-License-Identifier: MIT */
/*
 * Guesses where records of pcap and pcapng begin, so that a capture can be read from within. The
 * bytes of a packet may look like records: a caller must detect a wrong guess, which shows when the
 * records before it end elsewhere.
 */
#ifndef CARRY_CAPTURE_SRC_BOUNDARY_H
#define CARRY_CAPTURE_SRC_BOUNDARY_H

#include "format.h"

/* Checks whether the format of the capture is one of those whose records can be guessed. */
bool carry_boundary_is_known(const struct carry_capture *capture);

/* Returns the first offset from `from` on at which a record of a packet seems to begin; SIZE_MAX if
   none is found nearby. `size` is the number of all bytes. */
size_t carry_boundary_find(const struct carry_capture *capture, const uint8_t *bytes, size_t size,
                           size_t from);

#endif
