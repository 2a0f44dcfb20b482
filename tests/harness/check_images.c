/* SPDX-License-Identifier: MIT */
#include "harness/check_images.h"

#include <string.h>

#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/images.h"
#include "harness/machines.h"
#include "harness/rng.h"

#define BIT(name)       CARRY_XSTATE_BIT(name)
#define REFUSED(name)   CARRY_XSTATE_REFUSED_##name
#define MXCSR_RESERVED  (UINT32_C(1) << 31)
#define DEFAULT_PATTERN 0xa5

/* A running check: the checked functions, and their memory. */
struct trial {
    initial_fn *initial;
    image_check_fn *check;
    convert_fn *convert;
    const struct effort *effort;
    struct guard source, target;
    struct verdict verdict;
};

static struct verdict run_images_trial(struct trial trial, void (*body)(void *)) {
    struct fault fault;
    trial.verdict.ok = true;
    trial.source = guard_open(IMAGE_BYTES_MAX);
    trial.target = guard_open(IMAGE_BYTES_MAX);
    rng_restart();
    if (!fault_catch(body, &trial, &fault))
        verdict_fail(&trial.verdict, "touches what it must not: %s", fault.name);
    guard_close(&trial.source);
    guard_close(&trial.target);
    return trial.verdict;
}

static bool fail_on_machine(struct trial *trial, const struct machine *machine, const char *what) {
    return verdict_fail(&trial->verdict, "%s: %s", machine->name, what);
}

static bool has_compact(const struct machine *machine) {
    return machine->layout.xsavec;
}

/* Returns the XCOMP_BV of an image in `form` with the components of `mask`: 0 in the standard form,
   and what XSAVEC writes in the compact form. */
static uint64_t xcomp_bv_for(const struct carry_xstate_layout *layout, uint64_t mask,
                             enum carry_xstate_form form) {
    return form == CARRY_XSTATE_COMPACT ? IMAGE_COMPACT | (mask & layout->user) : 0;
}

static uint64_t all_components(const struct carry_xstate_layout *layout) {
    return layout->user ? layout->user : BIT(X87) | BIT(SSE);
}

/* --- Initial images --- */

static bool all_bytes_are(const uint8_t *bytes, size_t size, uint8_t value) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static bool judge_initial(struct trial *trial, const struct machine *machine, uint8_t *image,
                          size_t size, uint64_t xcomp_bv) {
    const struct carry_xstate_layout *layout = &machine->layout;
    if (image_get(image, IMAGE_FCW, 2) != 0x37f)
        return fail_on_machine(trial, machine, "FCW is not that of a new process");
    if (image_get(image, IMAGE_MXCSR, 4) != 0x1f80)
        return fail_on_machine(trial, machine, "MXCSR is not that of a new process");
    if (layout->user && image_get(image, IMAGE_XSTATE_BV, 8))
        return fail_on_machine(trial, machine, "XSTATE_BV names components");
    if (layout->user && image_get(image, IMAGE_XCOMP_BV, 8) != xcomp_bv)
        return fail_on_machine(trial, machine, "XCOMP_BV is not as XSAVEC writes it");
    image_put(image, IMAGE_FCW, 2, 0);
    image_put(image, IMAGE_MXCSR, 4, 0);
    image_put(image, IMAGE_MXCSR_MASK, 4, 0);
    if (layout->user)
        image_put(image, IMAGE_XCOMP_BV, 8, 0);
    return all_bytes_are(image, size, 0) ||
           fail_on_machine(trial, machine, "other bytes are not zero");
}

