/* SPDX-License-Identifier: MIT */
/* carry explain: one frame, layer by layer, and why each of its checksums got its verdict. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/packet.h>
#include <carry/sum.h>

#include "capture.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "report.h"
#include "tally.h"
#include "text.h"

static const char usage[] =
    "Usage: carry explain [OPTION]... FILE FRAME\n"
    "\n"
    "Shows one frame of a capture layer by layer: what each checksum covers, with its\n"
    "pseudo-header, what it holds, what it should hold, and why it got its verdict.\n"
    "FRAME counts from 1, as carry check and other tools do. FILE may be a pipe, or -\n"
    "for standard input.\n"
    "\n"
    "  -J, --json    print a JSON object\n"
    "  -h, --help    print this\n"
    "\n"
    "Exit status:\n"
    "  0  clean             1  a checksum of the frame is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, no such frame, or reading failed\n"
    "\n"
    "Example:\n"
    "  carry explain capture.pcap 17\n";

struct options {
    const char *path;
    uint64_t frame;
    bool json;
};

struct explanation {
    const char *path;
    struct packet packet;
    struct carry_frame frame;
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t layers_count;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t sums_count;
};

/* --- Options --- */

static int set_frame(struct options *options, const char *text) {
    if (command_parse(text, 1, UINT64_MAX, &options->frame))
        return STATUS_CLEAN;
    return command_usage("explain", "FRAME is a number from 1 on, not '%s'", text);
}

/* --- What there is to say --- */

/* The checksum that stands in a layer, or NULL. */
static const struct carry_packet_sum *sum_of(const struct explanation *explanation, size_t layer) {
    const struct carry_packet_layer *here = &explanation->layers[layer];
    bool is_last = layer + 1 == explanation->layers_count;
    uint32_t end = is_last ? UINT32_MAX : here[1].offset;
    for (size_t i = 0; i < explanation->sums_count; i++) {
        const struct carry_packet_sum *sum = &explanation->sums[i];
        if (sum->protocol == here->protocol && sum->field_offset >= here->offset &&
            sum->field_offset < end)
            return sum;
    }
    return NULL;
}

static const char *why_unverifiable(unsigned reason) {
    static const char *const sentences[CARRY_REASON_COUNT] = {
        [CARRY_REASON_SNAPLEN] = "the capture cut off bytes that it covers",
        [CARRY_REASON_FRAGMENT] = "it covers a datagram of which this frame is one fragment",
        [CARRY_REASON_LENGTH] = "a length goes beyond the bytes on the wire, or the packet around",
        [CARRY_REASON_MALFORMED] = "a header contradicts itself, or the lengths around it",
        [CARRY_REASON_QUOTED] = "an ICMP error quotes it, and routers cut and edit what they quote",
        [CARRY_REASON_ROUTING] = "an unknown routing header hides the final destination",
    };
    const char *sentence = sentences[reason];
    return sentence ? sentence : carry_packet_reason_name(reason);
}

static const char *why(const struct carry_packet_sum *sum) {
    switch (sum->verdict) {
    case CARRY_VERDICT_GOOD:
        return "it agrees with the bytes that it covers";
    case CARRY_VERDICT_BAD:
        return sum->stored ? "it does not agree with the bytes that it covers"
                           : "it was never filled in";
    case CARRY_VERDICT_PARTIAL:
        return "it holds the sum of the pseudo-header alone: transmit offload left the rest to the "
               "network card";
    case CARRY_VERDICT_ABSENT:
        return "0 says that the sender chose to send none";
    case CARRY_VERDICT_ILLEGAL:
        return "0 says that there is none, and the protocol demands one here";
    default:
        return why_unverifiable(sum->reason);
    }
}

/* Is what to store known? */
static bool has_expected(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_ILLEGAL
               ? sum->expected != 0
               : sum->verdict != CARRY_VERDICT_ABSENT && sum->verdict != CARRY_VERDICT_UNVERIFIABLE;
}

/* The folded sum of the pseudo-header, as people write it. */
static unsigned pseudo_number(const struct carry_packet_sum *sum) {
    uint16_t folded = carry_sum_fold(sum->pseudo);
    const uint8_t *bytes = (const uint8_t *)&folded;
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Are the addresses in the pseudo-header those of the IP header, or does a later header say so? */
static bool pseudo_is_plain(const struct explanation *explanation,
                            const struct carry_packet_sum *sum) {
    const uint8_t *ip = (const uint8_t *)explanation->frame.data + sum->network_offset;
    uint8_t protocol = sum->pseudo_protocol;
    uint32_t plain = sum->version == 6
                         ? carry_sum_pseudo6(ip + 8, ip + 24, protocol, sum->pseudo_size, 0)
                         : carry_sum_pseudo4(ip + 12, ip + 16, protocol, sum->pseudo_size, 0);
    return carry_sum_fold(plain) == carry_sum_fold(sum->pseudo);
}

/* --- For people --- */

#define NAME_WIDTH 10
#define INDENT     (8 + NAME_WIDTH)

static void print_pseudo(FILE *out, const struct explanation *explanation,
                         const struct carry_packet_sum *sum, const struct finding *finding) {
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE], size[TEXT_SIZE];
    if (!sum->pseudo)
        return;
    if (pseudo_is_plain(explanation, sum))
        fprintf(out, "and a pseudo-header of %s, %s,", address_text(from, &finding->from, -1),
                address_text(to, &finding->to, -1));
    else
        fputs("and a pseudo-header of the addresses that options or a routing header give,", out);
    fprintf(out, " protocol %u, length %s: sum 0x%04x\n", sum->pseudo_protocol,
            text_count(size, sum->pseudo_size), pseudo_number(sum));
}

