/* SPDX-License-Identifier: MIT */
/* Writes pcap and pcapng, in this machine's byte order, with times in nanoseconds. */
#include <stdlib.h>
#include <string.h>

#include <carry/capture.h>

#include "pcap.h"
#include "pcapng.h"

#define SECTION_BYTES    28 /* without options */
#define STATISTICS_BYTES 24 /* also without options */
#define NS_PER_SECOND    UINT64_C(1000000000)
#define COMMENT_MAX      65535u
#define LINKTYPE_MAX     PCAP_LINKTYPE_MASK /* 16 bits in either format */
#define RESOLUTION_NS    9                  /* as a negative power of ten */

struct link {
    uint32_t linktype;
    uint32_t fcs;
    const char *name; /* name of the interface, in writer->names; or NULL */
};

struct carry_capture_writer {
    struct carry_capture_sink sink;
    bool is_pcap;
    bool begun; /* the file header is written */
    char *application;
    struct link *links; /* pcapng: one per interface; pcap: the only one */
    uint32_t count;
    char **names; /* of interfaces, by their numbers in packets; NULL: no name */
    uint32_t names_count;
    int failed; /* CARRY_ERROR_WRITE or CARRY_ERROR_MEMORY: final */
    int system; /* errno of the sink */
    uint8_t buffer[512];
    size_t used;
};

/* --- Bytes --- */

static void write_out(struct carry_capture_writer *writer, const void *bytes, size_t size) {
    if (!size || writer->failed)
        return;
    writer->system = -writer->sink.write(writer->sink.user, bytes, size);
    writer->failed = writer->system ? CARRY_ERROR_WRITE : CARRY_OK;
}

static void flush_buffer(struct carry_capture_writer *writer) {
    write_out(writer, writer->buffer, writer->used);
    writer->used = 0;
}

static void append_bytes(struct carry_capture_writer *writer, const void *bytes, size_t size) {
    if (size > sizeof writer->buffer - writer->used)
        flush_buffer(writer);
    if (size <= sizeof writer->buffer) {
        if (size)
            memcpy(writer->buffer + writer->used, bytes, size);
        writer->used += size;
    } else {
        write_out(writer, bytes, size);
    }
}

static void append_u32(struct carry_capture_writer *writer, uint32_t value) {
    append_bytes(writer, &value, sizeof value);
}

static void append_u16(struct carry_capture_writer *writer, uint16_t value) {
    append_bytes(writer, &value, sizeof value);
}

static uint32_t padded_size(size_t size) {
    return (uint32_t)(size + 3) & ~3u;
}

static void put_padded(struct carry_capture_writer *writer, const void *bytes, size_t size) {
    static const uint8_t zeros[3];
    append_bytes(writer, bytes, size);
    append_bytes(writer, zeros, padded_size(size) - size);
}

/* --- pcapng --- */

static uint32_t option_size(size_t size) {
    return 4 + padded_size(size);
}

static void put_option(struct carry_capture_writer *writer, uint16_t code, const void *bytes,
                       size_t size) {
    append_u16(writer, code);
    append_u16(writer, (uint16_t)size);
    put_padded(writer, bytes, size);
}

static void put_section(struct carry_capture_writer *writer) {
    const char *application = writer->application;
    const size_t length = application ? strlen(application) : 0;
    const uint32_t options = application ? option_size(length) + option_size(0) : 0;
    append_u32(writer, PCAPNG_BLOCK_SECTION);
    append_u32(writer, SECTION_BYTES + options);
    append_u32(writer, PCAPNG_SECTION_MAGIC);
    append_u16(writer, 1); /* version 1.0 */
    append_u16(writer, 0);
    append_u32(writer, UINT32_MAX); /* the section's size, 64 bits: not known */
    append_u32(writer, UINT32_MAX);
    if (application) {
        put_option(writer, PCAPNG_OPTION_USER_APPLICATION, application, length);
        put_option(writer, PCAPNG_OPTION_END, "", 0);
    }
    append_u32(writer, SECTION_BYTES + options);
}