static bool try_initial(struct trial *trial, const struct machine *machine, uint64_t mask,
                        enum carry_xstate_form form) {
    const struct carry_xstate_layout *layout = &machine->layout;
    uint64_t xcomp_bv = xcomp_bv_for(layout, mask, form);
    struct carry_xstate_layout part = *layout;
    part.user &= mask | BIT(X87) | BIT(SSE);
    size_t size = image_size(&part, xcomp_bv);
    uint8_t *image = trial->target.end - size;
    memset(trial->target.start, DEFAULT_PATTERN, IMAGE_BYTES_MAX);
    if (trial->initial(layout, mask, form, image + 1, size - 1) != CARRY_ERROR_SIZE)
        return fail_on_machine(trial, machine, "a buffer that is too small is not refused");
    if (!all_bytes_are(image, size, DEFAULT_PATTERN))
        return fail_on_machine(trial, machine, "a buffer that is too small is written to");
    if (trial->initial(layout, mask, form, image, size))
        return fail_on_machine(trial, machine, "is refused an initial image");
    if (image_faults(layout, image))
        return fail_on_machine(trial, machine, "XRSTOR faults on the initial image");
    if (!all_bytes_are(trial->target.start, IMAGE_BYTES_MAX - size, DEFAULT_PATTERN))
        return fail_on_machine(trial, machine, "bytes before the image are written to");
    return judge_initial(trial, machine, image, size, xcomp_bv);
}

/* Checks that the header of an area is zero: areas contain a header on every CPU. */
static bool try_initial_area(struct trial *trial, const struct machine *machine) {
    uint8_t area[CARRY_XSTATE_EXTENDED];
    memset(area, DEFAULT_PATTERN, sizeof area);
    trial->initial(&machine->layout, 0, CARRY_XSTATE_STANDARD, area, sizeof area);
    return all_bytes_are(area + CARRY_XSTATE_LEGACY, 64, 0) ||
           fail_on_machine(trial, machine, "the header of an area is not zero");
}

static void try_initials(void *argument) {
    struct trial *trial = argument;
    const struct machine *machine;
    for (size_t i = 0; (machine = machine_at(i)); i++) {
        const uint64_t all = all_components(&machine->layout);
        const uint64_t masks[] = {UINT64_MAX, all, 0, all & 3, all & ~BIT(TILEDATA) & ~BIT(PKRU)};
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
            if (!try_initial(trial, machine, masks[m], CARRY_XSTATE_STANDARD) ||
                (has_compact(machine) &&
                 !try_initial(trial, machine, masks[m], CARRY_XSTATE_COMPACT)))
                return;
        uint8_t image[IMAGE_BYTES_MAX];
        int error =
            trial->initial(&machine->layout, all, CARRY_XSTATE_COMPACT, image, sizeof image);
        if (error != (has_compact(machine) ? CARRY_OK : CARRY_ERROR_UNSUPPORTED)) {
            fail_on_machine(trial, machine, "wrongly has, or lacks, a compact form");
            return;
        }
        if (!try_initial_area(trial, machine))
            return;
    }
}

struct verdict check_initial(initial_fn *initial) {
    return run_images_trial((struct trial){.initial = initial}, try_initials);
}

/* --- Refusals --- */

/* An image and the layout of its machine, which mutations change. */
struct victim {
    struct carry_xstate_layout layout;
    uint8_t *image; /* at the end of its memory */
    size_t size;
};

