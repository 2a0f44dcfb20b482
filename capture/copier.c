/* SPDX-License-Identifier: MIT */
#include "copier.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel_copy.h"
#include "threads.h"

/* Copied at once by a thread: so few bytes that the reader need not wait long for the last ones. */
#define COPIED_BYTES ((size_t)1 << 20)

/* Copied at once without a thread: so few bytes that the reader finds them in the second-level
   cache. */
#define BUFFER_BYTES WINDOW_BYTES

/* A file that has not changed for so long gets another time with its next change, since the clocks
   of file systems advance in steps of at most a second. */
#define SETTLED_SECONDS 2

/* Holds changes of the copy until the thread writes them. Two threads cannot write to one file at
   the same time, and the one that waits spins: with 24 changes a MiB, carry fix reached 0.63 of the
   speed of cp without the queue, and 0.75 with it (Intel Xeon with AMX, ext4). */
#define QUEUE_BYTES ((size_t)512 << 10)

/* A change in a queue; its bytes follow. */
struct change {
    uint64_t offset;
    size_t size;
};

struct queue {
    uint8_t *bytes;
    size_t used;
};

struct copier {
    struct carry_capture *capture;
    struct carry_capture_source source; /* the capture's own */
    int from, to;                       /* descriptors */
    off_t start;                        /* where in the file the capture begins */
    bool is_clone;
    struct stat status; /* of a file that was cloned, before that */
    uint64_t at;        /* read from the copy so far */
    struct threads *threads;
    bool has_thread;

    /* Only for the thread that copies. */
    bool by_hand; /* the kernel copies no more */
    uint8_t *buffer;
    uint64_t next;                   /* copied so far */
    int read_failure, write_failure; /* errno */
    struct queue writing;            /* changes */

    /* Shared under the lock. */
    struct queue waiting;        /* changes */
    uint64_t copied;             /* as `next` */
    int read_error, write_error; /* as the failures */
    bool ended;                  /* nothing more is copied */
    bool finished;               /* the thread writes nothing more */
    bool stopped;                /* nothing more need be copied */
};

/* --- Copying --- */

/* Lets the kernel copy. Returns false if it copies nothing: at the end of the file, if it cannot
   copy these files, or if it fails. */
static bool copy_in_kernel(struct copier *copier, size_t size) {
    const int64_t copied = carry_kernel_copy(copier->from, (uint64_t)copier->start + copier->next,
                                             copier->to, copier->next, size);
    if (copied > 0)
        copier->next += (uint64_t)copied;
    return copied > 0;
}

/* Writes bytes of the copy, unless that has failed before. Returns false if it fails. */
static bool write_copy(struct copier *copier, uint64_t offset, const uint8_t *bytes, size_t size) {
    if (!copier->write_failure)
        copier->write_failure = -carry_kernel_write(copier->to, offset, bytes, size);
    return !copier->write_failure;
}

/* Reads and writes; this also shows on which side an error is. Returns false if nothing more can be
   copied. */
static bool copy_by_hand(struct copier *copier) {
    ssize_t got;
    do
        got =
            pread(copier->from, copier->buffer, BUFFER_BYTES, copier->start + (off_t)copier->next);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        copier->read_failure = errno;
    if (got <= 0 || !write_copy(copier, copier->next, copier->buffer, (size_t)got))
        return false;
    copier->next += (uint64_t)got;
    return true;
}

/* Copies some bytes. Once the kernel does not copy, copies by hand: kernels before 5.19 also report
   the end of some files too early. */
static void copy_some(struct copier *copier, size_t size) {
    copier->by_hand = copier->by_hand || !copy_in_kernel(copier, size);
    const bool more = !copier->by_hand || copy_by_hand(copier);
    carry_threads_lock(copier->threads);
    copier->copied = copier->next;
    copier->read_error = copier->read_failure;
    copier->write_error = copier->write_failure;
    copier->ended = !more || copier->stopped;
    carry_threads_signal(copier->threads, THREADS_DONE);
    carry_threads_unlock(copier->threads);
}

/* --- Changes --- */

/* Takes the changes that wait. Returns false if there are none; if nothing more is copied, the
   thread has then finished. */
