/* SPDX-License-Identifier: MIT */
#include "check/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/page_parts.h"
#include "check/report_parts.h"
#include "check/source.h"
#include "check/verdict_set.h"
#include "common/html.h"
#include "common/output.h"

/* The most samples. More are kept than are shown, since findings may later turn out not to be
   wrong. */
#define SAMPLES_MAX (2 * PAGE_FINDINGS_MAX)

/* Markup that is kept until the page is written. */
struct part {
    FILE *stream;
    char *text;
    size_t size;
};

struct page {
    struct output output;
    bool many;            /* there may be more than one capture */
    struct part captures; /* rows of a table */
    struct part damage;   /* items of a list */
    struct part findings; /* cards */
    uint64_t captures_count, findings_count, findings_all;
    char *first;                        /* the name of the first capture */
    struct sample samples[SAMPLES_MAX]; /* of the current capture */
    size_t samples_count;
};

/* --- The file --- */

static bool open_part(struct part *part) {
    part->stream = open_memstream(&part->text, &part->size);
    return part->stream;
}

/* Returns the complete text of a part; "" if there is no memory. */
static const char *part_text(struct part *part) {
    if (part->stream)
        fflush(part->stream);
    return part->text ? part->text : "";
}

static void close_part(struct part *part) {
    if (part->stream)
        fclose(part->stream);
    free(part->text);
}

static void release_page(struct page *page) {
    int error = errno;
    close_part(&page->captures);
    close_part(&page->damage);
    close_part(&page->findings);
    free(page->first);
    free(page);
    errno = error;
}

struct page *page_open(const char *path, bool many) {
    struct page *page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->many = many;
    if (output_open(&page->output, path, 0666) && output_stream(&page->output) &&
        open_part(&page->captures) && open_part(&page->damage) && open_part(&page->findings))
        return page;
    int error = errno;
    output_abandon(&page->output);
    errno = error;
    release_page(page);
    return NULL;
}

void page_restrict(struct page *page, mode_t mode) {
    output_restrict(&page->output, mode);
}

bool page_replaces(const struct page *page, const struct stat *capture) {
    struct stat present;
    return stat(page->output.path, &present) == 0 && output_is_same(&present, capture);
}

/* --- A capture --- */

void page_add_finding(struct page *page, const struct carry_capture_finding *finding) {
    if (page->samples_count == SAMPLES_MAX)
        return;
    page->samples[page->samples_count] = page_sample(finding);
    page->samples_count += page->samples[page->samples_count].number > 0;
}

static const struct sample *find_sample(const struct page *page,
                                        const struct carry_capture_finding *finding) {
    for (size_t i = 0; i < page->samples_count; i++)
        if (page->samples[i].number == finding->number &&
            page->samples[i].field_offset == finding->sum.field_offset && !finding->reassembled)
            return &page->samples[i];
    return NULL;
}

static void add_findings(struct page *page, const struct report *report) {
    const struct carry_capture_finding *finding;
    for (size_t i = 0; (finding = carry_capture_kept(report->summary, i)) &&
                       page->findings_count < PAGE_FINDINGS_MAX;
         i++, page->findings_count++)
        page_write_finding(page->findings.stream, page->many ? report->path : NULL, finding,
                           find_sample(page, finding));
}

static const char *outcome_class(const struct carry_capture_summary *summary, unsigned wrong) {
    static const char *const classes[] = {
        [CARRY_CAPTURE_CLEAN] = "good",
        [CARRY_CAPTURE_WRONG] = "bad",
        [CARRY_CAPTURE_UNCHECKED] = "partial",
    };
    return classes[carry_capture_outcome(summary, wrong)];
}

/* Removes terminal colours (ESC [ 3 1 m) from a text. */
static char *drop_colours(char *text) {
    char *to = text;
    bool in_sequence = false;
    for (const char *from = text; *from; from++) {
        in_sequence |= *from == '\033';
        if (!in_sequence)
            *to++ = *from;
        in_sequence &= *from != 'm';
    }
    *to = '\0';
    return text;
}

static void write_outcome_text(FILE *out, const struct carry_capture_summary *summary,
                               unsigned wrong) {
    struct part line = {0};
    if (!open_part(&line))
        return;
    report_write_outcome(line.stream, summary, wrong);
    fflush(line.stream);
    if (line.text)
        html_text(out, drop_colours(line.text));
    close_part(&line);
}

static void add_capture_row(struct page *page, const struct report *report) {
    char packets[TEXT_SIZE], all[TEXT_SIZE];
    const struct carry_capture_totals *totals = carry_capture_totals(report->summary);
    FILE *out = page->captures.stream;
    fputs("<tr><th scope=\"row\">", out);
    html_text(out, report->path);
    fprintf(out, "</th><td class=\"number\">%s", text_count(packets, totals->packets));
    if (totals->unselected)
        fprintf(out, " of %s", text_count(all, totals->packets + totals->unselected));
    fprintf(out, "</td><td class=\"%s\">", outcome_class(report->summary, report->wrong));
    if (report->error.code == CARRY_OK || totals->packets)
        write_outcome_text(out, report->summary, report->wrong);
    if (report->error.code != CARRY_OK)
        fprintf(out, "%s<span class=\"bad\">%s</span>", totals->packets ? "; " : "",
                source_is_damaged(report->error.code) ? "damaged" : "could not be read");
    fputs("</td></tr>\n", out);
}