static void flip_bit(struct victim *victim, size_t at, unsigned bit) {
    victim->image[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static struct carry_xstate_part *avx(struct victim *victim) {
    return &victim->layout.parts[CARRY_XSTATE_AVX];
}

static void use_nameless(struct victim *v) {
    v->layout.user |= UINT64_C(1) << CARRY_XSTATE_COMPONENTS;
}
static void nameless_62(struct victim *v) {
    v->layout.user |= UINT64_C(1) << 62;
}
static void no_x87(struct victim *v) {
    v->layout.user &= ~BIT(X87);
}
static void avx_alone(struct victim *v) {
    v->layout.user &= ~BIT(SSE);
}
static void half_avx512(struct victim *v) {
    v->layout.user &= ~BIT(HI16_ZMM);
}
static void avx512_alone(struct victim *v) {
    v->layout.user &= ~BIT(AVX);
}
static void half_mpx(struct victim *v) {
    v->layout.user |= BIT(BNDREGS);
}
static void tiles_without_shapes(struct victim *v) {
    v->layout.user &= ~BIT(TILECFG);
}
static void both_states(struct victim *v) {
    v->layout.supervisor |= BIT(AVX);
}
static void no_size(struct victim *v) {
    avx(v)->size = 0;
}
static void cut_pkru(struct victim *v) {
    v->layout.parts[CARRY_XSTATE_PKRU].size = 3;
}
static void in_header(struct victim *v) {
    avx(v)->offset = 512;
}
static void at_zero(struct victim *v) {
    avx(v)->offset = 0;
}
static void place_unaligned(struct victim *v) {
    avx(v)->offset += 4;
}
static void place_beyond(struct victim *v) {
    v->layout.standard_size -= 8;
}
static void far_beyond(struct victim *v) {
    avx(v)->offset = UINT32_MAX - 7;
}
static void place_overlapping(struct victim *v) {
    avx(v)->size += 8192 - 256;
    v->layout.parts[CARRY_XSTATE_TILEDATA].size -= 8;
}
static void same_place(struct victim *v) {
    v->layout.parts[CARRY_XSTATE_PKRU].offset = avx(v)->offset + 8;
}
static void cut_header(struct victim *v) {
    v->image += v->size - 575;
    v->size = 575;
}
static void cut_legacy(struct victim *v) {
    v->image += v->size - 511;
    v->size = 511;
}
static void cut_all(struct victim *v) {
    v->image += v->size;
    v->size = 0;
}
static void reserved_first(struct victim *v) {
    flip_bit(v, IMAGE_RESERVED, 0);
}
static void reserved_last(struct victim *v) {
    flip_bit(v, CARRY_XSTATE_EXTENDED - 1, 7);
}
static void flip_xcomp_avx(struct victim *v) {
    flip_bit(v, IMAGE_XCOMP_BV, CARRY_XSTATE_AVX);
}
static void flip_xcomp_form(struct victim *v) {
    flip_bit(v, IMAGE_XCOMP_BV, 63);
}
static void no_xsavec(struct victim *v) {
    v->layout.xsavec = v->layout.xsaves = false;
}
static void saves_cet(struct victim *v) {
    flip_bit(v, IMAGE_XSTATE_BV, CARRY_XSTATE_CET_U);
}
static void compacts_cet(struct victim *v) {
    flip_bit(v, IMAGE_XCOMP_BV, CARRY_XSTATE_CET_U);
}
static void saves_mpx(struct victim *v) {
    flip_bit(v, IMAGE_XSTATE_BV, CARRY_XSTATE_BNDCSR);
}
static void saves_62(struct victim *v) {
    flip_bit(v, IMAGE_XSTATE_BV, 62);
}
static void compacts_mpx(struct victim *v) {
    flip_bit(v, IMAGE_XCOMP_BV, CARRY_XSTATE_BNDCSR);
}
static void set_mxcsr(struct victim *v) {
    flip_bit(v, IMAGE_MXCSR, 31);
}
static void mxcsr_mask(struct victim *v) {
    v->layout.mxcsr_mask &= ~UINT32_C(0x8000);
}
static void mxcsr_oldest(struct victim *v) { /* 0 means a mask without DAZ */
    v->layout.mxcsr_mask = 0;
    image_put(v->image, IMAGE_MXCSR, 4, 0x1fc0);
}
static void truncate_image(struct victim *v) {
    memmove(v->image + 1, v->image, v->size - 1);
    v->image++;
    v->size--;
}

#define SAPPHIRE_RAPIDS 6

static const struct mutation {
    enum carry_xstate_refusal refusal;
    enum { STANDARD = 1, COMPACT = 2, ANY = STANDARD | COMPACT, FXSAVE = 4 } forms;
    void (*mutate)(struct victim *victim);
} mutations[] = {
    {REFUSED(LAYOUT_NAMELESS), ANY, use_nameless},
    {REFUSED(LAYOUT_NAMELESS), ANY, nameless_62},
    {REFUSED(LAYOUT_XCR0), ANY, no_x87},
    {REFUSED(LAYOUT_XCR0), ANY, avx_alone},
    {REFUSED(LAYOUT_XCR0), ANY, half_avx512},
    {REFUSED(LAYOUT_XCR0), ANY, avx512_alone},
    {REFUSED(LAYOUT_XCR0), ANY, half_mpx},
    {REFUSED(LAYOUT_XCR0), ANY, tiles_without_shapes},
    {REFUSED(LAYOUT_SUPERVISOR), ANY, both_states},
    {REFUSED(LAYOUT_SIZE), ANY, no_size},
    {REFUSED(LAYOUT_SIZE), ANY, cut_pkru},
    {REFUSED(LAYOUT_OFFSET), ANY, in_header},
    {REFUSED(LAYOUT_OFFSET), ANY, at_zero},
    {REFUSED(LAYOUT_ALIGNMENT), ANY, place_unaligned},
    {REFUSED(LAYOUT_BEYOND), ANY, place_beyond},
    {REFUSED(LAYOUT_BEYOND), ANY, far_beyond},
    {REFUSED(LAYOUT_OVERLAP), ANY, place_overlapping},
    {REFUSED(LAYOUT_OVERLAP), ANY, same_place},
    {REFUSED(SHORT), ANY, cut_header},
    {REFUSED(SHORT), ANY | FXSAVE, cut_legacy},
    {REFUSED(SHORT), ANY | FXSAVE, cut_all},
    {REFUSED(RESERVED), ANY, reserved_first},
    {REFUSED(RESERVED), ANY, reserved_last},
    {REFUSED(XCOMP_BV_STANDARD), STANDARD, flip_xcomp_avx},
    {REFUSED(XCOMP_BV_STANDARD), COMPACT, flip_xcomp_form},
    {REFUSED(NO_COMPACT), COMPACT, no_xsavec},
    {REFUSED(SUPERVISOR), ANY, saves_cet},
    {REFUSED(SUPERVISOR), COMPACT, compacts_cet},
    {REFUSED(XSTATE_BV), ANY, saves_mpx},
    {REFUSED(XSTATE_BV), ANY, saves_62},
    {REFUSED(XCOMP_BV), COMPACT, compacts_mpx},
    {REFUSED(NOT_COMPACTED), COMPACT, flip_xcomp_avx},
    {REFUSED(NOT_COMPACTED), STANDARD, flip_xcomp_form},
    {REFUSED(MXCSR), ANY | FXSAVE, set_mxcsr},
    {REFUSED(MXCSR), ANY | FXSAVE, mxcsr_mask},
    {REFUSED(MXCSR), ANY | FXSAVE, mxcsr_oldest},
    {REFUSED(TRUNCATED), ANY, truncate_image},
};

static bool expect_image_refusal(struct trial *trial, const struct machine *machine,
                                 const struct victim *victim, enum carry_xstate_refusal wanted) {
    enum carry_xstate_refusal got = trial->check(&victim->layout, victim->image, victim->size);
    return got == wanted ||
           verdict_fail(&trial->verdict, "%s: %s instead of %s", machine->name,
                        carry_xstate_refusal_name(got), carry_xstate_refusal_name(wanted));
}

static struct victim victim_of(struct trial *trial, const struct machine *machine,
                               enum carry_xstate_form form, uint64_t in_use) {
    const struct carry_xstate_layout *layout = &machine->layout;
    uint64_t xcomp_bv = xcomp_bv_for(layout, UINT64_MAX, form);
    size_t size = image_size(layout, xcomp_bv);
    struct victim victim = {*layout, trial->source.end - size, size};
    image_make(victim.image, layout, xcomp_bv, in_use);
    return victim;
}

static bool try_mutation(struct trial *trial, const struct mutation *mutation, size_t machine,
                         enum carry_xstate_form form) {
    const struct carry_xstate_layout *layout = &machine_at(machine)->layout;
    struct victim victim = victim_of(trial, machine_at(machine), form, all_components(layout));
    mutation->mutate(&victim);
    return expect_image_refusal(trial, machine_at(machine), &victim, mutation->refusal);
}

/*
 * Checks that images pass with all components in use, and with each component as the only one in
 * use.
 */
static bool try_right_ones(struct trial *trial, const struct machine *machine,
                           enum carry_xstate_form form) {
    const uint64_t all = all_components(&machine->layout);
    struct victim victim = victim_of(trial, machine, form, all);
    bool ok = expect_image_refusal(trial, machine, &victim, REFUSED(NONE));
    for (unsigned i = 0; ok && i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!machine->layout.user || !(all >> i & 1))
            continue;
        victim = victim_of(trial, machine, form, UINT64_C(1) << i);
        ok = expect_image_refusal(trial, machine, &victim, REFUSED(NONE));
    }
    return ok;
}

static bool try_cut_right_ones(struct trial *trial, enum carry_xstate_form form) {
    const struct machine *machine = machine_at(SAPPHIRE_RAPIDS);
    struct victim victim = victim_of(trial, machine, form, BIT(X87) | BIT(AVX));
    memmove(trial->source.end - 832, victim.image, 832);
    victim.image = trial->source.end - 832;
    victim.size = 832;
    return expect_image_refusal(trial, machine, &victim, REFUSED(NONE));
}

/* Checks that the bytes of MXCSR are ignored in the compact form while SSE is not in use. */
static bool try_unused_mxcsr(struct trial *trial) {
    const struct machine *machine = machine_at(SAPPHIRE_RAPIDS);
    struct victim victim = victim_of(trial, machine, CARRY_XSTATE_COMPACT, BIT(AVX));
    set_mxcsr(&victim);
    return expect_image_refusal(trial, machine, &victim, REFUSED(NONE));
}

static void try_refusals(void *argument) {
    struct trial *trial = argument;
    const struct machine *machine;
    for (size_t i = 0; (machine = machine_at(i)); i++)
        if (!try_right_ones(trial, machine, CARRY_XSTATE_STANDARD) ||
            (has_compact(machine) && !try_right_ones(trial, machine, CARRY_XSTATE_COMPACT)))
            return;
    if (!try_cut_right_ones(trial, CARRY_XSTATE_STANDARD) ||
        !try_cut_right_ones(trial, CARRY_XSTATE_COMPACT) || !try_unused_mxcsr(trial))
        return;
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
        const struct mutation *mutation = &mutations[i];
        if ((mutation->forms & STANDARD &&
             !try_mutation(trial, mutation, SAPPHIRE_RAPIDS, CARRY_XSTATE_STANDARD)) ||
            (mutation->forms & COMPACT &&
             !try_mutation(trial, mutation, SAPPHIRE_RAPIDS, CARRY_XSTATE_COMPACT)) ||
            (mutation->forms & FXSAVE && !try_mutation(trial, mutation, 0, CARRY_XSTATE_STANDARD)))
            return;
    }
}

