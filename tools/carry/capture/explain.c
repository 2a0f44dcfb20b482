/* SPDX-License-Identifier: MIT */
/* carry explain: one frame, layer by layer, and why each of its checksums got its verdict. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/packet.h>
#include <carry/sum.h>

#include "capture/capture.h"
#include "capture/cause.h"
#include "capture/follow.h"
#include "capture/header_senders.h"
#include "capture/reassemble.h"
#include "capture/report.h"
#include "capture/tally.h"
#include "capture/why.h"
#include "common/command.h"
#include "common/json.h"
#include "common/options.h"
#include "common/text.h"

static const char usage[] =
    "Usage: carry explain [OPTION]... FILE FRAME\n"
    "\n"
    "Shows one frame of a capture layer by layer: what each checksum covers, with its\n"
    "pseudo-header, what it holds, what it should hold, and why it got its verdict.\n"
    "FRAME counts from 1, as carry check and other tools do; 1,018 is 1018. FILE may\n"
    "be a pipe, or - for standard input. Of a frame that holds a fragment, the\n"
    "datagram is shown too, for which more of FILE is read. An IPv4 header's sum of 0\n"
    "is explained by the other packets of its sender, too, for which FILE is read to\n"
    "its end.\n"
    "\n"
    "  -J, --json    print a JSON object\n"
    "  -h, --help    print this\n"
    "\n"
    "Exit status:\n"
    "  0  clean             1  a checksum of frame or datagram is bad or illegal\n"
    "  2  damaged capture   3  wrong usage, no such frame, or reading failed\n"
    "\n"
    "Example:\n"
    "  carry explain capture.pcap 17\n";

struct options {
    const char *path;
    uint64_t frame;
    bool json;
};

/* What is explained: a frame, or a datagram. */
struct explanation {
    const char *path;
    struct packet packet;
    const struct datagram *datagram; /* NULL: a frame */
    struct carry_frame frame;
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t layers_count;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t sums_count;
};

