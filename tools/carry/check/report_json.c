/* SPDX-License-Identifier: MIT */
/*
 * Prints the output of `carry check --json`: one object a line. New keys must be added at the end.
 */
#include "check/report.h"

#include <stdio.h>

#include "common/json.h"
#include "common/text.h"

static void set_count(json_t *object, const char *key, uint64_t value) {
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* Returns {"tcp":{"good":1,...},...}: one member per protocol that occurs. */
static json_t *counts_json(const struct carry_capture_summary *summary) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (!report_has(summary, protocol))
            continue;
        json_t *verdicts = json_object();
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            set_count(verdicts, carry_packet_verdict_name(verdict),
                      carry_capture_count(summary, protocol, verdict));
        json_object_set_new(protocols, carry_packet_protocol_name(protocol), verdicts);
    }
    return protocols;
}

static json_t *problem_json(const struct report *report) {
    if (report->error.code == CARRY_OK)
        return json_null();
    json_t *problem = json_object();
    set_count(problem, "offset", report->error.offset);
    json_object_set_new(problem, "reason", json_string(report->error.text));
    return problem;
}

/* Returns {"tcp":{"snaplen":1,...},...}: why sums could not be verified. */
static json_t *reasons_json(const struct carry_capture_summary *summary) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (!carry_capture_count(summary, protocol, CARRY_VERDICT_UNVERIFIABLE))
            continue;
        json_t *reasons = json_object();
        for (unsigned reason = 0; reason < CARRY_REASON_COUNT; reason++)
            if (carry_capture_reason_count(summary, protocol, reason))
                set_count(reasons, carry_packet_reason_name(reason),
                          carry_capture_reason_count(summary, protocol, reason));
        json_object_set_new(protocols, carry_packet_protocol_name(protocol), reasons);
    }
    return protocols;
}

/* Returns {"ip":{"zero":1,...},...}: the causes of sums, by protocol. */
static json_t *causes_json(const struct carry_capture_summary *summary) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        json_t *causes = json_object();
        for (unsigned cause = CARRY_CAPTURE_CAUSE_NONE + 1; cause < CARRY_CAPTURE_CAUSE_COUNT;
             cause++)
            if (carry_capture_cause_count(summary, protocol, cause))
                set_count(causes, carry_capture_cause_name(cause),
                          carry_capture_cause_count(summary, protocol, cause));
        if (json_object_size(causes))
            json_object_set(protocols, carry_packet_protocol_name(protocol), causes);
        json_decref(causes);
    }
    return protocols;
}

/* Returns {"tcp":3}: partial sums that are certain; one member per protocol with partial sums. */
static json_t *certain_json(const struct carry_capture_summary *summary) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (carry_capture_count(summary, protocol, CARRY_VERDICT_PARTIAL))
            set_count(protocols, carry_packet_protocol_name(protocol),
                      carry_capture_certain_count(summary, protocol));
    return protocols;
}

/* Returns {"105":12,"others":3}: how many packets were not examined, by link type. */
static json_t *unknown_links_json(const struct carry_capture_summary *summary) {
    json_t *links = json_object();
    uint64_t packets, others = carry_capture_totals(summary)->unknown_links;
    char number[TEXT_SIZE];
    uint32_t linktype;
    for (size_t i = 0; carry_capture_unknown_link(summary, i, &linktype, &packets); i++) {
        snprintf(number, sizeof number, "%u", linktype);
        set_count(links, number, packets);
        others -= packets;
    }
    if (others)
        set_count(links, "others", others);
    return links;
}

/* Returns {"complete":3,...}: the outcomes of fragmented datagrams; null if they were not
   reassembled. */
static json_t *reassembly_json(const struct carry_capture_summary *summary) {
    if (!carry_capture_totals(summary)->reassembled)
        return json_null();
    json_t *object = json_object();
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++)
        set_count(object, carry_capture_reassembly_name(i),
                  carry_capture_reassembly_count(summary, i));
    return object;
}

/* Returns "02:00:00:00:00:01"; null if the link header has no MAC address. */
static json_t *mac_json(const struct carry_capture_link *link) {
    const uint8_t *mac = link->mac;
    return link->has_mac ? json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                                        mac[3], mac[4], mac[5])
                         : json_null();
}

static json_t *vlans_json(const struct carry_capture_link *link) {
    json_t *list = json_array();
    for (unsigned i = 0; i < link->vlans_count; i++)
        json_array_append_new(list, json_integer(link->vlans[i]));
    return list;
}

static json_t *address_json(const struct carry_capture_address *address) {
    char text[ADDRESS_SIZE];
    return address->version ? json_string(address_text(text, address, -1)) : json_null();
}

