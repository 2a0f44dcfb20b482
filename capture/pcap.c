/* SPDX-License-Identifier: MIT */
/* Reads the pcap format (draft-ietf-opsawg-pcap): a file header, then records. */
#include "pcap.h"
#include "format.h"
#include "magic.h"

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

/* Splits the word into link type and size of the FCS, unless it is a private link type. */
static void set_link(struct pcap *pcap, uint32_t word) {
    const bool is_private = word & PCAP_RESERVED, has_fcs = word & PCAP_HAS_FCS;
    pcap->linktype = is_private ? word : word & PCAP_LINKTYPE_MASK;
    pcap->fcs = has_fcs && !is_private ? (word >> PCAP_FCS_SHIFT) * PCAP_FCS_UNIT : 0;
}

/*
 * Recognises AIX's tcpdump, which writes version 2.2, an ifType of RFC 1573 as link type, and
 * nanoseconds. Its link types mean other headers in other files of that version, but no other
 * system with big-endian numbers is known to have written such files.
 */
static void recognise_aix(struct pcap *pcap, const uint8_t *header) {
    static const uint8_t begin[] = {0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 2};
    static const struct {
        uint32_t if_type, linktype;
    } links[] = {{6, 1}, {9, 6}, {24, 0}}; /* Ethernet, Token Ring, loopback */
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (memcmp(header, begin, sizeof begin) == 0 &&
            load32_network(header + 20) == links[i].if_type) {
            pcap->linktype = links[i].linktype;
            pcap->ns_per_tick = 1;
            return;
        }
}

static int read_pcap_header(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint32_t size = capture->pcap.file_header;
    const uint8_t *header = carry_input_peek(&capture->input, size);
    if (!header)
        return carry_format_cut(capture, "file header", size);
    const struct pcap_version *version = carry_magic_version(header, capture->swap);
    if (!version)
        return carry_format_damage(capture, "unknown pcap version %u.%u",
                                   load16(header + 4, capture->swap),
                                   load16(header + 6, capture->swap));
    capture->pcap.captured_at = version->captured_at;
    capture->pcap.wire_at = version->wire_at;
    set_link(&capture->pcap, load32(header + 20, capture->swap));
    recognise_aix(&capture->pcap, header);
    capture->input.at += size;
    capture->next = next_pcap_record;
    return next_pcap_record(capture, packet);
}

format_next_fn *carry_pcap_recognise(struct carry_capture *capture, const uint8_t *magic) {
    const struct pcap_variant *variant = carry_magic_variant(magic, &capture->swap);
    if (!variant)
        return NULL;
    capture->pcap.file_header = variant->file_header;
    capture->pcap.record_header = variant->record_header;
    capture->pcap.ns_per_tick = variant->ns_per_tick;
    return read_pcap_header;
}