struct run {
    struct options options;
    struct follow follow;
    struct header_senders *senders;
    json_t *frame;     /* with --json, */
    json_t *datagrams; /* and what it is part of */
    int status;
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

/* Of the frames of one datagram. */
#define FRAMES_SHOWN 8

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
    const char *rule = why_rule(&explanation->frame, sum);
    fprintf(out, "%s\n", why_verdict(&explanation->frame, sum));
    if (rule)
        fprintf(out, "%s\n", rule);
    if (tally_has_expected(sum) && sum->verdict != CARRY_VERDICT_GOOD)
        fprintf(out, "should be 0x%0*x\n", digits, sum->expected);
    fprintf(out, "stands at byte %s", text_count(offset, sum->field_offset));
    if (finding->offset != FINDING_NOWHERE)
        fprintf(out, ", at offset %s in the file", text_count(in_file, finding->offset));
    fputc('\n', out);
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

static void describe(struct finding *finding, const struct explanation *explanation,
                     const struct carry_packet_sum *sum) {
    tally_describe(finding, &explanation->packet, &explanation->frame, sum);
    if (explanation->datagram)
        finding->offset =
            datagram_offset(explanation->datagram, sum->field_offset, sum->field_size);
}

static void print_sum(const struct explanation *explanation, const struct carry_packet_sum *sum) {
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE];
    struct finding finding;
    describe(&finding, explanation, sum);
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

/* "datagram of frames 3, 4 and 7" */
static void print_frames(FILE *out, const struct source *sources) {
    uint64_t frames[FRAMES_SHOWN], count = 0;
    for (const struct source *source = sources; source; source = source->next, count++)
        if (count < FRAMES_SHOWN)
            frames[count] = source->frame;
    fprintf(out, "datagram of frame%s ", text_plural(count));
    text_print_frames(out, frames, count < FRAMES_SHOWN ? (unsigned)count : FRAMES_SHOWN, count);
}

static void print_datagram_head(const struct datagram *datagram) {
    const struct packet *packet = &datagram->packet;
    char captured[TEXT_SIZE], wire[TEXT_SIZE];
    putchar('\n');
    print_frames(stdout, datagram->sources);
    printf(": %s byte%s", text_count(captured, packet->captured), text_plural(packet->captured));
    if (packet->captured < packet->wire)
        printf(" of %s", text_count(wire, packet->wire));
    printf("\nframe %llu completes it: carry check lists its checksums there\n\n",
           (unsigned long long)packet->number);
}

static void print_layers(const struct explanation *explanation) {
    char offset[TEXT_SIZE];
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
}

static void explain_text(const struct explanation *explanation) {
    if (explanation->datagram)
        print_datagram_head(explanation->datagram);
    else
        print_head(explanation);
    print_layers(explanation);
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
    const char *rule = why_rule(&explanation->frame, sum);
    struct finding finding;
    describe(&finding, explanation, sum);
    bool located = finding.offset != FINDING_NOWHERE;
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    json_object_set_new(object, "reason", unverifiable ? json_string(reason) : json_null());
    json_object_set_new(object, "why", json_string(why_verdict(&explanation->frame, sum)));
    json_object_set_new(object, "stored", json_integer(sum->stored));
    json_object_set_new(object, "expected",
                        tally_has_expected(sum) ? json_integer(sum->expected) : json_null());
    json_object_set_new(object, "size", json_integer(sum->field_size));
    json_object_set_new(object, "at", json_integer(sum->field_offset));
    json_object_set_new(object, "offset", located ? json_number(finding.offset) : json_null());
    json_object_set_new(object, "covers_at", json_integer(sum->cover_offset));
    json_object_set_new(object, "covers_size", json_integer(sum->cover_size));
    json_object_set_new(object, "gap", sum->gap_size ? gap_json(sum) : json_null());
    json_object_set_new(object, "pseudo", pseudo_json(sum));
    json_object_set_new(object, "quoted", json_boolean(sum->quoted));
    json_object_set_new(object, "cause",
                        cause_of(sum) ? json_string(cause_name(cause_of(sum))) : json_null());
    json_object_set_new(object, "rule", rule ? json_string(rule) : json_null());
    return object;
}

static json_t *layers_json(const struct explanation *explanation) {
    json_t *layers = json_array();
    for (size_t i = 0; i < explanation->layers_count; i++) {
        const struct carry_packet_layer *layer = &explanation->layers[i];
        const struct carry_packet_sum *sum = sum_of(explanation, i);
        json_array_append_new(layers, json_pack("{s:s, s:I, s:o}", "protocol",
                                                carry_packet_protocol_name(layer->protocol), "at",
                                                (json_int_t)layer->offset, "checksum",
                                                sum ? sum_json(explanation, sum) : json_null()));
    }
    return layers;
}

static json_t *frame_json(const struct explanation *explanation) {
    const struct packet *packet = &explanation->packet;
    char time[REPORT_TIME_SIZE];
    json_t *object = json_object();
    json_set_name(object, "file", explanation->path);
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

/* What became of a datagram; of one that is complete, `explanation`, else NULL. */
static json_t *datagram_json(enum reassembly fate, const struct source *sources,
                             const struct explanation *explanation) {
    const struct packet *packet = explanation ? &explanation->packet : NULL;
    json_t *object = json_object(), *frames = json_array();
    for (const struct source *source = sources; source; source = source->next)
        json_array_append_new(frames, json_number(source->frame));
    json_object_set_new(object, "reassembly", json_string(reassembly_name(fate)));
    json_object_set_new(object, "frames", frames);
    json_object_set_new(object, "frame", packet ? json_number(packet->number) : json_null());
    json_object_set_new(object, "captured", packet ? json_integer(packet->captured) : json_null());
    json_object_set_new(object, "wire", packet ? json_integer(packet->wire) : json_null());
    json_object_set_new(object, "layers", packet ? layers_json(explanation) : json_null());
    return object;
}

/* --- The work --- */

static void judge(struct run *run, const struct explanation *explanation) {
    for (size_t i = 0; i < explanation->sums_count; i++)
        if (tally_is_in(explanation->sums[i].verdict, TALLY_WRONG))
            run->status = STATUS_BAD;
}

/* A datagram has no link, though it looks like a frame of raw IP. */
static void list_layers(struct explanation *explanation) {
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_layers(&explanation->frame, NULL, layers, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!explanation->datagram || layers[i].protocol != CARRY_PROTOCOL_RAW)
            explanation->layers[explanation->layers_count++] = layers[i];
}

/* Takes a packet for what it tells of its senders. */
static void add_packet(void *context, const struct packet *packet) {
    struct run *run = context;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame frame = tally_frame(packet);
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        header_senders_add(run->senders, &frame, &sums[i]);
}

/* Turns headers whose senders leave them to the network card into partial ones. Is one left? */
static bool settle(struct explanation *explanation, const struct header_senders *senders) {
    const uint8_t *data = explanation->frame.data;
    bool open = false;
    for (size_t i = 0; i < explanation->sums_count; i++) {
        struct carry_packet_sum *sum = &explanation->sums[i];
        if (!header_senders_is_alone(sum))
            continue;
        if (header_senders_leaves(senders, data + sum->network_offset + 12))
            cause_leave(sum);
        else
            open = true;
    }
    return open;
}

static void explain_frame(struct run *run, const struct explanation *explanation) {
    judge(run, explanation);
    if (run->options.json)
        run->frame = frame_json(explanation);
    else
        explain_text(explanation);
}

/* The sum of its IP header, as it stands here, is none of the file's. */
static void keep_content_sums(struct explanation *explanation, const struct datagram *datagram) {
    for (size_t i = 0; i < datagram->count; i++)
        if (datagram->sums[i].field_offset >= datagram->header_size)
            explanation->sums[explanation->sums_count++] = datagram->sums[i];
}

static void explain_datagram(void *context, const struct datagram *datagram) {
    struct run *run = context;
    struct explanation explanation = {.path = run->options.path,
                                      .packet = datagram->packet,
                                      .datagram = datagram,
                                      .frame = tally_frame(&datagram->packet)};
    list_layers(&explanation);
    keep_content_sums(&explanation, datagram);
    judge(run, &explanation);
    if (run->options.json)
        json_array_append_new(run->datagrams,
                              datagram_json(REASSEMBLY_COMPLETE, datagram->sources, &explanation));
    else
        explain_text(&explanation);
}

static void explain_lost(void *context, enum reassembly why, const struct source *sources) {
    struct run *run = context;
    if (run->options.json) {
        json_array_append_new(run->datagrams, datagram_json(why, sources, NULL));
        return;
    }
    putchar('\n');
    print_frames(stdout, sources);
    printf(",\n%s:\nits checksums cannot be verified\n", reassembly_sentence(why));
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

/*
 * Explains the frame, and what its fragments belong to. A header of 0 waits for what other packets
 * tell of its sender: then the frame comes last.
 */
static void explain_with_rest(struct run *run, struct capture *capture,
                              struct explanation *explanation) {
    struct packet other;
    bool open = settle(explanation, run->senders);
    if (!open)
        explain_frame(run, explanation);
    follow_on(&run->follow, capture, &explanation->packet);
    if (!open)
        return;
    while (settle(explanation, run->senders) && capture_next(capture, &other) == CAPTURE_PACKET)
        add_packet(run, &other);
    explain_frame(run, explanation);
}

/* Of a packet whose bytes stay while the capture is read on. */
static int explain_packet(struct run *run, struct capture *capture, const struct packet *packet) {
    struct explanation explanation = {.path = run->options.path, .packet = *packet};
    uint8_t *copy = malloc(packet->captured + 1u);
    if (!copy)
        return command_error("%s", strerror(errno));
    if (packet->captured)
        memcpy(copy, packet->data, packet->captured);
    explanation.packet.data = copy;
    explanation.frame = tally_frame(&explanation.packet);
    list_layers(&explanation);
    explanation.sums_count =
        carry_packet_check(&explanation.frame, NULL, explanation.sums, CARRY_PACKET_SUMS_MAX);
    explain_with_rest(run, capture, &explanation);
    free(copy);
    return run->status;
}

static int explain_in(struct run *run, struct capture *capture) {
    struct packet packet = {0};
    enum capture_result result;
    while ((result = capture_next(capture, &packet)) == CAPTURE_PACKET) {
        add_packet(run, &packet);
        if (packet.number == run->options.frame)
            break;
        follow_packet(&run->follow, &packet);
    }
    if (result != CAPTURE_PACKET)
        return not_reached(&run->options, capture, result, packet.number);
    int status = explain_packet(run, capture, &packet);
    if (run->options.json && run->frame) {
        json_object_set(run->frame, "datagrams", run->datagrams);
        json_print(stdout, run->frame);
    }
    return status;
}

static int explain(struct run *run) {
    struct capture *capture = capture_open(run->options.path);
    if (!capture)
        return command_file_error(run->options.path, strerror(errno));
    run->follow = (struct follow){.frame = run->options.frame,
                                  .complete = explain_datagram,
                                  .lost = explain_lost,
                                  .further = add_packet,
                                  .context = run};
    run->datagrams = json_array();
    run->senders = header_senders_create();
    bool ready = run->datagrams && run->senders && follow_open(&run->follow);
    int status = ready ? explain_in(run, capture) : command_error("%s", strerror(errno));
    json_decref(run->datagrams);
    header_senders_free(run->senders);
    follow_close(&run->follow);
    capture_close(capture);
    return status;
}

int command_explain(int argc, char **argv) {
    struct run run = {0};
    const struct option_row rows[] = {{"json", 'J', .flag = &run.options.json}, {0}};
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, &status))
        return status;
    if (argc - optind != 2)
        return command_usage(argv[0], "a file and the number of a frame are needed");
    run.options.path = argv[optind];
    status = set_frame(&run.options, argv[optind + 1]);
    return status == STATUS_CLEAN ? explain(&run) : status;
}
