/* SPDX-License-Identifier: MIT */
/* Implements carry explain: shows one frame layer by layer, and why each of its checksums has its
   verdict. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/capture.h>
#include <carry/sum.h>

#include "check/report.h"
#include "check/source.h"
#include "check/verdict_set.h"
#include "common/command.h"
#include "common/json.h"
#include "common/options.h"
#include "common/text.h"

static const char usage[] =
    "Usage: carry explain [OPTION]... FILE FRAME\n"
    "\n"
    "Shows one frame of a capture layer by layer: the stored and expected value of\n"
    "each checksum, the bytes and the pseudo-header that it covers, and the reason\n"
    "for its verdict. FRAME is the number that carry check prints, counted from 1;\n"
    "1,018 is the same as 1018. FILE may be a pipe, or - for standard input.\n"
    "\n"
    "If the frame holds a fragment, its datagram is shown, too: more of FILE is read\n"
    "for that. If an IPv4 header checksum is 0, or a checksum is bad without a\n"
    "cause, FILE is read to its end, as other packets of the sender or of the flow\n"
    "may explain it.\n"
    "\n"
    "  -J, --json          print a JSON object\n"
    "      --color[=WHEN]  use colours: auto (default), always or never; without\n"
    "                      WHEN, always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Exit status:\n"
    "  0  clean             1  a checksum of frame or datagram is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, no such frame, or reading failed\n"
    "\n"
    "Examples:\n"
    "  carry explain capture.pcap 17\n"
    "  carry explain --json capture.pcap 17 | jq '.layers[].checksum.why'\n";

struct options {
    const char *path;
    uint64_t frame;
    bool json;
};

struct run {
    struct options options;
    json_t *frame;     /* with --json */
    json_t *datagrams; /* with --json: the datagrams that contain the frame */
    int status;
};

/* --- Options --- */

static int set_frame(struct options *options, const char *text) {
    if (command_parse(text, 1, UINT64_MAX, &options->frame))
        return STATUS_CLEAN;
    return command_usage("explain", "FRAME must be a number of at least 1, not '%s'", text);
}

/* --- Checksums and layers --- */

/* Returns the finding of a layer; NULL if it has none. */
static const struct carry_capture_finding *
finding_of(const struct carry_capture_explanation *explanation, size_t layer) {
    const struct carry_packet_layer *here = &explanation->layers[layer];
    bool is_last = layer + 1 == explanation->layers_count;
    uint32_t end = is_last ? UINT32_MAX : here[1].offset;
    for (size_t i = 0; i < explanation->findings_count; i++) {
        const struct carry_packet_sum *sum = &explanation->findings[i].sum;
        if (sum->protocol == here->protocol && sum->field_offset >= here->offset &&
            sum->field_offset < end)
            return &explanation->findings[i];
    }
    return NULL;
}

static const struct carry_capture_evidence *
evidence_of(const struct carry_capture_explanation *explanation,
            const struct carry_capture_finding *finding) {
    return &explanation->evidence[finding - explanation->findings];
}

/* Returns the folded sum of the pseudo-header as a number, read in network byte order. */
static unsigned pseudo_number(const struct carry_packet_sum *sum) {
    uint16_t folded = carry_sum_fold(sum->pseudo);
    const uint8_t *bytes = (const uint8_t *)&folded;
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Checks whether the pseudo-header has the addresses of the IP header, rather than the addresses of
   a later header. */
static bool pseudo_is_plain(const struct carry_capture_explanation *explanation,
                            const struct carry_packet_sum *sum) {
    const uint8_t *ip = (const uint8_t *)explanation->frame.data + sum->network_offset;
    uint8_t protocol = sum->pseudo_protocol;
    uint32_t plain = sum->version == 6
                         ? carry_sum_pseudo6(ip + 8, ip + 24, protocol, sum->pseudo_size, 0)
                         : carry_sum_pseudo4(ip + 12, ip + 16, protocol, sum->pseudo_size, 0);
    return carry_sum_fold(plain) == carry_sum_fold(sum->pseudo);
}

/* --- As text --- */

#define NAME_WIDTH 10
#define INDENT     (8 + NAME_WIDTH)

/* At most this many frames of a datagram are listed. */
#define FRAMES_SHOWN 8

static void print_pseudo(FILE *out, const struct carry_capture_explanation *explanation,
                         const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE], size[TEXT_SIZE];
    if (!sum->pseudo)
        return;
    if (pseudo_is_plain(explanation, sum))
        fprintf(out, "and a pseudo-header of %s, %s,", address_text(from, &finding->from, -1),
                address_text(to, &finding->to, -1));
    else
        fputs("and a pseudo-header of the addresses in options or a routing header,", out);
    fprintf(out, " protocol %u, length %s: sum 0x%04x\n", sum->pseudo_protocol,
            text_count(size, sum->pseudo_size), pseudo_number(sum));
}

