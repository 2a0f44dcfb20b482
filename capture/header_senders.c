/* SPDX-License-Identifier: MIT */
#include "header_senders.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verdict.h"

#define BUCKETS_LOG2 12
#define NO_SENDER    UINT16_MAX
#define SOURCE_AT    12 /* in an IPv4 header */

struct header_senders {
    uint64_t seed;
    size_t count;
    size_t lone;       /* how many of `count` were added with a lone header */
    uint16_t *buckets; /* the first sender of each bucket, or NO_SENDER */
    struct header_sender *list;
    struct link_memory memory;
};

struct header_senders *carry_header_senders_create(void) {
    return calloc(1, sizeof(struct header_senders));
}

void carry_header_senders_free(struct header_senders *senders) {
    if (!senders)
        return;
    free(senders->buckets);
    free(senders->list);
    free(senders);
}

void carry_header_senders_clear(struct header_senders *senders) {
    if (!senders->count)
        return;
    memset(senders->list, 0, senders->count * sizeof *senders->list);
    memset(senders->buckets, 0xff, sizeof *senders->buckets << BUCKETS_LOG2);
    senders->count = senders->lone = 0;
}

/* Allocates the table only when the first header is added: hardly any capture has one. */
static bool make_sender_table(struct header_senders *senders) {
    const size_t size = sizeof *senders->buckets << BUCKETS_LOG2;
    if (senders->list)
        return true;
    senders->buckets = malloc(size);
    senders->list = calloc(HEADER_SENDERS_MAX, sizeof *senders->list);
    if (senders->buckets && senders->list &&
        getentropy(&senders->seed, sizeof senders->seed) == 0) {
        memset(senders->buckets, 0xff, size);
        return true;
    }
    free(senders->buckets);
    free(senders->list);
    senders->buckets = NULL;
    senders->list = NULL;
    return false;
}

/* Returns the bucket of a key, by multiply-shift hashing with a secret seed, as fragment_table.c
   does. */
static size_t sender_bucket(const struct header_senders *senders, const struct header_key *key) {
    uint64_t card = 0;
    uint32_t address;
    memcpy(&card, key->card.mac, sizeof key->card.mac);
    memcpy(&address, key->address, sizeof address);
    return (size_t)(((card * senders->seed) >> 32 ^ address) * senders->seed >>
                    (64 - BUCKETS_LOG2));
}

bool carry_header_key_equal(const struct header_key *a, const struct header_key *b) {
    _Static_assert(sizeof *a == sizeof a->card + sizeof a->address, "no padding to compare");
    return memcmp(a, b, sizeof *a) == 0;
}

static uint16_t find_sender(const struct header_senders *senders, const struct header_key *key) {
    uint16_t place = senders->buckets[sender_bucket(senders, key)];
    while (place != NO_SENDER && !carry_header_key_equal(&senders->list[place].key, key))
        place = senders->list[place].next;
    return place;
}

/* Checks whether there is room for a new sender: with a lone header (`lone`), or with only an
   address or a card. */
static bool has_sender_room(const struct header_senders *senders, bool lone) {
    return lone ? senders->lone < LONE_SENDERS_MAX
                : senders->count - senders->lone < HEADER_SENDERS_MAX - LONE_SENDERS_MAX;
}

static struct header_sender *create_sender(struct header_senders *senders,
                                           const struct header_key *key) {
    uint16_t *bucket = &senders->buckets[sender_bucket(senders, key)];
    struct header_sender *sender = &senders->list[senders->count];
    sender->key = *key;
    sender->next = *bucket;
    *bucket = (uint16_t)senders->count++;
    return sender;
}

/* Returns the sender with this key, and creates it if it is new. Returns NULL if there is no
   memory, or no room for a new sender, or for another sender of lone headers. */
static struct header_sender *use_sender(struct header_senders *senders,
                                        const struct header_key *key, bool lone) {
    if (!make_sender_table(senders))
        return NULL;
    const uint16_t place = find_sender(senders, key);
    struct header_sender *sender = place == NO_SENDER ? NULL : &senders->list[place];
    if (sender && (sender->lone || !lone))
        return sender;
    if (!has_sender_room(senders, lone))
        return NULL;
    if (!sender)
        sender = create_sender(senders, key);
    sender->lone |= lone;
    senders->lone += lone;
    return sender;
}

bool carry_header_senders_is_alone(const struct carry_packet_sum *sum) {
    return verdict_is_lone_header(sum);
}

static bool is_partial_header(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && sum->cause == CARRY_CAUSE_HEADER;
}

