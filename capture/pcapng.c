/* SPDX-License-Identifier: MIT */
/* Reads the pcapng format (draft-ietf-opsawg-pcapng): sections of blocks. */
#include <errno.h>
#include <stdlib.h>

#include "format.h"
#include "magic.h"
#include "pcapng.h"

#define BLOCK_MIN_BYTES (PCAPNG_HEAD_BYTES + PCAPNG_TAIL_BYTES)

struct block {
    uint32_t type;
    uint32_t size; /* with head and tail */
    uint32_t says; /* the size that the head states, and the tail must repeat */
    const uint8_t *body;
    uint32_t body_size;
};

/* Reads a block like a format_next_fn, but returns BLOCK_DONE if it holds no packet. */
typedef int block_fn(struct carry_capture *capture, const struct block *block,
                     struct carry_capture_packet *packet);

#define BLOCK_DONE 2

/*
 * Sets the resolution from if_tsresol: a power of 10, or of 2 if the top bit is set. Ignores values
 * for which ten seconds of ticks do not fit in 64 bits: see fraction_ns().
 */
static void set_resolution(struct interface *interface, uint8_t value) {
    unsigned exponent = value & 0x7f;
    if (value & 0x80) {
        if (exponent <= 60)
            interface->ticks_per_second = (uint64_t)1 << exponent;
        return;
    }
    if (exponent > 18)
        return;
    interface->ticks_per_second = 1;
    while (exponent--)
        interface->ticks_per_second *= 10;
}

struct option {
    uint16_t code, size;
    const uint8_t *value;
};

/* Reads the next option. Returns false at the end. An option that does not fit in the block ends
   the options; the block is used nevertheless. */
static bool next_option(const struct carry_capture *capture, const uint8_t **at, const uint8_t *end,
                        struct option *option) {
    if (end - *at < 4)
        return false;
    option->code = load16(*at, capture->swap);
    option->size = load16(*at + 2, capture->swap);
    option->value = *at + 4;
    if (option->code == PCAPNG_OPTION_END || option->size > end - option->value)
        return false;
    const size_t padded = (option->size + 3u) & ~3u, left = (size_t)(end - option->value);
    *at = option->value + (padded < left ? padded : left);
    return true;
}

static void set_option(const struct carry_capture *capture, struct interface *interface,
                       const struct option *option) {
    const uint8_t value = option->size == 1 ? *option->value : 0;
    if (option->code == PCAPNG_OPTION_TIME_RESOLUTION && option->size == 1)
        set_resolution(interface, value);
    /* The specification once said bits, but writers store bytes. An FCS has at most 7 bytes, so
       values from 8 on must be bits. */
    if (option->code == PCAPNG_OPTION_FCS_LENGTH && option->size == 1)
        interface->fcs = value <= PCAPNG_FCS_MAX ? value : value / 8;
    if (option->code == PCAPNG_OPTION_TIME_START && option->size == 8)
        interface->start = load64(option->value, capture->swap);
}

static void read_interface_options(const struct carry_capture *capture, struct interface *interface,
                                   const uint8_t *at, const uint8_t *end) {
    struct option option;
    while (next_option(capture, &at, end, &option))
        set_option(capture, interface, &option);
}

