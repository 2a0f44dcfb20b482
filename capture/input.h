/* SPDX-License-Identifier: MIT */
/*
 * Reads bytes from a file, a pipe or memory through one window that only moves forward.
 *
 * A parser asks for the next `size` bytes as one run and gets a pointer into the window. Bytes are
 * not copied, with one exception: a run that would cross the window's end is first moved to the
 * window's front. The window grows only as bytes arrive, so a false length costs no memory.
 *
 * A watcher can keep the bytes of a window for longer. The input calls the watcher when the window
 * is full, and the watcher may then take the window and provide another.
 */
#ifndef CARRY_CAPTURE_SRC_INPUT_H
#define CARRY_CAPTURE_SRC_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads at most `size` bytes into `buffer`; returns their number, 0 at the end, or a negative
   errno. */
typedef int64_t input_read_fn(void *context, void *buffer, size_t size);

/* Takes `size` bytes. Returns false if the sink wants no more bytes: carry_input_drain()
   then ends. */
typedef bool input_sink_fn(void *context, const void *bytes, size_t size);

struct window {
    uint8_t *bytes; /* from malloc() */
    size_t capacity;
};

struct input_watcher {
    /* Runs before bytes that the parser has read are overwritten. Returns 0, or an errno that ends
       reading. */
    int (*full)(void *context);
    /* Runs before the read function blocks, and after signals. Returns false if no more bytes are
       wanted. */
    bool (*idle)(void *context);
    /* NULL, or called when a window is full, whose second half begins at the offset `from`. Returns
       the offset, at or after `from`, of the first byte that may still change; UINT64_MAX if there
       is no such byte. */
    uint64_t (*keep)(void *context, uint64_t from);
    void *context;
};

struct input {
    input_read_fn *read;
    void *context;
    uint8_t *window;
    size_t capacity;
    const uint8_t *at;     /* the next byte */
    const uint8_t *end;    /* end of the bytes read so far */
    const uint8_t *passed; /* end of the bytes that were passed to the sink */
    uint64_t end_offset;   /* offset of `end` in the file */
    int error;             /* errno of a failed read, after which nothing is read; or 0 */
    bool ended;            /* the end of the file was reached: nothing more is read */
    bool stopped;          /* reading was stopped before the end of the file */
    input_sink_fn *sink;   /* NULL, or called with all bytes, in order, before they leave the
                              window */
    void *sink_context;
    bool sink_is_full; /* the sink wants no more */
    struct input_watcher watcher;
};

/* Opens an input with a window of `capacity` bytes. Returns false if there is no memory. */
bool carry_input_open(struct input *input, input_read_fn *read, void *context, size_t capacity);
void carry_input_close(struct input *input);

/* Opens an input of bytes that the caller keeps: all bytes of a file, up to `size`. The input
   begins at offset `from`, and needs no closing. */
void carry_input_lend(struct input *input, const uint8_t *bytes, size_t size, size_t from);

/* Restarts, as if nothing had been read; sink and watcher remain. */
void carry_input_restart(struct input *input);

/* Drops the held bytes and continues at another offset. The read function must continue there. */
void carry_input_move(struct input *input, uint64_t offset);

/*
 * Returns the current window and continues with `window`, to which the held bytes are copied and
 * which must have room for them.
 */
struct window carry_input_swap(struct input *input, struct window window);

/* Reads until `size` bytes are held. Returns false at the end of the file or on an error. */
bool carry_input_fill(struct input *input, size_t size);

/* Reads to the end of the file, or until the sink wants no more. Returns false on an error. */
bool carry_input_drain(struct input *input);

/* Passes the bytes before `at` to the sink, which otherwise gets them when the window is full. */
void carry_input_flush(struct input *input);

/* Drops the held bytes, as if the file ended before them. */
void carry_input_drop(struct input *input);

/*
 * Overwrites bytes that were read. Returns false, and changes nothing, if they were already passed
 * to the sink, or would have been if there were one. Bytes that a parser asked for as one run reach
 * the sink as one run, unless they are skipped, or watcher.keep divides them.
 */
bool carry_input_overwrite(struct input *input, uint64_t offset, const void *bytes, size_t size);

/* Skips `size` bytes without holding them. Returns false if the file has fewer. */
bool carry_input_skip(struct input *input, uint64_t size);

/* Calls the watcher while no bytes arrive. Returns false if no more bytes are wanted. */
static inline bool carry_input_idle(const struct input *input) {
    return !input->watcher.idle || input->watcher.idle(input->watcher.context);
}

static inline size_t carry_input_held(const struct input *input) {
    return (size_t)(input->end - input->at);
}

static inline uint64_t carry_input_offset(const struct input *input) {
    return input->end_offset - carry_input_held(input);
}

/* Returns the offset in the file of the first byte that was not passed on. */
static inline uint64_t carry_input_start(const struct input *input) {
    return input->end_offset - (uint64_t)(input->end - input->passed);
}

/*
 * Returns the next `size` bytes, valid until the next call for this input. Returns NULL if the file
 * has fewer bytes, or cannot be read (then `error` is set). The bytes remain held.
 */
static inline const uint8_t *carry_input_peek(struct input *input, size_t size) {
    if (carry_input_held(input) < size && !carry_input_fill(input, size))
        return NULL;
    return input->at;
}

#endif
