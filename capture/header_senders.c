/* SPDX-License-Identifier: MIT */
#include "header_senders.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verdict.h"

#define BUCKETS_LOG2 12
#define NO_SENDER    UINT16_MAX

struct header_senders {
    uint64_t seed;
    size_t count;
    uint16_t *buckets; /* the first sender of each, or NO_SENDER */
    struct header_sender *list;
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
    senders->count = 0;
}

/* Allocates the table with the first header only, as hardly any capture has one. */
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

/* Returns the bucket of an address, by multiply-shift hashing with a secret seed, as in
   fragment_table.c. */
static size_t sender_bucket(const struct header_senders *senders, const uint8_t *address) {
    uint32_t word;
    memcpy(&word, address, sizeof word);
    return (size_t)(senders->seed * word >> (64 - BUCKETS_LOG2));
}

static uint16_t find_sender(const struct header_senders *senders, const uint8_t *address) {
    uint16_t place = senders->buckets[sender_bucket(senders, address)];
    while (place != NO_SENDER && memcmp(senders->list[place].address, address, 4) != 0)
        place = senders->list[place].next;
    return place;
}

/* Returns the sender, which is created if it is new; NULL if there is no room for it. */
static struct header_sender *use_sender(struct header_senders *senders, const uint8_t *address) {
    if (!make_sender_table(senders))
        return NULL;
    uint16_t place = find_sender(senders, address);
    if (place != NO_SENDER)
        return &senders->list[place];
    if (senders->count == HEADER_SENDERS_MAX)
        return NULL;
    uint16_t *bucket = &senders->buckets[sender_bucket(senders, address)];
    struct header_sender *sender = &senders->list[senders->count];
    memcpy(sender->address, address, sizeof sender->address);
    sender->next = *bucket;
    *bucket = (uint16_t)senders->count++;
    return sender;
}

bool carry_header_senders_is_alone(const struct carry_packet_sum *sum) {
    return verdict_is_lone_header(sum);
}

static bool is_partial_header(const struct carry_packet_sum *sum) {
    return sum->verdict == CARRY_VERDICT_PARTIAL && sum->cause == CARRY_CAUSE_HEADER;
}

static const uint8_t *sender_address(const struct carry_frame *frame,
                                     const struct carry_packet_sum *sum) {
    return (const uint8_t *)frame->data + sum->network_offset + 12;
}

const struct header_sender *carry_header_senders_add(struct header_senders *senders,
                                                     const struct carry_frame *frame,
                                                     const struct carry_packet_sum *sum) {
    const bool alone = carry_header_senders_is_alone(sum), left = is_partial_header(sum);
    if (!alone && !left)
        return NULL;
    struct header_sender *sender = use_sender(senders, sender_address(frame, sum));
    if (!sender)
        return NULL;
    sender->leaves |= left;
    sender->alone += alone;
    sender->early += alone && !sender->leaves;
    return sender;
}

bool carry_header_senders_are_concerned(struct header_senders *senders,
                                        const struct carry_frame *frame,
                                        const struct carry_packet_sum *sum) {
    if (carry_header_senders_is_alone(sum))
        return true;
    if (!is_partial_header(sum) || carry_header_senders_leaves(senders, sender_address(frame, sum)))
        return false;
    carry_header_senders_add(senders, frame, sum);
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
                                                      const uint8_t address[4]) {
    uint16_t place = senders->list ? find_sender(senders, address) : NO_SENDER;
    return place == NO_SENDER ? NULL : &senders->list[place];
}

bool carry_header_senders_leaves(const struct header_senders *senders, const uint8_t address[4]) {
    const struct header_sender *sender = carry_header_senders_find(senders, address);
    return sender && sender->leaves;
}

uint64_t carry_header_senders_left(const struct header_senders *senders) {
    uint64_t left = 0;
    for (size_t i = 0; i < senders->count; i++)
        left += senders->list[i].leaves ? senders->list[i].alone : 0;
    return left;
}

const struct header_sender *carry_header_senders_list(const struct header_senders *senders,
                                                      size_t *count) {
    *count = senders->count;
    return senders->list;
}
