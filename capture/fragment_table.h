/* SPDX-License-Identifier: MIT */
/*
 * Internal to reassemble.h: a table of incomplete datagrams, found by the fields that all fragments
 * of a datagram share, and listed in the order in which their latest fragments arrived.
 */
#ifndef CARRY_CAPTURE_SRC_FRAGMENT_TABLE_H
#define CARRY_CAPTURE_SRC_FRAGMENT_TABLE_H

#include "content.h"
#include "reassemble.h"

#define FRAGMENT_KEY_WORDS 12

/* The fields that all fragments of a datagram share. */
struct carry_fragment_key {
    uint32_t words[FRAGMENT_KEY_WORDS];
};

/* A datagram that is incomplete, or was refused. */
struct entry {
    struct carry_fragment_key key;
    struct entry *chain; /* the next entry of the bucket */
    struct entry *older, *newer;
    uint64_t time_ns;                      /* time of the first fragment that arrived */
    enum carry_capture_reassembly refused; /* the reason; COMPLETE: not refused */
    struct content content;
    struct source *sources, *last_source;
    size_t sources_bytes;

    /* From the datagram's first fragment: its headers up to the content; NULL until it arrives. */
    uint8_t *header;
    uint32_t header_size;
    uint32_t located; /* as in struct datagram */
    uint64_t offset;  /* offset of the header in the file */
    uint32_t scope;
    const struct source *first;
};

#define FRAGMENT_BUCKETS_LOG2 13

struct fragment_table {
    uint64_t seed[FRAGMENT_KEY_WORDS + 1];
    struct entry *buckets[1u << FRAGMENT_BUCKETS_LOG2];
    struct entry *oldest, *newest; /* in the order of their latest fragments */
    unsigned entries;
    uint64_t created; /* datagrams created so far */
    size_t bytes;
    uint64_t counts[CARRY_CAPTURE_REASSEMBLY_COUNT];
    reassembler_lost_fn *lost; /* NULL: lost fragments are not reported */
    void *lost_context;
};

/* Opens an empty table. Returns false if the system provides no seed. */
bool carry_fragment_table_open(struct fragment_table *table);

struct carry_fragment_key carry_fragment_key(const struct carry_capture_packet *packet,
                                             const struct carry_packet_fragment *fragment);

/* Returns the datagram's entry, and makes it the newest. Creates it if needed. Returns NULL if
   there is no memory. */
struct entry *carry_fragment_table_use(struct fragment_table *table,
                                       const struct carry_fragment_key *key, uint64_t now_ns);

/* Returns the memory that a datagram holds, as REASSEMBLER_BYTES_MAX counts it. Code that changes
   this memory must update table->bytes. */
size_t carry_fragment_table_held(const struct entry *entry);

/* Gives up a datagram, and counts it unless it was already counted when it was refused. */
void carry_fragment_table_give_up(struct fragment_table *table, struct entry *entry,
                                  enum carry_capture_reassembly why);

/* Refuses a datagram: frees its fragments, but keeps its entry, so that fragments that still arrive
   are not assigned to another datagram. */
void carry_fragment_table_refuse(struct fragment_table *table, struct entry *entry,
                                 enum carry_capture_reassembly why);

/* Gives up the oldest datagrams until all datagrams together are small enough. Refuses `entry` if
   it is too large by itself. */
void carry_fragment_table_make_room(struct fragment_table *table, struct entry *entry,
                                    uint64_t now_ns);

/* Notifies the watcher that these fragments are lost. */
void carry_fragment_table_notify_lost(const struct fragment_table *table,
                                      enum carry_capture_reassembly why,
                                      const struct source *sources);

void carry_fragment_table_free_sources(struct source *sources);

#endif
