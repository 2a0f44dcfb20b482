/* SPDX-License-Identifier: MIT */
/* Tests `xstate`: images of all machines, on any machine. */
#include <string.h>

#include <carry/image.h>

#include "harness/check_images.h"
#include "harness/images.h"
#include "harness/machines.h"
#include "harness/rng.h"
#include "harness/tap.h"

static void test_names(void) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_REFUSALS; i++) {
        enum carry_xstate_refusal refusal = (enum carry_xstate_refusal)i;
        ok &= *carry_xstate_refusal_name(refusal) && *carry_xstate_refusal_description(refusal);
    }
    tap_ok(ok, "every refusal has a name and a description");
    tap_ok(TAP_STREQ(carry_xstate_refusal_name(CARRY_XSTATE_REFUSALS), "unknown") &&
               TAP_STREQ(carry_xstate_refusal_description(CARRY_XSTATE_REFUSALS), "unknown"),
           "other numbers have no name and description");
}

/* PKRU has four bytes. In signal frames, Linux does not write the other bytes of its component. */
static void test_pkru(void) {
    static uint8_t image[IMAGE_BYTES_MAX];
    const uint64_t pkru = CARRY_XSTATE_BIT(PKRU);
    size_t judged = 0, wrong = 0;
    for (size_t i = 0; machine_at(i); i++) {
        const struct carry_xstate_layout *layout = &machine_at(i)->layout;
        size_t at = image_offset(layout, 0, CARRY_XSTATE_PKRU);
        if (!(layout->user & pkru))
            continue;
        judged++;
        image_make(image, layout, 0, pkru);
        image_put(image, at, 4, 0);
        image_put(image, at + 4, 4, 0x8000ffff);
        wrong += !carry_xstate_image_is_initial(layout, image, CARRY_XSTATE_PKRU);
        image_put(image, at, 4, 0x55555554);
        wrong += carry_xstate_image_is_initial(layout, image, CARRY_XSTATE_PKRU);
    }
    tap_ok(TAP_TRUE(judged) && TAP_EQ(wrong, 0), "PKRU is four bytes, on %zu machines", judged);
}

/* --- Initial registers --- */

struct range {
    size_t from, to; /* offsets */
};

static bool has_component(const struct carry_xstate_layout *layout, unsigned component) {
    return (layout->user ? layout->user : 3) >> component & 1;
}

/* Sets `ranges` to the registers of a component. The registers of x87 are on both sides of MXCSR,
   which is part of SSE. */
static void find_registers(const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                           unsigned component, struct range ranges[2]) {
    size_t at = image_offset(layout, xcomp_bv, component);
    ranges[0] = (struct range){at, at + layout->parts[component].size};
    ranges[1] = (struct range){0, 0};
    if (component == CARRY_XSTATE_X87) {
        ranges[0] = (struct range){IMAGE_FCW, IMAGE_MXCSR};
        ranges[1] = (struct range){32, IMAGE_XMM};
    } else if (component == CARRY_XSTATE_SSE) {
        ranges[0] = (struct range){IMAGE_MXCSR, IMAGE_MXCSR_MASK};
        ranges[1] = (struct range){IMAGE_XMM, IMAGE_XMM + 256};
    } else if (component == CARRY_XSTATE_PKRU) {
        ranges[0].to = at + 4;
    }
}

/* Makes an image of initial registers that are all in use. */
static void make_zeros(uint8_t *image, const struct carry_xstate_layout *layout,
                       uint64_t xcomp_bv) {
    image_make(image, layout, xcomp_bv, layout->user);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++) {
        struct range ranges[2];
        find_registers(layout, xcomp_bv, i, ranges);
        for (unsigned k = 0; k < 2 && has_component(layout, i); k++)
            memset(image + ranges[k].from, 0, ranges[k].to - ranges[k].from);
    }
    image_put(image, IMAGE_FCW, 2, 0x37f);
    image_put(image, IMAGE_MXCSR, 4, 0x1f80);
}

/*
 * Returns whether a change of any byte of an initial component makes this component, and no other
 * one, not initial.
 */
static bool bytes_matter(const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                         unsigned component) {
    static uint8_t image[IMAGE_BYTES_MAX];
    struct range ranges[2];
    bool ok = true;
    make_zeros(image, layout, xcomp_bv);
    find_registers(layout, xcomp_bv, component, ranges);
    for (unsigned k = 0; k < 2; k++)
        for (size_t at = ranges[k].from; at < ranges[k].to; at++) {
            image[at] ^= 0x10;
            for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
                ok &= carry_xstate_image_is_initial(layout, image, i) == (i != component);
            image[at] ^= 0x10;
        }
    return ok && carry_xstate_image_is_initial(layout, image, component);
}

