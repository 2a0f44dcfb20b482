/* SPDX-License-Identifier: MIT */
/*
 * Reads the snoop format (RFC 1761) of Solaris and illumos: a file header, then records, with all
 * numbers in network byte order. Shomiti's Surveyor wrote it too, with its own types and a trailer
 * after each packet.
 */
#include "format.h"
#include "magic.h"

#define FILE_HEADER_BYTES   16
#define RECORD_HEADER_BYTES 24

enum { VERSION_RFC = 2, VERSION_SHOMITI_LAST = 5 };

/* The smallest trailer of Shomiti. Without a trailer, at most 6 bytes follow a packet of
   version 2. */
#define SHOMITI_TRAILER_BYTES 16

/* The bit of Solaris' own types. */
#define PRIVATE 0x80000000u

/* Datalink types (RFC 1761, RFC 3827, DLPI's dlpi.h, and Shomiti's own) as LINKTYPE_ values. */
static const struct link {
    uint32_t type;
    uint32_t linktype;
    enum { ANY, SUN, SHOMITI } of; /* the writers that use this type */
} links[] = {
    {0, 1, ANY},             /* IEEE 802.3 */
    {2, 6, ANY},             /* IEEE 802.5 */
    {4, 1, ANY},             /* Ethernet */
    {8, 10, ANY},            /* FDDI */
    {9, 0, SUN},             /* other: loopback, on UNICOS */
    {14, 0, SUN},            /* loopback */
    {16, 122, SUN},          /* Fibre Channel */
    {18, 123, SUN},          /* IP over ATM */
    {PRIVATE | 1, 228, SUN}, /* tunnel of IPv4 */
    {PRIVATE | 2, 229, SUN}, /* tunnel of IPv6 */
    {PRIVATE | 5, 226, SUN}, /* ipnet */
    {10, 1, SHOMITI},        /* Ethernet of 100 Mbit/s */
    {12, 1, SHOMITI},        /* Ethernet of 1 Gbit/s */
    {19, 1, SHOMITI},        /* Ethernet of 10 Gbit/s */
    {11, 6, SHOMITI},        /* Token Ring of 4 Mbit/s */
    {13, 6, SHOMITI},        /* Token Ring of Shomiti's cards */
    {14, 6, SHOMITI},        /* Token Ring of Shomiti's cards */
};

static const struct link *find_datalink(uint32_t type, bool shomiti) {
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i].type == type && links[i].of != (shomiti ? SUN : SHOMITI))
            return &links[i];
    return NULL;
}

static int next_snoop_record(struct carry_capture *capture, struct carry_capture_packet *packet) {
    struct input *input = &capture->input;
    capture->record = carry_input_offset(input);
    const uint8_t *header = carry_input_peek(input, RECORD_HEADER_BYTES);
    if (!header)
        return carry_format_cut(capture, "record header", RECORD_HEADER_BYTES);
    const uint32_t captured = load32_network(header + 4), size = load32_network(header + 8);
    if (carry_magic_is_begin(header))
        return carry_format_second(capture);
    if (size > RECORD_HEADER_BYTES + CARRY_CAPTURE_PACKET_MAX)
        return carry_format_damage(capture, "record claims %u bytes, above the limit of %u", size,
                                   RECORD_HEADER_BYTES + CARRY_CAPTURE_PACKET_MAX);
    if (size < RECORD_HEADER_BYTES || captured > size - RECORD_HEADER_BYTES)
        return carry_format_damage(capture, "packet of %u bytes in a record of %u", captured, size);
    const uint8_t *record = carry_input_peek(input, size);
    if (!record)
        return carry_format_cut(capture, "record", size);
    *packet = (struct carry_capture_packet){
        .data = record + RECORD_HEADER_BYTES,
        .captured = captured,
        .wire = load32_network(record),
        .linktype = capture->snoop.linktype,
        .time_ns = (uint64_t)load32_network(record + 16) * 1000000000 +
                   (uint64_t)load32_network(record + 20) * 1000,
        .offset = capture->record + RECORD_HEADER_BYTES,
    };
    input->at += size;
    return CARRY_CAPTURE_PACKET;
}

/* Checks whether Shomiti wrote the file. Shomiti has its own versions, but also wrote version 2,
   with a trailer. */
static bool is_shomiti(struct carry_capture *capture, uint32_t version) {
    const size_t size = FILE_HEADER_BYTES + RECORD_HEADER_BYTES;
    if (version != VERSION_RFC)
        return true;
    const uint8_t *first = carry_input_peek(&capture->input, size);
    if (!first)
        return false;
    const uint64_t packet = RECORD_HEADER_BYTES + (uint64_t)load32_network(first + 20);
    return load32_network(first + 24) >= packet + SHOMITI_TRAILER_BYTES;
}

static int read_snoop_header(struct carry_capture *capture, struct carry_capture_packet *packet) {
    const uint8_t *header = carry_input_peek(&capture->input, FILE_HEADER_BYTES);
    if (!header)
        return carry_format_cut(capture, "file header", FILE_HEADER_BYTES);
    const uint32_t version = load32_network(header + 8), type = load32_network(header + 12);
    if (version < VERSION_RFC || version > VERSION_SHOMITI_LAST)
        return carry_format_damage(capture, "unknown snoop version %u", version);
    const struct link *link = find_datalink(type, is_shomiti(capture, version));
    if (!link)
        return carry_format_damage(capture, "unknown datalink type 0x%x of snoop", type);
    capture->snoop.linktype = link->linktype;
    capture->input.at += FILE_HEADER_BYTES;
    capture->next = next_snoop_record;
    return next_snoop_record(capture, packet);
}

/* Recognises a file by all 8 bytes of the magic, or by all bytes of a shorter file. */
format_next_fn *carry_snoop_recognise(struct carry_capture *capture, const uint8_t *magic) {
    (void)magic;
    carry_input_peek(&capture->input, SNOOP_MAGIC_BYTES);
    const size_t held = carry_input_held(&capture->input);
    const size_t size = held < SNOOP_MAGIC_BYTES ? held : SNOOP_MAGIC_BYTES;
    return memcmp(capture->input.at, SNOOP_MAGIC, size) == 0 ? read_snoop_header : NULL;
}
