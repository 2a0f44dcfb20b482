/* SPDX-License-Identifier: MIT */
#include "reassemble.h"

#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "fragment_table.h"
#include "local_headers.h"

#define LINK_RAW      101
#define DATAGRAM_MAX  65535u /* the highest value of a length field */
#define HEADERS6_SIZE 48u /* IPv6's header and fragment header, which the length does not count */

struct reassembler {
    struct carry_packet_options options;
    struct fragment_table table;
    bool tag;
    reassembler_repair_fn *prepare; /* NULL: datagrams are not repaired */
    void *prepare_context;

    struct datagram datagram;
    struct source *sources; /* sources of `datagram` */
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment; /* a fragment inside the reassembled datagram */
    uint8_t buffer[DATAGRAM_MAX + HEADERS6_SIZE];
};

/* --- The fragments of one datagram --- */

/* A packet that holds a fragment: a frame, or a datagram that was itself reassembled. */
struct view {
    struct carry_capture_packet packet;
    uint32_t located;
    struct carry_packet_fragment fragment;
    const struct carry_packet_sum *sums;
    size_t count;
    bool nested; /* the packet is a reassembled datagram */
};

static uint32_t headers_size(const struct carry_packet_fragment *fragment) {
    return fragment->content_offset - fragment->network_offset;
}

/* Checks whether the length field can hold the datagram's size, as its receiver sees it. */
static bool fits_length(uint8_t version, uint32_t header, uint32_t content) {
    return (version == 4 ? header : header - HEADERS6_SIZE) + content <= DATAGRAM_MAX;
}

static bool is_sound_fragment(const struct carry_packet_fragment *fragment) {
    uint32_t end = fragment->place + fragment->size;
    return fragment->size && fragment->size <= DATAGRAM_MAX &&
           (!fragment->more || fragment->size % CONTENT_UNIT == 0) &&
           fits_length(fragment->version, headers_size(fragment), end);
}

static struct part fragment_part(const struct view *view) {
    const struct carry_packet_fragment *fragment = &view->fragment;
    uint32_t captured = view->packet.captured - fragment->content_offset;
    return (struct part){
        .data = view->packet.data + fragment->content_offset,
        .captured = captured < fragment->size ? captured : fragment->size,
        .place = fragment->place,
        .end = fragment->place + fragment->size,
        .more = fragment->more,
    };
}

/* Also accepts a sum that covers bytes from exactly the fragment's end on, with its field after
   that end. */
bool carry_reassembler_is_inside(const struct carry_packet_fragment *fragment,
                                 const struct carry_packet_sum *sum) {
    return sum->field_offset >= fragment->content_offset &&
           sum->cover_offset - fragment->content_offset <= fragment->size;
}

/* Checks whether this sum of a header around the fragment covers bytes of its content. */
static bool is_around(const struct carry_packet_sum *sum,
                      const struct carry_packet_fragment *fragment) {
    return sum->field_offset < fragment->content_offset && sum->verdict != CARRY_VERDICT_ABSENT &&
           sum->verdict != CARRY_VERDICT_ILLEGAL &&
           (uint64_t)sum->cover_offset + sum->cover_size > fragment->content_offset;
}

static size_t source_size(const struct source *source) {
    return sizeof *source + source->sums_count * sizeof *source->sums;
}

static void keep_sums(struct source *source, const struct view *view) {
    for (size_t i = 0; i < view->count; i++) {
        const struct carry_packet_sum *sum = &view->sums[i];
        source->covered |= is_around(sum, &view->fragment);
        if (carry_reassembler_is_inside(&view->fragment, sum))
            source->sums[source->sums_count++] = *sum;
    }
}

