/* SPDX-License-Identifier: MIT */
/* The pcap format (draft-ietf-opsawg-pcap): a file header, then records. */
#include "format.h"

#define FILE_HEADER_BYTES 24

static const struct {
    uint32_t magic;
    uint32_t record_header;
    uint32_t ns_per_tick;
} variants[] = {
    {0xa1b2c3d4, 16, 1000},
    {0xa1b23c4d, 16, 1},
    {0xa1b2cd34, 24, 1000}, /* Kuznetzov's: interface, protocol and packet type follow */
};

static enum capture_result next_record(struct capture *capture, struct packet *packet) {
    struct input *input = &capture->input;
    const struct pcap *pcap = &capture->pcap;
    capture->record = input_offset(input);
    const uint8_t *header = input_peek(input, pcap->record_header);
    if (!header)
        return capture_cut(capture, "record header", pcap->record_header);
    uint32_t captured = load32(capture, header + 8);
    if (captured > CAPTURE_PACKET_MAX)
        return capture_damage(capture, "record claims %u bytes, above the limit of %u", captured,
                              CAPTURE_PACKET_MAX);
    const uint8_t *record = input_peek(input, pcap->record_header + captured);
    if (!record)
        return capture_cut(capture, "record", pcap->record_header + captured);
    *packet = (struct packet){
        .data = record + pcap->record_header,
        .captured = captured,
        .wire = load32(capture, record + 12),
        .linktype = pcap->linktype,
        .fcs = pcap->fcs,
        .time_ns = (uint64_t)load32(capture, record) * 1000000000 +
                   (uint64_t)load32(capture, record + 4) * pcap->ns_per_tick,
        .offset = capture->record + pcap->record_header,
    };
    input->at += pcap->record_header + captured;
    return CAPTURE_PACKET;
}

static enum capture_result file_header(struct capture *capture, struct packet *packet) {
    const uint8_t *header = input_peek(&capture->input, FILE_HEADER_BYTES);
    if (!header)
        return capture_cut(capture, "file header", FILE_HEADER_BYTES);
    /* Bit 26 says that the top four bits hold the FCS length, in 16-bit words. */
    uint32_t link = load32(capture, header + 20);
    capture->pcap.linktype = link & 0xffff;
    capture->pcap.fcs = link & 1u << 26 ? (link >> 28) * 2 : 0;
    capture->input.at += FILE_HEADER_BYTES;
    capture->next = next_record;
    return next_record(capture, packet);
}

format_next_fn *pcap_recognise(struct capture *capture, const uint8_t *magic) {
    uint32_t value;
    memcpy(&value, magic, sizeof value);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        capture->swap = value == __builtin_bswap32(variants[i].magic);
        if (!capture->swap && value != variants[i].magic)
            continue;
        capture->pcap.record_header = variants[i].record_header;
        capture->pcap.ns_per_tick = variants[i].ns_per_tick;
        return file_header;
    }
    return NULL;
}
