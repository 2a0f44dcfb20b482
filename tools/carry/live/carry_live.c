/* SPDX-License-Identifier: MIT */
/* Implements carry live: watches the checksums of network interfaces. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/command.h"
#include "common/metrics.h"
#include "common/output.h"
#include "common/signals.h"
#include "common/text.h"
#include "live/confine.h"
#include "live/counts.h"
#include "live/live_filter.h"
#include "live/live_metrics.h"
#include "live/live_options.h"
#include "live/live_reader.h"
#include "live/live_report.h"
#include "live/outlet.h"
#include "live/packet_file.h"
#include "live/privileges.h"
#include "live/server.h"
#include "live/watch.h"

/* The state of the main thread. Times are values of clock_ns(). */
struct run {
    struct live live;
    struct live_filter *filter;
    struct watch *watches; /* one per thread */
    unsigned watches_count;
    int64_t start, next_report;
    struct live_counts now, before, since;
    struct server *server;      /* NULL: not requested */
    struct live_counts metrics; /* the last published counts, which never shrink */
    bool metrics_failed;        /* the last write of the file failed */
    bool no_memory;
    int status;
};

/* --- Reports --- */

/* Checks whether to draw reports on a terminal. They are not drawn while packets go to standard
   output, as the program that reads the packets may print on the same terminal. */
static bool is_screen(const struct live_options *options) {
    const bool pipes = options->write && strcmp(options->write, "-") == 0;
    return !options->json && !pipes && isatty(STDOUT_FILENO);
}

static bool prints_reports(const struct live_options *options) {
    return !options->quiet && !options->bad_only;
}

/* Takes new counts, and computes what has arrived since the previous ones. */
static void take_counts(struct run *run) {
    struct live_counts oldest = run->before;
    run->before = run->now;
    run->now = oldest;
    run->no_memory |= !counts_take(&run->now, run->watches, run->watches_count);
    run->now.time_ns -= run->start;
    run->no_memory |= !counts_subtract(&run->since, &run->now, &run->before);
}

static void print_interval(const struct run *run) {
    const struct live_report report = {&run->live, &run->now, &run->since};
    const struct live_options *options = &run->live.options;
    struct outlet_text text;
    const bool draws = is_screen(options);
    if (!prints_reports(options) || (draws && !outlet_is_idle(run->live.outlet)) ||
        !outlet_begin(&text))
        return;
    if (options->json)
        report_live_json(text.out, &report, false);
    else if (draws)
        report_live_screen(text.out, &report);
    else
        report_live_lines(text.out, &report);
    outlet_end(run->live.outlet, &text, NULL);
}

/* Returns the current metrics; the previous ones if there is no memory. */
static struct live_metrics raise_metrics(struct run *run) {
    struct live_counts fresh = {0};
    if (counts_take(&fresh, run->watches, run->watches_count))
        counts_raise(&run->metrics, &fresh);
    counts_free(&fresh);
    return (struct live_metrics){&run->live, &run->metrics};
}

static void serve_page(void *context, FILE *out) {
    const struct live_metrics metrics = raise_metrics(context);
    live_metrics_print(out, &metrics);
}

/* Writes the metrics file. A failure may be temporary, so only the first of consecutive failures is
   reported. */
static void write_live_metrics(struct run *run) {
    const char *path = run->live.options.metrics_file;
    if (!path)
        return;
    const struct live_metrics metrics = raise_metrics(run);
    const bool ok = metrics_write(path, live_metrics_print, &metrics);
    if (!ok && !run->metrics_failed)
        run->status = command_file_error(path, output_problem(errno));
    run->metrics_failed = !ok;
}

static void report_interval(struct run *run) {
    take_counts(run);
    print_interval(run);
    write_live_metrics(run);
}

static void print_final_report(struct run *run) {
    const struct live_report report = {&run->live, &run->now, &run->since};
    struct outlet_text text;
    if (!prints_reports(&run->live.options))
        return;
    if (!outlet_begin(&text)) {
        run->no_memory = true;
        return;
    }
    report_live_screen_clear(text.out);
    if (run->live.options.json)
        report_live_json(text.out, &report, true);
    else
        run->no_memory |=
            !report_live_end(text.out, &run->live, run->watches, run->watches_count, &run->now);
    outlet_end(run->live.outlet, &text, NULL);
}

/* Waits for the reader of standard output, for a limited time, and reports a failure. Messages are
   printed only after this, so that they follow the reports. */
static int end_outlet(struct run *run) {
    char number[TEXT_SIZE];
    uint64_t lost;
    const int error = outlet_close(run->live.outlet, &lost);
    run->live.outlet = NULL;
    if (error == EPIPE) /* the reader has closed the output: no message is needed */
        return STATUS_ERROR;
    if (error)
        return command_error("cannot write the output: %s", strerror(error));
    if (!lost)
        return STATUS_CLEAN;
    if (reader_is_ready(STDERR_FILENO))
        command_error("standard output: its reader takes no more: %s line%s not written",
                      text_count(number, lost), lost == 1 ? " is" : "s are");
    return STATUS_ERROR;
}