static struct interface *new_interface(struct pcapng *pcapng) {
    if (pcapng->count == pcapng->capacity) {
        uint32_t capacity = pcapng->capacity ? 2 * pcapng->capacity : 8;
        struct interface *grown = realloc(pcapng->interfaces, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        pcapng->interfaces = grown;
        pcapng->capacity = capacity;
    }
    return &pcapng->interfaces[pcapng->count++];
}

static int read_interface_block(struct carry_capture *capture, const struct block *block,
                                struct carry_capture_packet *packet) {
    (void)packet;
    if (capture->pcapng.count == PCAPNG_INTERFACES_MAX)
        return carry_format_damage(capture, "more than %u interfaces", PCAPNG_INTERFACES_MAX);
    struct interface *interface = new_interface(&capture->pcapng);
    if (!interface) {
        capture->input.error = ENOMEM;
        return carry_format_cut(capture, "interface block", block->size);
    }
    capture->pcapng.descriptions++;
    *interface = (struct interface){
        .linktype = load16(block->body, capture->swap),
        .snaplen = load32(block->body + 4, capture->swap),
        .ticks_per_second = 1000000,
    };
    read_interface_options(capture, interface, block->body + 8, block->body + block->body_size);
    return BLOCK_DONE;
}

#define NS_PER_SECOND UINT64_C(1000000000)

/* Converts ticks that are less than a second to nanoseconds, rounded down. */
static uint64_t fraction_ns(uint64_t ticks, uint64_t per_second) {
    if (per_second <= NS_PER_SECOND)
        return ticks * NS_PER_SECOND / per_second;
    uint64_t ns = 0;
    for (int digit = 0; digit < 9; digit++) {
        ns = 10 * ns + 10 * ticks / per_second;
        ticks = 10 * ticks % per_second;
    }
    return ns;
}

/* The last whole second that fits in 64 bits of nanoseconds is in the year 2554. */
#define SECONDS_MAX (UINT64_MAX / NS_PER_SECOND - 1)

/* Returns the time in nanoseconds since 1970; 0 (unknown) if it does not fit in 64 bits. */
static uint64_t time_ns(const struct interface *interface, uint64_t ticks) {
    const uint64_t per_second = interface->ticks_per_second;
    if (per_second == 1000000 && !interface->start && ticks <= UINT64_MAX / 1000)
        return ticks * 1000;
    const uint64_t seconds = interface->start + ticks / per_second; /* a negative start wraps */
    if (seconds > SECONDS_MAX)
        return 0;
    return seconds * NS_PER_SECOND + fraction_ns(ticks % per_second, per_second);
}

/* Completes the packet, whose bytes begin `header` bytes into the block's body. */
static int emit_packet(struct carry_capture *capture, const struct block *block, uint32_t header,
                       struct carry_capture_packet *packet) {
    if (packet->captured > block->body_size - header)
        return carry_format_damage(capture, "packet of %u bytes in a block of %u", packet->captured,
                                   block->size);
    packet->data = block->body + header;
    packet->offset = capture->record + PCAPNG_HEAD_BYTES + header;
    return CARRY_CAPTURE_PACKET;
}

static uint32_t flags_from_bits(uint32_t bits) {
    uint32_t flags = 0;
#define CARRY_PCAPNG_FLAG(bit, flag) flags |= bits >> bit & 1 ? CARRY_CAPTURE_PACKET_##flag : 0;
#include "pcapng_flags.def"
#undef CARRY_PCAPNG_FLAG
    const uint32_t both = CARRY_CAPTURE_PACKET_RECEIVED | CARRY_CAPTURE_PACKET_SENT;
    return (flags & both) == both ? flags & ~both : flags;
}

static void read_packet_options(struct carry_capture *capture, const struct block *block,
                                struct carry_capture_packet *packet) {
    const uint8_t *end = block->body + block->body_size;
    const size_t padded = ((size_t)packet->captured + 3) & ~(size_t)3;
    const uint8_t *at = packet->data + padded;
    struct option option;
    while (at < end && next_option(capture, &at, end, &option)) {
        if (option.code != PCAPNG_OPTION_FLAGS || option.size != PCAPNG_FLAGS_BYTES)
            continue;
        const uint32_t bits = load32(option.value, capture->swap);
        const uint32_t fcs = bits >> PCAPNG_FLAGS_FCS_SHIFT & PCAPNG_FLAGS_FCS_MASK;
        packet->flags = flags_from_bits(bits);
        capture->pcapng.flags = (uint8_t *)option.value;
        packet->fcs = fcs && fcs <= PCAPNG_FCS_MAX ? fcs : packet->fcs;
    }
}

static const struct interface *find_block_interface(struct carry_capture *capture,
                                                    uint32_t number) {
    const struct pcapng *pcapng = &capture->pcapng;
    if (number < pcapng->count)
        return &pcapng->interfaces[number];
    carry_format_damage(capture, "packet of interface %u, but %u are described", number,
                        pcapng->count);
    return NULL;
}

static int packet_block(struct carry_capture *capture, const struct block *block,
                        struct carry_capture_packet *packet) {
    /* In the old block, the interface number has 16 bits, and 16 bits with a count of drops
       follow. */
    bool old = block->type == PCAPNG_BLOCK_OLD_PACKET;
    uint32_t number = old ? load16(block->body, capture->swap) : load32(block->body, capture->swap);
    const struct interface *interface = find_block_interface(capture, number);
    if (!interface)
        return CARRY_ERROR_DAMAGED;
    uint64_t ticks = (uint64_t)load32(block->body + 4, capture->swap) << 32;
    *packet = (struct carry_capture_packet){
        .captured = load32(block->body + 12, capture->swap),
        .wire = load32(block->body + 16, capture->swap),
        .linktype = interface->linktype,
        .fcs = interface->fcs,
        .interface = number,
        .time_ns = time_ns(interface, ticks | load32(block->body + 8, capture->swap)),
    };
    const int result = emit_packet(capture, block, 20, packet);
    if (result == CARRY_CAPTURE_PACKET)
        read_packet_options(capture, block, packet);
    return result;
}

/* Reads a simple packet block. Its packet is of the first interface and has no timestamp; the
   interface's snap length limits its captured size. */
static int simple_packet_block(struct carry_capture *capture, const struct block *block,
                               struct carry_capture_packet *packet) {
    const struct interface *interface = find_block_interface(capture, 0);
    if (!interface)
        return CARRY_ERROR_DAMAGED;
    uint32_t wire = load32(block->body, capture->swap);
    *packet = (struct carry_capture_packet){
        .captured = interface->snaplen && interface->snaplen < wire ? interface->snaplen : wire,
        .wire = wire,
        .linktype = interface->linktype,
        .fcs = interface->fcs,
    };
    return emit_packet(capture, block, 4, packet);
}

/* The blocks that are read. Other blocks are skipped, and so is a section header after its first
   fields. */
static const struct block_kind {
    uint32_t type;
    uint32_t min_body;
    block_fn *use;
    bool leaves_out_padding; /* old writers such as ntar do not count the padding */
} kinds[] = {
    {PCAPNG_BLOCK_PACKET, 20, packet_block, false},
    {PCAPNG_BLOCK_SIMPLE_PACKET, 4, simple_packet_block, false},
    {PCAPNG_BLOCK_OLD_PACKET, 20, packet_block, true},
    {PCAPNG_BLOCK_INTERFACE, 8, read_interface_block, false},
    {PCAPNG_BLOCK_SECTION, 16, NULL, false},
};

static const struct block_kind *find_kind(uint32_t type) {
    static const struct block_kind skipped = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return &skipped;
}

static bool tail_agrees(struct carry_capture *capture, const struct block *block,
                        const uint8_t *tail) {
    uint32_t size = load32(tail, capture->swap);
    if (size != block->says)
        carry_format_damage(capture, "block of %u bytes says %u at its end", block->says, size);
    return size == block->says;
}

/* Skips a block of any size without holding it. */
static int skip_block(struct carry_capture *capture, const struct block *block) {
    struct input *input = &capture->input;
    const uint8_t *tail = NULL;
    if (carry_input_skip(input, block->size - PCAPNG_TAIL_BYTES))
        tail = carry_input_peek(input, PCAPNG_TAIL_BYTES);
    if (!tail)
        return carry_format_cut(capture, "block", block->size);
    if (!tail_agrees(capture, block, tail))
        return CARRY_ERROR_DAMAGED;
    input->at += PCAPNG_TAIL_BYTES;
    return BLOCK_DONE;
}

static int use_block(struct carry_capture *capture, struct block *block, block_fn *use,
                     struct carry_capture_packet *packet) {
    if (block->size > CARRY_CAPTURE_PACKET_MAX)
        return carry_format_damage(capture, "block claims %u bytes, above the limit of %u",
                                   block->size, CARRY_CAPTURE_PACKET_MAX);
    const uint8_t *bytes = carry_input_peek(&capture->input, block->size);
    if (!bytes)
        return carry_format_cut(capture, "block", block->size);
    block->body = bytes + PCAPNG_HEAD_BYTES;
    block->body_size = block->size - BLOCK_MIN_BYTES;
    if (!tail_agrees(capture, block, block->body + block->body_size))
        return CARRY_ERROR_DAMAGED;
    capture->input.at += block->size;
    return use(capture, block, packet);
}

/* Begins a section, which has its own byte order and interfaces. `magic` was loaded in the byte
   order of the previous section. Returns false if it is not the magic number. */
static bool begin_section(struct carry_capture *capture, uint32_t magic) {
    if (magic == __builtin_bswap32(PCAPNG_SECTION_MAGIC))
        capture->swap = !capture->swap;
    else if (magic != PCAPNG_SECTION_MAGIC)
        return false;
    capture->pcapng.count = 0;
    capture->pcapng.descriptions++;
    return true;
}

static int next_block(struct carry_capture *capture, struct carry_capture_packet *packet) {
    capture->record = carry_input_offset(&capture->input);
    const uint8_t *head = carry_input_peek(&capture->input, BLOCK_MIN_BYTES);
    if (!head)
        return carry_format_cut(capture, "block header", BLOCK_MIN_BYTES);
    struct block block = {.type = load32(head, capture->swap)};
    if (capture->is_part &&
        (block.type == PCAPNG_BLOCK_SECTION || block.type == PCAPNG_BLOCK_INTERFACE))
        return carry_format_end(capture, CARRY_CAPTURE_END, 0);
    if (block.type == PCAPNG_BLOCK_SECTION &&
        !begin_section(capture, load32(head + 8, capture->swap)))
        return carry_format_damage(capture, "section of unknown byte order: %02x %02x %02x %02x",
                                   head[8], head[9], head[10], head[11]);
    block.size = block.says = load32(head + 4, capture->swap);
    const struct block_kind *kind = find_kind(block.type);
    if (!kind->type && carry_magic_is_begin(head))
        return carry_format_second(capture);
    if (kind->leaves_out_padding)
        block.size = (block.says + 3) & ~3u;
    if (block.size % 4 || block.size < BLOCK_MIN_BYTES + kind->min_body)
        return carry_format_damage(capture, "block of type 0x%08x cannot have %u bytes", block.type,
                                   block.says);
    if (!kind->use)
        return skip_block(capture, &block);
    return use_block(capture, &block, kind->use, packet);
}

static int next_packet(struct carry_capture *capture, struct carry_capture_packet *packet) {
    int result;
    capture->pcapng.flags = NULL;
    do
        result = next_block(capture, packet);
    while (result == BLOCK_DONE);
    return result;
}

format_next_fn *carry_pcapng_recognise(struct carry_capture *capture, const uint8_t *magic) {
    return load32(magic, capture->swap) == PCAPNG_BLOCK_SECTION ? next_packet : NULL;
}

uint32_t carry_pcapng_bits_of(uint32_t flags) {
    uint32_t bits = 0;
#define CARRY_PCAPNG_FLAG(bit, flag) bits |= flags & CARRY_CAPTURE_PACKET_##flag ? 1u << bit : 0;
#include "pcapng_flags.def"
#undef CARRY_PCAPNG_FLAG
    return bits;
}

uint64_t carry_pcapng_clear_left(struct carry_capture *capture) {
    uint8_t *at = capture->pcapng.flags;
    const uint32_t bits =
        load32(at, capture->swap) & ~carry_pcapng_bits_of(CARRY_CAPTURE_PACKET_SUM_LEFT);
    const uint32_t stored = capture->swap ? __builtin_bswap32(bits) : bits;
    memcpy(at, &stored, sizeof stored);
    return carry_input_offset(&capture->input) - (uint64_t)(capture->input.at - at);
}

void carry_pcapng_close(struct carry_capture *capture) {
    free(capture->pcapng.interfaces);
}