static void put_interface(struct carry_capture_writer *writer, const struct link *link) {
    const uint8_t resolution = RESOLUTION_NS, fcs = (uint8_t)link->fcs;
    const size_t length = link->name ? strlen(link->name) : 0;
    const uint32_t size =
        20 + (link->name ? option_size(length) : 0) + 2 * option_size(1) + option_size(0);
    append_u32(writer, PCAPNG_BLOCK_INTERFACE);
    append_u32(writer, size);
    append_u16(writer, (uint16_t)link->linktype);
    append_u16(writer, 0);
    append_u32(writer, 0); /* no snap length */
    if (link->name)
        put_option(writer, PCAPNG_OPTION_INTERFACE_NAME, link->name, length);
    put_option(writer, PCAPNG_OPTION_TIME_RESOLUTION, &resolution, 1);
    put_option(writer, PCAPNG_OPTION_FCS_LENGTH, &fcs, 1);
    put_option(writer, PCAPNG_OPTION_END, "", 0);
    append_u32(writer, size);
}

static uint32_t packet_block_size(const struct carry_capture_packet *packet, const char *comment) {
    uint32_t options = comment ? option_size(strlen(comment)) : 0;
    options += carry_pcapng_bits_of(packet->flags) ? option_size(4) : 0;
    return 32 + padded_size(packet->captured) + options + (options ? option_size(0) : 0);
}

static void put_packet_block(struct carry_capture_writer *writer, uint32_t interface,
                             const struct carry_capture_packet *packet, const char *comment) {
    const uint32_t size = packet_block_size(packet, comment);
    append_u32(writer, PCAPNG_BLOCK_PACKET);
    append_u32(writer, size);
    append_u32(writer, interface);
    append_u32(writer, (uint32_t)(packet->time_ns >> 32));
    append_u32(writer, (uint32_t)packet->time_ns);
    append_u32(writer, packet->captured);
    append_u32(writer, packet->wire);
    put_padded(writer, packet->data, packet->captured);
    const uint32_t bits = carry_pcapng_bits_of(packet->flags);
    if (comment)
        put_option(writer, PCAPNG_OPTION_COMMENT, comment, strlen(comment));
    if (bits)
        put_option(writer, PCAPNG_OPTION_FLAGS, &bits, sizeof bits);
    if (comment || bits)
        put_option(writer, PCAPNG_OPTION_END, "", 0);
    append_u32(writer, size);
}

static uint32_t count_size(uint64_t count) {
    return count == CARRY_CAPTURE_NOT_COUNTED ? 0 : option_size(sizeof count);
}

static void put_count(struct carry_capture_writer *writer, uint16_t code, uint64_t count) {
    if (count != CARRY_CAPTURE_NOT_COUNTED)
        put_option(writer, code, &count, sizeof count);
}

static void put_statistics(struct carry_capture_writer *writer, uint32_t interface,
                           const struct carry_capture_statistics *statistics) {
    const uint32_t size = STATISTICS_BYTES + count_size(statistics->received) +
                          count_size(statistics->dropped) + option_size(0);
    append_u32(writer, PCAPNG_BLOCK_STATISTICS);
    append_u32(writer, size);
    append_u32(writer, interface);
    append_u32(writer, (uint32_t)(statistics->time_ns >> 32));
    append_u32(writer, (uint32_t)statistics->time_ns);
    put_count(writer, PCAPNG_OPTION_RECEIVED, statistics->received);
    put_count(writer, PCAPNG_OPTION_DROPPED, statistics->dropped);
    put_option(writer, PCAPNG_OPTION_END, "", 0);
    append_u32(writer, size);
}

/* --- pcap --- */

