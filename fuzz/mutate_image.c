/* SPDX-License-Identifier: MIT */
/* Mutates images of extended state, and makes valid images of all machines to start from. */
#include "image.h"
#include "mutate.h"

/* Returns the set of all user components or, more often, a random part of it. */
static uint64_t any_components(struct edit *edit, const struct carry_xstate_layout *layout) {
    uint64_t random = edit_random(edit, 1 << 20);
    return edit_random(edit, 4) ? layout->user & random : layout->user;
}

static size_t make_image(struct edit *edit, uint8_t *image, enum origin origin,
                         const struct carry_xstate_layout *layout) {
    uint64_t in_use = any_components(edit, layout);
    bool compact = origin == ORIGIN_AREA && layout->xsavec && edit_random(edit, 2);
    if (origin == ORIGIN_FRAME)
        return image_make_frame(image, layout, in_use);
    return image_make(image, layout, compact ? IMAGE_COMPACT | layout->user : 0, in_use);
}

static void start_image(struct edit *edit) {
    static uint8_t bytes[HEAD_BYTES + 2 * IMAGE_BYTES_MAX];
    const enum origin origin = (enum origin)edit_random(edit, ORIGINS);
    const size_t from = edit_random(edit, MACHINES);
    const struct carry_xstate_layout *layout = &machine_at(from)->layout;
    size_t size = HEAD_BYTES + make_image(edit, bytes + HEAD_BYTES, origin, layout);
    size_t note = origin == ORIGIN_CORE ? image_make_note(bytes + size, layout) : 0;
    bytes[HEAD_ORIGIN] = (uint8_t)origin;
    bytes[HEAD_FROM] = (uint8_t)from;
    bytes[HEAD_TO] = (uint8_t)edit_random(edit, 256);
    bytes[HEAD_NOTE] = (uint8_t)(note / NOTE_ENTRY);
    edit_replace(edit, 0, edit->size, bytes, size + note);
}

static void change_image_head(struct edit *edit) {
    edit_put(edit, edit_random(edit, HEAD_BYTES), 1, true, (uint32_t)edit_random(edit, 256));
}

static void flip_bit(struct edit *edit, size_t at, size_t size) {
    at += HEAD_BYTES + edit_random(edit, size);
    edit_put(edit, at, 1, true, edit_get(edit, at, 1, true) ^ 1u << edit_random(edit, 8));
}

static void flip_header(struct edit *edit) {
    flip_bit(edit, IMAGE_XSTATE_BV, CARRY_XSTATE_EXTENDED - IMAGE_XSTATE_BV);
}

static void flip_bits_of_components(struct edit *edit) {
    flip_bit(edit, edit_random(edit, 2) ? IMAGE_XSTATE_BV : IMAGE_XCOMP_BV, 3);
}

static void flip_legacy(struct edit *edit) {
    flip_bit(edit, edit_random(edit, 2) ? IMAGE_MXCSR : 0, 8);
}

static void change_software(struct edit *edit) {
    edit_number(edit, HEAD_BYTES + IMAGE_SOFTWARE + 4 * edit_random(edit, 5), 4, true,
                (uint32_t)(edit->size - HEAD_BYTES));
}

static void change_note(struct edit *edit) {
    size_t note = edit->size < HEAD_BYTES ? 0 : (size_t)edit->bytes[HEAD_NOTE] * NOTE_ENTRY;
    if (note && note <= edit->size - HEAD_BYTES)
        edit_number(edit, edit->size - note + 4 * edit_random(edit, note / 4), 4, true, 576);
}

static void cut_image(struct edit *edit) {
    edit->size = edit_random(edit, edit->size + 1);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static edit_fn *const changes[] = {
        start_image, change_image_head, flip_header, flip_bits_of_components,
        flip_legacy, change_software,   change_note, cut_image};
    struct edit edit = {.bytes = data, .size = size, .max = max, .random = seed};
    if (size < HEAD_BYTES + CARRY_XSTATE_LEGACY)
        start_image(&edit);
    edit_some(&edit, changes, sizeof changes / sizeof *changes);
    return edit.size;
}
