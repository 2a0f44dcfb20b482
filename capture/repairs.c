/* SPDX-License-Identifier: MIT */
#include "repairs.h"

#include <stdlib.h>

#include "verdict.h"

void carry_group_add(struct carry_capture_group *group, uint64_t number) {
    if (group->count < CARRY_CAPTURE_GROUP_FRAMES)
        group->frames[group->count] = number;
    group->count++;
}

void carry_repairs_leave(struct carry_capture_repairs *repairs,
                         const struct carry_capture_change *left) {
    unsigned protocol = left->sum->protocol, verdict = left->sum->verdict;
    carry_group_add(&repairs->reasons[protocol][verdict][left_slot(left->left)], left->number);
    repairs->left[protocol][verdict]++;
}

/* Merges two groups; the result lists the first frames of both, in order. */
static struct carry_capture_group merge_groups(const struct carry_capture_group *one,
                                               const struct carry_capture_group *other) {
    struct carry_capture_group both = {0};
    unsigned i = 0, j = 0;
    while (both.count < CARRY_CAPTURE_GROUP_FRAMES && (i < one->count || j < other->count)) {
        bool is_first = j == other->count || (i < one->count && one->frames[i] <= other->frames[j]);
        carry_group_add(&both, is_first ? one->frames[i++] : other->frames[j++]);
    }
    both.count = one->count + other->count;
    return both;
}

void carry_repairs_leave_headers(struct carry_capture_repairs *repairs, unsigned verdict,
                                 unsigned why, const struct carry_capture_group *headers) {
    struct carry_capture_group *group =
        &repairs->reasons[CARRY_PROTOCOL_IP][verdict][left_slot(why)];
    *group = merge_groups(group, headers);
    repairs->left[CARRY_PROTOCOL_IP][verdict] += headers->count;
}

void carry_repairs_total(struct carry_capture_repairs *repairs) {
    struct carry_capture_repair_totals *totals = &repairs->totals;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
            totals->repaired += repairs->repaired[protocol][verdict];
            if (verdict_is_in(verdict, CARRY_CAPTURE_WRONG_VERDICTS))
                totals->left_wrong += repairs->left[protocol][verdict];
        }
}

/* --- Reading a report --- */

void carry_capture_repairs_free(struct carry_capture_repairs *repairs) {
    free(repairs);
}

const struct carry_capture_repair_totals *
carry_capture_repair_totals(const struct carry_capture_repairs *repairs) {
    return &repairs->totals;
}

static bool is_known_verdict(unsigned protocol, unsigned verdict) {
    return protocol < CARRY_PROTOCOL_COUNT && verdict < CARRY_VERDICT_COUNT;
}

uint64_t carry_capture_repaired(const struct carry_capture_repairs *repairs, unsigned protocol,
                                unsigned verdict) {
    return is_known_verdict(protocol, verdict) ? repairs->repaired[protocol][verdict] : 0;
}

uint64_t carry_capture_left(const struct carry_capture_repairs *repairs, unsigned protocol,
                            unsigned verdict) {
    return is_known_verdict(protocol, verdict) ? repairs->left[protocol][verdict] : 0;
}

const struct carry_capture_group *
carry_capture_left_group(const struct carry_capture_repairs *repairs, unsigned protocol,
                         unsigned verdict, unsigned left) {
    static const struct carry_capture_group none;
    if (!is_known_verdict(protocol, verdict) || !left_is_known(left))
        return &none;
    return &repairs->reasons[protocol][verdict][left_slot(left)];
}

static const struct {
    const char *name, *text;
} reasons[LEFT_SLOTS] = {
    [CARRY_CAPTURE_LEFT_ONLY] = {"only", "the options do not name this verdict"},
    [CARRY_CAPTURE_LEFT_EARLY] =
        {"early", "a later packet shows that it is partial, and the input is read only once"},
    [CARRY_CAPTURE_LEFT_BESIDE] = {"beside",
                                   "its sender leaves it to the network card, but another checksum "
                                   "of the same frame is uncertain"},
    [CARRY_CAPTURE_LEFT_QUOTED] = {"quoted", "quoted in an ICMP error, which is evidence"},
    [CARRY_CAPTURE_LEFT_COVERED] = {"covered", "covered by a checksum that cannot be verified"},
    [CARRY_CAPTURE_LEFT_PARTIAL] =
        {"partial",
         "covered by a checksum that becomes right once a partial one that is left is complete"},
    [CARRY_CAPTURE_LEFT_SNAPLEN] = {"snaplen", "the capture cut off bytes that it covers"},
    [CARRY_CAPTURE_LEFT_ADLER32] = {"adler32",
                                    "verifies as Adler-32, which SCTP had before RFC 3309"},
    [CARRY_CAPTURE_LEFT_NESTED] = {"nested", "in a fragmented datagram inside another"},
    [CARRY_CAPTURE_LEFT_TUNNEL] = {"tunnel",
                                   "in a datagram whose fragments an outer checksum covers"},
    [CARRY_CAPTURE_LEFT_UNCERTAIN] = {"uncertain", "its expected value is not certain"},
    [CARRY_CAPTURE_LEFT_WRITTEN] =
        {"written", "in a datagram some of whose fragments were written before the last one came"},
#define CARRY_REASSEMBLY(id, name, text)                                                           \
    [LEFT_OWN + CARRY_CAPTURE_REASSEMBLY_##id] = {name, "in a datagram " text},
#include "reassembly.def"
#undef CARRY_REASSEMBLY
};

const char *carry_capture_left_name(unsigned left) {
    return left_is_known(left) ? reasons[left_slot(left)].name : "unknown";
}

const char *carry_capture_left_text(unsigned left) {
    return left_is_known(left) ? reasons[left_slot(left)].text : "unknown";
}
