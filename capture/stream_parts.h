/* SPDX-License-Identifier: MIT */
/*
 * Unpacks a compressed capture in several threads, if its streams say where they end: blocks of
 * BGZF, and frames of zstd and lz4.
 *
 * The thread that reads the capture finds parts ahead by their headers: one or several whole
 * streams. Any thread unpacks a part, and the reading thread passes the bytes on in order. A part
 * that is damaged, or not what its headers say, is read again as if there were no parts, and so is
 * all that follows. So a capture reads the same with and without parts. Streams that are too large
 * for a part are not held: they are unpacked as they are read.
 */
#ifndef CARRY_CAPTURE_SRC_STREAM_PARTS_H
#define CARRY_CAPTURE_SRC_STREAM_PARTS_H

#include "format.h"
#include "threads.h"

/* Limits a part: its size, and the size that it may unpack to. */
#define PART_BYTES_MAX ((size_t)16 << 20)

/* Limits the memory of all parts. */
#define PARTS_BYTES ((size_t)64 << 20)

struct parts;

/* Checks whether a capture may have parts: a large compressed one that can be read at any offset.
 */
bool carry_parts_can_begin(const struct carry_capture *capture);

/*
 * Reads a capture in parts from now on. Threads that share `threads`, `count` with the calling one,
 * are signalled THREADS_WORK for each part. Returns NULL if there is no memory: the capture is then
 * read without parts.
 */
struct parts *carry_parts_open(struct carry_capture *capture, struct threads *threads,
                               unsigned count);

/* Reads the capture without parts from now on. Takes NULL, too. */
void carry_parts_close(struct parts *parts);

/* Unpacks the oldest waiting part, in any thread. Returns false if there is none. The caller holds
   the lock, which is released meanwhile. */
bool carry_parts_unpack(struct parts *parts);

#endif
