/* SPDX-License-Identifier: MIT */
#include "live/packet_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITER "carry live"

struct packet_file {
    FILE *stream;
    struct carry_capture_writer *writer;
    const struct interfaces *interfaces;
    bool named[INTERFACES_MAX];
    pthread_mutex_t lock;
    atomic_int error; /* errno, or 0; then no more is written */
};

static void note(struct packet_file *file, int error) {
    int none = 0;
    atomic_compare_exchange_strong(&file->error, &none, error ? error : EIO);
}

static int write_bytes(void *user, const void *bytes, size_t size) {
    struct packet_file *file = user;
    errno = 0;
    if (fwrite(bytes, 1, size, file->stream) == size)
        return 0;
    note(file, errno);
    return -EIO;
}

/* Packets to where standard output went, and what is printed to where messages go. */
static FILE *take_standard_output(void) {
    const int copy = dup(STDOUT_FILENO);
    if (copy < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(copy, "wb");
}

static bool open_writer(struct packet_file *file) {
    const struct carry_capture_writer_options options = {.application = WRITER};
    const struct carry_capture_sink sink = {.write = write_bytes, .user = file};
    errno = ENOMEM;
    return carry_capture_writer_create(&options, &sink, &file->writer) == CARRY_OK;
}

struct packet_file *packet_file_open(const char *path, const struct interfaces *interfaces) {
    struct packet_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->interfaces = interfaces;
    pthread_mutex_init(&file->lock, NULL);
    file->stream = strcmp(path, "-") == 0 ? take_standard_output() : fopen(path, "wbe");
    if (file->stream && open_writer(file))
        return file;
    const int error = errno;
    if (file->stream)
        fclose(file->stream);
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

void packet_file_add(struct packet_file *file, const struct carry_capture_packet *packet) {
    const unsigned number = packet->interface;
    if (file->error)
        return;
    if (!file->named[number])
        carry_capture_writer_name(file->writer, number, file->interfaces->names[number]);
    file->named[number] = true;
    if (carry_capture_writer_add(file->writer, packet, NULL) == CARRY_ERROR_MEMORY)
        note(file, ENOMEM);
}

void packet_file_flush(struct packet_file *file) {
    packet_file_lock(file);
    errno = 0;
    if (!file->error && fflush(file->stream))
        note(file, errno);
    packet_file_unlock(file);
}

bool packet_file_has_failed(const struct packet_file *file) {
    return file->error;
}

bool packet_file_close(struct packet_file *file) {
    if (!file)
        return true;
    if (!file->error)
        carry_capture_writer_end(file->writer);
    errno = 0;
    if (fclose(file->stream))
        note(file, errno);
    carry_capture_writer_free(file->writer);
    pthread_mutex_destroy(&file->lock);
    const int error = file->error;
    free(file);
    errno = error;
    return !error;
}