static bool take_changes(struct copier *copier) {
    carry_threads_lock(copier->threads);
    const struct queue taken = copier->waiting;
    copier->waiting = (struct queue){copier->writing.bytes, 0};
    copier->writing = taken;
    copier->write_error = copier->write_failure;
    copier->finished = copier->ended && !taken.used;
    carry_threads_signal(copier->threads, THREADS_WORK);
    carry_threads_unlock(copier->threads);
    return taken.used;
}

static void write_changes(struct copier *copier) {
    struct change change;
    for (size_t at = 0; at < copier->writing.used; at += sizeof change + change.size) {
        memcpy(&change, copier->writing.bytes + at, sizeof change);
        write_copy(copier, change.offset, copier->writing.bytes + at + sizeof change, change.size);
    }
}

static void copy_all(void *context, unsigned number) {
    struct copier *copier = context;
    (void)number;
    do {
        copy_some(copier, COPIED_BYTES);
        while (take_changes(copier))
            write_changes(copier);
    } while (!copier->finished);
}

/* Lets a change wait for the thread, if that still writes. Returns false if it does not. The caller
   holds the lock. */
static bool queue_change(struct copier *copier, uint64_t offset, const void *bytes, size_t size) {
    const struct change change = {offset, size};
    struct queue *queue = &copier->waiting;
    while (!copier->finished && queue->used + sizeof change + size > QUEUE_BYTES)
        carry_threads_wait(copier->threads, THREADS_WORK);
    if (copier->finished)
        return false;
    memcpy(queue->bytes + queue->used, &change, sizeof change);
    memcpy(queue->bytes + queue->used + sizeof change, bytes, size);
    queue->used += sizeof change + size;
    return true;
}

static int rewrite_part(struct copier *copier, uint64_t offset, const void *bytes, size_t size) {
    if (!copier->has_thread)
        return carry_kernel_write(copier->to, offset, bytes, size);
    carry_threads_lock(copier->threads);
    const bool waits = queue_change(copier, offset, bytes, size);
    const int error = copier->write_error;
    carry_threads_unlock(copier->threads);
    return waits || error ? -error : carry_kernel_write(copier->to, offset, bytes, size);
}

int carry_copier_rewrite(void *copier, uint64_t offset, const void *bytes, size_t size) {
    int result = 0;
    for (size_t done = 0; done < size && !result;) {
        const size_t rest = size - done, part = rest < BUFFER_BYTES ? rest : BUFFER_BYTES;
        result = rewrite_part(copier, offset + done, (const uint8_t *)bytes + done, part);
        done += part;
    }
    return result;
}

/* --- Reading the copy --- */

/* Waits for bytes that were not read yet. Returns their number, 0 after the last one. */
static uint64_t await_copied(struct copier *copier) {
    carry_threads_lock(copier->threads);
    while (copier->copied == copier->at && !copier->ended)
        carry_threads_wait(copier->threads, THREADS_DONE);
    const uint64_t ready = copier->copied - copier->at;
    carry_threads_unlock(copier->threads);
    return ready;
}

static int64_t read_copied(void *context, void *buffer, size_t size) {
    struct copier *copier = context;
    while (!copier->has_thread && copier->copied == copier->at && !copier->ended)
        copy_some(copier, BUFFER_BYTES);
    const uint64_t ready = await_copied(copier);
    if (!ready)
        return copier->write_error ? -EIO : -copier->read_error;
    const ssize_t got =
        pread(copier->to, buffer, size < ready ? size : (size_t)ready, (off_t)copier->at);
    if (got <= 0)
        return got < 0 ? -errno : -EIO;
    copier->at += (uint64_t)got;
    return got;
}

static int rewind_copied(void *context) {
    ((struct copier *)context)->at = 0;
    return 0;
}

/* --- Cloning --- */

static bool is_settled(const struct stat *status) {
    const time_t now = time(NULL);
    return now - status->st_mtim.tv_sec > SETTLED_SECONDS &&
           now - status->st_ctim.tv_sec > SETTLED_SECONDS;
}

/* Compares a file with itself, earlier. */
static bool has_changed(int descriptor, const struct stat *before) {
    struct stat now;
    return fstat(descriptor, &now) || now.st_size != before->st_size ||
           now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec ||
           now.st_ctim.tv_sec != before->st_ctim.tv_sec ||
           now.st_ctim.tv_nsec != before->st_ctim.tv_nsec;
}

