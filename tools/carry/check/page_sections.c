/* SPDX-License-Identifier: MIT */
/* Writes the sections about a summary: by protocol, why, by sender. */
#include "check/page_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/report_parts.h"
#include "common/html.h"

/* At most this many senders of a protocol and verdict are listed. */
#define SENDERS_SHOWN 5

static void write_share(FILE *out, const struct carry_capture_summary *summary, unsigned protocol) {
    double x = 0, all = 0;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        all += (double)carry_capture_count(summary, protocol, verdict);
    fputs("<td class=\"share\" aria-hidden=\"true\"><svg viewBox=\"0 0 100 1\" "
          "preserveAspectRatio=\"none\">",
          out);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        const double width = 100 * (double)carry_capture_count(summary, protocol, verdict) / all;
        if (width > 0)
            fprintf(out, "<rect class=\"fill-%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"1\"/>",
                    page_verdict_class(verdict), x, width);
        x += width;
    }
    fputs("</svg></td>", out);
}

static void write_protocol(FILE *out, const struct carry_capture_summary *summary,
                           unsigned protocol) {
    char number[TEXT_SIZE];
    fprintf(out, "<tr><th scope=\"row\">%s</th>", carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        const uint64_t count = carry_capture_count(summary, protocol, verdict);
        if (carry_capture_total(summary, 1u << verdict))
            fprintf(out, "<td class=\"number %s\">%s</td>",
                    count ? page_verdict_class(verdict) : "faint",
                    count ? text_count(number, count) : "-");
    }
    write_share(out, summary, protocol);
    fputs("</tr>\n", out);
}

static void write_protocols(FILE *out, const struct carry_capture_summary *summary) {
    if (!carry_capture_total(summary, ~0u))
        return;
    fputs("<section>\n<h2>By protocol</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Checksums by protocol\">\n<table>\n<caption>Checksums by protocol and "
          "verdict</caption>\n<thead><tr><th scope=\"col\">protocol</th>",
          out);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (carry_capture_total(summary, 1u << verdict))
            fprintf(out, "<th scope=\"col\" class=\"number\">%s</th>",
                    carry_packet_verdict_name(verdict));
    fputs("<td class=\"share\" aria-hidden=\"true\"></td></tr></thead>\n<tbody>\n", out);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (report_has(summary, protocol))
            write_protocol(out, summary, protocol);
    fputs("</tbody>\n</table>\n</div>\n</section>\n", out);
}

static void write_sender(FILE *out, const struct carry_capture_sender *sender, unsigned protocol,
                         unsigned verdict) {
    char address[ADDRESS_SIZE], least[TEXT_SIZE];
    fprintf(out,
            "<tr><th scope=\"row\">%s</th><td>%s</td><td class=\"%s\">%s</td>"
            "<td class=\"number\">%s%s</td></tr>\n",
            address_text(address, &sender->address, -1), carry_packet_protocol_name(protocol),
            page_verdict_class(verdict), carry_packet_verdict_name(verdict),
            sender->at_least == sender->at_most ? "" : "at least ",
            text_count(least, sender->at_least));
}

/* Writes the most frequent senders of one protocol and verdict; returns how many are not shown. */
static size_t write_senders_of(FILE *out, const struct carry_capture_summary *summary,
                               unsigned protocol, unsigned verdict) {
    struct carry_capture_sender senders[CARRY_CAPTURE_SENDERS_MAX];
    const size_t count = carry_capture_senders(summary, protocol, verdict, true, senders,
                                               CARRY_CAPTURE_SENDERS_MAX, NULL);
    const size_t shown = count < SENDERS_SHOWN ? count : SENDERS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        write_sender(out, &senders[i], protocol, verdict);
    return count - shown;
}

static void write_senders(FILE *out, const struct carry_capture_summary *summary) {
    size_t more = 0;
    if (!carry_capture_total(summary, CARRY_CAPTURE_FINDING_VERDICTS))
        return;
    fputs("<section>\n<h2>By sender</h2>\n<table>\n<caption>Senders of checksums that are bad, "
          "partial or illegal, the most frequent of each protocol and verdict</caption>\n"
          "<thead><tr><th scope=\"col\">sender</th><th scope=\"col\">protocol</th>"
          "<th scope=\"col\">verdict</th><th scope=\"col\" class=\"number\">checksums</th></tr>"
          "</thead>\n<tbody>\n",
          out);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            more += write_senders_of(out, summary, protocol, verdict);
    fputs("</tbody>\n</table>\n", out);
    if (more)
        fprintf(out, "<p>and %zu more</p>\n", more);
    fputs("</section>\n", out);
}

static void write_causes(FILE *out, const struct carry_capture_summary *summary) {
    char *lines = NULL, *rest = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&lines, &size);
    if (!stream)
        return;
    report_write_causes(stream, summary);
    const bool any = fclose(stream) == 0 && size;
    fputs(any ? "<section>\n<h2>Why</h2>\n<ul>\n" : "", out);
    for (char *line = any ? strtok_r(lines, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        fputs("<li>", out);
        html_text(out, line);
        fputs("</li>\n", out);
    }
    fputs(any ? "</ul>\n</section>\n" : "", out);
    free(lines);
}

void page_write_sections(FILE *out, const struct carry_capture_summary *summary) {
    write_protocols(out, summary);
    write_causes(out, summary);
    write_senders(out, summary);
}
