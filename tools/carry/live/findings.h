/* SPDX-License-Identifier: MIT */
/* Single checksums of --bad-only, as they come. */
#ifndef CARRY_TOOLS_LIVE_FINDINGS_H
#define CARRY_TOOLS_LIVE_FINDINGS_H

#include <stdbool.h>

#include <carry/capture.h>

struct watch;

/*
 * Notes a checksum, or shows it at once where there is no memory for that; `side` is a struct side.
 */
bool findings_take(void *side, const struct carry_capture_finding *finding);

/*
 * Prints what was noted and writes the packets, each if it is wanted, while these are still there.
 * Without the watch's lock, as a reader of the output may let it wait; not for one that reads no
 * more once the threads are to end.
 */
void findings_show(struct watch *watch);

#endif