static const char *advice_on(const struct carry_capture_finding *finding) {
    const struct carry_capture_cause_words *words = carry_capture_describe_cause(finding->cause);
    return words ? words->advice : NULL;
}

static void print_why(FILE *out, const struct carry_capture_explanation *explanation,
                      const struct carry_capture_finding *finding) {
    fputs(carry_capture_why_found(&explanation->frame, finding), out);
    if (finding->cause == CARRY_CAPTURE_CAUSE_ONE_BIT)
        fprintf(out, ": bit %u of 16, where 0 is the lowest", finding->bit);
    fputc('\n', out);
    if (finding->certainty == CARRY_CAPTURE_CERTAIN)
        fputs("certain: the capture says that it was left to the network card\n", out);
    if (finding->certainty == CARRY_CAPTURE_INFERRED)
        fputs("inferred: the capture does not say so\n", out);
    if (advice_on(finding))
        fprintf(out, "try: %s\n", advice_on(finding));
}

static void print_assumptions(FILE *out, const struct carry_capture_evidence *evidence) {
    if (evidence->assumptions_count)
        fputs("would be right:\n", out);
    for (size_t i = 0; i < evidence->assumptions_count; i++)
        fprintf(out, "  0x%04x %s\n", evidence->assumptions[i].value,
                evidence->assumptions[i].text);
}

static void print_others(FILE *out, const struct carry_capture_evidence *evidence) {
    const uint64_t rest = evidence->others_total - evidence->others_count;
    char number[TEXT_SIZE], more[TEXT_SIZE];
    if (evidence->others_count)
        fputs("other bad checksums of its flow, or between its addresses:\n", out);
    for (size_t i = 0; i < evidence->others_count; i++) {
        const struct carry_capture_other *other = &evidence->others[i];
        fprintf(out, "  frame %s: 0x%04x, expected 0x%04x, off by 0x%04x\n",
                text_count(number, other->number), other->stored, other->expected,
                other->difference);
    }
    if (rest)
        fprintf(out, "  and %s more\n", text_count(more, rest));
}

static void print_expected(FILE *out, const struct carry_capture_finding *finding,
                           const struct carry_capture_evidence *evidence) {
    const struct carry_packet_sum *sum = &finding->sum;
    if (!carry_capture_has_expected(sum) || sum->verdict == CARRY_VERDICT_GOOD)
        return;
    fprintf(out, "expected 0x%0*x", 2 * sum->field_size, sum->expected);
    if (evidence->is_known)
        fprintf(out, ", off by 0x%04x", evidence->difference);
    fputc('\n', out);
}

static void print_details(FILE *out, const struct carry_capture_explanation *explanation,
                          const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char offset[TEXT_SIZE], size[TEXT_SIZE], in_file[TEXT_SIZE];
    const struct carry_capture_evidence *evidence = evidence_of(explanation, finding);
    const char *rule = carry_capture_rule(&explanation->frame, sum);
    print_why(out, explanation, finding);
    if (rule)
        fprintf(out, "%s\n", rule);
    print_expected(out, finding, evidence);
    fprintf(out, "stored at byte %s", text_count(offset, sum->field_offset));
    if (finding->offset != CARRY_CAPTURE_NOWHERE)
        fprintf(out, ", at offset %s in the file", text_count(in_file, finding->offset));
    fputc('\n', out);
    fprintf(out, "covers %s byte%s from byte %s\n", text_count(size, sum->cover_size),
            text_plural(sum->cover_size), text_count(offset, sum->cover_offset));
    if (sum->gap_size)
        fprintf(out, "except %u bytes from byte %s\n", sum->gap_size,
                text_count(offset, sum->cover_offset + sum->gap_offset));
    print_pseudo(out, explanation, finding);
    print_assumptions(out, evidence);
    print_others(out, evidence);
}

static void print_indented(const struct carry_capture_explanation *explanation,
                           const struct carry_capture_finding *finding) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    print_details(out, explanation, finding);
    fclose(out);
    text_wrap(stdout, INDENT, text);
    free(text);
}

