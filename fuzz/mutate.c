/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

/* Returns a random number by SplitMix64. */
size_t edit_random(struct edit *edit, size_t limit) {
    uint64_t value = edit->random += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    value ^= value >> 31;
    return limit ? (size_t)(value % limit) : 0;
}

static bool lies_in_input(const struct edit *edit, size_t at, size_t size) {
    return at <= edit->size && size <= edit->size - at;
}

static unsigned shift_of(unsigned i, unsigned width, bool little) {
    return 8 * (little ? i : width - 1 - i);
}

uint32_t edit_get(const struct edit *edit, size_t at, unsigned width, bool little) {
    uint32_t value = 0;
    for (unsigned i = 0; i < width && lies_in_input(edit, at, width); i++)
        value |= (uint32_t)edit->bytes[at + i] << shift_of(i, width, little);
    return value;
}

void edit_put(struct edit *edit, size_t at, unsigned width, bool little, uint32_t value) {
    for (unsigned i = 0; i < width && lies_in_input(edit, at, width); i++)
        edit->bytes[at + i] = (uint8_t)(value >> shift_of(i, width, little));
}

void edit_number(struct edit *edit, size_t at, unsigned width, bool little, uint32_t rest) {
    uint32_t old = edit_get(edit, at, width, little);
    const uint32_t values[] = {
        0,        1,        UINT32_MAX, INT32_MAX,
        old + 1,  old - 1,  old + 4,    old - 4,
        rest - 8, rest,     rest + 1,   rest - 1,
        rest + 4, rest - 4, rest / 2,   (uint32_t)edit_random(edit, UINT32_MAX),
    };
    edit_put(edit, at, width, little, values[edit_random(edit, sizeof values / sizeof *values)]);
}

bool edit_replace(struct edit *edit, size_t at, size_t old, const void *bytes, size_t size) {
    if (!lies_in_input(edit, at, old) || size > edit->max - (edit->size - old))
        return false;
    memmove(edit->bytes + at + size, edit->bytes + at + old, edit->size - at - old);
    if (size)
        memcpy(edit->bytes + at, bytes, size);
    edit->size += size - old;
    return true;
}

bool edit_repeat(struct edit *edit, size_t at, size_t from, size_t size) {
    void *copy = lies_in_input(edit, from, size) ? malloc(size + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, edit->bytes + from, size);
    bool done = edit_replace(edit, at, 0, copy, size);
    free(copy);
    return done;
}

void edit_any(struct edit *edit, size_t at, size_t size) {
    if (!lies_in_input(edit, at, size))
        return;
    size_t end = at + size;
    size_t room = end == edit->size ? edit->max - at : size;
    size_t now = room ? LLVMFuzzerMutate(edit->bytes + at, size, room) : 0;
    memmove(edit->bytes + at + now, edit->bytes + end, edit->size - end);
    edit->size -= size;
    edit->size += now;
}

void edit_some(struct edit *edit, edit_fn *const *changes, size_t count) {
    if (edit_random(edit, 2)) {
        edit_any(edit, 0, edit->size);
        return;
    }
    for (size_t times = 1 + edit_random(edit, 4); times--;)
        changes[edit_random(edit, count)](edit);
}
