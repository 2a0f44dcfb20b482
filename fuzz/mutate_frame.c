/* SPDX-License-Identifier: MIT */
/*
 * Mutates a frame by its structure: a chain of headers, each of which announces the next. The walk
 * shows where the headers are; protocols.def lists the numbers that announce each protocol.
 */
#include <carry/sum.h>

#include "frame.h"
#include "mutate.h"

#define LAYERS_MAX CARRY_PACKET_SUMS_MAX

/* --- How headers announce other headers --- */

enum space {
    SPACE_NONE,
    SPACE_LINK,
    SPACE_ETHERTYPE,
    SPACE_IP,
    SPACE_UDP,
    SPACE_ICMP,
    SPACE_COUNT
};

struct key {
    enum space space;
    uint32_t number;
};

#define CARRY_ON_LINK(number)          {SPACE_LINK, number},
#define CARRY_ON_ETHERTYPE(number)     {SPACE_ETHERTYPE, number},
#define CARRY_ON_IP(number)            {SPACE_IP, number},
#define CARRY_ON_UDP(number)           {SPACE_UDP, number},
#define CARRY_ON_ICMP(number)          {SPACE_ICMP, number},
#define CARRY_PROTOCOL(id, name, keys) static const struct key keys_of_##name[] = {keys{0, 0}};
#include <carry/protocols.def>
#undef CARRY_PROTOCOL

/* The keys of each protocol; a key in SPACE_NONE ends each list. */
static const struct key *const keys_of[CARRY_PROTOCOL_COUNT] = {
#define CARRY_PROTOCOL(id, name, keys) keys_of_##name,
#include <carry/protocols.def>
#undef CARRY_PROTOCOL
};

static const struct key *key_in(enum space space, uint32_t protocol) {
    const struct key *key = keys_of[protocol];
    while (key->space != SPACE_NONE && key->space != space)
        key++;
    return key->space == space ? key : NULL;
}

/* Returns one of the first two keys that a random protocol has in a space; every space has keys. */
static const struct key *any_key(struct edit *edit, enum space space) {
    const struct key *key;
    do
        key = key_in(space, (uint32_t)edit_random(edit, CARRY_PROTOCOL_COUNT));
    while (!key);
    return key + edit_random(edit, key[1].space == space ? 2 : 1);
}

static unsigned width_of(enum space space) {
    return space == SPACE_IP || space == SPACE_ICMP ? 1 : 2;
}

/* --- Places of the headers --- */

struct chain {
    struct carry_packet_layer layers[LAYERS_MAX];
    size_t count;
    size_t end;
};

static struct chain chain_of(const struct edit *edit) {
    struct chain chain = {.end = edit->size};
    const struct carry_frame frame = input_frame(edit->bytes, edit->size);
    chain.count = carry_packet_layers(&frame, NULL, chain.layers, LAYERS_MAX);
    return chain;
}

/* Returns where header `index` starts, or the end of the frame if it has only `index` headers. */
static size_t start_of(const struct chain *chain, size_t index) {
    return index < chain->count ? HEAD_BYTES + chain->layers[index].offset : chain->end;
}

static size_t header_length(const struct chain *chain, size_t index) {
    size_t start = start_of(chain, index), end = start_of(chain, index + 1);
    return start < end ? end - start : 0;
}

/* Finds the first field in [from, to) that announces `protocol`, and sets *at to its place. Returns
   its key, or NULL if there is no such field. */
static const struct key *find_announcement(const struct edit *edit, size_t from, size_t to,
                                           uint32_t protocol, size_t *at) {
    for (*at = from; *at < to; ++*at)
        for (const struct key *key = keys_of[protocol]; key->space != SPACE_NONE; key++)
            if (key->space != SPACE_LINK &&
                edit_get(edit, *at, width_of(key->space), false) == key->number)
                return key;
    return NULL;
}

/* Makes the field in [from, to) that announces `old` announce `protocol`, if the field's space has
   a number for `protocol`. */
