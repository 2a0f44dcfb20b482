/* SPDX-License-Identifier: MIT */
#include "fragment_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct carry_fragment_key carry_fragment_key(const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment) {
    const uint8_t *header = packet->data + fragment->network_offset;
    bool version4 = fragment->version == 4;
    /* Over IPv6, later fragments may announce another protocol (RFC 8200, section 4.5). */
    uint32_t protocol = version4 ? fragment->protocol : 0;
    struct carry_fragment_key key = {.words = {(uint32_t)fragment->version << 8 | protocol,
                                               fragment->identification, fragment->scope,
                                               packet->interface}};
    /* Source and destination are adjacent. */
    memcpy(&key.words[4], header + (version4 ? 12 : 8), version4 ? 8 : 32);
    return key;
}

/*
 * Returns the bucket of a key, by multiply-shift hashing (Dietzfelbinger, 1996). Because the seed
 * is secret, keys chosen by an attacker collide no more often than other keys.
 */
static struct entry **fragment_bucket(struct fragment_table *table,
                                      const struct carry_fragment_key *key) {
    uint64_t hash = table->seed[FRAGMENT_KEY_WORDS];
    for (unsigned i = 0; i < FRAGMENT_KEY_WORDS; i++)
        hash += table->seed[i] * key->words[i];
    return &table->buckets[hash >> (64 - FRAGMENT_BUCKETS_LOG2)];
}

static void link_newest(struct fragment_table *table, struct entry *entry) {
    entry->older = table->newest;
    entry->newer = NULL;
    *(entry->older ? &entry->older->newer : &table->oldest) = entry;
    table->newest = entry;
}

static void unlink_entry(struct fragment_table *table, struct entry *entry) {
    *(entry->older ? &entry->older->newer : &table->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &table->newest) = entry->older;
}

size_t carry_fragment_table_held(const struct entry *entry) {
    return sizeof *entry + entry->content.bytes + entry->sources_bytes + entry->header_size;
}

void carry_fragment_table_free_sources(struct source *sources) {
    while (sources) {
        struct source *next = sources->next;
        free(sources);
        sources = next;
    }
}

void carry_fragment_table_notify_lost(const struct fragment_table *table,
                                      enum carry_capture_reassembly why,
                                      const struct source *sources) {
    if (table->lost && sources)
        table->lost(table->lost_context, why, sources);
}

/* Frees the fragments of an entry, but not the entry. Reports the fragments as lost, unless
   entry->sources were taken. */
static void drop_fragments(struct fragment_table *table, struct entry *entry,
                           enum carry_capture_reassembly why) {
    carry_fragment_table_notify_lost(table, why, entry->sources);
    table->bytes -= carry_fragment_table_held(entry);
    carry_content_clear(&entry->content);
    carry_fragment_table_free_sources(entry->sources);
    free(entry->header);
    entry->sources = entry->last_source = NULL;
    entry->sources_bytes = 0;
    entry->header = NULL;
    entry->header_size = 0;
    table->bytes += carry_fragment_table_held(entry);
}

static void remove_entry(struct fragment_table *table, struct entry *entry) {
    struct entry **link = fragment_bucket(table, &entry->key);
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    unlink_entry(table, entry);
    table->bytes -= carry_fragment_table_held(entry);
    table->entries--;
    free(entry);
}

void carry_fragment_table_give_up(struct fragment_table *table, struct entry *entry,
                                  enum carry_capture_reassembly why) {
    table->counts[why] += !entry->refused;
    drop_fragments(table, entry, why);
    remove_entry(table, entry);
}

void carry_fragment_table_refuse(struct fragment_table *table, struct entry *entry,
                                 enum carry_capture_reassembly why) {
    table->counts[why]++;
    entry->refused = why;
    drop_fragments(table, entry, why);
}

/* Checks whether a datagram has expired. Times of captures may be unknown (0), or run backwards. */
static bool is_late(const struct entry *entry, uint64_t now_ns) {
    return entry->time_ns && now_ns > entry->time_ns &&
           now_ns - entry->time_ns > REASSEMBLER_SECONDS * UINT64_C(1000000000);
}

static void evict_oldest(struct fragment_table *table, uint64_t now_ns,
                         enum carry_capture_reassembly why) {
    struct entry *entry = table->oldest;
    carry_fragment_table_give_up(table, entry,
                                 is_late(entry, now_ns) ? CARRY_CAPTURE_REASSEMBLY_MISSING : why);
}

static struct entry *find_entry(struct fragment_table *table,
                                const struct carry_fragment_key *key) {
    struct entry *entry = *fragment_bucket(table, key);
    while (entry && memcmp(&entry->key, key, sizeof *key) != 0)
        entry = entry->chain;
    return entry;
}

static struct entry *create_entry(struct fragment_table *table,
                                  const struct carry_fragment_key *key, uint64_t now_ns) {
    if (table->entries == REASSEMBLER_DATAGRAMS_MAX)
        evict_oldest(table, now_ns, CARRY_CAPTURE_REASSEMBLY_EVICTED);
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    struct entry **bucket = fragment_bucket(table, key);
    entry->key = *key;
    entry->time_ns = now_ns;
    entry->content = carry_content_new(table->seed[0] ^ table->created++);
    entry->chain = *bucket;
    *bucket = entry;
    link_newest(table, entry);
    table->entries++;
    table->bytes += carry_fragment_table_held(entry);
    return entry;
}

struct entry *carry_fragment_table_use(struct fragment_table *table,
                                       const struct carry_fragment_key *key, uint64_t now_ns) {
    struct entry *entry = find_entry(table, key);
    if (entry && is_late(entry, now_ns)) {
        carry_fragment_table_give_up(table, entry, CARRY_CAPTURE_REASSEMBLY_MISSING);
        entry = NULL;
    }
    if (!entry)
        return create_entry(table, key, now_ns);
    unlink_entry(table, entry);
    link_newest(table, entry);
    return entry;
}

void carry_fragment_table_make_room(struct fragment_table *table, struct entry *entry,
                                    uint64_t now_ns) {
    while (table->bytes > REASSEMBLER_BYTES_MAX && table->oldest != entry)
        evict_oldest(table, now_ns, CARRY_CAPTURE_REASSEMBLY_EVICTED_BYTES);
    /* Repeated fragments can make a single datagram too large. */
    if (table->bytes > REASSEMBLER_BYTES_MAX)
        carry_fragment_table_refuse(table, entry, CARRY_CAPTURE_REASSEMBLY_EVICTED_BYTES);
}

bool carry_fragment_table_open(struct fragment_table *table) {
    return getentropy(table->seed, sizeof table->seed) == 0;
}
