/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *address_text(char *buffer, const struct address *address, int port) {
    char text[INET6_ADDRSTRLEN] = "?";
    int family = address->version == 6 ? AF_INET6 : AF_INET;
    if (address->version)
        inet_ntop(family, address->bytes, text, sizeof text);
    if (port < 0)
        snprintf(buffer, ADDRESS_SIZE, "%s", text);
    else
        snprintf(buffer, ADDRESS_SIZE, address->version == 6 ? "[%s]:%d" : "%s:%d", text, port);
    return buffer;
}

/* The addresses of the IP header that a sum belongs to, as far as they were captured. */
static void find_addresses(const struct carry_frame *frame, const struct carry_packet_sum *sum,
                           struct address *from, struct address *to) {
    size_t size = sum->version == 6 ? 16 : 4;
    size_t offset = sum->network_offset + (sum->version == 6 ? (size_t)8 : 12);
    const uint8_t *bytes = (const uint8_t *)frame->data + offset;
    *from = *to = (struct address){0};
    if (!sum->version || offset + 2 * size > frame->captured)
        return;
    from->version = to->version = sum->version;
    memcpy(from->bytes, bytes, size);
    memcpy(to->bytes, bytes + size, size);
}

static bool has_ports(unsigned protocol) {
    return protocol == CARRY_PROTOCOL_TCP || protocol == CARRY_PROTOCOL_UDP ||
           protocol == CARRY_PROTOCOL_UDPLITE;
}

void tally_describe(struct finding *finding, const struct packet *packet,
                    const struct carry_frame *frame, const struct carry_packet_sum *sum) {
    *finding = (struct finding){
        .sum = *sum,
        .frame = packet->number,
        .time_ns = packet->time_ns,
        .offset = packet->offset + sum->field_offset,
        .from_port = -1,
        .to_port = -1,
    };
    find_addresses(frame, sum, &finding->from, &finding->to);
    if (has_ports(sum->protocol) && (uint64_t)sum->cover_offset + 4 <= frame->captured) {
        const uint8_t *ports = (const uint8_t *)frame->data + sum->cover_offset;
        finding->from_port = ports[0] << 8 | ports[1];
        finding->to_port = ports[2] << 8 | ports[3];
    }
}

static unsigned rarest(const struct senders *senders) {
    unsigned slot = 0;
    for (unsigned i = 1; i < SENDERS; i++)
        if (senders->slots[i].count < senders->slots[slot].count)
            slot = i;
    return slot;
}

static unsigned find_sender(struct senders *senders, const struct address *address) {
    for (unsigned i = 0; i < senders->used; i++)
        if (memcmp(&senders->slots[i].address, address, sizeof *address) == 0)
            return i;
    if (senders->used < SENDERS) {
        senders->slots[senders->used].address = *address;
        return senders->used++;
    }
    unsigned slot = rarest(senders);
    senders->overflowed = true;
    senders->slots[slot].address = *address;
    senders->slots[slot].error = senders->slots[slot].count;
    return slot;
}

void tally_add_sender(struct tally *tally, const struct carry_frame *frame,
                      const struct carry_packet_sum *sum) {
    struct senders *senders = &tally->senders[sum->protocol][sum->verdict];
    struct address from, to;
    find_addresses(frame, sum, &from, &to);
    const struct sender *last = &senders->slots[senders->last];
    if (!last->count || memcmp(&last->address, &from, sizeof from) != 0)
        senders->last = find_sender(senders, &from);
    senders->slots[senders->last].count++;
}

struct tally *tally_new(void) {
    struct tally *tally = calloc(1, sizeof *tally);
    if (!tally)
        return NULL;
    tally->senders = calloc(CARRY_PROTOCOL_COUNT, sizeof *tally->senders);
    if (tally->senders)
        return tally;
    free(tally);
    return NULL;
}

void tally_free(struct tally *tally) {
    if (tally)
        free(tally->senders);
    free(tally);
}

bool tally_names(unsigned verdict) {
    return tally_is_in(verdict, TALLY_WRONG) || verdict == CARRY_VERDICT_PARTIAL;
}

void tally_add_imperfect(struct tally *tally, const struct carry_frame *frame,
                         const struct carry_packet_sum *sum) {
    if (sum->verdict == CARRY_VERDICT_BAD && sum->stored == 0)
        tally->empty[sum->protocol]++;
    if (sum->verdict != CARRY_VERDICT_UNVERIFIABLE)
        return;
    tally->reasons[sum->protocol][sum->reason]++;
    if (sum->reason == CARRY_REASON_SNAPLEN && frame->captured > tally->longest_cut)
        tally->longest_cut = frame->captured;
}

void tally_add_unknown(struct tally *tally, const struct packet *packet) {
    tally->packets++;
    tally->bytes += packet->captured;
    for (unsigned i = 0; i < UNKNOWN_LINKS; i++) {
        struct unknown_link *link = &tally->unknown[i];
        if (i == tally->unknown_used) {
            tally->unknown_used++;
            link->linktype = packet->linktype;
        }
        if (link->linktype == packet->linktype) {
            link->packets++;
            return;
        }
    }
    tally->unknown_others++;
}

void tally_supersede(struct tally *tally, unsigned protocol) {
    tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE]--;
    tally->reasons[protocol][CARRY_REASON_FRAGMENT]--;
}

uint64_t tally_total(const struct tally *tally, unsigned verdict) {
    uint64_t total = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        total += tally->counts[protocol][verdict];
    return total;
}

uint64_t tally_total_of(const struct tally *tally, unsigned set) {
    uint64_t total = 0;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (tally_is_in(verdict, set))
            total += tally_total(tally, verdict);
    return total;
}

bool tally_has(const struct tally *tally, unsigned protocol) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (tally->counts[protocol][verdict])
            return true;
    return false;
}

void tally_merge(struct tally *into, const struct tally *from) {
    into->packets += from->packets;
    into->bytes += from->bytes;
    into->without += from->without;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        into->empty[protocol] += from->empty[protocol];
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            into->counts[protocol][verdict] += from->counts[protocol][verdict];
        for (unsigned reason = 0; reason < CARRY_REASON_COUNT; reason++)
            into->reasons[protocol][reason] += from->reasons[protocol][reason];
    }
    if (from->longest_cut > into->longest_cut)
        into->longest_cut = from->longest_cut;
}