static void announce_protocol(struct edit *edit, size_t from, size_t to, uint32_t old,
                              uint32_t protocol) {
    size_t at;
    const struct key *is = find_announcement(edit, from, to, old, &at);
    const struct key *key = is ? key_in(is->space, protocol) : NULL;
    if (key)
        edit_put(edit, at, width_of(key->space), false, key->number);
}

/* --- Changes --- */

static void change_frame_link(struct edit *edit) {
    edit_put(edit, HEAD_LINKTYPE, 2, true, any_key(edit, SPACE_LINK)->number);
}

static void change_options(struct edit *edit) {
    size_t at = edit_random(edit, 2) ? HEAD_FLAGS : HEAD_FIX;
    edit_put(edit, at, 1, true, (uint32_t)edit_random(edit, at == HEAD_FLAGS ? 4 : 64));
}

static void change_wire(struct edit *edit) {
    edit_number(edit, HEAD_BEYOND, 4, true, 0);
}

static void cut_frame(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t at = start_of(&chain, edit_random(edit, chain.count + 1)) + edit_random(edit, 24);
    if (at >= edit->size)
        return;
    if (edit_random(edit, 2))
        edit_put(edit, HEAD_BEYOND, 4, true, (uint32_t)(edit->size - at));
    edit->size = at;
}

/* Changes the number by which a header announces the next one. */
static void announce_other(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t index = edit_random(edit, chain.count), at;
    if (index + 1 >= chain.count)
        return;
    const struct key *key =
        find_announcement(edit, start_of(&chain, index), start_of(&chain, index + 1),
                          chain.layers[index + 1].protocol, &at);
    if (key)
        edit_put(edit, at, width_of(key->space), false, any_key(edit, key->space)->number);
}

/* Chooses *index. Returns a place near the start of header *index - 1 or, if *index is 0, of the
   frame, which may begin with an unknown header. Early bytes matter most. */
static size_t any_header_place(struct edit *edit, const struct chain *chain, size_t *index) {
    *index = edit_random(edit, chain->count + 1);
    size_t near = 1 + edit_random(edit, 64);
    return (*index ? start_of(chain, *index - 1) : HEAD_BYTES) + edit_random(edit, near);
}

static void change_key(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t index, at = any_header_place(edit, &chain, &index);
    enum space space =
        (enum space)(SPACE_ETHERTYPE + edit_random(edit, SPACE_COUNT - SPACE_ETHERTYPE));
    edit_put(edit, at, width_of(space), false, any_key(edit, space)->number);
}

/* Changes a number, assuming that most numbers are lengths. */
static void change_length(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t index, at = any_header_place(edit, &chain, &index);
    size_t start = edit_random(edit, 2) ? at : start_of(&chain, index ? index - 1 : 0);
    edit_number(edit, at, 1u << edit_random(edit, 3), edit_random(edit, 8) == 0,
                (uint32_t)(edit->size - start));
}

static void change_header(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t index = edit_random(edit, chain.count + 1);
    if (index == chain.count)
        edit_any(edit, HEAD_BYTES, edit->size - HEAD_BYTES);
    else
        edit_any(edit, start_of(&chain, index), header_length(&chain, index));
}

/* Repeats a run of headers after itself: a tunnel in a tunnel. */
static void repeat_headers(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t first = edit_random(edit, chain.count);
    size_t behind = first + 1 + edit_random(edit, chain.count - first);
    size_t start = start_of(&chain, first), end = start_of(&chain, behind);
    if (behind >= chain.count || start >= end || !edit_repeat(edit, end, start, end - start))
        return;
    announce_protocol(edit, start_of(&chain, behind - 1), end, chain.layers[behind].protocol,
                      chain.layers[first].protocol);
}

