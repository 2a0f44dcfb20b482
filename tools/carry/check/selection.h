/* SPDX-License-Identifier: MIT */
/* Selects packets of a capture: by a filter, by time, by number. */
#ifndef CARRY_TOOLS_SELECTION_H
#define CARRY_TOOLS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/capture.h>

#include "common/filter.h"
#include "common/options.h"

#define SELECTION_RANGES_MAX 64

/* The packets that a command line requests; zeros request nothing. */
struct selection_options {
    const char *filter;
    const char *const *words; /* the filter's words after "--", then NULL; NULL: none */
    uint64_t after, before;   /* nanoseconds since 1970; 0: no limit */
    struct {
        uint64_t first, last; /* numbers of packets, from 1 */
    } ranges[SELECTION_RANGES_MAX];
    size_t ranges_count;
};

/* Lists the options of every command that selects packets; `options` points to a struct
   selection_options. */
#define SELECTION_ROWS(options)                                                                    \
    {"filter", 'f', .text = &(options)->filter, .words = &(options)->words},                       \
        {"after", 'A', .set = selection_set_after, .target = (options)},                           \
        {"before", 'B', .set = selection_set_before, .target = (options)}, {                       \
        "frames", .set = selection_set_frames, .target = (options)                                 \
    }

option_setter selection_set_after, selection_set_before, selection_set_frames;

struct selection {
    const struct selection_options *options;
    struct filter *filter; /* NULL: none */
    uint64_t timeless;     /* packets without a time that were not selected for that reason */
};

/* Opens a selection. Returns STATUS_CLEAN, or STATUS_ERROR after a message if the options
   contradict each other or the filter is wrong. */
int selection_open(struct selection *selection, const char *command,
                   const struct selection_options *options);
void selection_close(struct selection *selection);

/* Checks whether the options select packets; otherwise all packets are selected. */
bool selection_is_wanted(const struct selection *selection);

bool selection_has(struct selection *selection, const struct carry_capture_packet *packet);

/* Reports on standard error which packets of a capture could not be judged, and calls
   selection_forget(), which resets their counts. */
void selection_report(struct selection *selection, const char *path);
void selection_forget(struct selection *selection);

#endif
