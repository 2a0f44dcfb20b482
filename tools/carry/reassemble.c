/* SPDX-License-Identifier: MIT */
#include "reassemble.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINK_RAW      101
#define UNIT          8u     /* bytes: fragments start at multiples of it */
#define UNITS_MIN     64u    /* a power of two, as are all sizes of a content */
#define DATAGRAM_MAX  65535u /* what a length field can say */
#define HEADERS6_SIZE 48u    /* IPv6's own and its fragment header, which that does not include */
#define BUCKETS_LOG2  13
#define WORDS         12
#define SCOPE         2 /* the word of a key that holds it */
#define NOWHERE       UINT32_MAX

struct key {
    uint32_t words[WORDS];
};

/* A sum that the first fragment listed. */
struct told {
    uint8_t protocol;
    bool waits; /* for the rest of the datagram */
};

/* A datagram of which parts came. */
struct entry {
    struct key key;
    struct entry *chain; /* of the same bucket */
    struct entry *older, *newer;
    uint64_t time_ns; /* of the part that came first */
    bool refused;

    /* The content: `units` units, then a bit for each that came, and one for each that a part
       started with. */
    uint8_t *block;
    uint32_t units;
    uint32_t came;  /* how many units */
    uint32_t reach; /* where the furthest part ends */
    uint32_t size;  /* 0: the last part did not come yet */
    uint32_t gap;   /* the first byte that came, but was not captured; or NOWHERE */

    /* From the first fragment: its headers up to the content; NULL until it came. */
    uint8_t *header;
    uint32_t header_size;
    uint32_t located; /* as in struct datagram */
    uint64_t offset;  /* of the header in the file */
    uint64_t frame;
    struct told told[CARRY_PACKET_SUMS_MAX];
    size_t told_count;
};

struct reassembler {
    struct carry_packet_options options;
    uint64_t seed[WORDS + 1];
    struct entry *buckets[1u << BUCKETS_LOG2];
    struct entry *oldest, *newest; /* by when a part came last */
    unsigned entries;
    size_t bytes;
    uint64_t counts[REASSEMBLY_COUNT];

    struct datagram datagram;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment; /* of another, that the datagram holds */
    uint8_t buffer[DATAGRAM_MAX + HEADERS6_SIZE];
};

/* --- The table --- */

static struct key key_of(const struct packet *packet,
                         const struct carry_packet_fragment *fragment) {
    const uint8_t *header = packet->data + fragment->network_offset;
    bool version4 = fragment->version == 4;
    /* Over IPv6, fragments but the first may announce another protocol (RFC 8200, section 4.5). */
    uint32_t protocol = version4 ? fragment->protocol : 0;
    struct key key = {.words = {(uint32_t)fragment->version << 8 | protocol,
                                fragment->identification, [SCOPE] = fragment->scope,
                                packet->interface}};
    /* Source and destination, side by side. */
    memcpy(&key.words[4], header + (version4 ? 12 : 8), version4 ? 8 : 32);
    return key;
}

/*
 * Multiply-shift hashing (Dietzfelbinger, 1996): with a secret seed, keys chosen by an attacker
 * collide no more often than others.
 */
static struct entry **bucket_of(struct reassembler *reassembler, const struct key *key) {
    uint64_t hash = reassembler->seed[WORDS];
    for (unsigned i = 0; i < WORDS; i++)
        hash += reassembler->seed[i] * key->words[i];
    return &reassembler->buckets[hash >> (64 - BUCKETS_LOG2)];
}

static void link_newest(struct reassembler *reassembler, struct entry *entry) {
    entry->older = reassembler->newest;
    entry->newer = NULL;
    *(entry->older ? &entry->older->newer : &reassembler->oldest) = entry;
    reassembler->newest = entry;
}

static void unlink_entry(struct reassembler *reassembler, struct entry *entry) {
    *(entry->older ? &entry->older->newer : &reassembler->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &reassembler->newest) = entry->older;
}

static size_t block_size(uint32_t units) {
    return (size_t)units * UNIT + 2 * (units / 8);
}