static void remove_headers(struct edit *edit) {
    const struct chain chain = chain_of(edit);
    size_t first = 1 + edit_random(edit, chain.count);
    size_t behind = first + 1 + edit_random(edit, 3);
    if (behind >= chain.count || start_of(&chain, first) > start_of(&chain, behind))
        return;
    announce_protocol(edit, start_of(&chain, first - 1), start_of(&chain, first),
                      chain.layers[first].protocol, chain.layers[behind].protocol);
    edit_replace(edit, start_of(&chain, first), start_of(&chain, behind) - start_of(&chain, first),
                 NULL, 0);
}

static void change_sum(struct edit *edit) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame frame = input_frame(edit->bytes, edit->size);
    size_t count = carry_packet_check(&frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    if (!count)
        return;
    const struct carry_packet_sum *sum = &sums[edit_random(edit, count)];
    size_t at = HEAD_BYTES + (size_t)sum->field_offset;
    if (sum->pseudo && edit_random(edit, 2)) {
        const uint16_t partial = carry_sum_fold(sum->pseudo);
        edit_replace(edit, at, sizeof partial, &partial, sizeof partial);
    } else {
        edit_number(edit, at, sum->field_size, false, sum->expected);
    }
}

static void fill_sums(struct edit *edit) {
    const struct carry_frame frame = input_frame(edit->bytes, edit->size);
    carry_packet_fill(&frame, NULL, NULL, 0);
}

/* Sets the length field of an IP or UDP header, so that its packet ends where the frame ends. */
static void fit_length(struct edit *edit, uint32_t protocol, size_t at) {
    uint32_t rest = (uint32_t)(edit->size - at);
    if (protocol == CARRY_PROTOCOL_IP)
        edit_put(edit, at + 2, 2, false, rest);
    else if (protocol == CARRY_PROTOCOL_IPV6)
        edit_put(edit, at + 4, 2, false, rest - 40);
    else if (protocol == CARRY_PROTOCOL_UDP)
        edit_put(edit, at + 4, 2, false, rest);
}

/* Sets the length fields of all IP and UDP headers, from the outermost on: the walk finds headers
   that a wrong length hides only once the length is right. */
static void fit_lengths(struct edit *edit) {
    struct chain chain = chain_of(edit);
    for (size_t i = 0; i < chain.count; i++) {
        fit_length(edit, chain.layers[i].protocol, start_of(&chain, i));
        chain = chain_of(edit);
    }
}

static edit_fn *const changes[] = {
    announce_other, change_header, change_key,    change_frame_link, change_length,  change_length,
    change_options, change_sum,    change_wire,   cut_frame,         fill_sums,      fit_lengths,
    fit_lengths,    change_header, change_length, repeat_headers,    remove_headers,
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    if (size < HEAD_BYTES)
        return LLVMFuzzerMutate(data, size, max);
    struct edit edit = {.bytes = data, .size = size, .max = max, .random = seed};
    edit_some(&edit, changes, sizeof changes / sizeof *changes);
    return edit.size;
}

/* Joins the first headers of one frame with the last headers and the payload of another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed) {
    struct edit edit = {.bytes = out, .size = a_size, .max = max, .random = seed};
    const struct edit other = {.bytes = (uint8_t *)b, .size = b_size};
    if (a_size < HEAD_BYTES || b_size < HEAD_BYTES || a_size > max)
        return 0;
    memcpy(out, a, a_size);
    const struct chain head = chain_of(&edit), tail = chain_of(&other);
    size_t behind = 1 + edit_random(&edit, head.count), from = edit_random(&edit, tail.count);
    if (!head.count || !tail.count)
        return 0;
    size_t at = start_of(&head, behind), start = start_of(&tail, from);
    if (!edit_replace(&edit, at, edit.size - at, b + start, b_size - start))
        return 0;
    if (behind < head.count)
        announce_protocol(&edit, start_of(&head, behind - 1), at, head.layers[behind].protocol,
                          tail.layers[from].protocol);
    if (edit_random(&edit, 2))
        fit_lengths(&edit);
    return edit.size;
}