struct verdict check_refusals(image_check_fn *check) {
    return run_images_trial((struct trial){.check = check}, try_refusals);
}

/* --- Random images --- */

/* Returns a random offset: most often in the XSAVE header, else in the first 32 bytes, which
   contain MXCSR, in the software bytes, or anywhere. */
static size_t random_place(void) {
    static const struct {
        size_t at, size;
    } places[] = {{0, 32}, {IMAGE_SOFTWARE, 24}, {IMAGE_XSTATE_BV, 64}, {0, IMAGE_BYTES_MAX}};
    size_t i = rng_below(8);
    i = i < 4 ? i : 2;
    return places[i].at + rng_below(places[i].size);
}

static void spoil_image(struct victim *victim) {
    for (size_t times = 1 + rng_below(4); times--;) {
        size_t at = random_place();
        if (at < victim->size)
            victim->image[at] ^= (uint8_t)(1 << rng_below(8));
    }
    if (rng_below(2))
        return;
    size_t size = rng_below(victim->size + 1);
    memmove(victim->image + victim->size - size, victim->image, size);
    victim->image += victim->size - size;
    victim->size = size;
}

static void spoil_layout(struct carry_xstate_layout *layout) {
    struct carry_xstate_part *part = &layout->parts[rng_below(CARRY_XSTATE_COMPONENTS)];
    uint32_t *fields[] = {&part->size, &part->offset, &layout->standard_size};
    uint32_t *field = fields[rng_below(3)];
    *field = rng_below(2) ? *field ^ UINT32_C(1) << rng_below(32) : (uint32_t)rng_next();
    if (!rng_below(8))
        layout->user ^= UINT64_C(1) << rng_below(64);
    if (!rng_below(8))
        layout->supervisor ^= UINT64_C(1) << rng_below(64);
}

