/* SPDX-License-Identifier: MIT */
/*
 * Mutates a capture by its structure: a header and records, only records, or blocks. An input
 * without such a structure is mutated by LLVMFuzzerMutate() only.
 */
#include <string.h>

#include "mutate.h"

#define RUNS_MAX 128

#define BLOCK_SECTION 0x0a0d0d0au
#define SECTION_MAGIC 0x1a2b3c4du

#define SNOOP_MAGIC   0x736e6f6fu
#define NETMON_MAGIC  0x474d4255u
#define YEAR_1995     788918400u
#define ERF_TYPE_LAST 29

enum format { FORMAT_NONE, FORMAT_PCAP, FORMAT_PCAPNG, FORMAT_SNOOP, FORMAT_ERF, FORMAT_NETMON };

/* By format: offset and width of a run's size, and of the link type in the file's header, in a
   pcapng block, or in an ERF record. */
static const struct place {
    unsigned size_at, size_width, link_at, link_width;
} places[] = {
    [FORMAT_PCAP] = {8, 4, 20, 4}, [FORMAT_PCAPNG] = {4, 4, 8, 2},  [FORMAT_SNOOP] = {8, 4, 12, 4},
    [FORMAT_ERF] = {10, 2, 8, 1},  [FORMAT_NETMON] = {12, 4, 6, 2},
};

/* The runs of bytes of a capture: a header and records, or pcapng's blocks. The table of Network
   Monitor is the last record. */
struct layout {
    enum format format;
    bool little;             /* little-endian; pcapng: as the first section is, used for all
                                sections */
    unsigned first, head;    /* pcap, Network Monitor: size of the file's header; bytes of a record
                                that its size does not count */
    size_t starts[RUNS_MAX]; /* start of each run, and the end of the last */
    size_t count;
};

/* Variants of pcap, by the number at the start of the file. */
static const struct {
    uint32_t magic;
    unsigned first, head;
} variants[] = {{0xa1b2c3d4, 24, 16},
                {0xa1b23c4d, 24, 16},
                {0xa1b2cd34, 24, 24},
                {0x1c0001ab, 28, 16},
                {0x1c0001ac, 28, 16}};

#define VARIANT_COUNT (sizeof variants / sizeof *variants)

static bool is_section(const struct edit *edit, size_t at) {
    return edit_get(edit, at, 4, true) == BLOCK_SECTION;
}

static void set_netmon(const struct edit *edit, struct layout *layout) {
    static const unsigned trailers[] = {0, 2, 6, 15};
    layout->format = FORMAT_NETMON;
    layout->little = true;
    layout->first = 128;
    layout->head = 16 + trailers[edit_get(edit, 4, 1, true) & 3];
}

static void find_format(const struct edit *edit, struct layout *layout) {
    layout->format = is_section(edit, 0) ? FORMAT_PCAPNG : FORMAT_NONE;
    layout->little = edit_get(edit, 8, 4, true) == SECTION_MAGIC;
    layout->first = layout->head = 0;
    for (unsigned i = 0; i < 2 * VARIANT_COUNT; i++)
        if (edit_get(edit, 0, 4, i & 1) == variants[i / 2].magic) {
            layout->format = FORMAT_PCAP;
            layout->little = i & 1;
            layout->first = variants[i / 2].first;
            layout->head = variants[i / 2].head;
        }
    if (edit_get(edit, 0, 4, false) == SNOOP_MAGIC)
        layout->format = FORMAT_SNOOP;
    else if (edit_get(edit, 0, 4, false) == NETMON_MAGIC)
        set_netmon(edit, layout);
    else if (!layout->format && edit_get(edit, 4, 4, true) >= YEAR_1995 &&
             (edit_get(edit, 8, 1, true) & 0x7f) <= ERF_TYPE_LAST)
        layout->format = FORMAT_ERF;
}

/* Returns the size of a run as its numbers claim, right or wrong. */
static size_t claimed_size(const struct edit *edit, const struct layout *layout, size_t at) {
    const struct place *place = &places[layout->format];
    if (!at && layout->first)
        return layout->first;
    if (!at && layout->format == FORMAT_SNOOP)
        return 16;
    return edit_get(edit, at + place->size_at, place->size_width, layout->little) + layout->head;
}

/* Divides the input into runs. A run whose size is below 12 or exceeds the input ends with the
   input, as does the last run that the layout has room for. */