static void print_layer_sum(const struct carry_capture_explanation *explanation,
                            const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE];
    printf("0x%0*x  %s%s%s", 2 * sum->field_size, sum->stored,
           text_colour(report_verdict_colour(sum->verdict)),
           carry_packet_verdict_name(sum->verdict), text_colour(COLOUR_NONE));
    if (finding->from.version)
        printf("  %s %s %s", address_text(from, &finding->from, finding->from_port), text_arrow(),
               address_text(to, &finding->to, finding->to_port));
    putchar('\n');
    print_indented(explanation, finding);
}

static void print_frame_head(const struct run *run,
                             const struct carry_capture_explanation *explanation) {
    const struct carry_capture_packet *packet = &explanation->packet;
    char number[TEXT_SIZE], captured[TEXT_SIZE], wire[TEXT_SIZE], offset[TEXT_SIZE];
    char time[REPORT_TIME_SIZE], type[TEXT_SIZE];
    const char *link = carry_capture_describe_link(packet->linktype);
    text_print_name(stdout, run->options.path);
    printf(", frame %s: %s byte%s", text_count(number, packet->number),
           text_count(captured, packet->captured), text_plural(packet->captured));
    if (packet->captured < packet->wire)
        printf(" of %s", text_count(wire, packet->wire));
    printf(" at offset %s, link type %s%s%s%s", text_count(offset, packet->offset),
           text_link_type(type, packet->linktype), link ? " (" : "", link ? link : "",
           link ? ")" : "");
    if (report_time(time, packet->time_ns))
        printf("\n%s", time);
    fputs("\n\n", stdout);
}

/* Prints "datagram of frames 3, 4 and 7". */
static void print_frames(FILE *out, const struct carry_capture_explanation *datagram) {
    const size_t count = datagram->frames_count;
    fprintf(out, "datagram of frame%s ", text_plural(count));
    text_print_frames(out, datagram->frames, count < FRAMES_SHOWN ? (unsigned)count : FRAMES_SHOWN,
                      count);
}

static void print_datagram_head(const struct carry_capture_explanation *datagram) {
    const struct carry_capture_packet *packet = &datagram->packet;
    char captured[TEXT_SIZE], wire[TEXT_SIZE];
    putchar('\n');
    print_frames(stdout, datagram);
    printf(": %s byte%s", text_count(captured, packet->captured), text_plural(packet->captured));
    if (packet->captured < packet->wire)
        printf(" of %s", text_count(wire, packet->wire));
    printf("\n"
           "frame %llu completes it: carry check lists its checksums with that frame\n"
           "\n",
           (unsigned long long)packet->number);
}

static void print_lost(const struct carry_capture_explanation *datagram) {
    putchar('\n');
    print_frames(stdout, datagram);
    printf(",\n%s:\nits checksums cannot be verified\n",
           carry_capture_reassembly_text(datagram->reassembly));
}

static void print_layers(const struct carry_capture_explanation *explanation) {
    char offset[TEXT_SIZE];
    for (size_t i = 0; i < explanation->layers_count; i++) {
        const struct carry_packet_layer *layer = &explanation->layers[i];
        const struct carry_capture_finding *finding = finding_of(explanation, i);
        printf("%6s  %s%-*s%s", text_count(offset, layer->offset), text_colour(COLOUR_BOLD),
               finding ? NAME_WIDTH : 0, carry_packet_protocol_name(layer->protocol),
               text_colour(COLOUR_NONE));
        if (finding)
            print_layer_sum(explanation, finding);
        else
            putchar('\n');
    }
}

static bool is_lost_datagram(const struct carry_capture_explanation *explanation) {
    return explanation->is_datagram && explanation->reassembly != CARRY_CAPTURE_REASSEMBLY_COMPLETE;
}

static void explain_text(const struct run *run,
                         const struct carry_capture_explanation *explanation) {
    if (is_lost_datagram(explanation)) {
        print_lost(explanation);
        return;
    }
    if (explanation->is_datagram)
        print_datagram_head(explanation);
    else
        print_frame_head(run, explanation);
    print_layers(explanation);
    if (!explanation->layers_count)
        puts("  no known protocol in this frame");
    else if (!explanation->findings_count)
        puts("\n"
             "  no known checksum in this frame");
}

/* --- As JSON --- */

static json_t *pseudo_json(const struct carry_packet_sum *sum) {
    if (!sum->pseudo)
        return json_null();
    return json_pack("{s:i, s:I, s:i}", "protocol", (int)sum->pseudo_protocol, "size",
                     (json_int_t)sum->pseudo_size, "sum", (int)pseudo_number(sum));
}

