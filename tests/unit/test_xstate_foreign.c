/* SPDX-License-Identifier: MIT */
/* Tests `xstate`: images as systems provide them, of all machines, on any machine. */
#include <string.h>

#include <carry/image.h>

#include "harness/effort.h"
#include "harness/guard.h"
#include "harness/images.h"
#include "harness/machines.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define REFUSED(name)  CARRY_XSTATE_REFUSED_##name
#define NOTE_BYTES_MAX 512

/* The data of a system: a register set, a frame, or a register set with a note. */
struct source {
    const char *name;
    uint8_t *image, *note; /* each ends at the end of its memory */
    size_t size, note_size;
};

static struct guard images, notes;

/* The result of carry_xstate_layout(), which is replaced (--wrap): the machine of the library. */
static struct carry_xstate_layout own_layout;
void __wrap_carry_xstate_layout(struct carry_xstate_layout *layout);

void __wrap_carry_xstate_layout(struct carry_xstate_layout *layout) {
    *layout = own_layout;
}

static enum carry_xstate_refusal read_source(const struct source *source,
                                             struct carry_xstate_layout *layout) {
    memset(layout, 0xa5, sizeof *layout);
    if (*source->name == 'r')
        return carry_xstate_from_regset(source->image, source->size, layout);
    if (*source->name == 'f')
        return carry_xstate_from_frame(source->image, source->size, layout);
    return carry_xstate_from_core(source->image, source->size, source->note, source->note_size,
                                  layout);
}

static struct source source_of(const char *name, const struct carry_xstate_layout *layout,
                               uint64_t in_use) {
    static uint8_t image[IMAGE_BYTES_MAX + 4], note[NOTE_BYTES_MAX];
    struct source source = {.name = name};
    source.size = *name == 'f' ? image_make_frame(image, layout, in_use)
                               : image_make(image, layout, 0, in_use);
    source.note_size = image_make_note(note, layout);
    source.image = memcpy(images.end - source.size, image, source.size);
    source.note = memcpy(notes.end - source.note_size, note, source.note_size);
    return source;
}

static const char *const names[] = {"regset", "frame", "core"};

#define SOURCES (sizeof names / sizeof *names)

/* --- Valid images --- */

static bool same_layout(const struct carry_xstate_layout *a, const struct carry_xstate_layout *b) {
    bool same = a->user == b->user && a->standard_size == b->standard_size &&
                a->mxcsr_mask == b->mxcsr_mask;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (a->user >> i & 1)
            same &=
                a->parts[i].size == b->parts[i].size && a->parts[i].offset == b->parts[i].offset;
    return same;
}

static void test_machine(const struct machine *machine, const char *name) {
    uint64_t all = machine->layout.user ? machine->layout.user : 3;
    struct source source = source_of(name, &machine->layout, all);
    struct carry_xstate_layout layout;
    enum carry_xstate_refusal refusal = read_source(&source, &layout);
    if (*name == 'c' && !source.note_size) {
        tap_ok(TAP_EQ(refusal, REFUSED(SHORT)), "%s of %s: it does not exist", name, machine->name);
        return;
    }
    tap_ok(TAP_EQ(refusal, 0) && TAP_TRUE(same_layout(&layout, &machine->layout)) &&
               TAP_TRUE(!layout.supervisor),
           "%s of %s: %s", name, machine->name, carry_xstate_refusal_description(refusal));
    tap_ok(TAP_EQ(carry_xstate_image_in_use(&layout, source.image), all),
           "%s of %s: all are in use", name, machine->name);
}

/* Linux hides TILEDATA from threads that have not requested it, and omits it from the frame. */
static void test_hidden_tiles(const struct machine *machine) {
    struct carry_xstate_layout less = machine->layout, layout;
    less.user &= ~CARRY_XSTATE_BIT(TILEDATA);
    less.standard_size = 2816;
    struct source source = source_of("frame", &less, less.user);
    tap_ok(TAP_EQ(read_source(&source, &layout), 0) && TAP_TRUE(same_layout(&layout, &less)),
           "frame of %s, tiles not requested", machine->name);
}

/* Tests images of CPUs with XSAVE but without AVX: nothing follows the header. */
static void test_no_vectors(const struct machine *machine, const char *name) {
    struct carry_xstate_layout less = machine->layout, layout;
    less.user = CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE);
    less.standard_size = CARRY_XSTATE_EXTENDED;
    struct source source = source_of(name, &less, less.user);
    tap_ok(TAP_EQ(read_source(&source, &layout), 0) && TAP_TRUE(same_layout(&layout, &less)),
           "%s without vectors", name);
}

/* Tests offsets that no table contains: only a note, or the machine itself, can provide them. */
static void test_unknown_machine(const struct machine *machine) {
    struct carry_xstate_layout other = machine->layout, layout;
    other.parts[CARRY_XSTATE_PKRU].offset = 2496;
    other.standard_size = 2504;
    struct source source = source_of("regset", &other, other.user);
    tap_ok(TAP_EQ(read_source(&source, &layout), REFUSED(MACHINE)), "regset of an unknown machine");
    own_layout = other;
    tap_ok(TAP_EQ(read_source(&source, &layout), 0) && TAP_TRUE(same_layout(&layout, &other)),
           "regset of the machine itself, in no table");
    own_layout = (struct carry_xstate_layout){0};
    source.name = "core";
    tap_ok(TAP_EQ(read_source(&source, &layout), 0) && TAP_TRUE(same_layout(&layout, &other)),
           "core of an unknown machine");
}

