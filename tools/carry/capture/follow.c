/* SPDX-License-Identifier: MIT */
#include "capture/follow.h"

#include "capture/tally.h"

/* How many of these came in the frame. */
static unsigned count_own(const struct follow *follow, const struct source *sources) {
    unsigned count = 0;
    for (const struct source *source = sources; source; source = source->next)
        count += source->frame == follow->frame;
    return count;
}

static void finish_lost(void *context, enum reassembly why, const struct source *sources) {
    struct follow *follow = context;
    unsigned count = count_own(follow, sources);
    follow->waiting -= count;
    if (count)
        follow->lost(follow->context, why, sources);
}

static void finish_datagram(struct follow *follow, const struct datagram *datagram) {
    unsigned count = count_own(follow, datagram->sources);
    follow->waiting -= count;
    if (count)
        follow->complete(follow->context, datagram);
}

bool follow_open(struct follow *follow) {
    follow->reassembler = reassembler_create(NULL);
    if (follow->reassembler)
        reassembler_watch(follow->reassembler, finish_lost, follow);
    return follow->reassembler;
}

void follow_close(struct follow *follow) {
    if (follow->reassembler)
        reassembler_watch(follow->reassembler, NULL, NULL);
    reassembler_free(follow->reassembler);
}

void follow_packet(struct follow *follow, const struct packet *packet) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    struct carry_frame frame = tally_frame(packet);
    carry_packet_check_fragment(&frame, NULL, NULL, 0, &fragment);
    if (!fragment.version)
        return;
    size_t count =
        carry_packet_check_fragment(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    bool is_own = packet->number == follow->frame;
    follow->waiting += is_own;
    for (const struct datagram *datagram =
             reassembler_add(follow->reassembler, packet, &fragment, sums, count);
         datagram; datagram = reassembler_next(follow->reassembler)) {
        follow->waiting += is_own && datagram->holds_fragment;
        finish_datagram(follow, datagram);
    }
}

void follow_on(struct follow *follow, struct capture *capture, const struct packet *packet) {
    struct packet next;
    follow_packet(follow, packet);
    while (follow->waiting && capture_next(capture, &next) == CAPTURE_PACKET) {
        follow->further(follow->context, &next);
        follow_packet(follow, &next);
    }
    reassembler_end(follow->reassembler);
}