struct header_key carry_header_key(struct link_memory *memory, const struct carry_frame *frame,
                                   const struct carry_packet_sum *sum) {
    const uint8_t *header = (const uint8_t *)frame->data + sum->network_offset;
    struct header_key key = {.card = carry_sender_card(memory, frame, sum->network_offset)};
    memcpy(key.address, header + SOURCE_AT, sizeof key.address);
    return key;
}

struct header_key carry_header_senders_key(struct header_senders *senders,
                                           const struct carry_frame *frame,
                                           const struct carry_packet_sum *sum) {
    return carry_header_key(&senders->memory, frame, sum);
}

/* Returns the key that stands for all senders with this address. */
static struct header_key address_of(const struct header_key *key) {
    struct header_key address = *key;
    address.card = (struct card){{0}};
    return address;
}

static struct header_key card_of(const struct header_key *key) {
    return (struct header_key){.card = key->card};
}

static bool has_card(const struct header_key *key) {
    static const struct card none;
    return memcmp(&key->card, &none, sizeof none) != 0;
}

/* Remembers that the senders of this key leave headers: all senders with its address or, if it has
   only a card, with its card. */
static const struct header_sender *add_evidence(struct header_senders *senders,
                                                const struct header_key *key) {
    struct header_sender *sender = use_sender(senders, key, false);
    if (sender)
        sender->leaves = true;
    return sender;
}

static const struct header_sender *add_left(struct header_senders *senders,
                                            const struct header_key *key) {
    const struct header_key address = address_of(key), card = card_of(key);
    if (has_card(key))
        add_evidence(senders, &card);
    return add_evidence(senders, &address);
}

static const struct header_sender *add_alone(struct header_senders *senders,
                                             const struct header_key *key) {
    struct header_sender *sender = use_sender(senders, key, true);
    if (!sender)
        return NULL;
    sender->alone++;
    sender->early += !carry_header_senders_leaves(senders, key);
    return sender;
}

const struct header_sender *carry_header_senders_add(struct header_senders *senders,
                                                     const struct carry_frame *frame,
                                                     const struct carry_packet_sum *sum) {
    const bool alone = carry_header_senders_is_alone(sum), left = is_partial_header(sum);
    if (!alone && !left)
        return NULL;
    const struct header_key key = carry_header_senders_key(senders, frame, sum);
    return alone ? add_alone(senders, &key) : add_left(senders, &key);
}

/* Checks whether the senders of `part`, which has only an address or only a card, are known to
   leave headers. */
static bool knows_left(const struct header_senders *senders, struct header_key part) {
    const struct header_sender *sender = carry_header_senders_find(senders, &part);
    return sender && sender->leaves;
}

bool carry_header_senders_are_concerned(struct header_senders *senders,
                                        const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum) {
    if (carry_header_senders_is_alone(sum))
        return true;
    if (!is_partial_header(sum))
        return false;
    const struct header_key key = carry_header_senders_key(senders, frame, sum);
    if (knows_left(senders, address_of(&key)) &&
        (!has_card(&key) || knows_left(senders, card_of(&key))))
        return false;
    add_left(senders, &key);
    return true;
}

void carry_header_senders_add_link(struct header_senders *senders,
                                   const struct header_sender *sender,
                                   const struct carry_capture_link *link) {
    struct header_sender *own = &senders->list[sender - senders->list];
    if (own->alone == 1)
        own->link = *link;
    else if (memcmp(&own->link, link, sizeof *link) != 0)
        own->link = (struct carry_capture_link){0};
}

const struct header_sender *carry_header_senders_find(const struct header_senders *senders,
                                                      const struct header_key *key) {
    uint16_t place = senders->list ? find_sender(senders, key) : NO_SENDER;
    return place == NO_SENDER ? NULL : &senders->list[place];
}

bool carry_header_senders_leaves(const struct header_senders *senders,
                                 const struct header_key *key) {
    const struct header_sender *sender = carry_header_senders_find(senders, key);
    return sender && sender->lone &&
           (knows_left(senders, address_of(key)) ||
            (has_card(key) && knows_left(senders, card_of(key))));
}

uint64_t carry_header_senders_left(const struct header_senders *senders) {
    uint64_t left = 0;
    for (size_t i = 0; i < senders->count; i++)
        if (carry_header_senders_leaves(senders, &senders->list[i].key))
            left += senders->list[i].alone;
    return left;
}

const struct header_sender *carry_header_senders_list(const struct header_senders *senders,
                                                      size_t *count) {
    *count = senders->count;
    return senders->list;
}