static void put_pcap_header(struct carry_capture_writer *writer, const struct link *link) {
    const uint32_t fcs =
        link->fcs ? PCAP_HAS_FCS | (link->fcs / PCAP_FCS_UNIT) << PCAP_FCS_SHIFT : 0;
    append_u32(writer, PCAP_MAGIC_NS);
    append_u16(writer, 2); /* version 2.4 */
    append_u16(writer, 4);
    append_u32(writer, 0);
    append_u32(writer, 0);
    append_u32(writer, CARRY_CAPTURE_PACKET_MAX); /* the snap length */
    append_u32(writer, link->linktype | fcs);
}

static void put_record(struct carry_capture_writer *writer,
                       const struct carry_capture_packet *packet) {
    append_u32(writer, (uint32_t)(packet->time_ns / NS_PER_SECOND));
    append_u32(writer, (uint32_t)(packet->time_ns % NS_PER_SECOND));
    append_u32(writer, packet->captured);
    append_u32(writer, packet->wire);
    append_bytes(writer, packet->data, packet->captured);
}

/* --- Both formats --- */

static void begin_file(struct carry_capture_writer *writer, const struct link *link) {
    if (!writer->begun && writer->is_pcap)
        put_pcap_header(writer, link);
    else if (!writer->begun)
        put_section(writer);
    writer->begun = true;
}

static bool is_same_interface(const struct link *a, const struct link *b) {
    return a->linktype == b->linktype && a->fcs == b->fcs && a->name == b->name;
}

/* Returns the number of the interface of `link`; the number of interfaces if it is new. */
static uint32_t find_link_number(const struct carry_capture_writer *writer,
                                 const struct link *link) {
    uint32_t number = 0;
    while (number < writer->count && !is_same_interface(&writer->links[number], link))
        number++;
    return number;
}

static bool pcapng_fits(const struct carry_capture_writer *writer,
                        const struct carry_capture_packet *packet, const struct link *link,
                        const char *comment) {
    return packet->fcs <= PCAPNG_FCS_MAX && (!comment || strlen(comment) <= COMMENT_MAX) &&
           packet_block_size(packet, comment) <= CARRY_CAPTURE_PACKET_MAX &&
           (writer->count < PCAPNG_INTERFACES_MAX ||
            find_link_number(writer, link) < writer->count);
}

static bool pcap_fits(const struct carry_capture_writer *writer,
                      const struct carry_capture_packet *packet, const struct link *link) {
    return packet->time_ns / NS_PER_SECOND <= UINT32_MAX && link->fcs % PCAP_FCS_UNIT == 0 &&
           link->fcs <= PCAP_FCS_MAX &&
           (!writer->count || is_same_interface(link, &writer->links[0]));
}

static bool packet_fits(const struct carry_capture_writer *writer,
                        const struct carry_capture_packet *packet, const struct link *link,
                        const char *comment) {
    if (packet->captured > CARRY_CAPTURE_PACKET_MAX || link->linktype > LINKTYPE_MAX)
        return false;
    return writer->is_pcap ? pcap_fits(writer, packet, link)
                           : pcapng_fits(writer, packet, link, comment);
}

/* Returns the number of the interface of `link`, and writes the interface if it is new. pcap has
   only one. */
static uint32_t use_link(struct carry_capture_writer *writer, const struct link *link) {
    const uint32_t number = find_link_number(writer, link);
    if (number < writer->count)
        return number;
    struct link *links = realloc(writer->links, (writer->count + 1) * sizeof *links);
    if (!links) {
        writer->failed = CARRY_ERROR_MEMORY;
        return 0;
    }
    writer->links = links;
    links[writer->count] = *link;
    if (!writer->is_pcap)
        put_interface(writer, link);
    return writer->count++;
}

static struct link link_of(const struct carry_capture_writer *writer,
                           const struct carry_capture_packet *packet) {
    const bool is_named = !writer->is_pcap && packet->interface < writer->names_count;
    return (struct link){packet->linktype, packet->fcs,
                         is_named ? writer->names[packet->interface] : NULL};
}

