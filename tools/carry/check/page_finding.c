/* SPDX-License-Identifier: MIT */
/* Writes a finding on the page, with the bytes around its field. */
#include "check/page_parts.h"
#include "check/report_parts.h"

#include <stdio.h>
#include <string.h>

#include "common/html.h"

#define ROWS_BEFORE 6

struct sample page_sample(const struct carry_capture_finding *finding) {
    const struct carry_capture_packet *packet = finding->packet;
    const uint32_t at = finding->sum.field_offset, row = at / SAMPLE_ROW;
    struct sample sample = {.field_offset = at};
    if (finding->reassembled || at + (uint64_t)finding->sum.field_size > packet->captured)
        return sample;
    sample.number = finding->number;
    sample.start = row > ROWS_BEFORE ? (row - ROWS_BEFORE) * SAMPLE_ROW : 0;
    const uint32_t rest = packet->captured - sample.start;
    sample.size = rest < SAMPLE_SIZE ? rest : SAMPLE_SIZE;
    memcpy(sample.bytes, packet->data + sample.start, sample.size);
    return sample;
}

/* Writes a byte in hexadecimal. In each row, one <mark> element encloses the bytes of the field. */
static void write_byte(FILE *out, const struct sample *sample, uint32_t at, uint32_t field_size) {
    const uint32_t place = sample->start + at, in_row = at % SAMPLE_ROW;
    const bool inside = place - sample->field_offset < field_size;
    const bool begins = inside && (place == sample->field_offset || !in_row);
    const bool ends =
        inside && (place + 1 == sample->field_offset + field_size || in_row + 1 == SAMPLE_ROW);
    fprintf(out, "%s%s%02x%s", in_row ? " " : "", begins ? "<mark>" : "", sample->bytes[at],
            ends ? "</mark>" : "");
}

static void write_text(FILE *out, const uint8_t *bytes, uint32_t size) {
    char text[SAMPLE_ROW + 1] = "";
    for (uint32_t i = 0; i < size; i++)
        text[i] = bytes[i] >= ' ' && bytes[i] <= '~' ? (char)bytes[i] : '.';
    html_text(out, text);
}

static void write_sample(FILE *out, const struct sample *sample, uint32_t field_size) {
    fputs("<pre tabindex=\"0\" role=\"region\" aria-label=\"Bytes of the packet\">", out);
    for (uint32_t row = 0; row < sample->size; row += SAMPLE_ROW) {
        const uint32_t rest = sample->size - row, size = rest < SAMPLE_ROW ? rest : SAMPLE_ROW;
        fprintf(out, "%04x  ", sample->start + row);
        for (uint32_t at = row; at < row + size; at++)
            write_byte(out, sample, at, field_size);
        fprintf(out, "%*s", 2 + 3 * (int)(SAMPLE_ROW - size), "");
        write_text(out, sample->bytes + row, size);
        fputc('\n', out);
    }
    fputs("</pre>\n", out);
}

static void write_term(FILE *out, const char *term, const char *text) {
    fprintf(out, "<dt>%s</dt><dd>", term);
    html_text(out, text);
    fputs("</dd>\n", out);
}

static void write_values(FILE *out, const struct carry_capture_finding *finding) {
    char stored[TEXT_SIZE], expected[TEXT_SIZE], offset[TEXT_SIZE], time[REPORT_TIME_SIZE],
        route[REPORT_ROUTE_SIZE];
    write_term(out, "packet", report_route(route, finding));
    if (report_time(time, finding->time_ns))
        write_term(out, "time", time);
    write_term(out, "stored", report_stored(stored, finding));
    write_term(out, "expected", report_expected(expected, finding));
    if (finding->offset != CARRY_CAPTURE_NOWHERE)
        write_term(out, "at offset", text_count(offset, finding->offset));
}

void page_write_finding(FILE *out, const char *path, const struct carry_capture_finding *finding,
                        const struct sample *sample) {
    char number[TEXT_SIZE];
    const unsigned verdict = finding->sum.verdict;
    fprintf(out, "<article>\n<h3>Frame %s: %s <span class=\"%s\">%s</span></h3>\n<dl>\n",
            text_count(number, finding->number), carry_packet_protocol_name(finding->sum.protocol),
            page_verdict_class(verdict), carry_packet_verdict_name(verdict));
    if (path)
        write_term(out, "file", path);
    write_values(out, finding);
    fputs("</dl>\n", out);
    if (sample)
        write_sample(out, sample, finding->sum.field_size);
    else if (finding->reassembled)
        fputs("<p class=\"faint\">In a datagram that came in fragments.</p>\n", out);
    fputs("</article>\n", out);
}
