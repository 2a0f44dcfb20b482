/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool input_open(struct input *input, input_read_fn *read, void *context, size_t capacity) {
    *input = (struct input){.read = read, .context = context, .capacity = capacity};
    input->window = malloc(capacity);
    input->at = input->end = input->window;
    return input->window != NULL;
}

void input_close(struct input *input) {
    free(input->window);
}

static bool grow(struct input *input) {
    size_t held = input_held(input);
    uint8_t *window = realloc(input->window, 2 * input->capacity);
    if (!window) {
        input->error = ENOMEM;
        return false;
    }
    input->window = window;
    input->capacity *= 2;
    input->at = window;
    input->end = window + held;
    return true;
}

static bool read_more(struct input *input) {
    size_t held = (size_t)(input->end - input->window);
    ssize_t size;
    do
        size = input->read(input->context, input->window + held, input->capacity - held);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        input->error = errno;
    if (size <= 0)
        return false;
    input->end += size;
    input->end_offset += (uint64_t)size;
    return true;
}

bool input_fill(struct input *input, size_t size) {
    size_t held = input_held(input);
    if (input->sink)
        input->sink(input->sink_context, input->window, (size_t)(input->at - input->window));
    memmove(input->window, input->at, held);
    input->at = input->window;
    input->end = input->window + held;
    while (input_held(input) < size) {
        if (input_held(input) == input->capacity && !grow(input))
            return false;
        if (!read_more(input))
            return false;
    }
    return true;
}

bool input_drain(struct input *input) {
    do
        input->at = input->end;
    while (input_fill(input, 1));
    return !input->error;
}

bool input_skip(struct input *input, uint64_t size) {
    while (input_held(input) < size) {
        size -= input_held(input);
        input->at = input->end;
        if (!input_fill(input, 1))
            return false;
    }
    input->at += size;
    return true;
}
