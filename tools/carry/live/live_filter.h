/* SPDX-License-Identifier: MIT */
/*
 * Filters the packets of all rings. The kernel applies the filter where it sees frames as files
 * contain them, to save time; the packets that it accepts are tested again.
 */
#ifndef CARRY_TOOLS_LIVE_FILTER_H
#define CARRY_TOOLS_LIVE_FILTER_H

#include <stdbool.h>

#include <carry/capture.h>

struct live_filter;
struct sock_fprog;

/* Opens a filter; NULL after a message. */
struct live_filter *live_filter_open(const char *expression);
void live_filter_close(struct live_filter *filter);

/* Returns the program for the kernel; NULL for no filter. */
const struct sock_fprog *live_filter_of_kernel(const struct live_filter *filter);

/* Checks whether the packet passes; all pass a filter of NULL. Several threads may call this at
   once. */
bool live_filter_passes(const struct live_filter *filter,
                        const struct carry_capture_packet *packet);

#endif