static struct source *make_source(const struct view *view, bool tag) {
    const struct part part = fragment_part(view);
    size_t inside = 0;
    for (size_t i = 0; i < view->count; i++)
        inside += carry_reassembler_is_inside(&view->fragment, &view->sums[i]);
    struct source *source = malloc(sizeof *source + inside * sizeof *source->sums);
    if (!source)
        return NULL;
    *source = (struct source){
        .frame = view->packet.number,
        .offset = view->nested ? CARRY_CAPTURE_NOWHERE
                               : view->packet.offset + view->fragment.content_offset,
        .place = part.place,
        .captured = part.captured,
        .content_offset = view->fragment.content_offset,
        .tag = tag,
    };
    keep_sums(source, view);
    return source;
}

static void append_source(struct entry *entry, struct source *source) {
    *(entry->sources ? &entry->last_source->next : &entry->sources) = source;
    entry->last_source = source;
    entry->sources_bytes += source_size(source);
}

/* Returns how many of the `size` bytes from the IP header on are contiguous in the file. */
static uint32_t located_size(const struct view *view, uint32_t size) {
    uint32_t network = view->fragment.network_offset;
    uint32_t located = view->located > network ? view->located - network : 0;
    return located < size ? located : size;
}

/* Keeps the headers, which only the first fragment has. Returns false if there is no memory. */
static bool keep_header(struct entry *entry, const struct view *view) {
    const struct carry_packet_fragment *fragment = &view->fragment;
    uint32_t size = headers_size(fragment);
    entry->header = malloc(size);
    if (!entry->header)
        return false;
    memcpy(entry->header, view->packet.data + fragment->network_offset, size);
    entry->header_size = size;
    entry->offset = view->packet.offset + fragment->network_offset;
    entry->located = located_size(view, size + entry->last_source->captured);
    entry->scope = fragment->scope;
    entry->first = entry->last_source;
    return true;
}

/* Adds a fragment to a datagram. Returns COMPLETE, or why the datagram must be refused. */
static enum carry_capture_reassembly add_to_content(struct entry *entry, const struct view *view) {
    static const enum carry_capture_reassembly problems[] = {
        [CONTENT_ADDED] = CARRY_CAPTURE_REASSEMBLY_COMPLETE,
        [CONTENT_CONTRADICTED] = CARRY_CAPTURE_REASSEMBLY_OVERLAPPING,
        [CONTENT_NO_MEMORY] = CARRY_CAPTURE_REASSEMBLY_NO_MEMORY,
    };
    const struct part part = fragment_part(view);
    if (!is_sound_fragment(&view->fragment))
        return CARRY_CAPTURE_REASSEMBLY_MALFORMED;
    enum content_result result =
        carry_content_add(&entry->content, &part, view->fragment.version == 4);
    bool lacks_header = part.place == 0 && !entry->header;
    if (result == CONTENT_ADDED && lacks_header && !keep_header(entry, view))
        return CARRY_CAPTURE_REASSEMBLY_NO_MEMORY;
    return problems[result];
}

static bool is_complete(const struct entry *entry) {
    return entry->header && carry_content_is_complete(&entry->content);
}

/* --- The datagram --- */

