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

/* Up to version 2.2, and in what DG/UX wrote, lengths stood in the other order, as libpcap knows.
 */
static const struct version {
    uint16_t major, least_minor, most_minor;
    uint32_t captured_at, wire_at;
} versions[] = {{2, 3, 4, 8, 12}, {2, 0, 2, 12, 8}, {543, 0, 0, 12, 8}};

static const struct version *find_version(uint16_t major, uint16_t minor) {
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].major == major && versions[i].least_minor <= minor &&
            minor <= versions[i].most_minor)
            return &versions[i];
    return NULL;
}

static const struct version *read_version(const struct carry_capture *capture,
                                          const uint8_t *header) {
    return find_version(load16(capture, header + 4), load16(capture, header + 6));
}

/* Its time zone is 0 for as long as anybody remembers. */
bool carry_pcap_begins(const uint8_t *bytes) {
    struct carry_capture any = {0};
    return carry_pcap_recognise(&any, bytes) && read_version(&any, bytes) &&
           !load32(&any, bytes + 8);
}

static int next_record(struct carry_capture *capture, struct carry_capture_packet *packet) {
    struct input *input = &capture->input;
    const struct pcap *pcap = &capture->pcap;
    capture->record = carry_input_offset(input);
    const uint8_t *header = carry_input_peek(input, pcap->record_header);
    if (!header)
        return carry_format_cut(capture, "record header", pcap->record_header);
    uint32_t captured = load32(capture, header + pcap->captured_at);
    if ((!captured || captured > CARRY_CAPTURE_PACKET_MAX) && carry_format_begins(header))
        return carry_format_second(capture);
    if (captured > CARRY_CAPTURE_PACKET_MAX)
        return carry_format_damage(capture, "record claims %u bytes, above the limit of %u",
                                   captured, CARRY_CAPTURE_PACKET_MAX);
    const uint8_t *record = carry_input_peek(input, pcap->record_header + captured);
    if (!record)
        return carry_format_cut(capture, "record", pcap->record_header + captured);
    *packet = (struct carry_capture_packet){
        .data = record + pcap->record_header,
        .captured = captured,
        .wire = load32(capture, record + pcap->wire_at),
        .linktype = pcap->linktype,
        .fcs = pcap->fcs,
        .time_ns = (uint64_t)load32(capture, record) * 1000000000 +
                   (uint64_t)load32(capture, record + 4) * pcap->ns_per_tick,
        .offset = capture->record + pcap->record_header,
    };
    input->at += pcap->record_header + captured;
    return CARRY_CAPTURE_PACKET;
}

static int file_header(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint8_t *header = carry_input_peek(&capture->input, FILE_HEADER_BYTES);
    if (!header)
        return carry_format_cut(capture, "file header", FILE_HEADER_BYTES);
    const struct version *version = read_version(capture, header);
    if (!version)
        return carry_format_damage(capture, "pcap of version %u.%u, which is not known",
                                   load16(capture, header + 4), load16(capture, header + 6));
    capture->pcap.captured_at = version->captured_at;
    capture->pcap.wire_at = version->wire_at;
    /* Bit 26 says that the top four bits hold the FCS length, in 16-bit words. */
    uint32_t link = load32(capture, header + 20);
    capture->pcap.linktype = link & 0xffff;
    capture->pcap.fcs = link & 1u << 26 ? (link >> 28) * 2 : 0;
    capture->input.at += FILE_HEADER_BYTES;
    capture->next = next_record;
    return next_record(capture, packet);
}

format_next_fn *carry_pcap_recognise(struct carry_capture *capture, const uint8_t *magic) {
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