static void add_damage(struct page *page, const struct report *report) {
    char offset[TEXT_SIZE];
    FILE *out = page->damage.stream;
    if (report->error.code == CARRY_OK)
        return;
    fputs("<li>", out);
    html_text(out, report->path);
    if (source_is_damaged(report->error.code))
        fprintf(out, ": damaged at offset %s", text_count(offset, report->error.offset));
    fputs(": ", out);
    html_text(out, report->error.text);
    fputs("</li>\n", out);
}

void page_add_capture(struct page *page, const struct report *report) {
    if (!page->first)
        page->first = strdup(report->path);
    if (page->captures_count++ < PAGE_CAPTURES_MAX) {
        add_capture_row(page, report);
        add_damage(page, report);
    }
    page->findings_all += carry_capture_total(report->summary, report->listed);
    add_findings(page, report);
    page->samples_count = 0;
}

/* --- Sections --- */

static void write_header(FILE *out, const struct page *page, const struct report_total *total) {
    const struct carry_capture_totals *totals = carry_capture_totals(total->summary);
    char title[HTML_TEXT_MAX], captures[TEXT_SIZE], packets[REPORT_PACKETS_SIZE], bytes[TEXT_SIZE];
    if (!page->many && page->first)
        snprintf(title, sizeof title, "Checksums of %s",
                 strcmp(page->first, "-") == 0 ? "standard input" : text_last_part(page->first));
    else
        snprintf(title, sizeof title, "Checksums of %s captures",
                 text_count(captures, total->captures));
    page_write_head(out, title);
    fputs("<header>\n<h1>", out);
    html_text(out, title);
    fprintf(out, "</h1>\n<p class=\"outcome %s\">", outcome_class(total->summary, total->wrong));
    write_outcome_text(out, total->summary, total->wrong);
    fprintf(out, "</p>\n<p class=\"faint\">%s, %s",
            report_packets(packets, totals->packets, totals->unselected),
            text_bytes(bytes, totals->bytes));
    fprintf(out, "; checked by carry %s</p>\n</header>\n<main>\n", carry_version_text());
}

static void write_captures(FILE *out, struct page *page) {
    char number[TEXT_SIZE];
    if (!page->many)
        return;
    fprintf(out,
            "<section>\n<h2>Captures</h2>\n<table>\n<caption>Each capture, in the order in which "
            "they were checked</caption>\n<thead><tr><th scope=\"col\">file</th><th scope=\"col\" "
            "class=\"number\">packets</th><th scope=\"col\">outcome</th></tr></thead>\n<tbody>\n"
            "%s</tbody>\n</table>\n",
            part_text(&page->captures));
    if (page->captures_count > PAGE_CAPTURES_MAX)
        fprintf(out, "<p>and %s more, which all other sections include</p>\n",
                text_count(number, page->captures_count - PAGE_CAPTURES_MAX));
    fputs("</section>\n", out);
}

static void write_damage(FILE *out, struct page *page) {
    if (*part_text(&page->damage))
        fprintf(out, "<section>\n<h2>Damage</h2>\n<ul>\n%s</ul>\n</section>\n",
                part_text(&page->damage));
}

static void write_findings(FILE *out, struct page *page) {
    char number[TEXT_SIZE];
    if (!page->findings_count)
        return;
    fprintf(out, "<section>\n<h2>First findings</h2>\n<div class=\"cards\">\n%s</div>\n",
            part_text(&page->findings));
    if (page->findings_all > page->findings_count)
        fprintf(out, "<p>and %s more: <code>carry check --bad-only</code> lists them all</p>\n",
                text_count(number, page->findings_all - page->findings_count));
    fputs("</section>\n", out);
}

static void write_page(struct page *page, const struct report_total *total) {
    FILE *out = output_stream(&page->output);
    write_header(out, page, total);
    page_write_timeline(out, total->summary, total->wrong);
    page_write_sections(out, total->summary);
    write_captures(out, page);
    write_damage(out, page);
    write_findings(out, page);
    fputs("</main>\n</body>\n</html>\n", out);
}

bool page_close(struct page *page, const struct report_total *total, bool keep) {
    struct output *output = &page->output;
    if (keep)
        write_page(page, total);
    if (keep && (ferror(page->captures.stream) || ferror(page->damage.stream) ||
                 ferror(page->findings.stream)))
        output->error = ENOMEM;
    bool closed = !keep || (output_finish(output) && output_publish(output));
    output_abandon(output);
    errno = output->error;
    release_page(page);
    return closed;
}