static bool all_matter(const struct carry_xstate_layout *layout, uint64_t xcomp_bv) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (has_component(layout, i))
            ok &= bytes_matter(layout, xcomp_bv, i);
    return ok;
}

/* Tests MXCSR, which the standard form contains even if SSE is not in use. */
static bool idle_mxcsr_matters(const struct carry_xstate_layout *layout, uint64_t xcomp_bv) {
    static uint8_t image[IMAGE_BYTES_MAX];
    bool ok = true;
    image_make(image, layout, xcomp_bv, 0);
    image_put(image, IMAGE_MXCSR, 4, 0x1f81);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        ok &= carry_xstate_image_is_initial(layout, image, i) ==
              (i != CARRY_XSTATE_SSE || xcomp_bv != 0);
    return ok;
}

static void test_initial_registers(void) {
    bool standard = true, compact = true;
    for (size_t i = 0; machine_at(i); i++) {
        const struct carry_xstate_layout *layout = &machine_at(i)->layout;
        standard &= all_matter(layout, 0);
        if (layout->user)
            standard &= idle_mxcsr_matters(layout, 0);
        if (!machine_at(i)->compact_size)
            continue;
        const uint64_t xcomp_bv = IMAGE_COMPACT | layout->user;
        compact &= all_matter(layout, xcomp_bv) && idle_mxcsr_matters(layout, xcomp_bv);
    }
    tap_ok(standard, "each byte of a component affects whether it is initial");
    tap_ok(compact, "each byte affects it in the compact form too");
}

/* --- Components that are left out --- */

static bool is_dropped(const struct carry_xstate_layout *layout, unsigned component) {
    static uint8_t image[IMAGE_BYTES_MAX], result[IMAGE_BYTES_MAX];
    struct range ranges[2];
    const uint64_t all = layout->user ? layout->user : 3;
    const struct carry_xstate_target target = {.layout = layout,
                                               .form = CARRY_XSTATE_STANDARD,
                                               .mask = all,
                                               .drop = UINT64_C(1) << component,
                                               .image = result,
                                               .size = sizeof result};
    const size_t size = image_make(image, layout, 0, all);
    memset(result, 0xa5, sizeof result);
    if (carry_xstate_convert(layout, image, size, &target))
        return false;
    find_registers(layout, 0, component, ranges);
    for (size_t at = ranges[1].from; at < ranges[1].to; at++)
        if (result[at])
            return false;
    return carry_xstate_image_is_initial(layout, result, component);
}

static void test_dropped(void) {
    bool ok = true;
    for (size_t i = 0; machine_at(i); i++)
        for (unsigned k = 0; k < CARRY_XSTATE_COMPONENTS; k++)
            if (has_component(&machine_at(i)->layout, k))
                ok &= is_dropped(&machine_at(i)->layout, k);
    tap_ok(ok, "a conversion leaves nothing of dropped components");
}

/* Tests the offset of a component that a machine has, but that its programs may not use. */
static void test_place_of_unused(void) {
    bool ok = true;
    for (size_t i = 0; machine_at(i); i++) {
        struct carry_xstate_layout layout = machine_at(i)->layout;
        if (layout.user >> CARRY_XSTATE_PKRU & 1 && layout.user >> CARRY_XSTATE_AVX & 1) {
            layout.user &= ~(CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(OPMASK) |
                             CARRY_XSTATE_BIT(ZMM_HI256) | CARRY_XSTATE_BIT(HI16_ZMM));
            layout.parts[CARRY_XSTATE_AVX].offset = layout.parts[CARRY_XSTATE_PKRU].offset;
            ok &= !carry_xstate_check_layout(&layout);
        }
    }
    tap_ok(ok, "an unused component does not overlap others");
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    test_names();
    test_pkru();
    test_initial_registers();
    test_dropped();
    test_place_of_unused();
    struct verdict verdict = check_initial(carry_xstate_initial);
    verdict_report(&verdict, "initial images");
    verdict = check_refusals(carry_xstate_check);
    verdict_report(&verdict, "refusals");
    verdict = check_random_images(carry_xstate_check, effort);
    verdict_report(&verdict, "random images");
    verdict = check_conversions(carry_xstate_convert);
    verdict_report(&verdict, "conversions");
    return tap_done();
}
