/* SPDX-License-Identifier: MIT */
#include "senders.h"

#include <stdlib.h>
#include <string.h>

/* --- Links --- */

/* Returns where a link header holds its sender's address, or NULL if the header is truncated or has
   no address of six bytes. */
static const uint8_t *find_mac(const struct carry_packet_layer *layer, const uint8_t *header,
                               size_t size) {
    switch (layer->protocol) {
    case CARRY_PROTOCOL_ETHERNET:
        return size >= 12 ? header + 6 : NULL;
    case CARRY_PROTOCOL_SLL: /* the length of the address, then 8 bytes for it */
        return size >= 16 && header[5] == 6 ? header + 6 : NULL;
    case CARRY_PROTOCOL_SLL2:
        return size >= 20 && header[11] == 6 ? header + 12 : NULL;
    default:
        return NULL;
    }
}

static bool begins_link(unsigned protocol) {
    return protocol == CARRY_PROTOCOL_ETHERNET || protocol == CARRY_PROTOCOL_SLL ||
           protocol == CARRY_PROTOCOL_SLL2;
}

static void add_link(struct link_memory *memory, const uint8_t *mac) {
    memory->link = (struct carry_capture_link){.has_mac = mac};
    memory->card = (struct card){{0}};
    if (!mac)
        return;
    memcpy(memory->link.mac, mac, sizeof memory->link.mac);
    if (!(mac[0] & 1)) /* no group */
        memcpy(memory->card.mac, mac, sizeof memory->card.mac);
}

static void add_layer(struct link_memory *memory, const struct carry_packet_layer *layer,
                      const uint8_t *header, size_t size) {
    struct carry_capture_link *link = &memory->link;
    if (begins_link(layer->protocol))
        add_link(memory, find_mac(layer, header, size));
    if (layer->protocol == CARRY_PROTOCOL_IP || layer->protocol == CARRY_PROTOCOL_IPV6)
        memory->card = (struct card){{0}};
    if (layer->protocol == CARRY_PROTOCOL_VLAN && size >= 2 &&
        link->vlans_count < CARRY_CAPTURE_VLANS_MAX)
        link->vlans[link->vlans_count++] = (uint16_t)((header[0] << 8 | header[1]) & 0xfff);
}

static void find_link_headers(struct link_memory *memory, const struct carry_frame *frame,
                              uint32_t network_offset) {
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_layers(frame, NULL, layers, CARRY_PACKET_SUMS_MAX);
    memory->link = (struct carry_capture_link){0};
    memory->card = (struct card){{0}};
    for (size_t i = 0; i < count && layers[i].offset < network_offset; i++)
        add_layer(memory, &layers[i], (const uint8_t *)frame->data + layers[i].offset,
                  network_offset - layers[i].offset);
}

static bool is_same_link(const struct link_memory *memory, const struct carry_frame *frame,
                         uint32_t size) {
    return memory->is_known && memory->linktype == frame->linktype && memory->size == size &&
           memcmp(memory->bytes, frame->data, size) == 0;
}

const struct carry_capture_link *carry_sender_link(struct link_memory *memory,
                                                   const struct carry_frame *frame,
                                                   uint32_t network_offset) {
    if (is_same_link(memory, frame, network_offset))
        return &memory->link;
    find_link_headers(memory, frame, network_offset);
    memory->is_known = network_offset <= sizeof memory->bytes;
    memory->linktype = frame->linktype;
    memory->size = network_offset;
    if (memory->is_known)
        memcpy(memory->bytes, frame->data, network_offset);
    return &memory->link;
}

struct card carry_sender_card(struct link_memory *memory, const struct carry_frame *frame,
                              uint32_t network_offset) {
    carry_sender_link(memory, frame, network_offset);
    return memory->card;
}

/* --- Senders --- */

static bool is_equal_key(const struct sender_key *a, const struct sender_key *b) {
    _Static_assert(sizeof *a == sizeof a->link + sizeof a->address, "no padding to compare");
    return memcmp(a, b, sizeof *a) == 0;
}

static unsigned rarest_slot(const struct senders *senders) {
    unsigned slot = 0;
    for (unsigned i = 1; i < CARRY_CAPTURE_SENDERS_MAX; i++)
        if (senders->slots[i].count < senders->slots[slot].count)
            slot = i;
    return slot;
}

static unsigned find_slot(struct senders *senders, const struct sender_key *key) {
    for (unsigned i = 0; i < senders->used; i++)
        if (is_equal_key(&senders->slots[i].key, key))
            return i;
    if (senders->used < CARRY_CAPTURE_SENDERS_MAX) {
        senders->slots[senders->used].key = *key;
        return senders->used++;
    }
    unsigned slot = rarest_slot(senders);
    senders->overflowed = true;
    senders->slots[slot].key = *key;
    senders->slots[slot].error = senders->slots[slot].count;
    return slot;
}

void carry_senders_add(struct senders *senders, const struct sender *sender) {
    const struct sender *last = &senders->slots[senders->last];
    if (!last->count || !is_equal_key(&last->key, &sender->key))
        senders->last = find_slot(senders, &sender->key);
    senders->slots[senders->last].count += sender->count;
    senders->slots[senders->last].error += sender->error;
}

void carry_senders_merge(struct senders *into, const struct senders *from) {
    for (unsigned i = 0; i < from->used; i++)
        carry_senders_add(into, &from->slots[i]);
    into->overflowed |= from->overflowed;
}

/* --- In order --- */

static int compare_senders(const void *a, const void *b) {
    const struct sender *left = a, *right = b;
    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return memcmp(&left->key, &right->key, sizeof left->key);
}

static void merge_links(struct senders *into, const struct senders *from) {
    for (unsigned i = 0; i < from->used; i++) {
        struct sender sender = from->slots[i];
        sender.key.link = (struct carry_capture_link){0};
        carry_senders_add(into, &sender);
    }
}

size_t carry_senders_list(const struct senders *senders, bool by_address,
                          struct carry_capture_sender *list, size_t capacity) {
    struct senders sorted = {0};
    if (by_address)
        merge_links(&sorted, senders);
    else
        sorted = *senders;
    qsort(sorted.slots, sorted.used, sizeof *sorted.slots, compare_senders);
    const size_t count = sorted.used < capacity ? sorted.used : capacity;
    for (size_t i = 0; i < count; i++) {
        const struct sender *sender = &sorted.slots[i];
        list[i] = (struct carry_capture_sender){
            .address = sender->key.address,
            .link = sender->key.link,
            .at_least = sender->count - sender->error,
            .at_most = sender->count,
        };
    }
    return count;
}
