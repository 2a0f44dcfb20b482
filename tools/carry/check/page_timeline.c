/* SPDX-License-Identifier: MIT */
/* Writes verdicts over time, as two bar charts: of all verdicts except unverifiable, and of the
   wrong ones. */
#include "check/page_parts.h"

#include <stdio.h>
#include <string.h>

#define ALL ((1u << CARRY_VERDICT_COUNT) - 1)

/* The verdicts from the bottom of a bar upwards. */
static const unsigned order[] = {CARRY_VERDICT_BAD, CARRY_VERDICT_ILLEGAL, CARRY_VERDICT_PARTIAL,
                                 CARRY_VERDICT_ABSENT, CARRY_VERDICT_GOOD};

#define ORDERED (sizeof order / sizeof *order)

static size_t count_spans(const struct carry_capture_summary *summary, uint64_t *from,
                          uint64_t *to) {
    uint64_t start, end;
    size_t count = 0;
    for (; carry_capture_span(summary, count, &start, &end); count++) {
        *from = count ? *from : start;
        *to = end;
    }
    return count;
}

static uint64_t count_in(const struct carry_capture_summary *summary, size_t span, unsigned set) {
    uint64_t count = 0;
    for (size_t i = 0; i < ORDERED; i++)
        if (set >> order[i] & 1)
            count += carry_capture_span_count(summary, span, order[i]);
    return count;
}

static uint64_t tallest_bar(const struct carry_capture_summary *summary, size_t spans,
                            unsigned set) {
    uint64_t most = 0;
    for (size_t span = 0; span < spans; span++)
        if (count_in(summary, span, set) > most)
            most = count_in(summary, span, set);
    return most;
}

/* Writes a bar, with heights in percent of the tallest one. */
static void write_bar(FILE *out, const struct carry_capture_summary *summary, size_t span,
                      unsigned set, uint64_t most) {
    double base = 100;
    for (size_t i = 0; i < ORDERED; i++) {
        const uint64_t count =
            set >> order[i] & 1 ? carry_capture_span_count(summary, span, order[i]) : 0;
        const double height = 100.0 * (double)count / (double)most;
        base -= height;
        if (count)
            fprintf(out,
                    "<rect class=\"fill-%s\" x=\"%zu.08\" y=\"%.2f\" width=\".84\" "
                    "height=\"%.2f\"/>\n",
                    page_verdict_class(order[i]), span, base, height);
    }
}

static void write_chart(FILE *out, const struct carry_capture_summary *summary, size_t spans,
                        unsigned set, const char *what, const char *width) {
    char number[TEXT_SIZE];
    const uint64_t most = tallest_bar(summary, spans, set);
    if (!most)
        return;
    fprintf(out,
            "<p class=\"faint\">%s: at most %s in %s</p>\n<svg role=\"img\" "
            "aria-label=\"%s over time; the numbers are in the table below\" class=\"%s\" "
            "viewBox=\"0 0 %zu 100\" preserveAspectRatio=\"none\">\n",
            what, text_count(number, most), width, what, set == ALL ? "many" : "few", spans);
    for (size_t span = 0; span < spans; span++)
        write_bar(out, summary, span, set, most);
    fputs("</svg>\n", out);
}

/* Writes a time such as "2023-11-14T22:13:20.123Z": in milliseconds, or in nanoseconds if
   `width_ns`, the length of a span, is less than one millisecond. */
static char *short_time(char *buffer, uint64_t time_ns, uint64_t width_ns) {
    if (!report_time(buffer, time_ns ? time_ns : 1))
        return strcpy(buffer, "?");
    if (width_ns >= 1000000)
        strcpy(buffer + strlen("2023-11-14T22:13:20.123"), "Z");
    return buffer;
}

/* Writes the length of a span of time, such as "1.07 s". */
static char *duration_text(char *buffer, uint64_t ns) {
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1, "ns"},     {1e3, "µs"},   {1e6, "ms"},      {1e9, "s"},
                 {6e10, "min"}, {3.6e12, "h"}, {8.64e13, "days"}};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && (double)ns >= units[unit + 1].ns)
        unit++;
    snprintf(buffer, TEXT_SIZE, "%.3g %s", (double)ns / units[unit].ns, units[unit].unit);
    return buffer;
}

static void write_legend(FILE *out, const struct carry_capture_summary *summary) {
    fputs("<p class=\"legend\">", out);
    for (size_t i = ORDERED; i-- > 0;)
        if (carry_capture_total(summary, 1u << order[i]))
            fprintf(out, "<span class=\"%s\">&#9632; %s</span>", page_verdict_class(order[i]),
                    carry_packet_verdict_name(order[i]));
    fputs("</p>\n", out);
}

static void write_span_row(FILE *out, const struct carry_capture_summary *summary, size_t span) {
    char time[REPORT_TIME_SIZE], number[TEXT_SIZE];
    uint64_t from, to;
    carry_capture_span(summary, span, &from, &to);
    fprintf(out, "<tr><td>%s</td>", short_time(time, from, to - from));
    for (size_t i = ORDERED; i-- > 0;)
        if (carry_capture_total(summary, 1u << order[i]))
            fprintf(out, "<td class=\"number\">%s</td>",
                    text_count(number, carry_capture_span_count(summary, span, order[i])));
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct carry_capture_summary *summary, size_t spans) {
    fputs("<details>\n<summary>The same in numbers</summary>\n<div class=\"wide\" tabindex=\"0\" "
          "role=\"region\" aria-label=\"Checksums over time\">\n<table>\n<caption>Checksums by the "
          "start of the span of time; spans without any are left out</caption>\n<thead><tr><th "
          "scope=\"col\">from</th>",
          out);
    for (size_t i = ORDERED; i-- > 0;)
        if (carry_capture_total(summary, 1u << order[i]))
            fprintf(out, "<th scope=\"col\" class=\"number\">%s</th>",
                    carry_packet_verdict_name(order[i]));
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t span = 0; span < spans; span++)
        if (count_in(summary, span, ALL))
            write_span_row(out, summary, span);
    fputs("</tbody>\n</table>\n</div>\n</details>\n", out);
}

void page_write_timeline(FILE *out, const struct carry_capture_summary *summary, unsigned wrong) {
    char start[REPORT_TIME_SIZE], end[REPORT_TIME_SIZE], width[TEXT_SIZE];
    uint64_t from = 0, to = 0;
    const size_t spans = count_spans(summary, &from, &to);
    if (spans < 2)
        return;
    const uint64_t each = (to - from) / spans;
    fputs("<section class=\"chart\">\n<h2>Over time</h2>\n", out);
    write_legend(out, summary);
    duration_text(width, each);
    write_chart(out, summary, spans, ALL, "Checksums", width);
    write_chart(out, summary, spans, wrong, "Wrong checksums", width);
    fprintf(out, "<p class=\"ends faint\"><span>%s</span><span>%s</span></p>\n",
            short_time(start, from, each), short_time(end, to, each));
    if (carry_capture_totals(summary)->early)
        fputs("<p class=\"faint\">IPv4 header checksums of 0 that later packets showed to be "
              "partial are bad here.</p>\n",
              out);
    write_table(out, summary, spans);
    fputs("</section>\n", out);
}