/* Reads all parts of an image that passed the check. A part outside the image causes a fault. */
static unsigned read_parts(const struct victim *victim) {
    unsigned sum = 0;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS + 2; i++) {
        size_t size;
        const uint8_t *part = carry_xstate_image_part(&victim->layout, victim->image, i, &size);
        sum += carry_xstate_image_is_initial(&victim->layout, victim->image, i);
        for (size_t at = 0; part && at < size; at++)
            sum += part[at];
    }
    return sum;
}

static bool try_random_image(struct trial *trial, const struct machine *machine,
                             enum carry_xstate_form form) {
    uint64_t in_use = rng_next() & all_components(&machine->layout);
    struct victim victim = victim_of(trial, machine, form, in_use);
    spoil_image(&victim);
    if (!rng_below(4))
        spoil_layout(&victim.layout);
    if (trial->check(&victim.layout, victim.image, victim.size))
        return true;
    if (image_faults(&victim.layout, victim.image))
        return fail_on_machine(trial, machine, "an image passes that XRSTOR faults on");
    volatile unsigned sum = read_parts(&victim);
    (void)sum;
    return true;
}

static void try_random_images(void *argument) {
    struct trial *trial = argument;
    for (size_t i = 0; i < trial->effort->rounds; i++) {
        const struct machine *machine = machine_at(i % MACHINES);
        enum carry_xstate_form form =
            has_compact(machine) && rng_below(2) ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD;
        if (!try_random_image(trial, machine, form))
            return;
    }
}