/* Tests a component without a name: it is ignored while it is not in use, otherwise refused. */
static void test_nameless(const struct machine *machine) {
    struct carry_xstate_layout layout;
    struct source source = source_of("core", &machine->layout, 7);
    image_put(source.image, IMAGE_SOFTWARE, 8, machine->layout.user | UINT64_C(1) << 40);
    source.note -= 16;
    source.note_size += 16;
    memset(source.note, 0, 16);
    image_put(source.note, 0, 4, 40);
    tap_ok(TAP_EQ(read_source(&source, &layout), 0) &&
               TAP_TRUE(same_layout(&layout, &machine->layout)),
           "core with a component that has no name");
    image_put(source.image, IMAGE_XSTATE_BV, 8, UINT64_C(1) << 40);
    tap_ok(TAP_EQ(read_source(&source, &layout), REFUSED(XSTATE_BV)),
           "core with a component without a name in use");
    image_put(source.image, IMAGE_SOFTWARE, 8, UINT64_C(1) << 40);
    tap_ok(TAP_EQ(read_source(&source, &layout), REFUSED(LAYOUT_XCR0)),
           "core with only that component in XCR0");
}

/* --- Refusals --- */

/* Keeps the first `size` bytes, and moves them up to the inaccessible page. */
static void keep_first_bytes(struct source *source, size_t size) {
    source->image = memmove(source->image + source->size - size, source->image, size);
    source->size = size;
}

static void cut_source(struct source *source) {
    keep_first_bytes(source, source->size - 1);
}
static void cut_to_header(struct source *source) {
    keep_first_bytes(source, 575);
}
static void cut_to_legacy(struct source *source) {
    keep_first_bytes(source, 511);
}
static void no_xcr0(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE, 8, 0);
}
static void no_x87(struct source *source) {
    source->image[IMAGE_SOFTWARE] ^= 1;
}
static void other_xcr0(struct source *source) {
    source->image[IMAGE_SOFTWARE] ^= 0xe0;
}
static void more_xcr0(struct source *source) {
    source->image[IMAGE_SOFTWARE + 7] = 0x40;
}
static void set_reserved(struct source *source) {
    source->image[IMAGE_RESERVED + 30] = 1;
}
static void make_compact(struct source *source) {
    source->image[IMAGE_XCOMP_BV + 7] = 0x80;
}
static void beyond_xcr0(struct source *source) {
    source->image[IMAGE_XSTATE_BV] |= 8;
}
static void set_mxcsr_bits(struct source *source) {
    source->image[IMAGE_MXCSR + 3] = 0x80;
}
static void longer_note(struct source *source) {
    source->note--;
    source->note_size++;
}
static void no_note(struct source *source) {
    source->note += source->note_size;
    source->note_size = 0;
}
static void note_of_sse(struct source *source) {
    image_put(source->note, 0, 4, 1);
}
static void note_of_63(struct source *source) {
    image_put(source->note, 0, 4, 63);
}
static void note_of_many(struct source *source) {
    image_put(source->note, 0, 4, UINT32_MAX);
}
static void note_twice(struct source *source) {
    memcpy(source->note, source->note + 16, 16);
}
static void note_lacks(struct source *source) {
    source->note += 16;
    source->note_size -= 16;
}
static void note_offset(struct source *source) {
    image_put(source->note, 8, 4, 512);
}
static void note_size(struct source *source) {
    image_put(source->note, 4, 4, UINT32_MAX);
}
static void note_overlap(struct source *source) {
    image_put(source->note, 8, 4, image_get(source->note, 24, 4));
}
static void magic1(struct source *source) {
    source->image[IMAGE_SOFTWARE + 3] ^= 1;
}
static void frame_size(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE + 16, 4, 575);
}
static void extended_size(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE + 4, 4, source->size - 1);
}
static void far_sizes(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE + 4, 4, UINT32_MAX);
    image_put(source->image, IMAGE_SOFTWARE + 16, 4, UINT32_MAX - 4);
}
static void frame_sizes_wrap(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE + 4, 4, 3);
    image_put(source->image, IMAGE_SOFTWARE + 16, 4, UINT32_MAX);
}
static void magic2(struct source *source) {
    source->image[source->size - 1] ^= 1;
}
static void no_xfeatures(struct source *source) {
    image_put(source->image, IMAGE_SOFTWARE + 8, 8, 0);
}
static const struct {
    enum carry_xstate_refusal refusal;
    const char *names; /* the first letters of the sources to mutate */
    void (*mutate)(struct source *source);
} mutations[] = {
    {REFUSED(SHORT), "rfc", cut_to_legacy},
    {REFUSED(SHORT), "rc", cut_to_header},
    {REFUSED(MACHINE), "r", cut_source},
    {REFUSED(LAYOUT_BEYOND), "c", cut_source},
    {REFUSED(FRAME_CUT), "f", cut_source},
    {REFUSED(FRAME_CUT), "f", cut_to_header},
    {REFUSED(FRAME_CUT), "f", far_sizes},
    {REFUSED(FRAME_EXTENDED_SIZE), "f", frame_sizes_wrap},
    {REFUSED(LAYOUT_XCR0), "rc", no_xcr0},
    {REFUSED(LAYOUT_XCR0), "rc", no_x87},
    {REFUSED(LAYOUT_XCR0), "f", no_xfeatures},
    {REFUSED(XSTATE_BV), "rc", other_xcr0},
    {REFUSED(MACHINE), "r", more_xcr0},
    {REFUSED(NOTE_LACKS), "c", more_xcr0},
    {REFUSED(RESERVED), "rfc", set_reserved},
    {REFUSED(NO_COMPACT), "rfc", make_compact},
    {REFUSED(XSTATE_BV), "rfc", beyond_xcr0},
    {REFUSED(MXCSR), "rfc", set_mxcsr_bits},
    {REFUSED(NOTE_SIZE), "c", longer_note},
    {REFUSED(NOTE_SIZE), "c", no_note},
    {REFUSED(NOTE_TYPE), "c", note_of_sse},
    {REFUSED(NOTE_TYPE), "c", note_of_63},
    {REFUSED(NOTE_TYPE), "c", note_of_many},
    {REFUSED(NOTE_TWICE), "c", note_twice},
    {REFUSED(NOTE_LACKS), "c", note_lacks},
    {REFUSED(LAYOUT_OFFSET), "c", note_offset},
    {REFUSED(LAYOUT_BEYOND), "c", note_size},
    {REFUSED(LAYOUT_OVERLAP), "c", note_overlap},
    {REFUSED(FRAME_MAGIC1), "f", magic1},
    {REFUSED(FRAME_SIZE), "f", frame_size},
    {REFUSED(FRAME_EXTENDED_SIZE), "f", extended_size},
    {REFUSED(FRAME_MAGIC2), "f", magic2},
};