int carry_capture_writer_add(struct carry_capture_writer *writer,
                             const struct carry_capture_packet *packet, const char *comment) {
    const struct link link = link_of(writer, packet);
    if (!packet_fits(writer, packet, &link, comment))
        return CARRY_ERROR_INVALID;
    begin_file(writer, &link);
    const uint32_t interface = use_link(writer, &link);
    if (writer->failed)
        return writer->failed;
    if (writer->is_pcap)
        put_record(writer, packet);
    else
        put_packet_block(writer, interface, packet, comment);
    flush_buffer(writer);
    return writer->failed;
}

/* Makes room for the name of interface `number`. Returns false if there is no memory. */
static bool reserve_name(struct carry_capture_writer *writer, uint32_t number) {
    if (number < writer->names_count)
        return true;
    char **names = realloc(writer->names, (number + 1) * sizeof *names);
    if (!names)
        return false;
    writer->names = names;
    while (writer->names_count <= number)
        names[writer->names_count++] = NULL;
    return true;
}

int carry_capture_writer_name(struct carry_capture_writer *writer, uint32_t interface,
                              const char *name) {
    if (interface >= PCAPNG_INTERFACES_MAX || !name || strlen(name) > COMMENT_MAX ||
        (interface < writer->names_count && writer->names[interface]))
        return CARRY_ERROR_INVALID;
    char *copy = reserve_name(writer, interface) ? strdup(name) : NULL;
    if (!copy)
        return writer->failed = CARRY_ERROR_MEMORY;
    writer->names[interface] = copy;
    return CARRY_OK;
}

/* Returns the number of the first block of a named interface, or the number of blocks if it has
   none. */
static uint32_t find_named(const struct carry_capture_writer *writer, uint32_t interface) {
    const char *name = interface < writer->names_count ? writer->names[interface] : NULL;
    uint32_t number = 0;
    while (number < writer->count && (!name || writer->links[number].name != name))
        number++;
    return number;
}

int carry_capture_writer_statistics(struct carry_capture_writer *writer, uint32_t interface,
                                    const struct carry_capture_statistics *statistics) {
    const uint32_t number = find_named(writer, interface);
    if (number == writer->count)
        return CARRY_ERROR_INVALID;
    put_statistics(writer, number, statistics);
    flush_buffer(writer);
    return writer->failed;
}

int carry_capture_writer_end(struct carry_capture_writer *writer) {
    const struct link ethernet = {.linktype = 1};
    begin_file(writer, &ethernet);
    flush_buffer(writer);
    return writer->failed;
}

int carry_capture_writer_create(const struct carry_capture_writer_options *options,
                                const struct carry_capture_sink *sink,
                                struct carry_capture_writer **writer) {
    static const struct carry_capture_writer_options defaults;
    *writer = NULL;
    options = options ? options : &defaults;
    if (options->format != CARRY_CAPTURE_FORMAT_UNKNOWN &&
        options->format != CARRY_CAPTURE_FORMAT_PCAP &&
        options->format != CARRY_CAPTURE_FORMAT_PCAPNG)
        return CARRY_ERROR_INVALID;
    if (options->application && strlen(options->application) > COMMENT_MAX)
        return CARRY_ERROR_INVALID;
    struct carry_capture_writer *made = calloc(1, sizeof *made);
    if (!made)
        return CARRY_ERROR_MEMORY;
    made->sink = *sink;
    made->is_pcap = options->format == CARRY_CAPTURE_FORMAT_PCAP;
    made->application = options->application ? strdup(options->application) : NULL;
    if (options->application && !made->application) {
        free(made);
        return CARRY_ERROR_MEMORY;
    }
    *writer = made;
    return CARRY_OK;
}

int carry_capture_writer_errno(const struct carry_capture_writer *writer) {
    return writer->system;
}

void carry_capture_writer_free(struct carry_capture_writer *writer) {
    if (!writer)
        return;
    for (uint32_t i = 0; i < writer->names_count; i++)
        free(writer->names[i]);
    free(writer->names);
    free(writer->application);
    free(writer->links);
    free(writer);
}