/* Forgets the parts, not the datagram. */
static void drop_parts(struct reassembler *reassembler, struct entry *entry) {
    reassembler->bytes -= block_size(entry->units) + entry->header_size;
    free(entry->block);
    free(entry->header);
    entry->block = entry->header = NULL;
    entry->units = entry->header_size = 0;
}

static void remove_entry(struct reassembler *reassembler, struct entry *entry) {
    struct entry **link = bucket_of(reassembler, &entry->key);
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    unlink_entry(reassembler, entry);
    drop_parts(reassembler, entry);
    reassembler->entries--;
    free(entry);
}

/* Gives a datagram up; one that was refused is counted already. */
static void give_up(struct reassembler *reassembler, struct entry *entry, enum reassembly why) {
    reassembler->counts[why] += !entry->refused;
    remove_entry(reassembler, entry);
}

/* Parts that still come must not be taken for those of another datagram, so its entry stays. */
static void refuse(struct reassembler *reassembler, struct entry *entry, enum reassembly why) {
    reassembler->counts[why]++;
    entry->refused = true;
    drop_parts(reassembler, entry);
}

/* Clocks of captures may be unknown (0), or run backwards. */
static bool is_late(const struct entry *entry, uint64_t now_ns) {
    return entry->time_ns && now_ns > entry->time_ns &&
           now_ns - entry->time_ns > REASSEMBLER_SECONDS * UINT64_C(1000000000);
}

static void evict_oldest(struct reassembler *reassembler, uint64_t now_ns) {
    struct entry *entry = reassembler->oldest;
    give_up(reassembler, entry, is_late(entry, now_ns) ? REASSEMBLY_MISSING : REASSEMBLY_EVICTED);
}

static struct entry *find_entry(struct reassembler *reassembler, const struct key *key) {
    struct entry *entry = *bucket_of(reassembler, key);
    while (entry && memcmp(&entry->key, key, sizeof *key) != 0)
        entry = entry->chain;
    return entry;
}

static struct entry *create_entry(struct reassembler *reassembler, const struct key *key,
                                  uint64_t now_ns) {
    if (reassembler->entries == REASSEMBLER_DATAGRAMS_MAX)
        evict_oldest(reassembler, now_ns);
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    struct entry **bucket = bucket_of(reassembler, key);
    entry->key = *key;
    entry->time_ns = now_ns;
    entry->gap = NOWHERE;
    entry->chain = *bucket;
    *bucket = entry;
    link_newest(reassembler, entry);
    reassembler->entries++;
    return entry;
}

/* The datagram's entry, made if need be, as the one used last; NULL without memory. */
static struct entry *use_entry(struct reassembler *reassembler, const struct key *key,
                               uint64_t now_ns) {
    struct entry *entry = find_entry(reassembler, key);
    if (entry && is_late(entry, now_ns)) {
        give_up(reassembler, entry, REASSEMBLY_MISSING);
        entry = NULL;
    }
    if (!entry)
        return create_entry(reassembler, key, now_ns);
    unlink_entry(reassembler, entry);
    link_newest(reassembler, entry);
    return entry;
}

/* --- The content of a datagram --- */

static uint8_t *came_bits(const struct entry *entry) {
    return entry->block + entry->units * UNIT;
}

static uint8_t *start_bits(const struct entry *entry) {
    return came_bits(entry) + entry->units / 8;
}

static bool has_bit(const uint8_t *bits, uint32_t index) {
    return bits[index / 8] >> index % 8 & 1;
}

static void set_bit(uint8_t *bits, uint32_t index) {
    bits[index / 8] |= (uint8_t)(1 << index % 8);
}

/* Makes room up to `end`, at the expense of others. */
static bool make_room(struct reassembler *reassembler, struct entry *entry, uint32_t end) {
    struct entry larger = {.units = entry->units ? entry->units : UNITS_MIN};
    while (larger.units * UNIT < end)
        larger.units *= 2;
    if (larger.units == entry->units)
        return true;
    larger.block = malloc(block_size(larger.units));
    if (!larger.block)
        return false;
    memset(came_bits(&larger), 0, 2 * (larger.units / 8));
    if (entry->block) {
        memcpy(larger.block, entry->block, entry->units * UNIT);
        memcpy(came_bits(&larger), came_bits(entry), entry->units / 8);
        memcpy(start_bits(&larger), start_bits(entry), entry->units / 8);
    }
    reassembler->bytes += block_size(larger.units) - block_size(entry->units);
    free(entry->block);
    entry->block = larger.block;
    entry->units = larger.units;
    return true;
}

