/* SPDX-License-Identifier: MIT */
/* Reports samples by function. */
#ifndef CARRY_TOOLS_PROF_REPORT_H
#define CARRY_TOOLS_PROF_REPORT_H

#include <stdio.h>

#include "xstate/prof_functions.h"
#include "xstate/prof_trace.h"
#include "xstate/xstate_prof.h"

struct prof_report {
    const struct prof_options *options;
    const struct samples *samples;
    const struct trace_result *result;
    const struct functions *functions;
};

void prof_report(const struct prof_report *report, FILE *stream);

#endif
