/* SPDX-License-Identifier: MIT */
/* Images in the formats of systems, and the layouts of the machines that wrote them. */
#include "base/general_begin.h"

#include "xstate/image_internal.h"

/* --- Known machines --- */

/* Sizes of components. They are the same on all CPUs so far. */
static const uint16_t sizes[CARRY_XSTATE_COMPONENTS] = {
    [CARRY_XSTATE_AVX] = 256,   [CARRY_XSTATE_BNDREGS] = 64,    [CARRY_XSTATE_BNDCSR] = 64,
    [CARRY_XSTATE_OPMASK] = 64, [CARRY_XSTATE_ZMM_HI256] = 512, [CARRY_XSTATE_HI16_ZMM] = 1024,
    [CARRY_XSTATE_PKRU] = 8,    [CARRY_XSTATE_TILECFG] = 64,    [CARRY_XSTATE_TILEDATA] = 8192,
    [CARRY_XSTATE_APX] = 128,
};

/* Offsets of components: Intel leaves room for components that a CPU lacks, AMD does not. */
static const uint16_t machines[][CARRY_XSTATE_COMPONENTS] = {
    /* Intel; APX replaced BNDREGS and BNDCSR */
    {
        [CARRY_XSTATE_AVX] = 576,
        [CARRY_XSTATE_BNDREGS] = 960,
        [CARRY_XSTATE_BNDCSR] = 1024,
        [CARRY_XSTATE_OPMASK] = 1088,
        [CARRY_XSTATE_ZMM_HI256] = 1152,
        [CARRY_XSTATE_HI16_ZMM] = 1664,
        [CARRY_XSTATE_PKRU] = 2688,
        [CARRY_XSTATE_TILECFG] = 2752,
        [CARRY_XSTATE_TILEDATA] = 2816,
        [CARRY_XSTATE_APX] = 960,
    },
    /* AMD up to Zen 3 */
    {
        [CARRY_XSTATE_AVX] = 576,
        [CARRY_XSTATE_PKRU] = 832,
    },
    /* AMD from Zen 4 on */
    {
        [CARRY_XSTATE_AVX] = 576,
        [CARRY_XSTATE_OPMASK] = 832,
        [CARRY_XSTATE_ZMM_HI256] = 896,
        [CARRY_XSTATE_HI16_ZMM] = 1408,
        [CARRY_XSTATE_PKRU] = 2432,
    },
};

#define MACHINES (sizeof machines / sizeof *machines)

static void enable_component(struct carry_xstate_layout *layout, unsigned component, uint32_t size,
                             uint32_t offset) {
    layout->user |= UINT64_C(1) << component;
    layout->parts[component].size = size;
    layout->parts[component].offset = offset;
}

/* Sets a layout to try: this machine's (index 0), or the complete layout of a known machine. */
static void set_candidate_layout(size_t index, struct carry_xstate_layout *layout) {
    if (index == 0) {
        carry_xstate_layout(layout);
        return;
    }
    const uint16_t *offsets = machines[index - 1];
    *layout = (struct carry_xstate_layout){.user = CARRY_LEGACY_STATE};
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (offsets[i])
            enable_component(layout, i, sizes[i], offsets[i]);
}

/* --- Layouts of images in the standard form --- */

/* Sets the layout of the machine that wrote `image`: the components of `all` that are in `user`. */
static void restrict_layout(struct carry_xstate_layout *layout,
                            const struct carry_xstate_layout *all, uint64_t user,
                            const uint8_t *image, size_t size) {
    *layout = (struct carry_xstate_layout){
        .user = user & CARRY_LEGACY_STATE,
        .standard_size = user ? (uint32_t)size : 0,
        .mxcsr_mask = (uint32_t)carry_image_get(image + CARRY_AREA_MXCSR_MASK, 4),
    };
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (user >> i & 1)
            enable_component(layout, i, all->parts[i].size, all->parts[i].offset);
}

static enum carry_xstate_refusal find_layout(const uint8_t *image, size_t size, uint64_t user,
                                             struct carry_xstate_layout *layout) {
    struct carry_xstate_layout all;
    if (!(user & CARRY_XSTATE_BIT(X87)))
        return CARRY_XSTATE_REFUSED_LAYOUT_XCR0;
    for (size_t i = 0; i <= MACHINES; i++) {
        set_candidate_layout(i, &all);
        if (user & ~all.user || carry_xstate_size(&all, user, CARRY_XSTATE_STANDARD) != size)
            continue;
        restrict_layout(layout, &all, user, image, size);
        return carry_xstate_check(layout, image, size);
    }
    return CARRY_XSTATE_REFUSED_MACHINE;
}

static enum carry_xstate_refusal legacy_layout(const uint8_t *image,
                                               struct carry_xstate_layout *layout) {
    const struct carry_xstate_layout none = {0};
    restrict_layout(layout, &none, 0, image, CARRY_XSTATE_LEGACY);
    return carry_xstate_check(layout, image, CARRY_XSTATE_LEGACY);
}

/* --- Register sets of ptrace and core files --- */

#define REGSET_XCR0 CARRY_AREA_SOFTWARE

