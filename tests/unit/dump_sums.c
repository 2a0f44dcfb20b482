/* SPDX-License-Identifier: MIT */
/*
 * Prints every sum of a capture, for comparison with other tools. A line has these fields,
 * separated by tabs: frame, protocol, verdict, reason, stored, expected, offset of the field in
 * the frame and in the file, 1 if quoted by ICMP, 1 if bytes of the frame were cut off. With -r,
 * fragments are reassembled: sums of a datagram have their offsets in the datagram, and the number
 * of the frame that completed it; a line with frame, protocol and the word "superseded" retracts a
 * sum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <carry/capture.h>

#include "reassemble.h"

static void print_sums(const struct carry_capture_packet *packet,
                       const struct carry_packet_sum *sums, size_t count) {
    for (size_t i = 0; i < count; i++)
        printf("%" PRIu64 "\t%s\t%s\t%s\t%0*" PRIx32 "\t%0*" PRIx32 "\t%" PRIu32 "\t%" PRIu64
               "\t%d\t%d\n",
               packet->number, carry_packet_protocol_name(sums[i].protocol),
               carry_packet_verdict_name(sums[i].verdict), carry_packet_reason_name(sums[i].reason),
               2 * sums[i].field_size, sums[i].stored, 2 * sums[i].field_size, sums[i].expected,
               sums[i].field_offset, packet->offset + sums[i].field_offset, sums[i].quoted,
               packet->captured < packet->wire);
}

static void print_datagram(const struct datagram *datagram) {
    for (size_t i = 0; i < datagram->superseded_count; i++)
        printf("%" PRIu64 "\t%s\tsuperseded\n", datagram->superseded_frame,
               carry_packet_protocol_name(datagram->superseded[i]));
    print_sums(&datagram->packet, datagram->fresh, datagram->fresh_count);
}

static void print_packet(const struct carry_capture_packet *packet,
                         struct reassembler *reassembler) {
    const struct carry_frame frame = {
        .data = packet->data,
        .captured = packet->captured,
        .wire = packet->wire,
        .linktype = packet->linktype,
    };
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    size_t count =
        carry_packet_check_fragment(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX, &fragment);
    print_sums(packet, sums, count);
    if (!reassembler || !fragment.version)
        return;
    for (const struct datagram *datagram =
             carry_reassembler_add(reassembler, packet, &fragment, sums, count);
         datagram; datagram = carry_reassembler_next(reassembler))
        print_datagram(datagram);
}

static int dump_capture(const char *path, struct reassembler *reassembler) {
    const struct carry_capture_packet *packet;
    struct carry_capture *capture;
    struct carry_capture_error error;
    int result = strcmp(path, "-") == 0 ? carry_capture_open_fd(STDIN_FILENO, &capture, &error)
                                        : carry_capture_open_path(path, &capture, &error);
    if (result != CARRY_OK) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        return 3;
    }
    while ((result = carry_capture_next(capture, &packet)) == CARRY_CAPTURE_PACKET)
        print_packet(packet, reassembler);
    if (result != CARRY_CAPTURE_END)
        fprintf(stderr, "%s: %s\n", path, carry_capture_last_error(capture)->text);
    carry_capture_close(capture);
    return result == CARRY_CAPTURE_END ? 0 : 2;
}

int main(int argc, char **argv) {
    bool reassemble = argc == 3 && strcmp(argv[1], "-r") == 0;
    if (argc != 2 && !reassemble) {
        fprintf(stderr, "usage: dump_sums [-r] CAPTURE\n");
        return 3;
    }
    struct reassembler *reassembler = reassemble ? carry_reassembler_create(NULL) : NULL;
    if (reassemble && !reassembler) {
        perror("dump_sums");
        return 3;
    }
    int status = dump_capture(argv[argc - 1], reassembler);
    carry_reassembler_free(reassembler);
    return status;
}
