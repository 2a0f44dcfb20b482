/* SPDX-License-Identifier: MIT */
/* Draws reports on a terminal, each replacing the previous one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "check/report.h"
#include "common/clock.h"
#include "common/text.h"
#include "live/live_report.h"

#define ROWS_DEFAULT 24
#define NUMBER_WIDTH 13

/* Lines on the screen that the next report overwrites. */
static unsigned lines_drawn;

static unsigned terminal_rows(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : ROWS_DEFAULT;
}

static double per_second(uint64_t count, const struct live_report *report) {
    return (double)count * CLOCK_SECOND / (double)report->since->time_ns;
}

static const struct live_row *row_now(const struct live_report *report,
                                      const struct live_row *since) {
    return report->now->rows + (since - report->since->rows);
}

static void print_screen_head(FILE *out, const struct live_report *report) {
    char packets[TEXT_SIZE], speed[TEXT_SIZE], drops[TEXT_SIZE];
    fprintf(out, "%s%s packets%s in %" PRId64 " s, %s/s, %s dropped; Ctrl-C ends\n",
            text_colour(COLOUR_BOLD), text_count(packets, counts_packets(report->now)),
            text_colour(COLOUR_NONE), report->now->time_ns / CLOCK_SECOND,
            text_measure(speed, per_second(counts_packets(report->since), report)),
            text_count(drops, counts_drops(report->now)));
    fprintf(out, "%s  %-10s%7s", text_colour(COLOUR_FAINT), "", "per s");
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        fprintf(out, "%*s", NUMBER_WIDTH, carry_packet_verdict_name(verdict));
    fprintf(out, "%s\n", text_colour(COLOUR_NONE));
}

static void print_screen_side(FILE *out, const struct live_report *report,
                              const struct live_row *since) {
    char packets[TEXT_SIZE], bytes[TEXT_SIZE], drops[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), out);
    text_print_clean(out, report->live->interfaces.names[since->interface]);
    fprintf(out, " %s%s  %s packets/s, %s/s, %s dropped/s\n", report_live_direction(since->sent),
            text_colour(COLOUR_NONE), text_measure(packets, per_second(since->packets, report)),
            text_bytes(bytes, (uint64_t)per_second(since->bytes, report)),
            text_measure(drops, per_second(report_live_drops(report, since), report)));
}

static uint64_t sums_of(const struct live_row *row, unsigned protocol) {
    uint64_t sums = 0;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        sums += row->sums[protocol][verdict];
    return sums;
}

static void print_screen_protocol(FILE *out, const struct live_report *report,
                                  const struct live_row *since, unsigned protocol) {
    const uint64_t *sums = row_now(report, since)->sums[protocol];
    char text[TEXT_SIZE];
    fprintf(out, "  %-10s%7s", carry_packet_protocol_name(protocol),
            text_measure(text, per_second(sums_of(since, protocol), report)));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        fprintf(out, "%s%*s%s",
                text_colour(sums[verdict] ? report_verdict_colour(verdict) : COLOUR_FAINT),
                NUMBER_WIDTH, sums[verdict] ? text_count(text, sums[verdict]) : "-",
                text_colour(COLOUR_NONE));
    fputc('\n', out);
}

static void print_screen(FILE *out, const struct live_report *report) {
    print_screen_head(out, report);
    for (unsigned i = 0; i < report->since->rows_count; i++) {
        const struct live_row *since = &report->since->rows[i];
        print_screen_side(out, report, since);
        for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
            if (counts_has(row_now(report, since), protocol))
                print_screen_protocol(out, report, since, protocol);
    }
}

/* Draws as many lines as there is room for, without line wrapping. */
static void draw_lines(FILE *out, const char *text) {
    const unsigned room = terminal_rows() - 1;
    fputs("\033[?7l", out);
    for (; *text && lines_drawn < room; lines_drawn++) {
        const size_t size = strcspn(text, "\n") + 1;
        fwrite(text, 1, size, out);
        text += size;
    }
    fputs("\033[?7h", out);
}

void report_live_screen_clear(FILE *out) {
    if (lines_drawn)
        fprintf(out, "\033[%uA\r\033[J", lines_drawn);
    lines_drawn = 0;
}

void report_live_screen(FILE *out, const struct live_report *report) {
    char *text = NULL;
    size_t size;
    FILE *whole = open_memstream(&text, &size);
    if (!whole)
        return;
    print_screen(whole, report);
    if (fclose(whole) == 0) {
        report_live_screen_clear(out);
        draw_lines(out, text);
    }
    free(text);
}
