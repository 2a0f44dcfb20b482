/* SPDX-License-Identifier: MIT */
/*
 * The filter of all rings. The kernel applies it to spare what does not pass, where it sees frames
 * as files hold them; what it lets through is looked at once more.
 */
#ifndef CARRY_TOOLS_LIVE_FILTER_H
#define CARRY_TOOLS_LIVE_FILTER_H

#include <stdbool.h>

#include <carry/capture.h>

struct live_filter;
struct sock_fprog;

/* NULL after a message. */
struct live_filter *live_filter_open(const char *expression);
void live_filter_close(struct live_filter *filter);

/* What the kernel applies; NULL for no filter. */
const struct sock_fprog *live_filter_of_kernel(const struct live_filter *filter);

/* Does the packet pass? All pass no filter. Several threads may ask at once. */
bool live_filter_passes(const struct live_filter *filter,
                        const struct carry_capture_packet *packet);

#endif
