/* SPDX-License-Identifier: MIT */
/* Collects and prints the single checksums of --bad-only as they arrive. */
#ifndef CARRY_TOOLS_LIVE_FINDINGS_H
#define CARRY_TOOLS_LIVE_FINDINGS_H

#include <stdbool.h>

#include <carry/capture.h>

struct watch;

/*
 * Keeps a checksum for findings_show(), or shows it at once if there is no memory; `side` is a
 * struct side. Returns false if writing to the outlet has failed.
 */
bool findings_take(void *side, const struct carry_capture_finding *finding);

/*
 * Prints the collected checksums, and writes their packets if requested, while the packets are
 * still in the ring. Call it without the watch's lock, as it may wait for a reader of the output.
 * Once the threads must end, it continues only while the reader reads.
 */
void findings_show(struct watch *watch);

#endif
