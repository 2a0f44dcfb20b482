/* SPDX-License-Identifier: MIT */
/* Starts or follows a program, and reports its samples. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <carry/xstate.h>

#include "common/command.h"
#include "common/report_file.h"
#include "xstate/prof_report.h"
#include "xstate/xstate_prof.h"

static bool has_uppers(void) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    return layout.user & CARRY_XSTATE_BIT(AVX);
}

/* --- The report --- */

static int report_samples(const struct prof_options *options, const struct samples *samples,
                          const struct trace_result *result, FILE *stream) {
    struct functions functions;
    int status = STATUS_CLEAN;
    if (functions_collect(&functions, samples))
        prof_report(&(struct prof_report){options, samples, result, &functions}, stream);
    else
        status = command_error("out of memory");
    functions_free(&functions);
    fflush(stream);
    return status;
}

/* --- The program --- */

/* Reports the samples, then waits for a launched program that has not ended, as it uses the
 * terminal. From here on, a signal ends this process. */
static int finish_program(const struct prof_options *options, struct launch *launch,
                          const struct samples *samples, const struct trace_result *result,
                          FILE *stream) {
    int ended = STATUS_CLEAN;
    if (result->ended && options->command)
        ended = launch_status(launch, result->wait_status);
    if (launch->failed)
        return ended;
    int status = report_samples(options, samples, result, stream);
    if (!result->ended && options->command)
        ended = launch_wait(launch);
    return status == STATUS_CLEAN ? ended : status;
}

static int trace_program(const struct prof_options *options, struct launch *launch, FILE *stream) {
    struct trace_options trace_options = {
        .launch = options->command ? launch : NULL,
        .process = options->process,
        .rate = options->rate,
        .seconds = options->seconds,
    };
    struct samples samples = {0};
    struct trace_result result = {0};
    int status = trace_run(&trace_options, &samples, &result);
    if (status == STATUS_CLEAN)
        status = finish_program(options, launch, &samples, &result, stream);
    samples_free(&samples);
    return status;
}

int prof_run(const struct prof_options *options) {
    extern char **environ;
    struct launch launch = {0};
    sigset_t mask;
    if (!has_uppers())
        return command_error("this CPU has no AVX, so it has no upper halves that could be dirty");
    FILE *stream = report_open(options->output, options->command ? stderr : stdout);
    if (!stream)
        return STATUS_ERROR;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int status = STATUS_CLEAN;
    if (options->command)
        status = launch_start(&launch, options->command, environ, &mask);
    if (status == STATUS_CLEAN)
        status = trace_program(options, &launch, stream);
    return report_close(options->output, stream, status);
}
