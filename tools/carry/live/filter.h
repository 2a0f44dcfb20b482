/* SPDX-License-Identifier: MIT */
/*
 * Filters as tcpdump takes them, compiled by libpcap. The kernel applies one to spare what does not
 * pass, where it sees frames as files hold them; what it lets through is looked at once more.
 */
#ifndef CARRY_TOOLS_LIVE_FILTER_H
#define CARRY_TOOLS_LIVE_FILTER_H

#include <stdbool.h>

#include <carry/capture.h>

struct filter;
struct sock_fprog;

/* NULL after a message. */
struct filter *filter_open(const char *expression);
void filter_close(struct filter *filter);

/* What the kernel applies; NULL for no filter. */
const struct sock_fprog *filter_of_kernel(const struct filter *filter);

/* Does the packet pass? All pass no filter. */
bool filter_passes(const struct filter *filter, const struct carry_capture_packet *packet);

#endif