struct verdict check_random_images(image_check_fn *check, const struct effort *effort) {
    return run_images_trial((struct trial){.check = check, .effort = effort}, try_random_images);
}

/* --- Conversions --- */

struct way {
    const struct machine *from, *to;
    enum carry_xstate_form from_form, to_form;
    uint64_t in_use, mask, drop;
};

static enum carry_xstate_refusal convert_image(struct trial *trial, const struct way *way,
                                               const struct victim *source,
                                               struct carry_xstate_target *target) {
    const struct carry_xstate_layout *layout = &way->to->layout;
    struct carry_xstate_layout part = *layout;
    part.user &= way->mask | BIT(X87) | BIT(SSE);
    uint64_t xcomp_bv = xcomp_bv_for(layout, way->mask, way->to_form);
    size_t size = image_size(&part, xcomp_bv);
    *target = (struct carry_xstate_target){.layout = layout,
                                           .form = way->to_form,
                                           .mask = way->mask,
                                           .drop = way->drop,
                                           .image = trial->target.end - size,
                                           .size = size};
    memset(target->image, DEFAULT_PATTERN, size);
    return trial->convert(&source->layout, source->image, source->size, target);
}

static bool fail_conversion(struct trial *trial, const struct way *way, const char *what) {
    return verdict_fail(&trial->verdict, "%s to %s, in use 0x%llx: %s", way->from->name,
                        way->to->name, (unsigned long long)way->in_use, what);
}

