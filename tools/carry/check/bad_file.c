/* SPDX-License-Identifier: MIT */
#include "check/bad_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/output.h"
#include "common/pack.h"
#include "common/text.h"

/* The application in the section header. By it, a later run recognises the file as an output. */
#define WRITER "carry check --write-bad"

/* The offset of WRITER in the file. A section header block without options has 28 bytes, of which
 * the last 4 follow the options. The code and the length of the first option have 4 bytes. */
#define WRITER_OFFSET (28 - 4 + 4)

/* The limit of a packet's comment. The length of an option has 16 bits; paths are far shorter. */
#define COMMENT_SIZE 8192

struct bad_file {
    struct output output;
    FILE *stream; /* writes to `output` */
    struct carry_capture_writer *writer;
};

static int write_bad_bytes(void *user, const void *bytes, size_t size) {
    struct bad_file *file = user;
    return fwrite(bytes, 1, size, file->stream) == size ? 0 : -EIO;
}

void bad_file_add(struct bad_file *file, const char *source,
                  const struct carry_capture_packet *packet) {
    char comment[COMMENT_SIZE], *name = text_clean(source);
    snprintf(comment, sizeof comment, "%s, frame %llu", name ? name : "?",
             (unsigned long long)packet->number);
    free(name);
    if (carry_capture_writer_add(file->writer, packet, comment) == CARRY_ERROR_MEMORY)
        file->output.error = ENOMEM;
}

static void release_bad_file(struct bad_file *file) {
    int error = errno;
    carry_capture_writer_free(file->writer);
    free(file);
    errno = error;
}

/* Creates the writer. Returns false with errno set on failure. */
static bool open_bad_writer(struct bad_file *file) {
    const struct carry_capture_writer_options options = {.application = WRITER};
    const struct carry_capture_sink sink = {.write = write_bad_bytes, .user = file};
    errno = ENOMEM;
    return carry_capture_writer_create(&options, &sink, &file->writer) == CARRY_OK;
}

struct bad_file *bad_file_open(const char *path) {
    struct bad_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->stream = output_open(&file->output, path, 0666) ? output_stream(&file->output) : NULL;
    if (file->stream && open_bad_writer(file))
        return file;
    output_abandon(&file->output);
    release_bad_file(file);
    return NULL;
}

void bad_file_restrict(struct bad_file *file, mode_t mode) {
    output_restrict(&file->output, mode);
}

bool bad_file_replaces(const struct bad_file *file, const struct stat *capture) {
    struct stat present;
    return stat(file->output.path, &present) == 0 && output_is_same(&present, capture);
}

bool bad_file_is_earlier(const struct bad_file *file, const struct stat *capture,
                         const char *path) {
    char head[WRITER_OFFSET + sizeof WRITER - 1];
    return bad_file_replaces(file, capture) && pack_head(path, head, sizeof head) == sizeof head &&
           !memcmp(head + WRITER_OFFSET, WRITER, sizeof WRITER - 1);
}

bool bad_file_close(struct bad_file *file, bool keep) {
    struct output *output = &file->output;
    if (keep)
        carry_capture_writer_end(file->writer);
    bool closed = !keep || (output_finish(output) && output_publish(output));
    output_abandon(output);
    errno = output->error;
    release_bad_file(file);
    return closed;
}
