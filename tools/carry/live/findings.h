/* SPDX-License-Identifier: MIT */
/* Single checksums of --bad-only, as they come. */
#ifndef CARRY_TOOLS_LIVE_FINDINGS_H
#define CARRY_TOOLS_LIVE_FINDINGS_H

#include <stdbool.h>

#include <carry/capture.h>

/* Prints a checksum and writes its packet, each if it is wanted; `side` is a struct side. */
bool findings_take(void *side, const struct carry_capture_finding *finding);

#endif
