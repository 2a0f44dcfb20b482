/* SPDX-License-Identifier: MIT */
/*
 * Bytes from a file, a pipe or memory, seen through one window that only moves forward.
 *
 * Whoever parses asks for the next `size` bytes as one run and gets a pointer into the window: what
 * was asked for is never copied, except that a run which straddles the window's end is first moved
 * to its front. The window grows only as bytes arrive, so a length that lies costs no memory.
 *
 * Who wants to look at the bytes of a window for longer watches the input: it is called when the
 * window is full, and may then take it away and leave another.
 */
#ifndef CARRY_CAPTURE_SRC_INPUT_H
#define CARRY_CAPTURE_SRC_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most `size` bytes to `buffer`; 0 at the end, a negative errno on failure. */
typedef int64_t input_read_fn(void *context, void *buffer, size_t size);

/* Takes `size` bytes; false if it wants no more of them, which carry_input_drain() heeds. */
typedef bool input_sink_fn(void *context, const void *bytes, size_t size);

struct window {
    uint8_t *bytes; /* from malloc() */
    size_t capacity;
};

struct input_watcher {
    /* Before the bytes already gone over are overwritten; 0, or the errno with which reading ends.
     */
    int (*full)(void *context);
    /* Before the read function waits for bytes that are not there yet, and after signals; false if
       they are no longer wanted. */
    bool (*idle)(void *context);
    /* NULL, or asked of a full window, whose later half begins at `from`. Returns the offset, at or
       after `from`, of the first byte that may still change; UINT64_MAX: none. */
    uint64_t (*keep)(void *context, uint64_t from);
    void *context;
};

struct input {
    input_read_fn *read;
    void *context;
    uint8_t *window;
    size_t capacity;
    const uint8_t *at;     /* the next byte */
    const uint8_t *end;    /* of the bytes read so far */
    const uint8_t *passed; /* of the bytes that the sink has got */
    uint64_t end_offset;   /* of `end` in the file */
    int error;             /* errno of the read that failed, or 0; then nothing more is read, */
    bool ended;            /* nor behind the end of the file */
    bool stopped;          /* who reads was stopped before the end of the file */
    input_sink_fn *sink; /* NULL, or what gets all bytes, in order, before they leave the window */
    void *sink_context;
    bool sink_is_full; /* it wants no more */
    struct input_watcher watcher;
};

/* False if there is no memory for a window of `capacity` bytes. */
bool carry_input_open(struct input *input, input_read_fn *read, void *context, size_t capacity);
void carry_input_close(struct input *input);

/* As if nothing had been read yet; sink and watcher remain. */
void carry_input_restart(struct input *input);

/*
 * Takes the window away and goes on with another, to which the bytes still held are copied. It must
 * have room for them.
 */
struct window carry_input_swap(struct input *input, struct window window);

/* Reads until `size` bytes are in the window; false at the end of the file or on an error. */
bool carry_input_fill(struct input *input, size_t size);

/* Goes to the end of the file; false on an error. Then the sink has had all that it wants. */
bool carry_input_drain(struct input *input);

/* Hands what was gone over to the sink, which otherwise gets it when the window is full. */
void carry_input_flush(struct input *input);

/* Forgets what is held, as if the file ended before. */
void carry_input_drop(struct input *input);

/*
 * Writes over bytes that were read: false, and nothing changes, if the sink has got them, or would
 * have if there were one. Bytes that were asked for as one run are handed on as one, unless they
 * are skipped, or watcher.keep divides them.
 */
bool carry_input_overwrite(struct input *input, uint64_t offset, const void *bytes, size_t size);

/* Goes `size` bytes forward, without keeping them; false if the file has fewer. */
bool carry_input_skip(struct input *input, uint64_t size);

/* Reports that nothing has come; false if nothing is wanted any more. */
static inline bool carry_input_idle(const struct input *input) {
    return !input->watcher.idle || input->watcher.idle(input->watcher.context);
}

static inline size_t carry_input_held(const struct input *input) {
    return (size_t)(input->end - input->at);
}

static inline uint64_t carry_input_offset(const struct input *input) {
    return input->end_offset - carry_input_held(input);
}

/* Where in the file the bytes begin that were not handed on. */
static inline uint64_t carry_input_start(const struct input *input) {
    return input->end_offset - (uint64_t)(input->end - input->passed);
}

/*
 * The next `size` bytes, valid until the next call for this input; NULL if the file has fewer or
 * cannot be read (then `error` is set). What is there remains held.
 */
static inline const uint8_t *carry_input_peek(struct input *input, size_t size) {
    if (carry_input_held(input) < size && !carry_input_fill(input, size))
        return NULL;
    return input->at;
}

#endif