static void print_details(FILE *out, const struct explanation *explanation,
                          const struct carry_packet_sum *sum, const struct finding *finding) {
    char offset[TEXT_SIZE], size[TEXT_SIZE], in_file[TEXT_SIZE];
    int digits = 2 * sum->field_size;
    fprintf(out, "%s\n", why(sum));
    if (has_expected(sum) && sum->verdict != CARRY_VERDICT_GOOD)
        fprintf(out, "should be 0x%0*x\n", digits, sum->expected);
    fprintf(out, "stands at byte %s, at offset %s in the file\n",
            text_count(offset, sum->field_offset), text_count(in_file, finding->offset));
    fprintf(out, "covers %s byte%s from byte %s on\n", text_count(size, sum->cover_size),
            text_plural(sum->cover_size), text_count(offset, sum->cover_offset));
    if (sum->gap_size)
        fprintf(out, "but for %u bytes from byte %s on\n", sum->gap_size,
                text_count(offset, sum->cover_offset + sum->gap_offset));
    print_pseudo(out, explanation, sum, finding);
}

static void print_indented(const struct explanation *explanation,
                           const struct carry_packet_sum *sum, const struct finding *finding) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    print_details(out, explanation, sum, finding);
    fclose(out);
    text_wrap(stdout, INDENT, text);
    free(text);
}

static void print_sum(const struct explanation *explanation, const struct carry_packet_sum *sum) {
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE];
    struct finding finding;
    tally_describe(&finding, &explanation->packet, &explanation->frame, sum);
    printf("0x%0*x  %s%s%s", 2 * sum->field_size, sum->stored,
           text_colour(report_verdict_colour(sum->verdict)),
           carry_packet_verdict_name(sum->verdict), text_colour(COLOUR_NONE));
    if (finding.from.version)
        printf("  %s %s %s", address_text(from, &finding.from, finding.from_port), text_arrow(),
               address_text(to, &finding.to, finding.to_port));
    putchar('\n');
    print_indented(explanation, sum, &finding);
}

static void print_head(const struct explanation *explanation) {
    const struct packet *packet = &explanation->packet;
    char number[TEXT_SIZE], captured[TEXT_SIZE], wire[TEXT_SIZE], offset[TEXT_SIZE];
    char time[REPORT_TIME_SIZE];
    const char *link = report_link_name(packet->linktype);
    text_print_name(stdout, explanation->path);
    printf(", frame %s: %s byte%s", text_count(number, packet->number),
           text_count(captured, packet->captured), text_plural(packet->captured));
    if (packet->captured < packet->wire)
        printf(" of %s", text_count(wire, packet->wire));
    printf(" at offset %s, link type %u%s%s%s", text_count(offset, packet->offset),
           packet->linktype, link ? " (" : "", link ? link : "", link ? ")" : "");
    if (report_time(time, packet->time_ns))
        printf("\n%s", time);
    fputs("\n\n", stdout);
}

static void explain_text(const struct explanation *explanation) {
    char offset[TEXT_SIZE];
    print_head(explanation);
    for (size_t i = 0; i < explanation->layers_count; i++) {
        const struct carry_packet_layer *layer = &explanation->layers[i];
        const struct carry_packet_sum *sum = sum_of(explanation, i);
        printf("%6s  %s%-*s%s", text_count(offset, layer->offset), text_colour(COLOUR_BOLD),
               sum ? NAME_WIDTH : 0, carry_packet_protocol_name(layer->protocol),
               text_colour(COLOUR_NONE));
        if (sum)
            print_sum(explanation, sum);
        else
            putchar('\n');
    }
    if (!explanation->layers_count)
        puts("  nothing in it is known here");
    else if (!explanation->sums_count)
        puts("\n  no checksum known here");
}

/* --- For programs --- */

static json_t *pseudo_json(const struct carry_packet_sum *sum) {
    if (!sum->pseudo)
        return json_null();
    return json_pack("{s:i, s:I, s:i}", "protocol", (int)sum->pseudo_protocol, "size",
                     (json_int_t)sum->pseudo_size, "sum", (int)pseudo_number(sum));
}

/* What lies within the covered bytes and is not covered. */
static json_t *gap_json(const struct carry_packet_sum *sum) {
    return json_pack("{s:I, s:i}", "at", (json_int_t)(sum->cover_offset + sum->gap_offset), "size",
                     (int)sum->gap_size);
}

