/* SPDX-License-Identifier: MIT */
#include "harness/check_jit_packet.h"

#include <string.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/jit_packet.h"
#include "harness/rng.h"

#define CAPACITY CARRY_PACKET_SUMS_MAX

struct trial {
    const struct carry_jit_packet_spec *spec;
    carry_jit_packet_fn *function;
    const struct effort *effort;
    struct stacked frame; /* the frame to check: `base`, possibly changed */
    struct stacked base;
    size_t known; /* number of frames that the function recognised */
    struct verdict verdict;
};

static struct carry_frame view_of_trial(const struct trial *trial, uint32_t captured,
                                        uint32_t wire) {
    return (struct carry_frame){trial->frame.bytes, captured, wire, trial->spec->linktype, 0};
}

static void expect_agreement(struct trial *trial, const struct carry_frame *frame, size_t capacity,
                             const char *what, uint32_t number) {
    trial->verdict.calls++;
    if (trial->verdict.ok &&
        !jit_packet_agrees(trial->spec, trial->function, frame, capacity, &trial->known))
        verdict_fail(&trial->verdict, "%s %u: %u of %u bytes, room for %zu", what, number,
                     frame->captured, frame->wire, capacity);
}

static void expect_whole(struct trial *trial, const char *what, uint32_t number) {
    const struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
    expect_agreement(trial, &frame, CAPACITY, what, number);
}

static void build_frame(struct trial *trial, uint32_t payload) {
    stack_build(&trial->base, trial->spec, payload);
    trial->frame = trial->base;
}

/* Checks that frames of the function's shape are recognised: with each payload of up to 130 bytes,
   and with some of up to 1,500 bytes. */
static void check_sizes(struct trial *trial) {
    size_t tried = 0;
    for (size_t payload = 0; payload <= 1500;
         payload = payload < 130 ? payload + 1 : effort_next_size(&effort_short, payload),
                tried++) {
        build_frame(trial, (uint32_t)payload);
        expect_whole(trial, "payload", (uint32_t)payload);
    }
    if (trial->verdict.ok && trial->known != tried)
        verdict_fail(&trial->verdict, "%zu of %zu frames of the shape are not recognised",
                     tried - trial->known, tried);
}

static void set_number(uint8_t *bytes, uint32_t number) {
    bytes[0] = (uint8_t)(number >> 8);
    bytes[1] = (uint8_t)number;
}

/* Returns a partial checksum, as transmit offload leaves it: the sum of the pseudo-header, with or
   without the length. */
static uint32_t offloaded_sum(const struct carry_packet_sum *sum, bool without_length) {
    uint32_t pseudo = sum->pseudo;
    uint32_t size = __builtin_bswap32(sum->pseudo_size);
    if (without_length)
        pseudo = carry_sum_combine(pseudo, ~size, 0);
    return __builtin_bswap16(carry_sum_fold(pseudo));
}

/* Keeps the checksum (way 0), or stores 0, one of two partial checksums, or a random number. */
static void damage_sum(struct trial *trial, const struct carry_packet_sum *sum, unsigned way) {
    uint8_t *field = trial->frame.bytes + sum->field_offset;
    switch (way) {
    case 1:
        set_number(field, 0);
        break;
    case 2:
    case 3:
        if (sum->pseudo)
            set_number(field, offloaded_sum(sum, way == 3));
        break;
    case 4:
        set_number(field, (uint32_t)rng_next());
        break;
    }
}

static void damage_all(struct trial *trial, unsigned way) {
    struct carry_packet_sum sums[CAPACITY];
    const struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
    size_t count = carry_packet_check(&frame, NULL, sums, CAPACITY);
    for (size_t i = 0; i < count; i++)
        damage_sum(trial, &sums[i], way);
}

/* Adds padding after the packet, as Ethernet does, by reducing the lengths from layer `from` on. */
static void check_padding(struct trial *trial) {
    for (uint32_t from = 0; from < trial->spec->count; from++)
        for (uint32_t less = 0; less < 12; less += 1 + less / 3) {
            build_frame(trial, 12 + from);
            stack_shorten(&trial->frame, trial->spec, from, less);
            expect_whole(trial, "padding unsealed", less);
            stack_seal(&trial->frame, trial->spec);
            expect_whole(trial, "padding", less);
            damage_all(trial, 1);
            expect_whole(trial, "padding with sums of 0", less);
        }
}

/*
 * Stores special values in every pair of header bytes, with and without correcting the checksums.
 */
static void check_fields(struct trial *trial) {
    static const uint16_t values[] = {0x0000, 0xffff, 0x0001, 0x0008, 0x0014, 0x0050,
                                      0x8000, 0x2000, 0x0800, 0x86dd, 0x8100, 0x12b5,
                                      0x2118, 0x17c1, 0x0868, 0x4500, 0x4600, 0x6000};
    build_frame(trial, 23);
    for (uint32_t at = 0; at + 1 < trial->base.headers; at++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            trial->frame = trial->base;
            trial->frame.bytes[at] = (uint8_t)(values[i] >> 8);
            trial->frame.bytes[at + 1] = (uint8_t)values[i];
            expect_whole(trial, "field", at);
            stack_seal(&trial->frame, trial->spec);
            expect_whole(trial, "sealed field", at);
        }
}