static bool clone_file(struct copier *copier) {
    return !copier->start && fstat(copier->from, &copier->status) == 0 &&
           is_settled(&copier->status) && carry_kernel_clone(copier->from, copier->to);
}

/* --- The work --- */

static bool is_plain_file(struct carry_capture *capture) {
    const struct file *file = &capture->file;
    return carry_reader_is_fresh(capture) && file->descriptor >= 0 && !file->waits &&
           file->stop < 0 && capture->source.size && carry_reader_recognises(capture) &&
           !carry_capture_is_compressed(capture);
}

/* Starts the thread that copies, if that saves time. */
static void start_thread(struct copier *copier) {
    copier->has_thread = copier->source.size > COPIED_BYTES && carry_threads_cores() > 1 &&
                         carry_threads_start(copier->threads, copy_all, copier, 0);
}

/* Lets the capture read the copy instead of its own file. */
static void read_from_copy(struct copier *copier) {
    copier->capture->source.read = read_copied;
    copier->capture->source.rewind = rewind_copied;
    copier->capture->source.user = copier;
}

static struct copier *create_copier(struct carry_capture *capture, int to) {
    struct copier *copier = calloc(1, sizeof *copier);
    if (!copier)
        return NULL;
    *copier = (struct copier){.capture = capture,
                              .source = capture->source,
                              .from = capture->file.descriptor,
                              .to = to,
                              .start = (off_t)capture->file.start,
                              .buffer = malloc(BUFFER_BYTES),
                              .writing.bytes = malloc(QUEUE_BYTES),
                              .waiting.bytes = malloc(QUEUE_BYTES),
                              .threads = carry_threads_create()};
    return copier;
}

static void close_copier(struct copier *copier) {
    if (copier->threads) {
        carry_threads_lock(copier->threads);
        copier->stopped = true;
        carry_threads_unlock(copier->threads);
    }
    carry_threads_free(copier->threads);
    copier->capture->source = copier->source;
    free(copier->buffer);
    free(copier->writing.bytes);
    free(copier->waiting.bytes);
}

/* Starts over, with the bytes that the capture will now get. They may be others than those that
   showed its format. */
static bool begin_capture(struct copier *copier) {
    return carry_capture_rewind(copier->capture) == CARRY_OK &&
           carry_reader_recognises(copier->capture) &&
           !carry_capture_is_compressed(copier->capture);
}

static bool begin_copying(struct copier *copier) {
    if (!copier->buffer || !copier->writing.bytes || !copier->waiting.bytes || !copier->threads)
        return false;
    /* The kernel would clone piece by piece, and the copy would have to be read from the disk. */
    copier->by_hand = carry_kernel_clones(copier->from);
    copier->is_clone = copier->by_hand && clone_file(copier);
    if (!copier->is_clone) {
        start_thread(copier);
        read_from_copy(copier);
    }
    return begin_capture(copier);
}

/* Undoes a beginning that failed. */
static void cancel_copying(struct copier *copier) {
    close_copier(copier);
    carry_capture_rewind(copier->capture);
    /* The caller finds out whether this fails. */
    if (ftruncate(copier->to, 0))
        errno = 0;
    free(copier);
}

struct copier *carry_copier_begin(struct carry_capture *capture, int to) {
    struct copier *copier = is_plain_file(capture) ? create_copier(capture, to) : NULL;
    if (copier && !begin_copying(copier)) {
        cancel_copying(copier);
        copier = NULL;
    }
    return copier;
}

int carry_copier_end(struct copier *copier, int code) {
    struct carry_capture *capture = copier->capture;
    close_copier(copier);
    const bool was_read = code == CARRY_OK || code == CARRY_ERROR_DAMAGED;
    if (was_read && copier->is_clone && has_changed(copier->from, &copier->status))
        code = carry_format_fail_text(capture, CARRY_ERROR_READ, "changed while it was read");
    if ((was_read || code == CARRY_ERROR_READ) && copier->write_error)
        code = carry_format_fail(capture, CARRY_ERROR_WRITE, copier->write_error);
    free(copier);
    return code;
}
