/* SPDX-License-Identifier: MIT */
#include "check/check_jit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <carry/jit.h>

#include "common/command.h"

/* At most this many packets per sample. */
#define STEP_MAX 1024

/* At most this many shapes are remembered. A capture with more shapes does not consist of flows. */
#define SHAPES_MAX 64

/* A thread has at most this many functions. If the hint is wrong, it tries all of them. */
#define TRIES_MAX 8

#define HINT_BITS 8

/* Frames are walked once the failures of their hint add up to this number, until a sample with the
   same hint has a function. */
#define FAILURES_MAX 16
#define FAILURE      2 /* counted for each failure; a success subtracts 1 */

struct shape {
    struct carry_jit_packet_spec spec;
    uint64_t packets;            /* represented by samples */
    const struct carry_jit *jit; /* NULL: not generated */
    bool tried;                  /* generation was tried */
};

struct check_jit {
    uint64_t after;        /* packets of a shape before its function is generated */
    pthread_mutex_t mutex; /* for the members below */
    struct shape shapes[SHAPES_MAX];
    size_t count;
};

/* The function that matched the last similar frame. */
struct hint {
    carry_jit_packet_fn *function; /* NULL: not known */
    uint32_t failures;
};

/* The functions of one worker. */
struct worker {
    struct check_jit *jit;
    carry_jit_packet_fn *functions[TRIES_MAX];
    size_t count;
    struct hint hints[1 << HINT_BITS];
};

