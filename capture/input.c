/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A window grows at most to the needed size, rounded up to a multiple of this. */
#define GRANULE ((size_t)64 << 10)

bool carry_input_open(struct input *input, input_read_fn *read, void *context, size_t capacity) {
    *input = (struct input){.read = read, .context = context, .capacity = capacity};
    input->window = malloc(capacity);
    input->at = input->end = input->passed = input->window;
    return input->window != NULL;
}

/* Without room behind the bytes, which the input would try to make, and at the end of the file. */
void carry_input_lend(struct input *input, const uint8_t *bytes, size_t size, size_t from) {
    *input = (struct input){
        .window = (uint8_t *)bytes,
        .capacity = size + 1,
        .at = bytes + from,
        .end = bytes + size,
        .passed = bytes + from,
        .end_offset = size,
        .ended = true,
    };
}

void carry_input_close(struct input *input) {
    free(input->window);
}

void carry_input_restart(struct input *input) {
    input->at = input->end = input->passed = input->window;
    input->end_offset = 0;
    input->error = 0;
    input->ended = false;
    input->stopped = false;
    input->sink_is_full = false;
}

void carry_input_move(struct input *input, uint64_t offset) {
    input->at = input->end = input->passed = input->window;
    input->end_offset = offset;
    input->ended = false;
}

struct window carry_input_swap(struct input *input, struct window window) {
    struct window old = {input->window, input->capacity};
    size_t held = carry_input_held(input);
    memcpy(window.bytes, input->at, held);
    input->window = window.bytes;
    input->capacity = window.capacity;
    input->at = input->passed = window.bytes;
    input->end = window.bytes + held;
    return old;
}

/* Doubles the window, which is full of held bytes, but to no more than `size` requires. */
static bool grow_window(struct input *input, size_t size) {
    size_t held = carry_input_held(input);
    size_t needed = (size + GRANULE - 1) / GRANULE * GRANULE;
    size_t capacity = 2 * input->capacity < needed ? 2 * input->capacity : needed;
    uint8_t *window = realloc(input->window, capacity);
    if (!window) {
        input->error = ENOMEM;
        return false;
    }
    input->window = window;
    input->capacity = capacity;
    input->at = input->passed = window;
    input->end = window + held;
    return true;
}

static void pass_to_sink(struct input *input, const uint8_t *end) {
    if (input->sink &&
        !input->sink(input->sink_context, input->passed, (size_t)(end - input->passed)))
        input->sink_is_full = true;
    input->passed = end;
}

void carry_input_flush(struct input *input) {
    pass_to_sink(input, input->at);
}

/* Returns the first byte that a full window must keep: the first unread byte, or an earlier byte
   that the watcher wants to keep. */
static const uint8_t *find_kept(const struct input *input) {
    const uint64_t half = input->end_offset - input->capacity / 2;
    const uint64_t start = carry_input_start(input), at = carry_input_offset(input);
    if (!input->watcher.keep)
        return input->at;
    const uint64_t kept = input->watcher.keep(input->watcher.context, half > start ? half : start);
    return kept < at ? input->at - (at - kept) : input->at;
}

/* Makes room after `end`, which has reached the end of the window. */
static bool make_window_room(struct input *input, size_t size) {
    if (input->watcher.full)
        input->error = input->watcher.full(input->watcher.context);
    if (input->error)
        return false;
    const uint8_t *kept = find_kept(input);
    pass_to_sink(input, kept);
    const size_t behind = (size_t)(input->at - kept), all = (size_t)(input->end - kept);
    memmove(input->window, kept, all);
    input->passed = input->window;
    input->at = input->window + behind;
    input->end = input->window + all;
    return all < input->capacity || grow_window(input, size);
}

static bool read_into_window(struct input *input) {
    size_t held = (size_t)(input->end - input->window);
    int64_t size;
    if (input->error || input->ended)
        return false;
    do
        size = input->read(input->context, input->window + held, input->capacity - held);
    while (size == -EINTR);
    if (size < 0)
        input->error = (int)-size;
    input->ended = size == 0;
    if (size <= 0)
        return false;
    input->end += size;
    input->end_offset += (uint64_t)size;
    return true;
}

bool carry_input_fill(struct input *input, size_t size) {
    while (carry_input_held(input) < size) {
        if (input->end == input->window + input->capacity && !make_window_room(input, size))
            return false;
        if (!read_into_window(input))
            return false;
    }
    return true;
}

bool carry_input_drain(struct input *input) {
    do
        input->at = input->end;
    while (!input->sink_is_full && carry_input_fill(input, 1));
    carry_input_flush(input);
    input->at = input->end = input->passed = input->window;
    return !input->error;
}

void carry_input_drop(struct input *input) {
    input->end_offset -= carry_input_held(input);
    input->end = input->at;
}

bool carry_input_overwrite(struct input *input, uint64_t offset, const void *bytes, size_t size) {
    const uint64_t start = input->end_offset - (uint64_t)(input->end - input->window);
    if (offset < carry_input_start(input))
        return false;
    memcpy(input->window + (offset - start), bytes, size);
    return true;
}

bool carry_input_skip(struct input *input, uint64_t size) {
    while (carry_input_held(input) < size) {
        size -= carry_input_held(input);
        input->at = input->end;
        if (!carry_input_fill(input, 1))
            return false;
    }
    input->at += size;
    return true;
}
