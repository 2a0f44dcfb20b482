/* SPDX-License-Identifier: MIT */
#include "unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unpack_method.h"

/* The build defines CARRY_UNPACKS_<name> for each format: as 1 if it can unpack the format, or as
   0. */
static const struct unpacker {
    const char *name, *package;
    const struct unpack_method *method; /* NULL: not in this build */
} unpackers[] = {
#define CARRY_UNPACKER(name, package, library, version)                                            \
    {#name, #package, CARRY_UNPACKS_##name ? &carry_unpack_##name : NULL},
#include "unpackers.def"
#undef CARRY_UNPACKER
};

#define UNPACKERS (sizeof unpackers / sizeof *unpackers)

struct unpack {
    const struct unpacker *unpacker;
    struct input *packed;
    struct unpack_stream stream;
    input_read_fn *between; /* NULL, or see carry_unpack_between() */
    void *between_context;
    char problem[100];
};

static const struct unpacker *find_unpacker(const uint8_t *magic) {
    for (size_t i = 0; i < UNPACKERS; i++)
        if (unpackers[i].method && unpackers[i].method->recognises(magic))
            return &unpackers[i];
    return NULL;
}

bool carry_unpack_recognises(const uint8_t *magic) {
    return find_unpacker(magic);
}

static struct unpack *open_unpacker(const struct unpacker *unpacker, struct input *packed) {
    struct unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return NULL;
    *unpack = (struct unpack){.unpacker = unpacker, .packed = packed, .stream = {.wants = 1}};
    unpack->stream.state = unpacker->method->open();
    if (unpack->stream.state)
        return unpack;
    free(unpack);
    return NULL;
}

struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed) {
    return open_unpacker(find_unpacker(magic), packed);
}

void carry_unpack_close(struct unpack *unpack) {
    unpack->unpacker->method->close(unpack->stream.state);
    free(unpack);
}

const char *carry_unpack_lacks(const char *format) {
    for (size_t i = 0; i < UNPACKERS; i++)
        if (!unpackers[i].method && strcmp(unpackers[i].name, format) == 0)
            return unpackers[i].package;
    return NULL;
}

const char *carry_unpack_problem(const struct unpack *unpack) {
    return *unpack->problem ? unpack->problem : NULL;
}

/* Returns the number of zeros after a stream. Such zeros fill the last block of a tape, or align
   the next stream. */
static size_t count_zeros(const uint8_t *bytes, size_t size) {
    size_t zeros = 0;
    while (zeros < size && !bytes[zeros])
        zeros++;
    return zeros;
}

static const char *unpack_some(struct unpack *unpack, struct unpack_step *step) {
    const struct unpack_method *method = unpack->unpacker->method;
    if (method->skips_zeros && !unpack->stream.inside)
        step->in_used = count_zeros(step->in, step->in_size);
    return step->in_used ? NULL : method->step(&unpack->stream, step);
}

static bool step_unpack(struct unpack *unpack, struct unpack_step *step) {
    struct input *packed = unpack->packed;
    step->in = packed->at;
    step->in_size = carry_input_held(packed);
    step->in_used = 0;
    const char *wrong = unpack_some(unpack, step);
    packed->at += step->in_used;
    unpack->stream.more = step->out_used == step->out_size;
    if (wrong)
        snprintf(unpack->problem, sizeof unpack->problem, "corrupt %s stream: %s",
                 unpack->unpacker->name, wrong);
    return !wrong;
}

/* Reads more compressed bytes. Returns false at the end, or if the file cannot be read. */
static bool read_packed(struct unpack *unpack) {
    if (carry_input_peek(unpack->packed, 1))
        return true;
    if (!unpack->packed->error && unpack->stream.inside && !unpack->packed->stopped)
        snprintf(unpack->problem, sizeof unpack->problem, "cut %s stream", unpack->unpacker->name);
    return false;
}

/* Provides bytes that were unpacked elsewhere, between streams. */
static bool read_between(struct unpack *unpack, struct unpack_step *step) {
    if (unpack->between && !unpack->stream.inside)
        step->out_used =
            (size_t)unpack->between(unpack->between_context, step->out, step->out_size);
    return step->out_used;
}

int64_t carry_unpack_read(void *context, void *buffer, size_t size) {
    struct unpack *unpack = context;
    struct unpack_step present = {.out = buffer, .out_size = size};
    bool fine = !*unpack->problem;
    while (fine && !present.out_used)
        fine = read_between(unpack, &present) ||
               ((unpack->stream.more || read_packed(unpack)) && step_unpack(unpack, &present));
    if (present.out_used)
        return (int64_t)present.out_used;
    if (!*unpack->problem)
        return -unpack->packed->error;
    return -EBADMSG;
}

void carry_unpack_between(struct unpack *unpack, input_read_fn *read, void *context) {
    unpack->between = read;
    unpack->between_context = context;
}

uint64_t carry_unpack_hop(const struct unpack *unpack, struct unpack_hop *hop,
                          const uint8_t *header) {
    const struct unpack_method *method = unpack->unpacker->method;
    return method->hop ? method->hop(hop, header) : 0;
}

/* Unpacks to the end of the input, which shows only while there is room. */
static size_t unpack_all(struct unpack *unpack, uint8_t *unpacked, size_t room) {
    size_t done = 0;
    int64_t got = 1;
    while (got > 0 && done < room) {
        got = carry_unpack_read(unpack, unpacked + done, room - done);
        done += got > 0 ? (size_t)got : 0;
    }
    return got ? SIZE_MAX : done;
}

struct unpack *carry_unpack_open_same(const struct unpack *unpack) {
    return open_unpacker(unpack->unpacker, NULL);
}

size_t carry_unpack_streams(struct unpack *unpack, const uint8_t *bytes, size_t size,
                            uint8_t *unpacked, size_t room) {
    struct input packed;
    carry_input_lend(&packed, bytes, size, 0);
    unpack->packed = &packed;
    return unpack_all(unpack, unpacked, room);
}
