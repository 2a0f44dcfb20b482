/* SPDX-License-Identifier: MIT */
#include "capture/bad_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/pcapng.h"
#include "common/output.h"
#include "common/text.h"

#define SECTION_BYTES 28 /* without options */

/* By this a later run knows the file. */
#define WRITER      "carry check --write-bad"
#define NANOSECONDS 9 /* as a negative power of ten */

/* Options have 16 bits of length; a path is far shorter. */
#define COMMENT_SIZE 8192

struct link {
    uint32_t linktype;
    uint32_t fcs;
};

struct bad_file {
    struct output output;
    FILE *stream;       /* of the output */
    struct link *links; /* an interface each */
    uint32_t links_count;
};

static void put(struct bad_file *file, const void *bytes, size_t size) {
    fwrite(bytes, 1, size, file->stream);
}

static void put32(struct bad_file *file, uint32_t value) {
    put(file, &value, sizeof value);
}

static void put16(struct bad_file *file, uint16_t value) {
    put(file, &value, sizeof value);
}

static uint32_t padded(size_t size) {
    return (uint32_t)(size + 3) & ~3u;
}

static void put_padded(struct bad_file *file, const void *bytes, size_t size) {
    static const uint8_t zeros[3];
    put(file, bytes, size);
    put(file, zeros, padded(size) - size);
}

static uint32_t option_size(size_t size) {
    return 4 + padded(size);
}

static void put_option(struct bad_file *file, uint16_t code, const void *bytes, size_t size) {
    put16(file, code);
    put16(file, (uint16_t)size);
    put_padded(file, bytes, size);
}

static void put_section(struct bad_file *file) {
    const uint32_t size = SECTION_BYTES + option_size(sizeof WRITER - 1) + option_size(0);
    put32(file, PCAPNG_BLOCK_SECTION);
    put32(file, size);
    put32(file, PCAPNG_SECTION_MAGIC);
    put16(file, 1); /* version 1.0 */
    put16(file, 0);
    put32(file, UINT32_MAX); /* the section's size, 64 bits: not known */
    put32(file, UINT32_MAX);
    put_option(file, PCAPNG_OPTION_USER_APPLICATION, WRITER, sizeof WRITER - 1);
    put_option(file, 0, "", 0);
    put32(file, size);
}

static void put_interface(struct bad_file *file, const struct link *link) {
    const uint8_t resolution = NANOSECONDS, fcs = (uint8_t)link->fcs;
    const uint32_t size = 20 + 2 * option_size(1) + option_size(0);
    put32(file, PCAPNG_BLOCK_INTERFACE);
    put32(file, size);
    put16(file, (uint16_t)link->linktype);
    put16(file, 0);
    put32(file, 0); /* no snap length */
    put_option(file, PCAPNG_OPTION_TIME_RESOLUTION, &resolution, 1);
    put_option(file, PCAPNG_OPTION_FCS_LENGTH, &fcs, 1);
    put_option(file, 0, "", 0);
    put32(file, size);
}

/* The number of the interface for a packet, which is written first where it is new. */
static uint32_t find_interface(struct bad_file *file, const struct packet *packet) {
    for (uint32_t i = 0; i < file->links_count; i++)
        if (file->links[i].linktype == packet->linktype && file->links[i].fcs == packet->fcs)
            return i;
    struct link *links = realloc(file->links, (file->links_count + 1) * sizeof *links);
    if (!links) {
        file->output.error = ENOMEM;
        return 0;
    }
    file->links = links;
    links[file->links_count] = (struct link){packet->linktype, packet->fcs};
    put_interface(file, &links[file->links_count]);
    return file->links_count++;
}

void bad_file_add(struct bad_file *file, const char *source, const struct packet *packet) {
    char comment[COMMENT_SIZE], *name = text_clean(source);
    uint32_t interface = find_interface(file, packet);
    snprintf(comment, sizeof comment, "%s, frame %llu", name ? name : "?",
             (unsigned long long)packet->number);
    free(name);
    const size_t comment_size = strlen(comment);
    const uint32_t size =
        32 + padded(packet->captured) + option_size(comment_size) + option_size(0);
    put32(file, PCAPNG_BLOCK_PACKET);
    put32(file, size);
    put32(file, interface);
    put32(file, (uint32_t)(packet->time_ns >> 32));
    put32(file, (uint32_t)packet->time_ns);
    put32(file, packet->captured);
    put32(file, packet->wire);
    put_padded(file, packet->data, packet->captured);
    put_option(file, PCAPNG_OPTION_COMMENT, comment, comment_size);
    put_option(file, 0, "", 0);
    put32(file, size);
}

static void release(struct bad_file *file) {
    int error = errno;
    free(file->links);
    free(file);
    errno = error;
}

struct bad_file *bad_file_open(const char *path) {
    struct bad_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->stream = output_open(&file->output, path, 0666) ? output_stream(&file->output) : NULL;
    if (!file->stream) {
        output_abandon(&file->output);
        release(file);
        return NULL;
    }
    put_section(file);
    return file;
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
    /* The section's size comes behind its options, and an option's text behind code and length. */
    char head[SECTION_BYTES - 4 + 4 + sizeof WRITER - 1];
    FILE *stream = bad_file_replaces(file, capture) ? fopen(path, "rbe") : NULL;
    bool read = stream && fread(head, sizeof head, 1, stream) == 1;
    if (stream)
        fclose(stream);
    return read && !memcmp(head + SECTION_BYTES, WRITER, sizeof WRITER - 1);
}

bool bad_file_close(struct bad_file *file, bool keep) {
    struct output *output = &file->output;
    bool closed = !keep || (output_finish(output) && output_publish(output));
    output_abandon(output);
    errno = output->error;
    release(file);
    return closed;
}