/* Checks that the conversion is refused as `wanted`, and writes nothing to the target. */
static bool is_refused(struct trial *trial, const struct way *way, const struct victim *source,
                       enum carry_xstate_refusal wanted) {
    struct carry_xstate_target target;
    enum carry_xstate_refusal got = convert_image(trial, way, source, &target);
    if (got != wanted)
        return fail_conversion(trial, way, carry_xstate_refusal_name(got));
    return all_bytes_are(target.image, target.size, DEFAULT_PATTERN) ||
           fail_conversion(trial, way, "writes to the target before it refuses");
}

static bool registers_arrive(struct trial *trial, const struct way *way,
                             const struct victim *source) {
    struct carry_xstate_target target;
    enum carry_xstate_refusal refusal = convert_image(trial, way, source, &target);
    uint64_t kept = way->in_use & ~way->drop;
    if (refusal)
        return fail_conversion(trial, way, carry_xstate_refusal_name(refusal));
    if (image_faults(target.layout, target.image))
        return fail_conversion(trial, way, "XRSTOR faults on the result");
    if (!image_same_state(&source->layout, source->image, target.layout, target.image, kept))
        return fail_conversion(trial, way, "registers differ");
    if (target.layout->user && image_get(target.image, IMAGE_XSTATE_BV, 8) != kept)
        return fail_conversion(trial, way, "other components are in use");
    uint8_t none[CARRY_XSTATE_EXTENDED];
    const struct carry_xstate_layout fxsave = {.mxcsr_mask = 0xffff};
    image_make(none, &fxsave, 0, 0);
    return image_same_state(&fxsave, none, target.layout, target.image, 3 & ~kept) ||
           fail_conversion(trial, way, "x87 or SSE are not initial");
}

/* Converts back, and checks that the registers are the original ones. */
static bool registers_return(struct trial *trial, const struct way *way,
                             const struct victim *source) {
    static uint8_t first[IMAGE_BYTES_MAX];
    memcpy(first, source->image, source->size);
    struct victim between = {way->to->layout, first, 0};
    struct carry_xstate_target target;
    if (convert_image(trial, way, source, &target))
        return fail_conversion(trial, way, "is refused the second time");
    static uint8_t second[IMAGE_BYTES_MAX];
    memcpy(second, target.image, target.size);
    between.image = second;
    between.size = target.size;
    const struct way back = {way->to,     way->from,  way->to_form, way->from_form,
                             way->in_use, UINT64_MAX, way->drop};
    return registers_arrive(trial, &back, &between);
}

static bool try_way(struct trial *trial, struct way *way) {
    const uint64_t all = all_components(&way->from->layout),
                   room = all_components(&way->to->layout);
    const bool tells = way->from->layout.user; /* whether images report the components in use */
    const uint64_t uses[] = {all, 0, BIT(X87), BIT(SSE), all & 7, all & rng_next()};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        way->in_use = tells ? uses[i] : all;
        way->mask = UINT64_MAX;
        way->drop = 0;
        struct victim source = victim_of(trial, way->from, way->from_form, way->in_use);
        uint64_t lost = way->in_use & ~room;
        if (lost && !is_refused(trial, way, &source, REFUSED(LACKED)))
            return false;
        way->drop = lost;
        if (!registers_arrive(trial, way, &source))
            return false;
        if (!lost && way->to->layout.user && !registers_return(trial, way, &source))
            return false;
    }
    way->in_use = all;
    way->mask = room & ~BIT(PKRU);
    way->drop = ~way->mask;
    struct victim source = victim_of(trial, way->from, way->from_form, way->in_use);
    return registers_arrive(trial, way, &source);
}

static bool try_pair(struct trial *trial, const struct machine *from, const struct machine *to) {
    for (int forms = 0; forms < 4; forms++) {
        struct way way = {.from = from,
                          .to = to,
                          .from_form = forms & 1 ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD,
                          .to_form = forms & 2 ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD};
        if ((forms & 1 && !has_compact(from)) || (forms & 2 && !has_compact(to)))
            continue;
        if (!try_way(trial, &way))
            return false;
    }
    return true;
}