static struct layout capture_layout(const struct edit *edit) {
    struct layout layout = {0};
    find_format(edit, &layout);
    for (size_t at = 0; layout.format && at < edit->size && layout.count < RUNS_MAX - 2;) {
        size_t size = claimed_size(edit, &layout, at);
        layout.starts[layout.count++] = at;
        if (size < 12 || size > edit->size - at)
            break;
        at += size;
    }
    layout.starts[layout.count] = edit->size;
    return layout;
}

static size_t run_size(const struct layout *layout, size_t run) {
    return layout->starts[run + 1] - layout->starts[run];
}

/* --- Changes: each gets a capture of at least one run --- */

typedef void change_fn(struct edit *edit, const struct layout *layout, size_t run);

/* Changes a number near the start of a run, where its fields are. */
static void change_run_number(struct edit *edit, const struct layout *layout, size_t run) {
    static const unsigned widths[] = {4, 4, 4, 2};
    unsigned width = widths[edit_random(edit, 4)];
    size_t at = layout->starts[run] + width * edit_random(edit, 32 / width);
    size_t rest = edit_random(edit, 2) ? run_size(layout, run) : edit->size - at;
    edit_number(edit, at, width, layout->little, (uint32_t)rest);
}

/* Sets a size to one of the reader's limits, or to one more or less. */
static void change_size(struct edit *edit, const struct layout *layout, size_t run) {
    static const uint32_t sizes[] = {12, 16, 20, 24, 28, 32, 16u << 20, 0xfffffff0};
    const struct place *place = &places[layout->format];
    uint32_t size = sizes[edit_random(edit, 8)] + (uint32_t)edit_random(edit, 3) - 1;
    edit_put(edit, layout->starts[run] + place->size_at, place->size_width, layout->little, size);
}

static void repeat_run(struct edit *edit, const struct layout *layout, size_t run) {
    size_t before = edit_random(edit, layout->count + 1);
    edit_repeat(edit, layout->starts[before], layout->starts[run], run_size(layout, run));
}

static void remove_run(struct edit *edit, const struct layout *layout, size_t run) {
    edit_replace(edit, layout->starts[run], run_size(layout, run), NULL, 0);
}

static void cut_capture(struct edit *edit, const struct layout *layout, size_t run) {
    size_t size = layout->starts[run] + edit_random(edit, 32);
    if (size < edit->size)
        edit->size = size;
}

static void change_run(struct edit *edit, const struct layout *layout, size_t run) {
    edit_any(edit, layout->starts[run], run_size(layout, run));
}

static void change_all(struct edit *edit, const struct layout *layout, size_t run) {
    (void)layout, (void)run;
    edit_any(edit, 0, edit->size);
}

/* Reverses the four bytes of a number. */
static void reverse_number(struct edit *edit, size_t at) {
    edit_put(edit, at, 4, true, edit_get(edit, at, 4, false));
}

/* Selects the other byte order and any variant, for a whole pcap file or for its header only. */
static void change_order(struct edit *edit, const struct layout *layout, size_t run) {
    if (layout->format != FORMAT_PCAP)
        return;
    edit_put(edit, 0, 4, layout->little, variants[edit_random(edit, VARIANT_COUNT)].magic);
    for (size_t at = 0; at < 24; at += 4)
        reverse_number(edit, at);
    for (size_t i = 1; run % 2 && i < layout->count; i++)
        for (size_t at = 0; at < 16; at += 4)
            reverse_number(edit, layout->starts[i] + at);
}

/* Sets a link type; some values also set the bits that hold the FCS length in pcap, or bits next to
   them. In ERF, sets the type of a record. */
static void change_link_type(struct edit *edit, const struct layout *layout, size_t run) {
    static const uint32_t links[] = {0, 1, 101, 113, 276, 0x24000001, 0xf4000001, 0x0c000065};
    const bool of_file = layout->format != FORMAT_PCAPNG && layout->format != FORMAT_ERF;
    const struct place *place = &places[layout->format];
    size_t at = of_file ? 0 : layout->starts[run];
    edit_put(edit, at + place->link_at, place->link_width, layout->little,
             links[edit_random(edit, 8)]);
}

/* --- Blocks and options of pcapng --- */

/* Sets both sizes of a block to its new size. */
static void set_block_size(struct edit *edit, const struct layout *layout, size_t at, size_t size) {
    edit_put(edit, at + 4, 4, layout->little, (uint32_t)size);
    edit_put(edit, at + size - 4, 4, layout->little, (uint32_t)size);
}

/* Inserts an option at the end of a block, or at offset 16: there the options of an interface
   block start. */