/* Returns the gap as JSON: bytes between covered bytes that are not covered. */
static json_t *gap_json(const struct carry_packet_sum *sum) {
    return json_pack("{s:I, s:i}", "at", (json_int_t)(sum->cover_offset + sum->gap_offset), "size",
                     (int)sum->gap_size);
}

static json_t *others_json(const struct carry_capture_evidence *evidence) {
    json_t *others = json_array();
    for (size_t i = 0; i < evidence->others_count; i++) {
        const struct carry_capture_other *other = &evidence->others[i];
        json_array_append_new(
            others, json_pack("{s:o, s:i, s:i, s:i}", "frame", json_number(other->number), "stored",
                              (int)other->stored, "expected", (int)other->expected, "difference",
                              (int)other->difference));
    }
    return others;
}

static json_t *assumptions_json(const struct carry_capture_evidence *evidence) {
    json_t *assumptions = json_array();
    for (size_t i = 0; i < evidence->assumptions_count; i++) {
        const struct carry_capture_assumption *assumption = &evidence->assumptions[i];
        json_array_append_new(assumptions,
                              json_pack("{s:s, s:s, s:i}", "assumption", assumption->text, "cause",
                                        carry_capture_cause_name(assumption->cause), "value",
                                        (int)assumption->value));
    }
    return assumptions;
}

static json_t *evidence_json(const struct carry_capture_evidence *evidence) {
    if (!evidence->is_known)
        return json_null();
    return json_pack("{s:i, s:o, s:o, s:o}", "difference", (int)evidence->difference, "others",
                     others_json(evidence), "others_total", json_number(evidence->others_total),
                     "assumptions", assumptions_json(evidence));
}

static json_t *sum_json(const struct carry_capture_explanation *explanation,
                        const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    json_t *object = json_object();
    bool unverifiable = sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
    const char *reason = carry_packet_reason_name(sum->reason);
    const char *rule = carry_capture_rule(&explanation->frame, sum);
    bool located = finding->offset != CARRY_CAPTURE_NOWHERE;
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    json_object_set_new(object, "reason", unverifiable ? json_string(reason) : json_null());
    json_object_set_new(object, "why",
                        json_string(carry_capture_why_found(&explanation->frame, finding)));
    json_object_set_new(object, "stored", json_integer(sum->stored));
    json_object_set_new(object, "expected",
                        carry_capture_has_expected(sum) ? json_integer(sum->expected)
                                                        : json_null());
    json_object_set_new(object, "size", json_integer(sum->field_size));
    json_object_set_new(object, "at", json_integer(sum->field_offset));
    json_object_set_new(object, "offset", located ? json_number(finding->offset) : json_null());
    json_object_set_new(object, "covers_at", json_integer(sum->cover_offset));
    json_object_set_new(object, "covers_size", json_integer(sum->cover_size));
    json_object_set_new(object, "gap", sum->gap_size ? gap_json(sum) : json_null());
    json_object_set_new(object, "pseudo", pseudo_json(sum));
    json_object_set_new(object, "quoted", json_boolean(sum->quoted));
    json_object_set_new(object, "cause",
                        finding->cause ? json_string(carry_capture_cause_name(finding->cause))
                                       : json_null());
    json_object_set_new(object, "rule", rule ? json_string(rule) : json_null());
    report_certain_json(object, finding);
    json_object_set_new(object, "advice",
                        advice_on(finding) ? json_string(advice_on(finding)) : json_null());
    json_object_set_new(object, "evidence", evidence_json(evidence_of(explanation, finding)));
    return object;
}

static json_t *layers_json(const struct carry_capture_explanation *explanation) {
    json_t *layers = json_array();
    for (size_t i = 0; i < explanation->layers_count; i++) {
        const struct carry_packet_layer *layer = &explanation->layers[i];
        const struct carry_capture_finding *finding = finding_of(explanation, i);
        json_array_append_new(layers,
                              json_pack("{s:s, s:I, s:o}", "protocol",
                                        carry_packet_protocol_name(layer->protocol), "at",
                                        (json_int_t)layer->offset, "checksum",
                                        finding ? sum_json(explanation, finding) : json_null()));
    }
    return layers;
}