/*
 * Converts an MXCSR that differs from its initial value while SSE is not in use. Only the standard
 * form can express this.
 */
static bool try_mxcsr_alone(struct trial *trial) {
    const struct machine *machine = machine_at(SAPPHIRE_RAPIDS);
    struct way way = {
        .from = machine, .to = machine, .to_form = CARRY_XSTATE_COMPACT, .mask = UINT64_MAX};
    struct victim source = victim_of(trial, machine, CARRY_XSTATE_STANDARD, 0);
    image_put(source.image, IMAGE_MXCSR, 4, 0x5f80);
    rng_fill(source.image + IMAGE_XMM, 256); /* not in use: meaningless */
    way.in_use = BIT(SSE);
    if (!registers_arrive(trial, &way, &source))
        return false;
    way.mask = ~BIT(SSE);
    return is_refused(trial, &way, &source, REFUSED(LACKED));
}

/* Converts an image without SSE in XCR0, where MXCSR is part of no component. */
static bool try_x87_alone(struct trial *trial) {
    const struct machine *zen = machine_at(MACHINES - 1);
    struct machine old = {.name = "x87 alone", .layout = {.user = BIT(X87)}};
    struct way way = {.from = &old, .to = zen, .in_use = BIT(X87), .mask = UINT64_MAX};
    struct victim source = victim_of(trial, &old, CARRY_XSTATE_STANDARD, BIT(X87));
    image_put(source.image, IMAGE_MXCSR, 4, UINT32_MAX);
    return registers_arrive(trial, &way, &source);
}

static bool try_bad_targets(struct trial *trial) {
    const struct machine *zen = machine_at(MACHINES - 1), *haswell = machine_at(1);
    struct way way = {.from = zen, .to = zen, .mask = UINT64_MAX};
    struct victim source = victim_of(trial, zen, CARRY_XSTATE_STANDARD, 7);
    image_put(source.image, IMAGE_MXCSR, 4, 0x21f80);
    struct machine other = *zen;
    struct carry_xstate_target target = {
        .layout = &other.layout, .mask = UINT64_MAX, .image = trial->target.start, .size = 2439};
    if (trial->convert(&source.layout, source.image, source.size, &target) != REFUSED(ROOM))
        return fail_conversion(trial, &way, "a target that is too small is not refused");
    way.to = haswell; /* Haswell has no bit 17 in MXCSR */
    if (!is_refused(trial, &way, &source, REFUSED(MXCSR)))
        return false;
    way.to_form = CARRY_XSTATE_COMPACT;
    if (!is_refused(trial, &way, &source, REFUSED(NO_COMPACT)))
        return false;
    way.to = &other;
    way.to_form = CARRY_XSTATE_STANDARD;
    other.layout.parts[CARRY_XSTATE_AVX].size = 128;
    if (!is_refused(trial, &way, &source, REFUSED(PART_SIZE)))
        return false;
    other.layout.parts[CARRY_XSTATE_AVX].offset = 8;
    if (!is_refused(trial, &way, &source, REFUSED(LAYOUT_OFFSET)))
        return false;
    way.to = zen;
    flip_bit(&source, IMAGE_RESERVED, 3);
    return is_refused(trial, &way, &source, REFUSED(RESERVED));
}

static void try_conversions(void *argument) {
    struct trial *trial = argument;
    for (size_t from = 0; from < MACHINES; from++)
        for (size_t to = 0; to < MACHINES; to++)
            if (!try_pair(trial, machine_at(from), machine_at(to)))
                return;
    if (try_mxcsr_alone(trial) && try_x87_alone(trial))
        try_bad_targets(trial);
}

struct verdict check_conversions(convert_fn *convert) {
    return run_images_trial((struct trial){.convert = convert}, try_conversions);
}
