/* SPDX-License-Identifier: MIT */
/*
 * Prints every sum of a capture, for comparison with other tools: a line each, of frame, protocol,
 * verdict, reason, stored, expected, offset of the field in the frame and in the file, 1 if quoted
 * by ICMP, 1 if bytes of the frame were cut off; separated by tabs.
 */
#include <carry/packet.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../tools/carry/capture.h"

static void print_sums(const struct packet *packet) {
    const struct carry_frame frame = {
        .data = packet->data,
        .captured = packet->captured,
        .wire = packet->wire,
        .linktype = packet->linktype,
    };
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        printf("%" PRIu64 "\t%s\t%s\t%s\t%0*" PRIx32 "\t%0*" PRIx32 "\t%" PRIu32 "\t%" PRIu64
               "\t%d\t%d\n",
               packet->number, carry_packet_protocol_name(sums[i].protocol),
               carry_packet_verdict_name(sums[i].verdict), carry_packet_reason_name(sums[i].reason),
               2 * sums[i].field_size, sums[i].stored, 2 * sums[i].field_size, sums[i].expected,
               sums[i].field_offset, packet->offset + sums[i].field_offset, sums[i].quoted,
               packet->captured < packet->wire);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: dump_sums CAPTURE\n");
        return 3;
    }
    struct capture *capture = capture_open(argv[1]);
    if (!capture) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 3;
    }
    struct packet packet;
    enum capture_result result;
    while ((result = capture_next(capture, &packet)) == CAPTURE_PACKET)
        print_sums(&packet);
    if (result != CAPTURE_END)
        fprintf(stderr, "%s: %s\n", argv[1], capture_problem(capture)->reason);
    capture_close(capture);
    return result == CAPTURE_END ? 0 : 2;
}