static json_t *frame_json(const struct run *run,
                          const struct carry_capture_explanation *explanation) {
    const struct carry_capture_packet *packet = &explanation->packet;
    char time[REPORT_TIME_SIZE];
    json_t *object = json_object();
    json_set_name(object, "file", run->options.path);
    json_object_set_new(object, "frame", json_integer((json_int_t)packet->number));
    json_object_set_new(object, "time",
                        report_time(time, packet->time_ns) ? json_string(time) : json_null());
    json_object_set_new(object, "offset", json_integer((json_int_t)packet->offset));
    json_object_set_new(object, "captured", json_integer(packet->captured));
    json_object_set_new(object, "wire", json_integer(packet->wire));
    json_object_set_new(object, "linktype", json_integer(packet->linktype));
    json_object_set_new(object, "layers", layers_json(explanation));
    return object;
}

/* Returns a datagram: its outcome, its frames and its layers. */
static json_t *datagram_json(const struct carry_capture_explanation *datagram) {
    const struct carry_capture_packet *packet =
        is_lost_datagram(datagram) ? NULL : &datagram->packet;
    json_t *object = json_object(), *frames = json_array();
    for (size_t i = 0; i < datagram->frames_count; i++)
        json_array_append_new(frames, json_number(datagram->frames[i]));
    json_object_set_new(object, "reassembly",
                        json_string(carry_capture_reassembly_name(datagram->reassembly)));
    json_object_set_new(object, "frames", frames);
    json_object_set_new(object, "frame", packet ? json_number(packet->number) : json_null());
    json_object_set_new(object, "captured", packet ? json_integer(packet->captured) : json_null());
    json_object_set_new(object, "wire", packet ? json_integer(packet->wire) : json_null());
    json_object_set_new(object, "layers", packet ? layers_json(datagram) : json_null());
    return object;
}

static void explain_json(struct run *run, const struct carry_capture_explanation *explanation) {
    if (explanation->is_datagram)
        json_array_append_new(run->datagrams, datagram_json(explanation));
    else
        run->frame = frame_json(run, explanation);
}

/* --- The command --- */

static bool take_explanation(void *user, const struct carry_capture_explanation *explanation) {
    struct run *run = user;
    for (size_t i = 0; i < explanation->findings_count; i++)
        if (verdict_is_in(explanation->findings[i].sum.verdict, CARRY_CAPTURE_WRONG_VERDICTS))
            run->status = STATUS_BAD;
    if (run->options.json)
        explain_json(run, explanation);
    else
        explain_text(run, explanation);
    return !command_output_failed();
}

/* Reports why the capture ended before the frame; returns the exit status. */
static int report_not_reached(const struct options *options, struct carry_capture *capture,
                              int code, uint64_t packets) {
    const struct carry_capture_error error = source_error(capture);
    char text[sizeof error.text + 4 * TEXT_SIZE], number[TEXT_SIZE], wanted[TEXT_SIZE];
    if (code == CARRY_ERROR_UNKNOWN) {
        snprintf(text, sizeof text, "there is no frame %s: the capture holds %s packet%s",
                 text_count(wanted, options->frame), text_count(number, packets),
                 text_plural(packets));
        return command_file_error(options->path, text);
    }
    if (!source_is_damaged(code))
        return command_file_error(options->path, error.text);
    snprintf(text, sizeof text, "damaged at offset %s: %s", text_count(number, error.offset),
             error.text);
    command_file_error(options->path, text);
    return STATUS_DAMAGED;
}

static int explain_in(struct run *run, struct carry_capture *capture) {
    uint64_t packets = 0;
    int code = carry_capture_explain(capture, run->options.frame, take_explanation, run, &packets);
    if (code != CARRY_OK && code != CARRY_ERROR_CANCELLED)
        return report_not_reached(&run->options, capture, code, packets);
    if (run->options.json && run->frame) {
        json_object_set(run->frame, "datagrams", run->datagrams);
        json_print(stdout, run->frame);
    }
    return run->status;
}

static int explain_capture(struct run *run) {
    struct carry_capture *capture = source_open(run->options.path);
    if (!capture)
        return command_file_error(run->options.path, strerror(errno));
    run->datagrams = json_array();
    int status = run->datagrams ? explain_in(run, capture) : command_error("%s", strerror(ENOMEM));
    json_decref(run->datagrams);
    carry_capture_close(capture);
    return status;
}

int command_explain(int argc, char **argv) {
    struct run run = {0};
    const struct option_row rows[] = {
        {"json", 'J', .flag = &run.options.json},
        OPTION_COLOR,
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, &status))
        return status;
    if (argc - optind != 2)
        return command_usage(argv[0], "the name of a file and the number of a frame are needed");
    run.options.path = argv[optind];
    status = set_frame(&run.options, argv[optind + 1]);
    return status == STATUS_CLEAN ? explain_capture(&run) : status;
}
