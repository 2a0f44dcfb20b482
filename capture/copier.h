/* SPDX-License-Identifier: MIT */
/*
 * Copies the file of a capture while the capture is read, so that only changes are left to write.
 *
 * Another program may change the file meanwhile. So the capture gets its bytes from the copy, which
 * no other program writes: what is judged is what the copy holds. A clone has its pages on the disk
 * but not in memory. The capture then reads the file itself, and carry_copier_end() finds out
 * whether the file has changed since it was cloned.
 */
#ifndef CARRY_CAPTURE_SRC_COPIER_H
#define CARRY_CAPTURE_SRC_COPIER_H

#include "format.h"

struct copier;

/*
 * Begins to copy the file of a capture, whole, to the empty file `to`, which is open for reading
 * and writing. The capture may be read while it is copied. Returns NULL if that is not possible: if
 * packets were read, or if the capture is not an uncompressed regular file. `to` is then still
 * empty, unless its file system fails.
 */
struct copier *carry_copier_begin(struct carry_capture *capture, int to);

/* Overwrites bytes of the copy that were read from it: a carry_capture_rewrite_fn for a copier. An
   error may also be returned by a later call, or by carry_copier_end(). */
int carry_copier_rewrite(void *copier, uint64_t offset, const void *bytes, size_t size);

/* Ends the copying, and lets the capture read its own file again. Returns `code`, the result of the
   work meanwhile, or the error of the copying with which it failed. */
int carry_copier_end(struct copier *copier, int code);

#endif
