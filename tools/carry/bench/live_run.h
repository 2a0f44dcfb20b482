/* SPDX-License-Identifier: MIT */
/* A wire between two interfaces, what is sent on it, and a program that watches its end. */
#ifndef CARRY_TOOLS_BENCH_LIVE_RUN_H
#define CARRY_TOOLS_BENCH_LIVE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_RUN_FASTEST UINT64_MAX

/* What programs are asked to watch. */
#define LIVE_RUN_END "carry-end"

enum live_state { LIVE_MEASURED, LIVE_MISSING, LIVE_BROKEN };

struct live_trial {
    uint32_t size;  /* of frames, in bytes */
    uint64_t rate;  /* packets in a second, or LIVE_RUN_FASTEST */
    double seconds; /* in which they are sent */
};

struct live_outcome {
    enum live_state state;
    uint64_t sent, dropped;
    double rate; /* at which they were sent */
    double busy; /* the share of the time in which the sender had a CPU */
    double cpu_seconds;
    uint64_t peak_bytes;
};

/* Joins a network namespace of its own with the wire; false after a message. */
bool live_run_begin(void);

/*
 * Runs a program while packets are sent. `command` ends with NULL; "carry" is this program. It says
 * `ready` once it watches, and how many packets were dropped at its end: as tcpdump, or as
 * carry live --json.
 */
struct live_outcome live_run(const char *const *command, const char *ready,
                             const struct live_trial *trial);

#endif