enum carry_xstate_refusal carry_xstate_from_regset(const void *image, size_t size,
                                                   struct carry_xstate_layout *layout) {
    const uint8_t *bytes = image;
    if (size == CARRY_XSTATE_LEGACY)
        return legacy_layout(image, layout);
    if (size < CARRY_XSTATE_EXTENDED)
        return CARRY_XSTATE_REFUSED_SHORT;
    return find_layout(image, size, carry_image_get(bytes + REGSET_XCR0, 8), layout);
}

/* --- The layout note of core files --- */

/* struct x86_xfeat_component: type, size, offset, flags, of 4 bytes each. */
#define NOTE_ENTRY 16

static enum carry_xstate_refusal read_entry(const uint8_t *entry, uint64_t *seen,
                                            struct carry_xstate_layout *layout) {
    uint64_t type = carry_image_get(entry, 4);
    if (type < CARRY_XSTATE_AVX || type > 62)
        return CARRY_XSTATE_REFUSED_NOTE_TYPE;
    if (*seen >> type & 1)
        return CARRY_XSTATE_REFUSED_NOTE_TWICE;
    *seen |= UINT64_C(1) << type;
    if (type < CARRY_XSTATE_COMPONENTS)
        enable_component(layout, (unsigned)type, (uint32_t)carry_image_get(entry + 4, 4),
                         (uint32_t)carry_image_get(entry + 8, 4));
    return CARRY_XSTATE_REFUSED_NONE;
}

enum carry_xstate_refusal carry_xstate_from_core(const void *image, size_t size, const void *note,
                                                 size_t note_size,
                                                 struct carry_xstate_layout *layout) {
    const uint8_t *bytes = image, *entries = note;
    struct carry_xstate_layout all = {.user = CARRY_LEGACY_STATE};
    uint64_t seen = CARRY_LEGACY_STATE;
    if (size < CARRY_XSTATE_EXTENDED)
        return CARRY_XSTATE_REFUSED_SHORT;
    if (!note_size || note_size % NOTE_ENTRY)
        return CARRY_XSTATE_REFUSED_NOTE_SIZE;
    for (size_t at = 0; at < note_size; at += NOTE_ENTRY) {
        enum carry_xstate_refusal refusal = read_entry(entries + at, &seen, &all);
        if (refusal)
            return refusal;
    }
    uint64_t xcr0 = carry_image_get(bytes + REGSET_XCR0, 8);
    if (!(xcr0 & CARRY_XSTATE_BIT(X87)))
        return CARRY_XSTATE_REFUSED_LAYOUT_XCR0;
    if (xcr0 & ~seen)
        return CARRY_XSTATE_REFUSED_NOTE_LACKS;
    restrict_layout(layout, &all, xcr0 & all.user, image, size);
    return carry_xstate_check(layout, image, size);
}

/* --- Signal frames --- */

/* struct _fpx_sw_bytes, and the number after the image. */
#define FRAME_MAGIC1        CARRY_AREA_SOFTWARE
#define FRAME_EXTENDED_SIZE (CARRY_AREA_SOFTWARE + 4)
#define FRAME_XFEATURES     (CARRY_AREA_SOFTWARE + 8)
#define FRAME_XSTATE_SIZE   (CARRY_AREA_SOFTWARE + 16)
#define MAGIC1              0x46505853
#define MAGIC2              0x46505845
#define MAGIC2_BYTES        4

enum carry_xstate_refusal carry_xstate_from_frame(const void *frame, size_t size,
                                                  struct carry_xstate_layout *layout) {
    const uint8_t *bytes = frame;
    if (size < CARRY_XSTATE_LEGACY)
        return CARRY_XSTATE_REFUSED_SHORT;
    uint64_t magic1 = carry_image_get(bytes + FRAME_MAGIC1, 4);
    uint64_t extended_size = carry_image_get(bytes + FRAME_EXTENDED_SIZE, 4);
    uint64_t xstate_size = carry_image_get(bytes + FRAME_XSTATE_SIZE, 4);
    uint64_t xfeatures = carry_image_get(bytes + FRAME_XFEATURES, 8);
    if (!magic1) /* written by a kernel without XSAVE */
        return legacy_layout(frame, layout);
    if (magic1 != MAGIC1)
        return CARRY_XSTATE_REFUSED_FRAME_MAGIC1;
    if (xstate_size < CARRY_XSTATE_EXTENDED)
        return CARRY_XSTATE_REFUSED_FRAME_SIZE;
    /* Frames of 32-bit programs have 112 bytes before the image: `extended_size` includes them. */
    if (extended_size < xstate_size + MAGIC2_BYTES)
        return CARRY_XSTATE_REFUSED_FRAME_EXTENDED_SIZE;
    if (size < xstate_size + MAGIC2_BYTES)
        return CARRY_XSTATE_REFUSED_FRAME_CUT;
    if (carry_image_get(bytes + xstate_size, MAGIC2_BYTES) != MAGIC2)
        return CARRY_XSTATE_REFUSED_FRAME_MAGIC2;
    return find_layout(frame, (size_t)xstate_size, xfeatures, layout);
}

#include "base/general_end.h"