static json_t *sum_json(const struct explanation *explanation, const struct carry_packet_sum *sum) {
    json_t *object = json_object();
    bool unverifiable = sum->verdict == CARRY_VERDICT_UNVERIFIABLE;
    const char *reason = carry_packet_reason_name(sum->reason);
    json_int_t in_file = (json_int_t)(explanation->packet.offset + sum->field_offset);
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    json_object_set_new(object, "reason", unverifiable ? json_string(reason) : json_null());
    json_object_set_new(object, "why", json_string(why(sum)));
    json_object_set_new(object, "stored", json_integer(sum->stored));
    json_object_set_new(object, "expected",
                        has_expected(sum) ? json_integer(sum->expected) : json_null());
    json_object_set_new(object, "size", json_integer(sum->field_size));
    json_object_set_new(object, "at", json_integer(sum->field_offset));
    json_object_set_new(object, "offset", json_integer(in_file));
    json_object_set_new(object, "covers_at", json_integer(sum->cover_offset));
    json_object_set_new(object, "covers_size", json_integer(sum->cover_size));
    json_object_set_new(object, "gap", sum->gap_size ? gap_json(sum) : json_null());
    json_object_set_new(object, "pseudo", pseudo_json(sum));
    json_object_set_new(object, "quoted", json_boolean(sum->quoted));
    return object;
}

static void explain_json(const struct explanation *explanation) {
    const struct packet *packet = &explanation->packet;
    char time[REPORT_TIME_SIZE];
    json_t *object = json_object(), *layers = json_array();
    for (size_t i = 0; i < explanation->layers_count; i++) {
        const struct carry_packet_layer *layer = &explanation->layers[i];
        const struct carry_packet_sum *sum = sum_of(explanation, i);
        json_array_append_new(layers, json_pack("{s:s, s:I, s:o}", "protocol",
                                                carry_packet_protocol_name(layer->protocol), "at",
                                                (json_int_t)layer->offset, "checksum",
                                                sum ? sum_json(explanation, sum) : json_null()));
    }
    json_object_set_new(object, "file", json_name(explanation->path));
    json_object_set_new(object, "frame", json_integer((json_int_t)packet->number));
    json_object_set_new(object, "time",
                        report_time(time, packet->time_ns) ? json_string(time) : json_null());
    json_object_set_new(object, "offset", json_integer((json_int_t)packet->offset));
    json_object_set_new(object, "captured", json_integer(packet->captured));
    json_object_set_new(object, "wire", json_integer(packet->wire));
    json_object_set_new(object, "linktype", json_integer(packet->linktype));
    json_object_set_new(object, "layers", layers);
    json_print(stdout, object);
}

/* --- The work --- */

static int explain(const struct options *options, const struct packet *packet) {
    struct explanation explanation = {
        .path = options->path, .packet = *packet, .frame = tally_frame(packet)};
    explanation.layers_count =
        carry_packet_layers(&explanation.frame, NULL, explanation.layers, CARRY_PACKET_SUMS_MAX);
    explanation.sums_count =
        carry_packet_check(&explanation.frame, NULL, explanation.sums, CARRY_PACKET_SUMS_MAX);
    if (options->json)
        explain_json(&explanation);
    else
        explain_text(&explanation);
    for (size_t i = 0; i < explanation.sums_count; i++)
        if (tally_is_in(explanation.sums[i].verdict, TALLY_WRONG))
            return STATUS_BAD;
    return STATUS_CLEAN;
}

/* Why the capture ended before the frame. */
static int not_reached(const struct options *options, const struct capture *capture,
                       enum capture_result end, uint64_t packets) {
    const struct capture_problem *problem = capture_problem(capture);
    char text[sizeof problem->reason + 4 * TEXT_SIZE], number[TEXT_SIZE], wanted[TEXT_SIZE];
    if (end == CAPTURE_FAILED)
        return command_file_error(options->path, problem->reason);
    if (end == CAPTURE_END) {
        snprintf(text, sizeof text, "there is no frame %s: it holds %s packet%s",
                 text_count(wanted, options->frame), text_count(number, packets),
                 text_plural(packets));
        return command_file_error(options->path, text);
    }
    snprintf(text, sizeof text, "damaged at offset %s: %s", text_count(number, problem->offset),
             problem->reason);
    command_file_error(options->path, text);
    return STATUS_DAMAGED;
}

static int explain_frame(const struct options *options) {
    struct packet packet = {0};
    enum capture_result result;
    struct capture *capture = capture_open(options->path);
    if (!capture)
        return command_file_error(options->path, strerror(errno));
    while ((result = capture_next(capture, &packet)) == CAPTURE_PACKET &&
           packet.number < options->frame)
        continue;
    int status = result == CAPTURE_PACKET ? explain(options, &packet)
                                          : not_reached(options, capture, result, packet.number);
    capture_close(capture);
    return status;
}

int command_explain(int argc, char **argv) {
    struct options options = {0};
    const struct option_row rows[] = {{"json", 'J', .flag = &options.json}, {0}};
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, &status))
        return status;
    if (argc - optind != 2)
        return command_usage(argv[0], "a file and the number of a frame are needed");
    options.path = argv[optind];
    status = set_frame(&options, argv[optind + 1]);
    return status == STATUS_CLEAN ? explain_frame(&options) : status;
}