static void check_bits(struct trial *trial) {
    build_frame(trial, 29);
    for (uint32_t bit = 0; bit < 8 * trial->base.size; bit++) {
        trial->frame = trial->base;
        trial->frame.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect_whole(trial, "bit", bit);
        if (bit / 8 < trial->base.headers) {
            stack_seal(&trial->frame, trial->spec);
            expect_whole(trial, "sealed bit", bit);
        }
    }
}

static void check_cuts(struct trial *trial) {
    for (uint32_t payload = 0; payload < 60; payload += 19) {
        build_frame(trial, payload);
        for (uint32_t captured = 0; captured <= trial->base.size; captured++)
            for (uint32_t wire = 0; wire < 3; wire++) {
                const struct carry_frame cut =
                    view_of_trial(trial, captured, wire == 0 ? 0 : trial->base.size + wire - 1);
                expect_agreement(trial, &cut, CAPACITY, "cut", captured);
            }
    }
}

/* Tries every capacity with good sums, with a damaged last byte, and with all checksums 0. */
static void check_capacity(struct trial *trial) {
    for (uint32_t round = 0; round < 3; round++) {
        build_frame(trial, 40);
        if (round == 1)
            trial->frame.bytes[trial->frame.size - 1] ^= 1;
        if (round == 2)
            damage_all(trial, 1);
        const struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
        for (size_t capacity = 0; capacity <= CAPACITY; capacity++)
            expect_agreement(trial, &frame, capacity, "capacity", (uint32_t)capacity);
    }
}

/*
 * Tries every mixture of the checksums that damage_sum() stores or keeps, or a sample if there are
 * more than 4,000. Outer checksums that it keeps were computed with complete inner checksums, as
 * Linux computes them.
 */
static void check_mixtures(struct trial *trial) {
    struct carry_packet_sum sums[CAPACITY];
    build_frame(trial, 33);
    const struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
    size_t count = carry_packet_check(&frame, NULL, sums, CAPACITY);
    unsigned mixtures = 1;
    for (size_t i = 0; i < count; i++)
        mixtures *= 5;
    unsigned step = mixtures > 4000 ? mixtures / 4000 | 1 : 1;
    for (unsigned mixture = 0; mixture < mixtures; mixture += step) {
        trial->frame = trial->base;
        unsigned ways = mixture;
        for (size_t i = count; i-- > 0; ways /= 5)
            damage_sum(trial, &sums[i], ways % 5);
        expect_whole(trial, "mixture", mixture);
    }
}

/*
 * Checks frames whose content is zero except for one field. If all covered bytes are zero, their
 * sum is 0 and the right checksum is 0xffff rather than 0.
 */
static void check_zeros(struct trial *trial) {
    static const uint16_t values[] = {0x0000, 0xffff, 0x0001};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        build_frame(trial, 25);
        uint32_t content = trial->base.offsets[trial->spec->count - 1];
        bool is_udp = trial->spec->layers[trial->spec->count - 1] == CARRY_PROTOCOL_UDP;
        uint32_t from = content + (is_udp ? 6 : 1);
        memset(trial->frame.bytes + from, 0, trial->frame.size - from);
        for (uint32_t at = content; at + 1 < trial->frame.headers; at++) {
            struct stacked before = trial->frame;
            set_number(trial->frame.bytes + at, values[i]);
            expect_whole(trial, "zeros", at);
            stack_seal(&trial->frame, trial->spec);
            expect_whole(trial, "sealed zeros", at);
            trial->frame = before;
        }
    }
}

static void set_ports(struct trial *trial, uint32_t udp, uint16_t source, uint16_t destination) {
    set_number(trial->frame.bytes + udp, source);
    set_number(trial->frame.bytes + udp + 2, destination);
}

/* Tries all pairs of 15 ports in each UDP header: a tunnel is recognised by its destination port,
   else by its source port. */
static void check_ports(struct trial *trial, const struct carry_jit_packet_spec *spec) {
    static const uint16_t ports[] = {53,   4242, 4789, 4790, 8472, 6081, 2152, 3386,
                                     3544, 1701, 4341, 4342, 6635, 5247, 9899};
    for (uint32_t i = 0; i < spec->count; i++)
        for (size_t j = 0; spec->layers[i] == CARRY_PROTOCOL_UDP && j < 15 * 15; j++) {
            trial->frame = trial->base;
            set_ports(trial, trial->base.offsets[i], ports[j / 15], ports[j % 15]);
            expect_whole(trial, "ports", (uint32_t)j);
        }
}

/* Checks frames of all shapes, including shapes that differ only in a port. */
static void check_others(struct trial *trial) {
    for (size_t i = 0; i < stacks_count; i++) {
        stack_build(&trial->base, &stacks[i].spec, 50);
        trial->frame = trial->base;
        expect_whole(trial, "other stack", (uint32_t)i);
        check_ports(trial, &stacks[i].spec);
    }
}