static json_t *sender_json(const struct carry_capture_sender *sender) {
    json_t *object = json_object();
    json_object_set_new(object, "address", address_json(&sender->address));
    json_object_set_new(object, "mac", mac_json(&sender->link));
    json_object_set_new(object, "vlans", vlans_json(&sender->link));
    set_count(object, "at_least", sender->at_least);
    set_count(object, "at_most", sender->at_most);
    return object;
}

static void add_senders(json_t *verdicts, const struct carry_capture_summary *summary,
                        unsigned protocol, unsigned verdict) {
    struct carry_capture_sender senders[CARRY_CAPTURE_SENDERS_MAX];
    size_t count = carry_capture_senders(summary, protocol, verdict, false, senders,
                                         CARRY_CAPTURE_SENDERS_MAX, NULL);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, sender_json(&senders[i]));
    if (count)
        json_object_set(verdicts, carry_packet_verdict_name(verdict), list);
    json_decref(list);
}

/* Returns {"tcp":{"partial":[{"address":...},...]}}: the most frequent senders of sums that are not
   good. */
static json_t *senders_json(const struct carry_capture_summary *summary) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        json_t *verdicts = json_object();
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            add_senders(verdicts, summary, protocol, verdict);
        if (json_object_size(verdicts))
            json_object_set(protocols, carry_packet_protocol_name(protocol), verdicts);
        json_decref(verdicts);
    }
    return protocols;
}

void report_json(FILE *out, const struct report *report) {
    json_t *object = json_object();
    json_set_name(object, "file", report->path);
    set_count(object, "packets", carry_capture_totals(report->summary)->packets);
    set_count(object, "bytes", carry_capture_totals(report->summary)->bytes);
    json_object_set_new(object, "protocols", counts_json(report->summary));
    json_object_set_new(object, "damage", problem_json(report));
    json_object_set_new(object, "reasons", reasons_json(report->summary));
    json_object_set_new(object, "unknown_links", unknown_links_json(report->summary));
    json_object_set_new(object, "reassembly", reassembly_json(report->summary));
    json_object_set_new(object, "causes", causes_json(report->summary));
    enum carry_capture_outcome outcome = carry_capture_outcome(report->summary, report->wrong);
    json_object_set_new(object, "outcome", json_string(carry_capture_outcome_name(outcome)));
    set_count(object, "without", carry_capture_totals(report->summary)->without);
    set_count(object, "too_deep", carry_capture_totals(report->summary)->deeper);
    json_object_set_new(object, "senders", senders_json(report->summary));
    set_count(object, "unselected", carry_capture_totals(report->summary)->unselected);
    json_object_set_new(object, "certain", certain_json(report->summary));
    set_count(object, "left_without", carry_capture_totals(report->summary)->left_without);
    json_object_set_new(object, "all_zero",
                        json_boolean(carry_capture_is_all_zero(report->summary)));
    set_count(object, "raw_ip", carry_capture_totals(report->summary)->raw_ip);
    json_print(out, object);
}

void report_certain_json(json_t *object, const struct carry_capture_finding *finding) {
    json_object_set_new(object, "certain",
                        finding->certainty == CARRY_CAPTURE_COMPUTED
                            ? json_null()
                            : json_boolean(finding->certainty == CARRY_CAPTURE_CERTAIN));
    json_object_set_new(object, "bit",
                        finding->cause == CARRY_CAPTURE_CAUSE_ONE_BIT ? json_integer(finding->bit)
                                                                      : json_null());
}

static void set_endpoint(json_t *object, const char *key, const char *port_key,
                         const struct carry_capture_address *address, int port) {
    json_object_set_new(object, key, address_json(address));
    json_object_set_new(object, port_key, port < 0 ? json_null() : json_integer(port));
}

void report_finding_members(json_t *object, const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char time[REPORT_TIME_SIZE];
    set_count(object, "frame", finding->number);
    json_object_set_new(object, "time",
                        report_time(time, finding->time_ns) ? json_string(time) : json_null());
    json_object_set_new(object, "protocol", json_string(carry_packet_protocol_name(sum->protocol)));
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    set_endpoint(object, "from", "from_port", &finding->from, finding->from_port);
    set_endpoint(object, "to", "to_port", &finding->to, finding->to_port);
    set_count(object, "stored", sum->stored);
    json_object_set_new(object, "expected",
                        carry_capture_has_expected(sum) ? json_integer(sum->expected)
                                                        : json_null());
    if (finding->offset == CARRY_CAPTURE_NOWHERE)
        json_object_set_new(object, "offset", json_null());
    else
        set_count(object, "offset", finding->offset);
    json_object_set_new(object, "cause",
                        finding->cause ? json_string(carry_capture_cause_name(finding->cause))
                                       : json_null());
    report_certain_json(object, finding);
    json_object_set_new(object, "early", json_boolean(finding->early));
}

void report_finding_json(const char *path, const struct carry_capture_finding *finding) {
    json_t *object = json_object();
    json_set_name(object, "file", path);
    report_finding_members(object, finding);
    json_print(stdout, object);
}
