/* SPDX-License-Identifier: MIT */
/*
 * Inside of reassemble.h: the datagrams of which fragments came, by what their fragments have in
 * common, and by how long they have waited for one.
 */
#ifndef CARRY_CAPTURE_SRC_FRAGMENT_TABLE_H
#define CARRY_CAPTURE_SRC_FRAGMENT_TABLE_H

#include "content.h"
#include "reassemble.h"

#define FRAGMENT_KEY_WORDS 12

/* What the fragments of a datagram have in common. */
struct carry_fragment_key {
    uint32_t words[FRAGMENT_KEY_WORDS];
};

/* A datagram of which fragments came. */
struct entry {
    struct carry_fragment_key key;
    struct entry *chain; /* of the same bucket */
    struct entry *older, *newer;
    uint64_t time_ns;                      /* of the fragment that came first */
    enum carry_capture_reassembly refused; /* why; COMPLETE: it was not */
    struct content content;
    struct source *sources, *last_source;
    size_t sources_bytes;

    /* From the first fragment: its headers up to the content; NULL until it came. */
    uint8_t *header;
    uint32_t header_size;
    uint32_t located; /* as in struct datagram */
    uint64_t offset;  /* of the header in the file */
    uint32_t scope;
    const struct source *first;
};

#define FRAGMENT_BUCKETS_LOG2 13

struct fragment_table {
    uint64_t seed[FRAGMENT_KEY_WORDS + 1];
    struct entry *buckets[1u << FRAGMENT_BUCKETS_LOG2];
    struct entry *oldest, *newest; /* by when a fragment came last */
    unsigned entries;
    uint64_t created; /* in all */
    size_t bytes;
    uint64_t counts[CARRY_CAPTURE_REASSEMBLY_COUNT];
    reassembler_lost_fn *lost; /* NULL: nobody watches */
    void *lost_context;
};

/* False without a seed. */
bool carry_fragment_table_open(struct fragment_table *table);

struct carry_fragment_key carry_fragment_key(const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment);

/* The datagram's entry, made if need be, as the one used last; NULL without memory. */
struct entry *carry_fragment_table_use(struct fragment_table *table,
                                       const struct carry_fragment_key *key, uint64_t now_ns);

/* What a datagram holds, as REASSEMBLER_BYTES_MAX counts. Who changes that accounts for it. */
size_t carry_fragment_table_held(const struct entry *entry);

/* Gives a datagram up; one that was refused is counted already. */
void carry_fragment_table_give_up(struct fragment_table *table, struct entry *entry,
                                  enum carry_capture_reassembly why);

/* Fragments that still come must not be taken for those of another datagram, so its entry stays. */
void carry_fragment_table_refuse(struct fragment_table *table, struct entry *entry,
                                 enum carry_capture_reassembly why);

/* Gives up those that waited longest while all hold too much; if need be, refuses `entry`. */
void carry_fragment_table_make_room(struct fragment_table *table, struct entry *entry,
                                    uint64_t now_ns);

/* Tells who watches that these are lost. */
void carry_fragment_table_lose(const struct fragment_table *table,
                               enum carry_capture_reassembly why, const struct source *sources);

void carry_fragment_table_free_sources(struct source *sources);

#endif
