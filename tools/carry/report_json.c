/* SPDX-License-Identifier: MIT */
/*
 * The JSON of `carry check --json`: one object a line. Keys are only ever added at the end.
 */
#include "report.h"

#include <stdio.h>

#include "json.h"
#include "text.h"

static void set_count(json_t *object, const char *key, uint64_t value) {
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* {"tcp":{"good":1,...},...}: one member a protocol that occurs. */
static json_t *counts_json(const struct tally *tally) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (!tally_has(tally, protocol))
            continue;
        json_t *verdicts = json_object();
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            set_count(verdicts, carry_packet_verdict_name(verdict),
                      tally->counts[protocol][verdict]);
        json_object_set_new(protocols, carry_packet_protocol_name(protocol), verdicts);
    }
    return protocols;
}

static json_t *problem_json(const struct report *report) {
    if (report->end == CAPTURE_END)
        return json_null();
    json_t *problem = json_object();
    set_count(problem, "offset", report->problem->offset);
    json_object_set_new(problem, "reason", json_string(report->problem->reason));
    return problem;
}

/* {"tcp":{"snaplen":1,...},...}: why sums could not be verified. */
static json_t *reasons_json(const struct tally *tally) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (!tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE])
            continue;
        json_t *reasons = json_object();
        for (unsigned reason = 0; reason < CARRY_REASON_COUNT; reason++)
            if (tally->reasons[protocol][reason])
                set_count(reasons, carry_packet_reason_name(reason),
                          tally->reasons[protocol][reason]);
        json_object_set_new(protocols, carry_packet_protocol_name(protocol), reasons);
    }
    return protocols;
}

/* {"105":12,"others":3}: packets of link types that were not looked into. */
static json_t *unknown_links_json(const struct tally *tally) {
    json_t *links = json_object();
    char number[TEXT_SIZE];
    for (unsigned i = 0; i < tally->unknown_used; i++) {
        snprintf(number, sizeof number, "%u", tally->unknown[i].linktype);
        set_count(links, number, tally->unknown[i].packets);
    }
    if (tally->unknown_others)
        set_count(links, "others", tally->unknown_others);
    return links;
}

/* {"complete":3,...}: what became of fragmented datagrams; null if that was not tried. */
static json_t *reassembly_json(const uint64_t *counts) {
    if (!counts)
        return json_null();
    json_t *object = json_object();
    for (unsigned i = 0; i < REASSEMBLY_COUNT; i++)
        set_count(object, reassembly_name(i), counts[i]);
    return object;
}

void report_json(const struct report *report) {
    json_t *object = json_object();
    json_object_set_new(object, "file", json_name(report->path));
    set_count(object, "packets", report->tally->packets);
    set_count(object, "bytes", report->tally->bytes);
    json_object_set_new(object, "protocols", counts_json(report->tally));
    json_object_set_new(object, "damage", problem_json(report));
    json_object_set_new(object, "reasons", reasons_json(report->tally));
    json_object_set_new(object, "unknown_links", unknown_links_json(report->tally));
    json_object_set_new(object, "reassembly", reassembly_json(report->reassembly));
    json_print(stdout, object);
}

static void set_endpoint(json_t *object, const char *key, const char *port_key,
                         const struct address *address, int port) {
    char text[ADDRESS_SIZE];
    json_object_set_new(
        object, key, address->version ? json_string(address_text(text, address, -1)) : json_null());
    json_object_set_new(object, port_key, port < 0 ? json_null() : json_integer(port));
}

void report_finding_json(const char *path, const struct finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char time[REPORT_TIME_SIZE];
    json_t *object = json_object();
    json_object_set_new(object, "file", json_name(path));
    set_count(object, "frame", finding->frame);
    json_object_set_new(object, "time",
                        report_time(time, finding->time_ns) ? json_string(time) : json_null());
    json_object_set_new(object, "protocol", json_string(carry_packet_protocol_name(sum->protocol)));
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    set_endpoint(object, "from", "from_port", &finding->from, finding->from_port);
    set_endpoint(object, "to", "to_port", &finding->to, finding->to_port);
    set_count(object, "stored", sum->stored);
    json_object_set_new(object, "expected",
                        sum->verdict == CARRY_VERDICT_ILLEGAL ? json_null()
                                                              : json_integer(sum->expected));
    if (finding->offset == FINDING_NOWHERE)
        json_object_set_new(object, "offset", json_null());
    else
        set_count(object, "offset", finding->offset);
    json_print(stdout, object);
}