/* A part of a datagram's content. */
struct part {
    const uint8_t *data;
    uint32_t captured; /* bytes at `data` */
    uint32_t place, end;
    bool more;
};

/* Is there just one end, and nothing beyond it? */
static bool ends_agree(const struct entry *entry, const struct part *part) {
    if (!entry->size)
        return part->more || part->end >= entry->reach;
    return part->more ? part->end <= entry->size : part->end == entry->size;
}

/* The units of a part, and how many of them came before. */
struct span {
    uint32_t first, end, came;
};

static struct span span_of(const struct entry *entry, const struct part *part) {
    struct span span = {.first = part->place / UNIT, .end = (part->end + UNIT - 1) / UNIT};
    for (uint32_t unit = span.first; unit < span.end; unit++)
        span.came += has_bit(came_bits(entry), unit);
    return span;
}

/* Do the bytes agree, as far as they were captured, with those that came before? */
static bool bytes_agree(const struct entry *entry, const struct part *part,
                        const struct span *span) {
    uint32_t known = part->place + part->captured;
    known = known < entry->gap ? known : entry->gap;
    for (uint32_t unit = span->first; unit < span->end && unit * UNIT < known; unit++) {
        uint32_t at = unit * UNIT, size = known - at < UNIT ? known - at : UNIT;
        if (has_bit(came_bits(entry), unit) &&
            memcmp(entry->block + at, part->data + (at - part->place), size) != 0)
            return false;
    }
    return true;
}

/* Is it, from its first unit to its last, what one part brought before? */
static bool is_repetition(const struct entry *entry, const struct span *span) {
    if (span->came != span->end - span->first || !has_bit(start_bits(entry), span->first))
        return false;
    for (uint32_t unit = span->first + 1; unit < span->end; unit++)
        if (has_bit(start_bits(entry), unit))
            return false;
    return span->end == entry->units || !has_bit(came_bits(entry), span->end) ||
           has_bit(start_bits(entry), span->end);
}

static bool may_overlap(const struct entry *entry, const struct part *part, const struct span *span,
                        uint8_t version) {
    return bytes_agree(entry, part, span) && (version == 4 || is_repetition(entry, span));
}

static void copy_part(struct entry *entry, const struct part *part, const struct span *span) {
    if (part->captured)
        memcpy(entry->block + part->place, part->data, part->captured);
    if (part->captured < part->end - part->place && part->place + part->captured < entry->gap)
        entry->gap = part->place + part->captured;
    for (uint32_t unit = span->first; unit < span->end; unit++)
        set_bit(came_bits(entry), unit);
    set_bit(start_bits(entry), span->first);
    entry->came += span->end - span->first - span->came;
    entry->reach = part->end > entry->reach ? part->end : entry->reach;
    if (!part->more)
        entry->size = part->end;
}

/* --- The fragments of one datagram --- */

/* What comes in: a frame's, or a datagram's that was itself put together. */
struct view {
    struct packet packet;
    uint32_t located;
    struct carry_packet_fragment fragment;
    const struct carry_packet_sum *sums;
    size_t count;
};

static uint32_t header_size(const struct carry_packet_fragment *fragment) {
    return fragment->content_offset - fragment->network_offset;
}

/* Would it fit the length field, as the receiver sees the datagram? */
static bool fits(uint8_t version, uint32_t header, uint32_t content) {
    return (version == 4 ? header : header - HEADERS6_SIZE) + content <= DATAGRAM_MAX;
}

static bool is_sound(const struct carry_packet_fragment *fragment) {
    uint32_t end = fragment->place + fragment->size;
    return fragment->size && (!fragment->more || fragment->size % UNIT == 0) &&
           fits(fragment->version, header_size(fragment), end);
}