static void insert_option(struct edit *edit, const struct layout *layout, size_t run) {
    static const uint16_t codes[] = {0, 1, 2, 9, 13, 14, 0x0bad, 0xffff};
    size_t start = layout->starts[run], size = run_size(layout, run),
           length = edit_random(edit, 10);
    size_t padded = (length + 3) / 4 * 4;
    uint8_t option[4 + 12] = {0};
    struct edit made = {.bytes = option, .size = sizeof option, .random = edit->random};
    edit_put(&made, 0, 2, layout->little, codes[edit_random(edit, 8)]);
    edit_put(&made, 2, 2, layout->little, (uint32_t)length);
    for (size_t i = 0; i < length; i++)
        option[4 + i] = (uint8_t)edit_random(&made, 256);
    size_t at = edit_random(edit, 2) && size >= 20 ? 16 : size - 4;
    if (layout->format == FORMAT_PCAPNG && size >= 12 &&
        edit_replace(edit, start + at, 0, option, 4 + padded))
        set_block_size(edit, layout, start, size + 4 + padded);
}

/*
 * Inserts a block of some type, with a body like the body of a packet block: the number of an
 * interface (or a link type), a time of 0, and some bytes of 0. A section block may have the other
 * byte order.
 */
static void insert_block(struct edit *edit, const struct layout *layout, size_t run) {
    static const uint32_t types[] = {1, 2, 3, 4, 5, 6, 6, BLOCK_SECTION, 0xbad, 0x80000000};
    uint8_t block[64] = {0};
    struct edit made = {.bytes = block, .size = 12 + 4 * edit_random(edit, 14)};
    uint32_t type = types[edit_random(edit, sizeof types / sizeof *types)];
    bool little = layout->little ^ (type == BLOCK_SECTION && edit_random(edit, 2));
    const struct layout order = {.little = little};
    edit_put(&made, 0, 4, little, type);
    if (type == BLOCK_SECTION)
        edit_put(&made, 8, 4, little, SECTION_MAGIC);
    else
        edit_put(&made, 8, type == 6 ? 4 : 2, little, (uint32_t)edit_random(edit, 3));
    if (made.size > 32)
        edit_put(&made, 20, 4, little, (uint32_t)(made.size - 32));
    set_block_size(&made, &order, 0, made.size);
    if (layout->format == FORMAT_PCAPNG)
        edit_replace(edit, layout->starts[run + 1], 0, block, made.size);
}

/* Sets an entry of the table of Network Monitor to the start of a frame, or near it. */
static void change_table(struct edit *edit, const struct layout *layout, size_t run) {
    const size_t at = edit_get(edit, 24, 4, true) + 4 * edit_random(edit, layout->count);
    if (layout->format == FORMAT_NETMON && at + 4 <= edit->size)
        edit_put(edit, at, 4, true, (uint32_t)(layout->starts[run] + edit_random(edit, 3)));
}

static change_fn *const all_changes[] = {
    change_run_number, change_size,  repeat_run,       remove_run,    cut_capture,
    change_run,        change_all,   change_link_type, insert_option, insert_block,
    change_run_number, insert_block, insert_option,    change_order,  change_table,
};

static void change_capture(struct edit *edit) {
    const struct layout layout = capture_layout(edit);
    size_t index = edit_random(edit, sizeof all_changes / sizeof *all_changes);
    if (layout.count)
        all_changes[index](edit, &layout, edit_random(edit, layout.count));
    else
        edit_any(edit, 0, edit->size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static edit_fn *const changes[] = {change_capture};
    struct edit edit = {.bytes = data, .size = size, .max = max, .random = seed};
    edit_some(&edit, changes, 1);
    return edit.size;
}

/* Inserts runs of one capture between the runs of another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max, unsigned seed) {
    struct edit edit = {.bytes = out, .size = a_size, .max = max, .random = seed};
    const struct edit other = {.bytes = (uint8_t *)b, .size = b_size};
    if (a_size > max)
        return 0;
    memcpy(out, a, a_size);
    const struct layout to = capture_layout(&edit), from = capture_layout(&other);
    if (!to.count || !from.count)
        return 0;
    size_t first = edit_random(&edit, from.count);
    size_t behind = first + 1 + edit_random(&edit, from.count - first);
    size_t start = from.starts[first];
    edit_replace(&edit, to.starts[edit_random(&edit, to.count + 1)], 0, b + start,
                 from.starts[behind] - start);
    return edit.size;
}