/* Prints the last report, which includes what arrived since the previous report. Returns an exit
   status. */
static int report_end(struct run *run) {
    const struct live_options *options = &run->live.options;
    take_counts(run);
    write_live_metrics(run);
    print_final_report(run);
    const int status = end_outlet(run);
    if (((options->bad_only && !options->quiet) || (options->write && counts_drops(&run->now))) &&
        reader_is_ready(STDERR_FILENO))
        report_live_dropped(stderr, &run->now);
    return status;
}

/* --- Watching --- */

static int64_t end_time(const struct run *run) {
    const uint64_t seconds = run->live.options.duration;
    return seconds ? run->start + (int64_t)seconds * CLOCK_SECOND : INT64_MAX;
}

/* The longest time to wait in one call of poll(), whose timeout is an int. */
#define TIMEOUT_MAX_MS 3600000

static int poll_timeout_ms(const struct run *run, int64_t end) {
    const int64_t next = run->next_report < end ? run->next_report : end;
    const int64_t rest = next - clock_ns();
    const int64_t ms = rest > 0 ? rest / 1000000 + 1 : 0;
    const int own = ms < TIMEOUT_MAX_MS ? (int)ms : TIMEOUT_MAX_MS;
    const int server = server_timeout_ms(run->server);
    return server >= 0 && server < own ? server : own;
}

/* Reports if the interval is over. After a slow report, skips the reports that it has delayed. */
static void report_when_due(struct run *run) {
    const int64_t interval = (int64_t)run->live.options.interval * CLOCK_SECOND;
    if (clock_ns() < run->next_report)
        return;
    report_interval(run);
    run->next_report += interval;
    if (run->next_report < clock_ns())
        run->next_report = clock_ns() + interval;
}

/* Prints reports and serves metrics until a signal arrives, the duration or a thread ends, or
 * something fails. */
static void wait_until_end(struct run *run) {
    const int64_t end = end_time(run);
    struct pollfd waits[2 + SERVER_POLLS] = {{.fd = run->live.signal_event, .events = POLLIN},
                                             {.fd = run->live.end_event, .events = POLLIN}};
    while (clock_ns() < end && !run->no_memory && !outlet_has_failed(run->live.outlet)) {
        const unsigned count = 2 + server_polls(run->server, waits + 2);
        const int ready = poll(waits, count, poll_timeout_ms(run, end));
        const bool any = ready > 0;
        if (ready < 0 && errno != EINTR) {
            run->status = command_error("cannot wait for packets: %s", strerror(errno));
            return;
        }
        if (any && (waits[0].revents || waits[1].revents))
            return;
        if (any)
            server_serve(run->server, waits + 2);
        report_when_due(run);
    }
}

static bool start_watches(struct run *run) {
    for (unsigned i = 0; i < run->watches_count; i++)
        if (!watch_start(&run->watches[i]))
            return false;
    return true;
}

static void watch_interfaces(struct run *run) {
    if (!run->live.options.quiet)
        report_live_start(&run->live);
    run->start = clock_ns();
    run->next_report = run->start + (int64_t)run->live.options.interval * CLOCK_SECOND;
    if (start_watches(run))
        wait_until_end(run);
    else
        run->status = command_error("cannot start a thread: %s", strerror(errno));
    live_stop(&run->live);
    for (unsigned i = 0; i < run->watches_count; i++)
        watch_end(&run->watches[i]);
}

/* --- The command --- */

/* Reports an error of the file by errno. A stream whose reader has closed it needs no message. */
static int packet_file_error(const char *path) {
    if (errno == EPIPE && strcmp(path, "-") == 0)
        return STATUS_ERROR;
    return command_file_error(output_name(path), strerror(errno));
}

/* Returns the statistics of an interface. A ring for any interface does not count drops per
   interface. */
static struct carry_capture_statistics statistics_of(const struct run *run, unsigned interface) {
    const struct live_options *options = &run->live.options;
    const unsigned ring = live_options_find(options, run->live.interfaces.names[interface]);
    const bool is_known = ring < options->interfaces_count;
    struct carry_capture_statistics statistics = {
        .time_ns = clock_day_ns(),
        .received = is_known ? run->now.drops[ring] : 0,
        .dropped = is_known ? run->now.drops[ring] : CARRY_CAPTURE_NOT_COUNTED,
    };
    for (unsigned i = 0; i < run->now.rows_count; i++)
        if (run->now.rows[i].interface == interface)
            statistics.received += run->now.rows[i].packets;
    return statistics;
}