#define SAPPHIRE_RAPIDS 6

static void test_refusals(const char *name) {
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
        if (!strchr(mutations[i].names, *name))
            continue;
        const struct carry_xstate_layout *layout = &machine_at(SAPPHIRE_RAPIDS)->layout;
        struct source source = source_of(name, layout, layout->user);
        struct carry_xstate_layout found;
        mutations[i].mutate(&source);
        enum carry_xstate_refusal got = read_source(&source, &found);
        tap_ok(TAP_EQ(got, mutations[i].refusal), "%s: %s (%s)", name,
               carry_xstate_refusal_name(got), carry_xstate_refusal_description(got));
    }
}

/* --- Random images --- */

static void spoil_bytes(uint8_t *bytes, size_t size, size_t from, size_t length) {
    for (size_t times = rng_below(4); times--;) {
        size_t at = from + rng_below(length);
        if (at < size)
            bytes[at] ^= (uint8_t)(1 << rng_below(8));
    }
}

/* Tries randomly changed data: no byte outside is read, and accepted data are an image of the
   layout that was found. */
static bool try_random(const struct machine *machine, const char *name) {
    struct source source = source_of(name, &machine->layout, machine->layout.user & rng_next());
    spoil_bytes(source.image, source.size, IMAGE_SOFTWARE, 24);
    spoil_bytes(source.image, source.size, IMAGE_XSTATE_BV, 64);
    if (source.note_size)
        spoil_bytes(source.note, source.note_size, 0, source.note_size);
    if (!rng_below(4))
        keep_first_bytes(&source, rng_below(source.size + 1));
    struct carry_xstate_layout layout;
    if (read_source(&source, &layout))
        return true;
    size_t size = layout.user ? layout.standard_size : CARRY_XSTATE_LEGACY;
    return size <= source.size && !image_faults(&layout, source.image) &&
           !carry_xstate_check(&layout, source.image, size);
}

static void test_random(const struct effort *effort, const char *name) {
    bool ok = true;
    rng_restart();
    for (size_t i = 0; ok && i < effort->rounds; i++)
        ok = try_random(machine_at(i % MACHINES), name);
    tap_ok(ok, "%s: random images are refused or valid", name);
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    images = guard_open(IMAGE_BYTES_MAX);
    notes = guard_open(NOTE_BYTES_MAX);
    for (size_t s = 0; s < SOURCES; s++) {
        for (size_t i = 0; i < MACHINES; i++)
            test_machine(machine_at(i), names[s]);
        test_refusals(names[s]);
        test_random(effort, names[s]);
    }
    test_no_vectors(machine_at(MACHINES - 1), "regset");
    test_no_vectors(machine_at(MACHINES - 1), "frame");
    test_hidden_tiles(machine_at(SAPPHIRE_RAPIDS));
    test_unknown_machine(machine_at(MACHINES - 1));
    test_nameless(machine_at(MACHINES - 1));
    return tap_done();
}
