/* SPDX-License-Identifier: MIT */
#include "live/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "live/live_threads.h"

/* The most bytes of text that may wait, in addition to the bytes in the pipe. */
#define WAITING_MAX ((size_t)1 << 20)

/* The time that a reader may read nothing before threads stop waiting for it. */
#define TIMEOUT_NS CLOCK_SECOND

/* The interval at which a waiting thread checks whether it must end. */
#define SLICE_NS (CLOCK_SECOND / 20)

/* The text that one call of outlet_end() added. */
struct piece {
    struct piece *next;
    char *text;
    size_t size, written;
};

struct outlet {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct piece *first, **last;
    size_t waiting;   /* bytes of all pieces */
    int64_t progress; /* when the reader last read, or could begin to read */
    uint64_t lost;    /* lines that were not written */
    bool ends;        /* no more text will be added */
    atomic_int error; /* errno of write() */
    int end_event;
};

static uint64_t count_lines(const char *text, size_t size) {
    uint64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* --- The thread --- */

/* Writes some bytes; returns how many. The bytes are few, so that each successful write shows soon
   that the reader still reads. */
static size_t write_text_part(struct outlet *outlet, const char *text, size_t size) {
    struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
    const ssize_t written = write(STDOUT_FILENO, text, size < PIPE_BUF ? size : PIPE_BUF);
    if (written >= 0)
        return (size_t)written;
    if (errno == EAGAIN) /* another process made the pipe non-blocking */
        poll(&room, 1, -1);
    else if (errno != EINTR)
        outlet->error = errno;
    return 0;
}

static void free_first(struct outlet *outlet) {
    struct piece *piece = outlet->first;
    outlet->first = piece->next;
    if (!outlet->first)
        outlet->last = &outlet->first;
    outlet->waiting -= piece->size;
    free(piece->text);
    free(piece);
}

/* Writes some of the first piece, without holding the lock during the write. */
static void write_first_piece(struct outlet *outlet) {
    struct piece *piece = outlet->first;
    pthread_mutex_unlock(&outlet->lock);
    const size_t written =
        write_text_part(outlet, piece->text + piece->written, piece->size - piece->written);
    pthread_mutex_lock(&outlet->lock);
    piece->written += written;
    if (written)
        outlet->progress = clock_ns();
    if (piece->written == piece->size)
        free_first(outlet);
    pthread_cond_broadcast(&outlet->changed);
}

static void *run_outlet(void *context) {
    struct outlet *outlet = context;
    pthread_mutex_lock(&outlet->lock);
    while (!outlet->error && (outlet->first || !outlet->ends))
        if (outlet->first)
            write_first_piece(outlet);
        else
            pthread_cond_wait(&outlet->changed, &outlet->lock);
    if (outlet->error && !outlet->ends)
        threads_notify(outlet->end_event);
    pthread_cond_broadcast(&outlet->changed);
    pthread_mutex_unlock(&outlet->lock);
    return NULL;
}

static bool init_changed(pthread_cond_t *changed) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const bool ok = !pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return ok;
}

struct outlet *outlet_open(int end_event) {
    struct outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet)
        return NULL;
    outlet->last = &outlet->first;
    outlet->end_event = end_event;
    pthread_mutex_init(&outlet->lock, NULL);
    if (init_changed(&outlet->changed) && threads_start(&outlet->thread, run_outlet, outlet))
        return outlet;
    free(outlet);
    return NULL;
}

/* --- Adding --- */

FILE *outlet_begin(struct outlet_text *text) {
    *text = (struct outlet_text){0};
    return text->out = open_memstream(&text->text, &text->size);
}

/* Waits until the outlet changes, but at most for SLICE_NS. */
static void wait_slice(struct outlet *outlet) {
    const int64_t until = clock_ns() + SLICE_NS;
    const struct timespec time = {.tv_sec = until / CLOCK_SECOND, .tv_nsec = until % CLOCK_SECOND};
    pthread_cond_timedwait(&outlet->changed, &outlet->lock, &time);
}

static bool reader_stopped(const struct outlet *outlet) {
    return clock_ns() - outlet->progress >= TIMEOUT_NS;
}

/* Checks whether there is room for `size` bytes. A piece of any size fits if no text waits. */
static bool has_text_room(const struct outlet *outlet, size_t size) {
    return !outlet->first || outlet->waiting + size <= WAITING_MAX;
}

static bool await_room(struct outlet *outlet, size_t size, const atomic_bool *stops) {
    while (!has_text_room(outlet, size) && stops && !*stops && !outlet->error &&
           !reader_stopped(outlet))
        wait_slice(outlet);
    return has_text_room(outlet, size) && !outlet->error;
}

static struct piece *make_piece(const struct outlet_text *text) {
    struct piece *piece = calloc(1, sizeof *piece);
    if (piece)
        *piece = (struct piece){.text = text->text, .size = text->size};
    return piece;
}

static void append_piece(struct outlet *outlet, struct piece *piece) {
    if (!outlet->first)
        outlet->progress = clock_ns();
    *outlet->last = piece;
    outlet->last = &piece->next;
    outlet->waiting += piece->size;
    pthread_cond_broadcast(&outlet->changed);
}

void outlet_end(struct outlet *outlet, struct outlet_text *text, const atomic_bool *stops) {
    const bool ok = fclose(text->out) == 0;
    struct piece *piece = ok && text->size ? make_piece(text) : NULL;
    pthread_mutex_lock(&outlet->lock);
    if (piece && await_room(outlet, text->size, stops)) {
        append_piece(outlet, piece);
    } else {
        outlet->lost += count_lines(text->text, ok ? text->size : 0);
        free(text->text);
        free(piece);
    }
    pthread_mutex_unlock(&outlet->lock);
}

bool outlet_is_idle(struct outlet *outlet) {
    pthread_mutex_lock(&outlet->lock);
    const bool is_idle = !outlet->first;
    pthread_mutex_unlock(&outlet->lock);
    return is_idle;
}

bool outlet_has_failed(const struct outlet *outlet) {
    return outlet->error;
}

/* --- The end --- */

static uint64_t lines_left(const struct outlet *outlet) {
    uint64_t lines = 0;
    for (const struct piece *piece = outlet->first; piece; piece = piece->next)
        lines += count_lines(piece->text + piece->written, piece->size - piece->written);
    return lines;
}

static void free_outlet(struct outlet *outlet) {
    pthread_join(outlet->thread, NULL);
    while (outlet->first)
        free_first(outlet);
    pthread_cond_destroy(&outlet->changed);
    pthread_mutex_destroy(&outlet->lock);
    free(outlet);
}

/* Closes the outlet. If the thread still waits in write() for a reader, the outlet remains
   allocated until the process ends. */
int outlet_close(struct outlet *outlet, uint64_t *lost) {
    *lost = 0;
    if (!outlet)
        return 0;
    pthread_mutex_lock(&outlet->lock);
    outlet->ends = true;
    pthread_cond_broadcast(&outlet->changed);
    while (outlet->first && !outlet->error && !reader_stopped(outlet))
        wait_slice(outlet);
    const int error = outlet->error;
    const bool is_done = error || !outlet->first;
    *lost = outlet->lost + lines_left(outlet);
    pthread_mutex_unlock(&outlet->lock);
    if (is_done)
        free_outlet(outlet);
    return error;
}
