/* SPDX-License-Identifier: MIT */
/* Sends packets over a wire between two interfaces, and runs a program that watches one of its
 * ends. */
#ifndef CARRY_TOOLS_BENCH_LIVE_RUN_H
#define CARRY_TOOLS_BENCH_LIVE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_RUN_FASTEST UINT64_MAX

/* The interface that programs watch. */
#define LIVE_RUN_END "carry-end"

enum live_state { LIVE_MEASURED, LIVE_MISSING, LIVE_BROKEN };

struct live_trial {
    uint32_t size;  /* of frames, in bytes */
    uint64_t rate;  /* packets in a second, or LIVE_RUN_FASTEST */
    double seconds; /* how long to send */
};

struct live_outcome {
    enum live_state state;
    uint64_t sent, dropped;
    double rate; /* packets sent in a second */
    double busy; /* the share of the time in which the sender had a CPU */
    double cpu_seconds;
    uint64_t peak_bytes;
};

/* Enters a new network namespace, and makes the wire. Returns false after a message on failure. */
bool live_run_begin(void);

/*
 * Runs a program while packets are sent. `command` ends with NULL; "carry" is this program. The
 * program writes `ready` once it watches. Before it exits, it writes how many packets were dropped,
 * in the format of tcpdump or of carry live --json.
 */
struct live_outcome live_run(const char *const *command, const char *ready,
                             const struct live_trial *trial);

#endif