static void write_statistics(const struct run *run) {
    for (unsigned i = 0; run->live.file && i < run->live.interfaces.count; i++) {
        const struct carry_capture_statistics statistics = statistics_of(run, i);
        packet_file_count(run->live.file, i, &statistics);
    }
}

static int end_file(const struct run *run) {
    char number[TEXT_SIZE];
    uint64_t lost;
    const char *path = run->live.options.write;
    write_statistics(run);
    if (packet_file_close(run->live.file, &lost))
        return run->status;
    if (errno)
        return packet_file_error(path);
    if (!reader_is_ready(STDERR_FILENO))
        return STATUS_ERROR;
    return command_error("%s: its reader takes no more: %s packet%s not written", output_name(path),
                         text_count(number, lost), lost == 1 ? " is" : "s are");
}

static bool open_watches(struct run *run) {
    const struct live_options *options = &run->live.options;
    run->watches = calloc(options->threads, sizeof *run->watches);
    if (!run->watches) {
        command_error("%s", strerror(ENOMEM));
        return false;
    }
    while (run->watches_count < options->threads) {
        const unsigned number = run->watches_count++;
        if (!watch_open(&run->watches[number], &run->live, number ? run->watches : NULL))
            return false;
    }
    ring_await_joined();
    for (unsigned i = 0; i < run->watches_count; i++)
        if (!watch_receive(&run->watches[i]))
            return false;
    return true;
}

/* Checks whether --write and --metrics-file name one file: the metrics would replace the
   packets. */
static bool names_one_file(const struct live_options *options) {
    struct stat packets, metrics;
    return options->write && options->metrics_file && stat(options->write, &packets) == 0 &&
           stat(options->metrics_file, &metrics) == 0 && output_is_same(&packets, &metrics);
}

static int privileges_error(const char *user) {
    if (!user)
        return command_error("cannot give up privileges: %s", strerror(errno));
    return command_error("cannot become user %s: %s", user,
                         errno == ENOENT ? "there is no such user" : strerror(errno));
}

static int open_live_run(struct run *run) {
    struct live *live = &run->live;
    const struct live_options *options = &live->options;
    live->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    live->end_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&live->interfaces.lock, NULL);
    if (options->filter && !(live->filter = run->filter = live_filter_open(options->filter)))
        return STATUS_ERROR;
    if (!open_watches(run))
        return STATUS_ERROR;
    if (options->metrics && !(run->server = server_open(options->metrics, serve_page, run)))
        return STATUS_ERROR;
    if (!privileges_drop(options->user))
        return privileges_error(options->user);
    if (options->write && !(live->file = packet_file_open(options->write, live)))
        return packet_file_error(options->write);
    if (names_one_file(options))
        return command_error("%s: --write and --metrics-file must name two files", options->write);
    confine();
    if (!(live->outlet = outlet_open(live->end_event)))
        return command_error("cannot start a thread: %s", strerror(errno));
    return STATUS_CLEAN;
}

static bool any_wrong(const struct run *run) {
    for (unsigned i = 0; i < run->now.rows_count; i++)
        if (counts_sums(&run->now.rows[i], CARRY_CAPTURE_WRONG_VERDICTS))
            return true;
    return false;
}

/* Reports the end and sets the exit status. The threads must have ended. */
static void conclude_run(struct run *run) {
    struct live *live = &run->live;
    const int status = report_end(run);
    run->status = status_max(end_file(run), status);
    live->file = NULL;
    if (run->no_memory || live->error == CARRY_ERROR_MEMORY)
        run->status = command_error("%s", strerror(ENOMEM));
    if (run->status == STATUS_CLEAN && live->options.fails && any_wrong(run))
        run->status = STATUS_BAD;
}

static void close_live_run(struct run *run) {
    struct live *live = &run->live;
    for (unsigned i = 0; i < run->watches_count; i++)
        watch_close(&run->watches[i]);
    packet_file_close(live->file, NULL);
    counts_free(&run->now);
    counts_free(&run->before);
    counts_free(&run->since);
    counts_free(&run->metrics);
    server_close(run->server);
    live_filter_close(run->filter);
    free(run->watches);
    free(live->options.filter);
    close(live->stop_event);
    close(live->end_event);
}

int command_live(int argc, char **argv) {
    struct run run = {.status = STATUS_CLEAN};
    if (!live_options(argc, argv, &run.live.options, &run.status)) {
        free(run.live.options.filter);
        return run.status;
    }
    run.live.signal_event = signals_stop_begin(true);
    run.status = open_live_run(&run);
    if (run.status == STATUS_CLEAN) {
        watch_interfaces(&run);
        conclude_run(&run);
    }
    close_live_run(&run);
    signals_stop_end();
    return run.status;
}
