/* SPDX-License-Identifier: MIT */
#include "check_jit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <carry/jit.h>

#include "command.h"

/* Of the packets for which there is no function, each one of so many is looked at more closely. */
#define SAMPLE_EVERY 256

/* Shapes that are remembered; captures with more are not made of flows. */
#define SHAPES_MAX 64

/* Functions that a thread tries before it walks. */
#define TRIES_MAX 4

/* Where, of so many packets, less than a half meets its function, the next ones are walked. */
#define TRIAL_PACKETS 512
#define PAUSE_PACKETS 16384

struct shape {
    struct carry_jit_packet_spec spec;
    uint64_t samples;
    const struct carry_jit *jit; /* NULL: not made */
};

struct check_jit {
    uint64_t sample_every, samples_wanted;
    pthread_mutex_t mutex; /* for what follows */
    struct shape shapes[SHAPES_MAX];
    size_t count;
};

/* Of one thread. */
static _Thread_local struct {
    carry_jit_packet_fn *functions[TRIES_MAX]; /* about by how often they are right */
    size_t count;
    uint64_t unsampled;      /* packets that were walked since the last sample */
    uint32_t tried, matched; /* packets of this trial */
    uint32_t pause;          /* packets to be walked before the next trial */
} own;

int check_jit_open(uint64_t after, struct check_jit **jit) {
    struct check_jit *made = calloc(1, sizeof *made);
    if (!made)
        return command_error("%s", strerror(errno));
    made->sample_every = after < SAMPLE_EVERY ? 1 : SAMPLE_EVERY;
    made->samples_wanted = after / made->sample_every;
    pthread_mutex_init(&made->mutex, NULL);
    *jit = made;
    return STATUS_CLEAN;
}

void check_jit_close(struct check_jit *jit) {
    if (!jit)
        return;
    for (size_t i = 0; i < jit->count; i++)
        carry_jit_release(jit->shapes[i].jit);
    pthread_mutex_destroy(&jit->mutex);
    free(jit);
}

/* --- Learning --- */

/* NULL if there is no room for it. */
static struct shape *find_shape(struct check_jit *jit, const struct carry_jit_packet_spec *spec) {
    for (size_t i = 0; i < jit->count; i++)
        if (memcmp(&jit->shapes[i].spec, spec, sizeof *spec) == 0)
            return &jit->shapes[i];
    if (jit->count == SHAPES_MAX)
        return NULL;
    jit->shapes[jit->count] = (struct shape){.spec = *spec};
    return &jit->shapes[jit->count++];
}

/* The function for the shape, made if it is time; NULL if there is none. The mutex is held. */
static carry_jit_packet_fn *learn(struct check_jit *jit, const struct carry_jit_packet_spec *spec) {
    struct shape *shape = find_shape(jit, spec);
    if (!shape)
        return NULL;
    shape->samples++;
    if (shape->samples == jit->samples_wanted && carry_jit_packet(spec, &shape->jit) != CARRY_OK)
        shape->jit = NULL;
    return shape->jit ? shape->jit->packet : NULL;
}

/* Takes the place of the one that is right least often, if all are taken. */
static void adopt(carry_jit_packet_fn *function) {
    for (size_t i = 0; i < own.count; i++)
        if (own.functions[i] == function)
            return;
    if (own.count < TRIES_MAX)
        own.count++;
    own.functions[own.count - 1] = function;
}

static void sample(struct check_jit *jit, const struct carry_frame *frame) {
    struct carry_jit_packet_spec spec = {0};
    own.unsampled = 0;
    if (carry_jit_packet_shape(frame, &spec) != CARRY_OK)
        return;
    pthread_mutex_lock(&jit->mutex);
    carry_jit_packet_fn *function = learn(jit, &spec);
    pthread_mutex_unlock(&jit->mutex);
    if (function)
        adopt(function);
}

/* --- Checking --- */

/* What is right moves forward, so that what is right most often comes first. */
static void promote(size_t index) {
    carry_jit_packet_fn *function = own.functions[index];
    own.functions[index] = own.functions[index - 1];
    own.functions[index - 1] = function;
}

static int try_functions(const struct carry_frame *frame, struct carry_packet_sum *sums) {
    for (size_t i = 0; i < own.count; i++) {
        int count = own.functions[i](frame, sums, CARRY_PACKET_SUMS_MAX);
        if (count == CARRY_JIT_OTHER_SHAPE)
            continue;
        if (i)
            promote(i);
        return count;
    }
    return -1;
}

static void end_trial(void) {
    if (own.matched < own.tried / 2)
        own.pause = PAUSE_PACKETS;
    own.tried = 0;
    own.matched = 0;
}

int check_jit_packet(struct check_jit *jit, const struct carry_frame *frame,
                     struct carry_packet_sum *sums) {
    if (own.pause) {
        own.pause--;
        return -1;
    }
    int count = try_functions(frame, sums);
    own.matched += count >= 0;
    if (own.count && ++own.tried == TRIAL_PACKETS)
        end_trial();
    if (count < 0 && ++own.unsampled >= jit->sample_every)
        sample(jit, frame);
    return count;
}