static void store16_network(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

/* Turns the first fragment's headers into the headers of a whole datagram (over IPv6, of an atomic
   fragment). */
static void complete_header(uint8_t *header, uint32_t size, uint32_t content) {
    if (header[0] >> 4 == 4) {
        store16_network(header + 2, size + content);
        header[6] &= 0xc0;
        header[7] = 0;
        return;
    }
    /* The longest datagram, its fragment header included, does not fit the length field. A length
       of 0 then means: up to the end of the bytes. */
    uint32_t payload = size - 40 + content;
    store16_network(header + 4, payload > DATAGRAM_MAX ? 0 : payload);
    store16_network(header + size - 6, 0);
}

static void write_datagram(struct reassembler *reassembler, const struct entry *entry) {
    uint8_t *buffer = reassembler->buffer;
    uint32_t captured = carry_content_captured(&entry->content);
    memcpy(buffer, entry->header, entry->header_size);
    complete_header(buffer, entry->header_size, entry->content.size);
    carry_content_write(&entry->content, buffer + entry->header_size);

    struct datagram *datagram = &reassembler->datagram;
    struct carry_capture_packet *packet = &datagram->packet;
    packet->data = buffer;
    packet->captured = entry->header_size + captured;
    packet->wire = entry->header_size + entry->content.size;
    packet->linktype = LINK_RAW;
    packet->fcs = 0;
    packet->left_from = packet->left_at = 0; /* the last frame's offsets do not apply */
    packet->offset = entry->offset;
    datagram->located = entry->located;
    datagram->header_size = entry->header_size;
}

static struct carry_frame datagram_frame(const struct datagram *datagram,
                                         const struct entry *entry) {
    return (struct carry_frame){.data = datagram->packet.data,
                                .captured = datagram->packet.captured,
                                .wire = datagram->packet.wire,
                                .linktype = datagram->packet.linktype,
                                .scope = entry->scope};
}

static enum datagram_bar bar_of(const struct source *sources) {
    bool nested = false, covered = false;
    for (const struct source *source = sources; source; source = source->next) {
        nested |= source->offset == CARRY_CAPTURE_NOWHERE;
        covered |= source->covered;
    }
    return nested ? DATAGRAM_NESTED : covered ? DATAGRAM_COVERED : DATAGRAM_FREE;
}

/* Repairs a datagram. Ignores changes of its own IP header, which is not in the file. */
static void repair_datagram(struct reassembler *reassembler, const struct entry *entry) {
    struct datagram *datagram = &reassembler->datagram;
    struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame frame = datagram_frame(datagram, entry);
    datagram->bar = bar_of(entry->sources);
    datagram->changes_count = 0;
    if (!reassembler->prepare || datagram->bar != DATAGRAM_FREE)
        return;
    struct carry_packet_options options = reassembler->options;
    uint32_t flags = 0;
    if (!reassembler->prepare(reassembler->prepare_context, &frame, entry->sources, &flags)) {
        datagram->bar = DATAGRAM_WRITTEN;
        return;
    }
    options.flags |= flags;
    size_t count = carry_packet_fix(&frame, &options, changes, CARRY_PACKET_SUMS_MAX);
    carry_local_headers_leave(&frame, changes, count);
    for (size_t i = 0; i < count; i++)
        if (changes[i].field_offset >= datagram->header_size)
            datagram->changes[datagram->changes_count++] = changes[i];
}

static bool awaits_datagram(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_UNVERIFIABLE && sum->reason == CARRY_REASON_FRAGMENT;
}

/* Judges a datagram. The walk lists the sums of the first fragment again, and may find more. */
static void judge_datagram(struct reassembler *reassembler, const struct entry *entry) {
    struct datagram *datagram = &reassembler->datagram;
    struct carry_packet_sum *sums = reassembler->sums;
    const struct carry_frame frame = datagram_frame(datagram, entry);
    datagram->sums = sums;
    datagram->count = carry_packet_check_fragment(&frame, &reassembler->options, sums,
                                                  CARRY_PACKET_SUMS_MAX, &reassembler->fragment);
    carry_local_headers_leave(&frame, sums, datagram->count);
    datagram->fresh_count = 0;
    size_t index = 0;
    for (size_t i = 0; i < datagram->count; i++) {
        if (sums[i].field_offset < entry->header_size)
            continue;
        if (index >= entry->first->sums_count || awaits_datagram(&entry->first->sums[index]))
            datagram->fresh[datagram->fresh_count++] = sums[i];
        index++;
    }
    datagram->holds_fragment = reassembler->fragment.version;
}

static void list_superseded(struct datagram *datagram, const struct source *first) {
    datagram->superseded_count = 0;
    datagram->superseded_frame = first->frame;
    for (size_t i = 0; i < first->sums_count; i++)
        if (awaits_datagram(&first->sums[i]))
            datagram->superseded[datagram->superseded_count++] = first->sums[i].protocol;
}

/* Moves the sources from the entry to the datagram. */
static void take_sources(struct reassembler *reassembler, struct entry *entry) {
    reassembler->sources = entry->sources;
    reassembler->datagram.sources = entry->sources;
    reassembler->table.bytes -= entry->sources_bytes;
    entry->sources = NULL;
    entry->sources_bytes = 0;
}

static const struct datagram *complete_datagram(struct reassembler *reassembler,
                                                struct entry *entry,
                                                const struct carry_capture_packet *last) {
    struct datagram *datagram = &reassembler->datagram;
    datagram->packet = *last;
    write_datagram(reassembler, entry);
    repair_datagram(reassembler, entry);
    judge_datagram(reassembler, entry);
    list_superseded(datagram, entry->first);
    take_sources(reassembler, entry);
    carry_fragment_table_give_up(&reassembler->table, entry, CARRY_CAPTURE_REASSEMBLY_COMPLETE);
    return datagram;
}

static void keep_fragment(struct fragment_table *table, struct entry *entry, struct source *source,
                          const struct view *view) {
    table->bytes -= carry_fragment_table_held(entry);
    append_source(entry, source);
    enum carry_capture_reassembly problem = add_to_content(entry, view);
    table->bytes += carry_fragment_table_held(entry);
    if (problem)
        carry_fragment_table_refuse(table, entry, problem);
    else
        carry_fragment_table_make_room(table, entry, view->packet.time_ns);
}

/* Adds a fragment to its datagram's entry. Returns NULL if the datagram is refused or there is no
   memory. */
static struct entry *add_to_entry(struct reassembler *reassembler, const struct view *view) {
    struct fragment_table *table = &reassembler->table;
    const struct carry_fragment_key key = carry_fragment_key(&view->packet, &view->fragment);
    struct source *source = make_source(view, reassembler->tag);
    struct entry *entry =
        source ? carry_fragment_table_use(table, &key, view->packet.time_ns) : NULL;
    if (!entry) {
        table->counts[CARRY_CAPTURE_REASSEMBLY_NO_MEMORY]++;
        free(source);
        return NULL;
    }
    if (entry->refused) {
        carry_fragment_table_notify_lost(table, entry->refused, source);
        free(source);
        return NULL;
    }
    keep_fragment(table, entry, source, view);
    return entry->refused ? NULL : entry;
}

static const struct datagram *add_view(struct reassembler *reassembler, const struct view *view) {
    carry_fragment_table_free_sources(reassembler->sources);
    reassembler->sources = NULL;
    struct entry *entry = add_to_entry(reassembler, view);
    if (!entry || !is_complete(entry))
        return NULL;
    if (fits_length(view->fragment.version, entry->header_size, entry->content.size))
        return complete_datagram(reassembler, entry, &view->packet);
    carry_fragment_table_refuse(&reassembler->table, entry, CARRY_CAPTURE_REASSEMBLY_MALFORMED);
    return NULL;
}

/* --- The interface --- */

struct reassembler *carry_reassembler_create(const struct carry_packet_options *options) {
    struct reassembler *reassembler = calloc(1, sizeof *reassembler);
    if (reassembler && !carry_fragment_table_open(&reassembler->table)) {
        free(reassembler);
        return NULL;
    }
    if (reassembler && options)
        reassembler->options = *options;
    return reassembler;
}

void carry_reassembler_free(struct reassembler *reassembler) {
    if (!reassembler)
        return;
    carry_reassembler_end(reassembler);
    carry_fragment_table_free_sources(reassembler->sources);
    free(reassembler);
}

void carry_reassembler_watch(struct reassembler *reassembler, reassembler_lost_fn *lost,
                             void *context) {
    reassembler->table.lost = lost;
    reassembler->table.lost_context = context;
}

void carry_reassembler_repair(struct reassembler *reassembler, reassembler_repair_fn *prepare,
                              void *context) {
    reassembler->prepare = prepare;
    reassembler->prepare_context = context;
}

void carry_reassembler_tag(struct reassembler *reassembler, bool tag) {
    reassembler->tag = tag;
}

const struct datagram *carry_reassembler_add(struct reassembler *reassembler,
                                             const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment,
                                             const struct carry_packet_sum *sums, size_t count) {
    const struct view view = {.packet = *packet,
                              .located = packet->captured,
                              .fragment = *fragment,
                              .sums = sums,
                              .count = count};
    return add_view(reassembler, &view);
}

const struct datagram *carry_reassembler_next(struct reassembler *reassembler) {
    const struct datagram *datagram = &reassembler->datagram;
    const struct view view = {.packet = datagram->packet,
                              .located = datagram->located,
                              .fragment = reassembler->fragment,
                              .sums = datagram->sums,
                              .count = datagram->count,
                              .nested = true};
    return datagram->holds_fragment ? add_view(reassembler, &view) : NULL;
}

/* Searches the entries from the newest on: they are in the order of their last fragments. Refused
   entries have no sources. */
uint64_t carry_reassembler_earliest(const struct reassembler *reassembler, uint64_t from) {
    uint64_t earliest = UINT64_MAX;
    for (const struct entry *entry = reassembler->table.newest; entry; entry = entry->older) {
        if (!entry->sources)
            continue;
        if (entry->last_source->offset < from)
            break;
        if (entry->sources->offset >= from && entry->sources->offset < earliest)
            earliest = entry->sources->offset;
    }
    return earliest;
}

void carry_reassembler_end(struct reassembler *reassembler) {
    struct fragment_table *table = &reassembler->table;
    while (table->oldest)
        carry_fragment_table_give_up(table, table->oldest, CARRY_CAPTURE_REASSEMBLY_MISSING);
}

const uint64_t *carry_reassembler_counts(const struct reassembler *reassembler) {
    return reassembler->table.counts;
}

size_t carry_reassembler_bytes(const struct reassembler *reassembler) {
    return reassembler->table.bytes;
}

const struct source *carry_datagram_source(const struct datagram *datagram, uint32_t at) {
    uint32_t place = at - datagram->header_size;
    const struct source *source = datagram->sources;
    while (source && (source->offset == CARRY_CAPTURE_NOWHERE || place < source->place ||
                      place - source->place >= source->captured))
        source = source->next;
    return source;
}

size_t carry_datagram_index(const struct datagram *datagram, const struct carry_packet_sum *sum) {
    size_t index = 0;
    while (datagram->sums[index].field_offset != sum->field_offset)
        index++;
    return index;
}

uint64_t carry_datagram_offset(const struct datagram *datagram, uint32_t at, uint32_t size) {
    if (at + size <= datagram->located)
        return datagram->packet.offset + at;
    const struct source *source = carry_datagram_source(datagram, at);
    uint32_t behind = source ? at - datagram->header_size - source->place : 0;
    return source && size <= source->captured - behind ? source->offset + behind
                                                       : CARRY_CAPTURE_NOWHERE;
}

_Static_assert(REASSEMBLER_DATAGRAMS_MAX == 4096 && REASSEMBLER_BYTES_MAX >> 20 == 16,
               "as the sentences below say");

static const struct {
    const char *name, *text;
} words[CARRY_CAPTURE_REASSEMBLY_COUNT] = {
#define CARRY_REASSEMBLY(id, name, text) [CARRY_CAPTURE_REASSEMBLY_##id] = {name, text},
#include "reassembly.def"
#undef CARRY_REASSEMBLY
};

const char *carry_capture_reassembly_name(unsigned reassembly) {
    return reassembly < CARRY_CAPTURE_REASSEMBLY_COUNT ? words[reassembly].name : "unknown";
}

const char *carry_capture_reassembly_text(unsigned reassembly) {
    return reassembly < CARRY_CAPTURE_REASSEMBLY_COUNT ? words[reassembly].text : "unknown";
}
