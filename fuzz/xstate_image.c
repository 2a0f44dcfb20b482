/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the functions that check and convert images of extended state. An image that passes must
 * be valid in a model of XRSTOR that shares no code with them, and hold the same registers after
 * conversion.
 */
#include "image.h"

#include <string.h>

#include "fuzz.h"

/* An image that the library has accepted as valid. */
struct passed {
    struct carry_xstate_layout layout;
    const uint8_t *image;
    size_t size;
};

static uint64_t all_components(const struct carry_xstate_layout *layout) {
    return layout->user ? layout->user : CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE);
}

static const struct machine *machine_of(uint8_t number) {
    return machine_at((number & ~TO_COMPACT) % MACHINES);
}

/* Copies bytes to memory of exactly their size; the caller frees it. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size + !size);
    REQUIRE(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void check_parts(const struct passed *passed) {
    const uint64_t in_use = carry_xstate_image_in_use(&passed->layout, passed->image);
    REQUIRE((in_use & ~all_components(&passed->layout)) == 0);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS + 1; i++) {
        size_t size = 0;
        const uint8_t *part = carry_xstate_image_part(&passed->layout, passed->image, i, &size);
        REQUIRE((part != NULL) == (in_use >> i & 1));
        REQUIRE(!part || (part >= passed->image && size <= passed->size &&
                          (size_t)(part - passed->image) <= passed->size - size));
        bool is_initial = carry_xstate_image_is_initial(&passed->layout, passed->image, i);
        REQUIRE(part || i == CARRY_XSTATE_SSE || is_initial);
    }
}

static enum carry_xstate_refusal convert_image(const struct passed *from, struct passed *to,
                                               uint8_t *buffer, uint64_t drop,
                                               enum carry_xstate_form form) {
    uint64_t xcomp_bv = form == CARRY_XSTATE_COMPACT ? IMAGE_COMPACT | to->layout.user : 0;
    to->size = image_size(&to->layout, xcomp_bv);
    to->image = buffer;
    const struct carry_xstate_target target = {.layout = &to->layout,
                                               .form = form,
                                               .mask = UINT64_MAX,
                                               .drop = drop,
                                               .image = buffer,
                                               .size = to->size};
    return carry_xstate_convert(&from->layout, from->image, from->size, &target);
}

static void check_conversion(const struct passed *passed, uint8_t number) {
    static uint8_t there[IMAGE_BYTES_MAX], back[IMAGE_BYTES_MAX];
    const struct machine *machine = machine_of(number);
    enum carry_xstate_form form = number & TO_COMPACT && machine->layout.xsavec
                                      ? CARRY_XSTATE_COMPACT
                                      : CARRY_XSTATE_STANDARD;
    const uint64_t legacy = CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE);
    uint64_t in_use = legacy | carry_xstate_image_in_use(&passed->layout, passed->image);
    uint64_t drop = ~all_components(&machine->layout);
    uint64_t kept = in_use & all_components(&passed->layout) & ~drop;
    struct passed other = {.layout = machine->layout}, again = {.layout = passed->layout};
    enum carry_xstate_refusal refusal = convert_image(passed, &other, there, drop, form);
    if (refusal) {
        REQUIRE(refusal == CARRY_XSTATE_REFUSED_PART_SIZE || refusal == CARRY_XSTATE_REFUSED_MXCSR);
        return;
    }
    REQUIRE(!image_faults(&other.layout, other.image));
    REQUIRE(!carry_xstate_check(&other.layout, other.image, other.size));
    REQUIRE((carry_xstate_image_in_use(&other.layout, other.image) & ~(kept | legacy)) == 0);
    REQUIRE(image_same_state(&passed->layout, passed->image, &other.layout, other.image, kept));
    if (image_size(&passed->layout, 0) > sizeof back)
        return;
    REQUIRE(!convert_image(&other, &again, back, ~kept, CARRY_XSTATE_STANDARD));
    REQUIRE(image_same_state(&passed->layout, passed->image, &again.layout, back, kept));
}

static enum carry_xstate_refusal read_input(struct passed *passed, const uint8_t *head,
                                            const uint8_t *note, size_t note_size) {
    switch ((enum origin)(head[HEAD_ORIGIN] % ORIGINS)) {
    case ORIGIN_REGSET:
        return carry_xstate_from_regset(passed->image, passed->size, &passed->layout);
    case ORIGIN_FRAME:
        return carry_xstate_from_frame(passed->image, passed->size, &passed->layout);
    case ORIGIN_CORE:
        return carry_xstate_from_core(passed->image, passed->size, note, note_size,
                                      &passed->layout);
    default:
        passed->layout = machine_of(head[HEAD_FROM])->layout;
        return carry_xstate_check(&passed->layout, passed->image, passed->size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < HEAD_BYTES || size > IMAGE_BYTES_MAX)
        return 0;
    size_t note_size = (size_t)input[HEAD_NOTE] * NOTE_ENTRY;
    if (note_size > size - HEAD_BYTES)
        return 0;
    size_t image_bytes = size - HEAD_BYTES - note_size;
    uint8_t *image = copy_of(input + HEAD_BYTES, image_bytes);
    uint8_t *note = copy_of(input + HEAD_BYTES + image_bytes, note_size);
    struct passed passed = {.image = image, .size = image_bytes};
    enum carry_xstate_refusal refusal = read_input(&passed, input, note, note_size);
    REQUIRE(refusal < CARRY_XSTATE_REFUSALS);
    if (!refusal) {
        REQUIRE(!carry_xstate_check_layout(&passed.layout));
        REQUIRE(!image_faults(&passed.layout, image));
        check_parts(&passed);
        check_conversion(&passed, input[HEAD_TO]);
    }
    free(image);
    free(note);
    return 0;
}
