/* SPDX-License-Identifier: MIT */
/* Mutates the input of reassemble.c: a head, and records of four bytes. */
#include "mutate.h"

#define HEAD_BYTES   65
#define RECORD_BYTES 4

static size_t any_record(struct edit *edit, size_t extra) {
    size_t count = edit->size < HEAD_BYTES ? 0 : (edit->size - HEAD_BYTES) / RECORD_BYTES;
    return HEAD_BYTES + RECORD_BYTES * edit_random(edit, count + extra);
}

static void change_fragments_head(struct edit *edit) {
    edit_any(edit, 0, edit->size < HEAD_BYTES ? edit->size : HEAD_BYTES);
}

static void change_record_byte(struct edit *edit) {
    edit_put(edit, any_record(edit, 0) + edit_random(edit, RECORD_BYTES), 1, false,
             (uint32_t)edit_random(edit, 256));
}

static void change_flag(struct edit *edit) {
    size_t at = any_record(edit, 0);
    edit_put(edit, at, 1, false, edit_get(edit, at, 1, false) ^ 1u << edit_random(edit, 8));
}

/* Repeats a record, and changes the copy to the fragment that follows in the same datagram. */
static void append_next(struct edit *edit) {
    size_t at = any_record(edit, 0);
    if (!edit_repeat(edit, at + RECORD_BYTES, at, RECORD_BYTES))
        return;
    uint32_t place = edit_get(edit, at + 1, 1, false), size = edit_get(edit, at + 2, 1, false);
    edit_put(edit, at + RECORD_BYTES + 1, 1, false, place + size);
}

static void repeat_records(struct edit *edit) {
    edit_repeat(edit, any_record(edit, 1), any_record(edit, 0),
                RECORD_BYTES * (1 + edit_random(edit, 4)));
}

static void remove_record(struct edit *edit) {
    edit_replace(edit, any_record(edit, 0), RECORD_BYTES, NULL, 0);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static edit_fn *const changes[] = {change_fragments_head, change_record_byte, change_flag,
                                       append_next,           repeat_records,     remove_record};
    static const uint8_t head[HEAD_BYTES + RECORD_BYTES];
    struct edit edit = {.bytes = data, .size = size, .max = max, .random = seed};
    if (size < sizeof head)
        edit_replace(&edit, size, 0, head, sizeof head - size);
    edit_some(&edit, changes, sizeof changes / sizeof *changes);
    return edit.size;
}