static struct part part_of(const struct view *view) {
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

static void keep_told(struct entry *entry, const struct view *view) {
    for (size_t i = 0; i < view->count; i++) {
        const struct carry_packet_sum *sum = &view->sums[i];
        if (sum->field_offset < view->fragment.content_offset)
            continue;
        entry->told[entry->told_count++] = (struct told){
            .protocol = sum->protocol,
            .waits =
                sum->verdict == CARRY_VERDICT_UNVERIFIABLE && sum->reason == CARRY_REASON_FRAGMENT,
        };
    }
}

/* Of the `size` bytes from the IP header on, those that stand in one piece in the file. */
static uint32_t located_size(const struct view *view, uint32_t size) {
    uint32_t network = view->fragment.network_offset;
    uint32_t located = view->located > network ? view->located - network : 0;
    return located < size ? located : size;
}

static bool keep_header(struct reassembler *reassembler, struct entry *entry,
                        const struct view *view, const struct part *part) {
    const struct carry_packet_fragment *fragment = &view->fragment;
    uint32_t size = header_size(fragment);
    entry->header = malloc(size);
    if (!entry->header)
        return false;
    memcpy(entry->header, view->packet.data + fragment->network_offset, size);
    reassembler->bytes += size;
    entry->header_size = size;
    entry->offset = view->packet.offset + fragment->network_offset;
    entry->located = located_size(view, size + part->captured);
    entry->frame = view->packet.number;
    keep_told(entry, view);
    return true;
}

/* Adds a part; false without memory. */
static bool add_part(struct reassembler *reassembler, struct entry *entry,
                     const struct view *view) {
    const struct part part = part_of(view);
    if (!make_room(reassembler, entry, part.end))
        return false;
    const struct span span = span_of(entry, &part);
    if (!ends_agree(entry, &part) ||
        (span.came && !may_overlap(entry, &part, &span, view->fragment.version))) {
        refuse(reassembler, entry, REASSEMBLY_OVERLAPPING);
        return true;
    }
    copy_part(entry, &part, &span);
    return part.place != 0 || entry->header || keep_header(reassembler, entry, view, &part);
}

static bool is_complete(const struct entry *entry) {
    return entry->header && entry->size && entry->came == (entry->size + UNIT - 1) / UNIT;
}

/* --- The datagram put together --- */

static void store16(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

/* Makes the first fragment's headers those of a whole datagram: over IPv6, an atomic fragment. */
static void mend_header(uint8_t *header, uint32_t size, uint32_t content) {
    if (header[0] >> 4 == 4) {
        store16(header + 2, size + content);
        header[6] &= 0xc0;
        header[7] = 0;
        return;
    }
    /* With its fragment header, the longest one is too long for the field: 0 lets it be as long as
       there are bytes. */
    uint32_t payload = size - 40 + content;
    store16(header + 4, payload > DATAGRAM_MAX ? 0 : payload);
    store16(header + size - 6, 0);
}

static void write_datagram(struct reassembler *reassembler, const struct entry *entry) {
    uint8_t *buffer = reassembler->buffer;
    uint32_t captured = entry->size < entry->gap ? entry->size : entry->gap;
    memcpy(buffer, entry->header, entry->header_size);
    mend_header(buffer, entry->header_size, entry->size);
    if (captured)
        memcpy(buffer + entry->header_size, entry->block, captured);

    struct packet *packet = &reassembler->datagram.packet;
    packet->data = buffer;
    packet->captured = entry->header_size + captured;
    packet->wire = entry->header_size + entry->size;
    packet->linktype = LINK_RAW;
    packet->fcs = 0;
    packet->offset = entry->offset;
    reassembler->datagram.located = entry->located;
}

/* The walk lists the same sums as in the first fragment, and may get further. */
static void judge(struct reassembler *reassembler, const struct entry *entry) {
    struct datagram *datagram = &reassembler->datagram;
    struct carry_packet_sum *sums = reassembler->sums;
    const struct carry_frame frame = {.data = datagram->packet.data,
                                      .captured = datagram->packet.captured,
                                      .wire = datagram->packet.wire,
                                      .linktype = datagram->packet.linktype,
                                      .scope = entry->key.words[SCOPE]};
    datagram->sums = sums;
    datagram->count = carry_packet_check_fragment(&frame, &reassembler->options, sums,
                                                  CARRY_PACKET_SUMS_MAX, &reassembler->fragment);
    datagram->fresh_count = 0;
    size_t index = 0;
    for (size_t i = 0; i < datagram->count; i++) {
        if (sums[i].field_offset < entry->header_size)
            continue;
        if (index >= entry->told_count || entry->told[index].waits)
            datagram->fresh[datagram->fresh_count++] = sums[i];
        index++;
    }
}

static void supersede(struct datagram *datagram, const struct entry *entry) {
    datagram->superseded_count = 0;
    datagram->superseded_frame = entry->frame;
    for (size_t i = 0; i < entry->told_count; i++)
        if (entry->told[i].waits)
            datagram->superseded[datagram->superseded_count++] = entry->told[i].protocol;
}

static const struct datagram *complete(struct reassembler *reassembler, struct entry *entry,
                                       const struct packet *last) {
    struct datagram *datagram = &reassembler->datagram;
    datagram->packet = *last;
    write_datagram(reassembler, entry);
    judge(reassembler, entry);
    supersede(datagram, entry);
    give_up(reassembler, entry, REASSEMBLY_COMPLETE);
    return datagram;
}

static const struct datagram *add(struct reassembler *reassembler, const struct view *view) {
    const struct key key = key_of(&view->packet, &view->fragment);
    uint64_t now_ns = view->packet.time_ns;
    struct entry *entry = use_entry(reassembler, &key, now_ns);
    if (!entry || entry->refused)
        return NULL;
    if (!is_sound(&view->fragment))
        refuse(reassembler, entry, REASSEMBLY_MALFORMED);
    else if (!add_part(reassembler, entry, view))
        refuse(reassembler, entry, REASSEMBLY_EVICTED);
    /* This one was used last, and is smaller than what all may have. */
    while (reassembler->bytes > REASSEMBLER_BYTES_MAX)
        evict_oldest(reassembler, now_ns);
    if (entry->refused || !is_complete(entry))
        return NULL;
    if (fits(view->fragment.version, entry->header_size, entry->size))
        return complete(reassembler, entry, &view->packet);
    refuse(reassembler, entry, REASSEMBLY_MALFORMED);
    return NULL;
}

/* --- The interface --- */

struct reassembler *reassembler_create(const struct carry_packet_options *options) {
    struct reassembler *reassembler = calloc(1, sizeof *reassembler);
    if (reassembler && getentropy(reassembler->seed, sizeof reassembler->seed) != 0) {
        free(reassembler);
        return NULL;
    }
    if (reassembler && options)
        reassembler->options = *options;
    return reassembler;
}

void reassembler_free(struct reassembler *reassembler) {
    if (!reassembler)
        return;
    reassembler_end(reassembler);
    free(reassembler);
}

const struct datagram *reassembler_add(struct reassembler *reassembler, const struct packet *packet,
                                       const struct carry_packet_fragment *fragment,
                                       const struct carry_packet_sum *sums, size_t count) {
    const struct view view = {.packet = *packet,
                              .located = packet->captured,
                              .fragment = *fragment,
                              .sums = sums,
                              .count = count};
    return add(reassembler, &view);
}

const struct datagram *reassembler_next(struct reassembler *reassembler) {
    const struct datagram *datagram = &reassembler->datagram;
    const struct view view = {.packet = datagram->packet,
                              .located = datagram->located,
                              .fragment = reassembler->fragment,
                              .sums = datagram->sums,
                              .count = datagram->count};
    return view.fragment.version ? add(reassembler, &view) : NULL;
}

void reassembler_end(struct reassembler *reassembler) {
    while (reassembler->oldest)
        give_up(reassembler, reassembler->oldest, REASSEMBLY_MISSING);
}

const uint64_t *reassembler_counts(const struct reassembler *reassembler) {
    return reassembler->counts;
}

size_t reassembler_bytes(const struct reassembler *reassembler) {
    return reassembler->bytes;
}

const char *reassembly_name(enum reassembly reassembly) {
    static const char *const names[REASSEMBLY_COUNT] = {
        [REASSEMBLY_COMPLETE] = "complete",       [REASSEMBLY_MISSING] = "missing",
        [REASSEMBLY_OVERLAPPING] = "overlapping", [REASSEMBLY_MALFORMED] = "malformed",
        [REASSEMBLY_EVICTED] = "evicted",
    };
    return names[reassembly];
}
