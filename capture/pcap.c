/* SPDX-License-Identifier: MIT */
/* Reads the pcap format (draft-ietf-opsawg-pcap): a file header, then records. */
#include "pcap.h"
#include "format.h"
#include "magic.h"

#define FILE_HEADER_BYTES 24

static int next_pcap_record(struct carry_capture *capture, struct carry_capture_packet *packet) {
    struct input *input = &capture->input;
    const struct pcap *pcap = &capture->pcap;
    capture->record = carry_input_offset(input);
    const uint8_t *header = carry_input_peek(input, pcap->record_header);
    if (!header)
        return carry_format_cut(capture, "record header", pcap->record_header);
    uint32_t captured = load32(header + pcap->captured_at, capture->swap);
    if ((!captured || captured > CARRY_CAPTURE_PACKET_MAX) && carry_magic_is_begin(header))
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
        .wire = load32(record + pcap->wire_at, capture->swap),
        .linktype = pcap->linktype,
        .fcs = pcap->fcs,
        .time_ns = (uint64_t)load32(record, capture->swap) * 1000000000 +
                   (uint64_t)load32(record + 4, capture->swap) * pcap->ns_per_tick,
        .offset = capture->record + pcap->record_header,
    };
    input->at += pcap->record_header + captured;
    return CARRY_CAPTURE_PACKET;
}

static int read_pcap_header(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint8_t *header = carry_input_peek(&capture->input, FILE_HEADER_BYTES);
    if (!header)
        return carry_format_cut(capture, "file header", FILE_HEADER_BYTES);
    const struct pcap_version *version = carry_magic_version(header, capture->swap);
    if (!version)
        return carry_format_damage(capture, "unknown pcap version %u.%u",
                                   load16(header + 4, capture->swap),
                                   load16(header + 6, capture->swap));
    capture->pcap.captured_at = version->captured_at;
    capture->pcap.wire_at = version->wire_at;
    uint32_t link = load32(header + 20, capture->swap);
    capture->pcap.linktype = link & PCAP_LINKTYPE_MASK;
    capture->pcap.fcs = link & PCAP_HAS_FCS ? (link >> PCAP_FCS_SHIFT) * PCAP_FCS_UNIT : 0;
    capture->input.at += FILE_HEADER_BYTES;
    capture->next = next_pcap_record;
    return next_pcap_record(capture, packet);
}

format_next_fn *carry_pcap_recognise(struct carry_capture *capture, const uint8_t *magic) {
    const struct pcap_variant *variant = carry_magic_variant(magic, &capture->swap);
    if (!variant)
        return NULL;
    capture->pcap.record_header = variant->record_header;
    capture->pcap.ns_per_tick = variant->ns_per_tick;
    return read_pcap_header;
}
