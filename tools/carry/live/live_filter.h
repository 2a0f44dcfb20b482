/* SPDX-License-Identifier: MIT */
/* Filters the packets of all rings. To save time, the kernel applies the filter to frames whose
   bytes are the same as in a file. The packets that the kernel accepts are tested again. */
#ifndef CARRY_TOOLS_LIVE_FILTER_H
#define CARRY_TOOLS_LIVE_FILTER_H

#include <stdbool.h>

#include <carry/capture.h>

struct live_filter;
struct sock_fprog;

/* Opens a filter. Returns NULL after a message on failure. */
struct live_filter *live_filter_open(const char *expression);
void live_filter_close(struct live_filter *filter);

/* Returns the program for the kernel; NULL if `filter` is NULL. */
const struct sock_fprog *live_filter_of_kernel(const struct live_filter *filter);

/* Checks whether the packet passes the filter. All packets pass if `filter` is NULL. Several
   threads may call this at once. */
bool live_filter_passes(const struct live_filter *filter,
                        const struct carry_capture_packet *packet);

#endif
