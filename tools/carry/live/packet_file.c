/* SPDX-License-Identifier: MIT */
#include "live/packet_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live_reader.h"
#include "live/watch.h"

#define WRITER "carry live"

/* The most bytes of one write. A pipe that poll() reports as writable accepts PIPE_BUF bytes
   without blocking. */
#define PIECE_SIZE      PIPE_BUF
#define FILE_PIECE_SIZE ((size_t)64 << 10)

/* The time that a reader may read nothing once all threads must end. */
#define TIMEOUT_MS 1000

/* Packets contain private data: by default, other users get no permission. */
#define OWNER_MODE (S_IRUSR | S_IWUSR)

/* Interval between checks for the reader of a FIFO. */
#define OPENER_MS 50

struct packet_file {
    int descriptor;
    size_t piece_size;
    const struct live *live;
    struct carry_capture_writer *writer;
    bool named[INTERFACES_MAX];
    pthread_mutex_t lock;
    uint8_t *bytes; /* not written yet */
    size_t used, capacity;
    uint64_t waiting;    /* packets not written yet */
    bool reader_stopped; /* nothing more is written */
    atomic_int error;    /* errno, or 0; nothing more is written after an error */
};

static void note_error(struct packet_file *file, int error) {
    int none = 0;
    atomic_compare_exchange_strong(&file->error, &none, error ? error : EIO);
}

static bool packet_file_ended(const struct packet_file *file) {
    return file->error || file->reader_stopped;
}

/* --- Bytes --- */

static bool has_byte_room(struct packet_file *file, size_t size) {
    if (size <= file->capacity - file->used)
        return true;
    const size_t capacity = 2 * (file->used + size);
    uint8_t *bytes = realloc(file->bytes, capacity);
    if (!bytes)
        return false;
    file->bytes = bytes;
    file->capacity = capacity;
    return true;
}

static int keep_bytes(void *user, const void *bytes, size_t size) {
    struct packet_file *file = user;
    if (!has_byte_room(file, size)) {
        note_error(file, ENOMEM);
        return -ENOMEM;
    }
    memcpy(file->bytes + file->used, bytes, size);
    file->used += size;
    return 0;
}

static size_t write_piece(struct packet_file *file, const uint8_t *bytes, size_t size) {
    const ssize_t written =
        write(file->descriptor, bytes, size < file->piece_size ? size : file->piece_size);
    if (written < 0 && errno != EINTR && errno != EAGAIN)
        note_error(file, errno);
    return written < 0 ? 0 : (size_t)written;
}

/* Writes the first `size` bytes, which contain `packets` packets. */
static void write_waiting(struct packet_file *file, size_t size, uint64_t packets) {
    size_t sent = 0;
    while (sent < size && !packet_file_ended(file))
        if (reader_await(file->descriptor, file->live->stop_event, TIMEOUT_MS))
            sent += write_piece(file, file->bytes + sent, size - sent);
        else
            file->reader_stopped = true;
    if (!size || packet_file_ended(file))
        return;
    file->used -= size;
    file->waiting -= packets;
    memmove(file->bytes, file->bytes + size, file->used);
}

/* --- The file --- */

/* Redirects standard output to standard error, and returns a descriptor of the original standard
   output for packets. Returns -1 with errno set on failure. */
static int take_standard_output(void) {
    const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    return copy < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : copy;
}

static bool open_packet_writer(struct packet_file *file) {
    const struct carry_capture_writer_options options = {.application = WRITER};
    const struct carry_capture_sink sink = {.write = keep_bytes, .user = file};
    errno = ENOMEM;
    return carry_capture_writer_create(&options, &sink, &file->writer) == CARRY_OK;
}

/* Waits a moment for the reader of a FIFO; false once a signal asks the command to end. */
static bool await_opener(const struct live *live) {
    struct pollfd stop = {.fd = live->signal_event, .events = POLLIN};
    const bool ends = poll(&stop, 1, OPENER_MS) > 0;
    errno = EINTR;
    return !ends;
}

/* Opens the file; returns -1 with errno set on failure. open() must not wait for the reader of a
   FIFO, since it is restarted after signals. */
static int open_write_path(const char *path, const struct live *live) {
    int made;
    do
        made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, OWNER_MODE);
    while (made < 0 && errno == ENXIO && await_opener(live));
    if (made >= 0)
        fcntl(made, F_SETFL, fcntl(made, F_GETFL) & ~O_NONBLOCK);
    return made;
}

static bool open_packet_output(struct packet_file *file, const char *path) {
    struct stat status;
    file->descriptor =
        strcmp(path, "-") == 0 ? take_standard_output() : open_write_path(path, file->live);
    if (file->descriptor < 0 || fstat(file->descriptor, &status))
        return false;
    file->piece_size = S_ISREG(status.st_mode) ? FILE_PIECE_SIZE : PIECE_SIZE;
    return open_packet_writer(file);
}

struct packet_file *packet_file_open(const char *path, const struct live *live) {
    struct packet_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->live = live;
    pthread_mutex_init(&file->lock, NULL);
    if (open_packet_output(file, path))
        return file;
    const int error = errno;
    if (file->descriptor >= 0)
        close(file->descriptor);
    free(file);
    errno = error;
    return NULL;
}

void packet_file_lock(struct packet_file *file) {
    pthread_mutex_lock(&file->lock);
}

void packet_file_unlock(struct packet_file *file) {
    pthread_mutex_unlock(&file->lock);
}

static void add_to_writer(struct packet_file *file, const struct carry_capture_packet *packet) {
    const unsigned number = packet->interface;
    if (!file->named[number])
        carry_capture_writer_name(file->writer, number, file->live->interfaces.names[number]);
    file->named[number] = true;
    if (carry_capture_writer_add(file->writer, packet, NULL) == CARRY_ERROR_MEMORY)
        note_error(file, ENOMEM);
}

/* Adds a packet. Each write ends with a whole packet, unless one is larger than a piece. */
void packet_file_add(struct packet_file *file, const struct carry_capture_packet *packet) {
    const size_t before = file->used;
    file->waiting++;
    if (packet_file_ended(file))
        return;
    add_to_writer(file, packet);
    if (file->used > file->piece_size)
        write_waiting(file, before, file->waiting - 1);
    if (file->used > file->piece_size)
        write_waiting(file, file->used, file->waiting);
}

void packet_file_count(struct packet_file *file, unsigned interface,
                       const struct carry_capture_statistics *statistics) {
    if (!packet_file_ended(file) && file->named[interface])
        carry_capture_writer_statistics(file->writer, interface, statistics);
}

void packet_file_flush(struct packet_file *file) {
    packet_file_lock(file);
    write_waiting(file, file->used, file->waiting);
    packet_file_unlock(file);
}

bool packet_file_has_failed(const struct packet_file *file) {
    return file->error;
}

bool packet_file_close(struct packet_file *file, uint64_t *lost) {
    if (!file)
        return true;
    if (!packet_file_ended(file))
        carry_capture_writer_end(file->writer);
    write_waiting(file, file->used, file->waiting);
    if (close(file->descriptor))
        note_error(file, errno);
    carry_capture_writer_free(file->writer);
    pthread_mutex_destroy(&file->lock);
    const bool ok = !packet_file_ended(file);
    const int error = file->error;
    if (lost)
        *lost = file->waiting;
    free(file->bytes);
    free(file);
    errno = error;
    return ok;
}