int check_jit_open(uint64_t after, struct check_jit **jit) {
    struct check_jit *made = calloc(1, sizeof *made);
    if (!made)
        return command_error("%s", strerror(errno));
    made->after = after;
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

static bool is_tag(const uint8_t *type) {
    return (type[0] == 0x81 && type[1] == 0x00) || (type[0] == 0x88 && type[1] == 0xa8);
}

/*
 * Returns the hint for a frame. It depends on three fields of Ethernet frames with up to two VLAN
 * tags: the EtherType, and the protocol of IPv4 and of IPv6. In other frames these bytes mean
 * something else, which makes hints worse, but not verdicts.
 */
static inline struct hint *hint_of(struct worker *worker, const struct carry_frame *frame) {
    const uint8_t *type = (const uint8_t *)frame->data + 12;
    if (frame->captured < 32)
        return &worker->hints[0];
    for (int tags = 0; tags < 2 && is_tag(type); tags++)
        type += 4;
    uint32_t bytes = type[0] | (uint32_t)type[1] << 8 |
                     (uint32_t)type[8] << 16 | /* the protocol of IPv6 */
                     (uint32_t)type[11] << 24; /* the protocol of IPv4 */
    return &worker->hints[bytes * UINT32_C(0x9e3779b1) >> (32 - HINT_BITS)];
}

/* --- Learning --- */

/* Returns the entry of a shape, created if the shape is new; NULL if there is no room. */
static struct shape *find_shape(struct check_jit *jit, const struct carry_jit_packet_spec *spec) {
    for (size_t i = 0; i < jit->count; i++)
        if (memcmp(&jit->shapes[i].spec, spec, sizeof *spec) == 0)
            return &jit->shapes[i];
    if (jit->count == SHAPES_MAX)
        return NULL;
    jit->shapes[jit->count] = (struct shape){.spec = *spec};
    return &jit->shapes[jit->count++];
}

/* Returns the function for the shape, generated once enough packets have it; NULL if there is none.
   The caller must hold the mutex. */
static carry_jit_packet_fn *
function_for(struct check_jit *jit, const struct carry_jit_packet_spec *spec, uint32_t packets) {
    struct shape *shape = find_shape(jit, spec);
    if (!shape)
        return NULL;
    shape->packets += packets;
    if (shape->packets >= jit->after && !shape->tried) {
        shape->tried = true;
        if (carry_jit_packet(spec, &shape->jit) != CARRY_OK)
            shape->jit = NULL;
    }
    return shape->jit ? shape->jit->packet : NULL;
}

/* Adds a function to the worker, unless the worker has it already or has no room. Clears all hints
   if the function is new: frames that matched no other function may match this one. */
static void adopt_function(struct worker *worker, carry_jit_packet_fn *function) {
    for (size_t i = 0; i < worker->count; i++)
        if (worker->functions[i] == function)
            return;
    if (worker->count == TRIES_MAX)
        return;
    worker->functions[worker->count++] = function;
    memset(worker->hints, 0, sizeof worker->hints);
}

/* Learns from a frame that represents `packets` packets. Returns whether there is a function for
   the frame. */
static bool learn_frame(struct worker *worker, const struct carry_frame *frame, uint32_t packets) {
    struct check_jit *jit = worker->jit;
    struct carry_jit_packet_spec spec = {0};
    if (carry_jit_packet_shape(frame, &spec) != CARRY_OK)
        return false;
    pthread_mutex_lock(&jit->mutex);
    carry_jit_packet_fn *function = function_for(jit, &spec, packets);
    pthread_mutex_unlock(&jit->mutex);
    if (!function)
        return false;
    adopt_function(worker, function);
    *hint_of(worker, frame) = (struct hint){.function = function};
    return true;
}

/* Chooses one of the packets. Its position varies, since packets of a capture may recur
   periodically. */
static const struct carry_capture_packet *choose_sample(const struct carry_capture_packet *packets,
                                                        uint32_t count) {
    uint64_t chance = packets->number * UINT64_C(0x9e3779b97f4a7c15);
    return &packets[(uint32_t)(chance >> 32) % count];
}

/* Lets the worker learn from samples of the packets. Returns whether functions exist for more than
   an eighth of them. */
static bool prepare_worker(void *state, const struct carry_capture_packet *packets, size_t count) {
    struct worker *worker = state;
    const uint32_t step = worker->jit->after < STEP_MAX ? (uint32_t)worker->jit->after : STEP_MAX;
    size_t known = 0;
    for (size_t i = 0; i < count; i += step) {
        uint32_t present = count - i < step ? (uint32_t)(count - i) : step;
        struct carry_frame frame = carry_capture_frame(choose_sample(packets + i, present));
        known += learn_frame(worker, &frame, present) ? present : 0;
    }
    return known > count / 8;
}

/* --- Checking --- */

static int try_others(struct worker *worker, struct hint *hint, const struct carry_frame *frame,
                      struct carry_packet_sum *sums) {
    carry_jit_packet_fn *tried = hint->function;
    for (size_t i = 0; i < worker->count; i++) {
        if (worker->functions[i] == tried)
            continue;
        int count = worker->functions[i](frame, sums, CARRY_PACKET_SUMS_MAX);
        if (count != CARRY_JIT_OTHER_SHAPE) {
            hint->function = worker->functions[i];
            return count;
        }
    }
    return CARRY_JIT_OTHER_SHAPE;
}

static int check_shape(void *state, const struct carry_frame *frame,
                       struct carry_packet_sum *sums) {
    struct worker *worker = state;
    struct hint *hint = hint_of(worker, frame);
    int count = CARRY_JIT_OTHER_SHAPE;
    if (hint->failures >= FAILURES_MAX)
        return count;
    if (hint->function)
        count = hint->function(frame, sums, CARRY_PACKET_SUMS_MAX);
    if (count == CARRY_JIT_OTHER_SHAPE)
        count = try_others(worker, hint, frame, sums);
    if (count == CARRY_JIT_OTHER_SHAPE)
        hint->failures += FAILURE;
    else if (hint->failures)
        hint->failures--;
    return count;
}

/* --- The judge --- */

static void *open_worker(void *user) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker)
        worker->jit = user;
    return worker;
}

static void close_worker(void *user, void *state) {
    (void)user;
    free(state);
}

struct carry_capture_judge check_jit_judge(struct check_jit *jit) {
    return (struct carry_capture_judge){.open = open_worker,
                                        .close = close_worker,
                                        .prepare = prepare_worker,
                                        .check = check_shape,
                                        .user = jit};
}