/*
 * Sets the upper bytes of the word at `at` so that the sum of all words from `from` on has all bits
 * set in these bytes: the next addition is then likely to carry out of the sum.
 */
static void fill_up(uint8_t *bytes, uint32_t from, uint32_t end, uint32_t at, uint32_t upper) {
    uint64_t total = 0, word;
    memset(bytes + at + sizeof word - upper, 0, upper);
    for (uint32_t of = from; of + sizeof word <= end; of += sizeof word) {
        memcpy(&word, bytes + of, sizeof word);
        total += word;
        total += total < word;
    }
    memcpy(&word, bytes + at, sizeof word);
    word |= ~total & UINT64_MAX << 8 * (sizeof word - upper);
    memcpy(bytes + at, &word, sizeof word);
}

static void check_carries_of(struct trial *trial, uint32_t from, uint32_t end) {
    for (uint32_t at = from; at + 8 <= end; at += 8)
        for (unsigned way = 0; way < 4; way++) {
            trial->frame = trial->base;
            if (way & 1)
                damage_all(trial, 1);
            fill_up(trial->frame.bytes, from, end, at, way & 2 ? 4 : 8);
            expect_whole(trial, "carry", at);
        }
}

/*
 * Provokes carries of 64-bit sums that random bytes hardly ever cause: in the covered bytes up to
 * the content, and in addresses.
 */
static void check_carries(struct trial *trial) {
    struct carry_packet_sum sums[CAPACITY];
    for (uint32_t payload = 12; payload < 32; payload++) {
        build_frame(trial, payload);
        const struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
        size_t count = carry_packet_check(&frame, NULL, sums, CAPACITY);
        for (size_t i = 0; i < count; i++) {
            const struct carry_packet_sum *sum = &sums[i];
            uint32_t addresses = sum->network_offset + (sum->version == 4 ? 12 : 8);
            check_carries_of(trial, addresses, addresses + (sum->version == 4 ? 8 : 32));
            check_carries_of(trial, sum->cover_offset,
                             sum->protocol == CARRY_PROTOCOL_IP
                                 ? sum->cover_offset + 20
                                 : trial->base.offsets[trial->spec->count - 1]);
        }
    }
}

/* Checks the calling convention: like copies, the functions have three arguments. */
static void check_calls(struct trial *trial) {
    struct carry_packet_sum sums[CAPACITY];
    carry_copy_fn *function = (carry_copy_fn *)(void (*)(void))trial->function;
    for (uint32_t payload = 0; payload < 1500 && trial->verdict.ok; payload += 1 + payload / 2) {
        build_frame(trial, payload);
        struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
        call_checked_copy(function, &frame, sums, CAPACITY, &trial->verdict);
    }
}

static void change_some(struct trial *trial) {
    for (size_t changes = 1 + rng_below(3); changes--;) {
        size_t at = rng_below(rng_below(4) ? trial->frame.headers : trial->frame.size);
        if (rng_below(2))
            trial->frame.bytes[at] ^= (uint8_t)(1u << rng_below(8));
        else
            trial->frame.bytes[at] = (uint8_t)rng_next();
    }
}

static void check_random(struct trial *trial) {
    for (size_t round = 0; round < trial->effort->rounds / 4; round++) {
        if (round % 8 == 0)
            build_frame(trial, (uint32_t)rng_below(rng_below(8) ? 80 : 1500));
        trial->frame = trial->base;
        change_some(trial);
        if (rng_below(2))
            stack_seal(&trial->frame, trial->spec);
        uint32_t size = trial->frame.size;
        uint32_t captured = rng_below(4) ? size : (uint32_t)rng_below(size + 1);
        const struct carry_frame frame =
            view_of_trial(trial, captured, rng_below(2) ? size : captured);
        expect_agreement(trial, &frame, CAPACITY, "round", (uint32_t)round);
    }
}

static void check_linktype(struct trial *trial) {
    build_frame(trial, 10);
    for (uint32_t linktype = 0; linktype < 300; linktype++) {
        struct carry_frame frame = view_of_trial(trial, trial->frame.size, trial->frame.size);
        frame.linktype = linktype;
        expect_agreement(trial, &frame, CAPACITY, "link type", linktype);
    }
}

static void run_checks(void *context) {
    struct trial *trial = context;
    check_sizes(trial);
    check_padding(trial);
    check_fields(trial);
    check_bits(trial);
    check_cuts(trial);
    check_capacity(trial);
    check_mixtures(trial);
    check_zeros(trial);
    check_others(trial);
    check_carries(trial);
    check_calls(trial);
    check_linktype(trial);
    check_random(trial);
}

struct verdict check_jit_packet(const struct carry_jit_packet_spec *spec,
                                carry_jit_packet_fn *function, const struct effort *effort) {
    static struct trial trial;
    struct fault fault;
    trial = (struct trial){.spec = spec, .function = function, .effort = effort};
    trial.verdict.ok = true;
    rng_restart();
    if (!fault_catch(run_checks, &trial, &fault))
        verdict_fail(&trial.verdict, "touches what it must not: %s", fault.name);
    return trial.verdict;
}
