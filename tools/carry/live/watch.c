/* SPDX-License-Identifier: MIT */
#include "live/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/command.h"
#include "live/live_filter.h"
#include "live/live_findings.h"
#include "live/live_threads.h"
#include "live/outlet.h"
#include "live/packet_file.h"

/* Interval between checks for an interface that has disappeared. */
#define RECHECK_MS 500

/* Interval and number of checks for the last block: in all, ten times as long as the kernel may
   need. */
#define MOMENT_NS    10000000
#define LAST_MOMENTS 1000

void live_stop(struct live *live) {
    atomic_store(&live->stops, true);
    threads_notify(live->stop_event);
}

static void fail_watch(struct live *live, int code) {
    int none = CARRY_OK;
    atomic_compare_exchange_strong(&live->error, &none, code);
}

/* --- Sides --- */

static void free_side(struct side *side) {
    carry_capture_checker_free(side->checker);
    carry_capture_summary_free(side->summary);
    free(side);
}

/* Opens a side; false if there is no memory. */
static bool open_side(struct side *side) {
    const struct carry_capture_check_options options = {
        .threads = 1,
        .finding = side->watch->live->options.bad_only ? findings_take : NULL,
        .user = side,
    };
    side->summary = carry_capture_summary_create();
    return side->summary && carry_capture_checker_create(&options, &side->checker) == CARRY_OK &&
           carry_capture_checker_begin(side->checker, side->summary) == CARRY_OK;
}

static struct side *add_side(struct watch *watch, unsigned interface, bool sent) {
    struct side *side = calloc(1, sizeof *side);
    if (!side)
        return NULL;
    *side = (struct side){.watch = watch, .interface = interface, .sent = sent};
    if (!open_side(side)) {
        free_side(side);
        return NULL;
    }
    watch->sides[watch->sides_count++] = side;
    return watch->of[interface][sent] = side;
}

static struct side *find_side(struct watch *watch, const struct ring_packet *packet) {
    const bool sent = packet->packet.flags & CARRY_CAPTURE_PACKET_SENT;
    const unsigned interface =
        interfaces_find(&watch->live->interfaces, &watch->cache, packet->interface, packet->name);
    struct side *side = watch->of[interface][sent];
    return side ? side : add_side(watch, interface, sent);
}

/* --- Packets --- */

/* Returns how many of `count` packets are still wanted. Sets *first to the first one's number. */
static size_t take_numbers(struct live *live, size_t count, uint64_t *first) {
    const uint64_t before = atomic_fetch_add(&live->packets, count);
    const uint64_t wanted = live->options.packets;
    *first = before + 1;
    if (before >= wanted)
        return 0;
    return wanted - before < count ? (size_t)(wanted - before) : count;
}

static bool find_sides(struct watch *watch, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct side *side = find_side(watch, &watch->packets[i]);
        if (!side)
            return false;
        watch->packet_sides[i] = side;
        side->count++;
    }
    return true;
}

/* Gives each side room for its packets, and resets its count. */
static void divide_room(struct watch *watch) {
    struct carry_capture_packet *room = watch->sorted;
    for (unsigned i = 0; i < watch->sides_count; i++) {
        struct side *side = watch->sides[i];
        side->packets = room;
        room += side->count;
        side->count = 0;
    }
}

static bool sort_into_sides(struct watch *watch, size_t count, uint64_t first) {
    if (!find_sides(watch, count))
        return false;
    divide_room(watch);
    for (size_t i = 0; i < count; i++) {
        struct carry_capture_packet *packet = &watch->packets[i].packet;
        struct side *side = watch->packet_sides[i];
        packet->number = first + i;
        packet->interface = side->interface;
        side->packets[side->count++] = *packet;
    }
    return true;
}

static int judge_sides(struct watch *watch) {
    int code = CARRY_OK;
    for (unsigned i = 0; i < watch->sides_count; i++) {
        struct side *side = watch->sides[i];
        if (side->count && code == CARRY_OK)
            code = carry_capture_checker_add(side->checker, side->packets, side->count);
        side->count = 0;
    }
    return code;
}

static void write_batch(const struct watch *watch, size_t count) {
    const struct live *live = watch->live;
    if (!live->file || live->options.bad_only)
        return;
    packet_file_lock(live->file);
    for (size_t i = 0; i < count; i++)
        packet_file_add(live->file, &watch->packets[i].packet);
    packet_file_unlock(live->file);
}

/* Judges the gathered packets; false once no more are wanted, or after a failure. */
static bool judge_gathered(struct watch *watch, size_t gathered) {
    struct live *live = watch->live;
    uint64_t first;
    const size_t count = take_numbers(live, gathered, &first);
    pthread_mutex_lock(&watch->lock);
    const int code = sort_into_sides(watch, count, first) ? judge_sides(watch) : CARRY_ERROR_MEMORY;
    pthread_mutex_unlock(&watch->lock);
    const bool is_last = first + count > live->options.packets;
    if (is_last) /* before a reader of the output delays this thread */
        threads_notify(live->end_event);
    findings_show(watch);
    if (code != CARRY_OK)
        fail_watch(live, code);
    write_batch(watch, count);
    return code == CARRY_OK && !is_last && !outlet_has_failed(live->outlet) &&
           !(live->file && packet_file_has_failed(live->file));
}

static size_t gather_packets(struct watch *watch, struct ring *ring) {
    size_t count = 0;
    while (count < WATCH_BATCH && ring_next(ring, &watch->packets[count]))
        count += live_filter_passes(watch->live->filter, &watch->packets[count].packet);
    return count;
}

/* Judges a batch of each ring and gives its blocks back to the kernel; false if there are no
   packets. Sets *wants to false once no more packets are wanted. */
static bool judge_batches(struct watch *watch, bool *wants) {
    bool any = false;
    for (unsigned i = 0; i < watch->rings_count && *wants; i++) {
        const size_t count = gather_packets(watch, &watch->rings[i]);
        if (count)
            *wants = judge_gathered(watch, count);
        any |= ring_release(&watch->rings[i]);
    }
    return any;
}

/* --- The thread --- */

static void await_packets(struct watch *watch) {
    struct pollfd waits[LIVE_INTERFACES_MAX + 1];
    const unsigned count = watch->rings_count;
    for (unsigned i = 0; i < count; i++)
        waits[i] = (struct pollfd){.fd = watch->rings[i].socket, .events = POLLIN};
    waits[count] = (struct pollfd){.fd = watch->live->stop_event, .events = POLLIN};
    if (watch->live->file)
        packet_file_flush(watch->live->file);
    if (poll(waits, count + 1, RECHECK_MS) < 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        if (waits[i].revents & POLLERR)
            ring_update_link(&watch->rings[i]);
        ring_recheck_link(&watch->rings[i]);
    }
}

static bool any_rest(const struct watch *watch) {
    for (unsigned i = 0; i < watch->rings_count; i++)
        if (ring_has_rest(&watch->rings[i]))
            return true;
    return false;
}

/*
 * Judges the packets that had arrived when the end was requested; the ring limits their number.
 * When the ring is stopped, the kernel may still be processing a packet, and it hands out the last
 * block only after that block's timeout. The thread does not wait forever, as the kernel may not
 * hand out the block on a machine that was suspended.
 */
static void judge_rest(struct watch *watch) {
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    bool wants = true;
    for (unsigned i = 0; i < watch->rings_count; i++)
        ring_stop(&watch->rings[i]);
    nanosleep(&moment, NULL);
    for (unsigned idle = 0; wants && idle < LAST_MOMENTS;) {
        if (judge_batches(watch, &wants))
            continue;
        if (!any_rest(watch))
            return;
        nanosleep(&moment, NULL);
        idle++;
    }
}

static void *run_watch(void *context) {
    struct watch *watch = context;
    struct live *live = watch->live;
    bool wants = true;
    while (wants && !atomic_load(&live->stops))
        if (!judge_batches(watch, &wants))
            await_packets(watch);
    if (wants)
        judge_rest(watch);
    else
        threads_notify(live->end_event);
    return NULL;
}

bool watch_start(struct watch *watch) {
    watch->runs = threads_start(&watch->thread, run_watch, watch);
    return watch->runs;
}

void watch_end(struct watch *watch) {
    if (watch->runs)
        pthread_join(watch->thread, NULL);
    watch->runs = false;
    for (unsigned i = 0; i < watch->sides_count; i++)
        carry_capture_checker_end(watch->sides[i]->checker);
}

static bool allocate_batch(struct watch *watch) {
    watch->packets = calloc(WATCH_BATCH, sizeof *watch->packets);
    watch->packet_sides = calloc(WATCH_BATCH, sizeof *watch->packet_sides);
    watch->sorted = calloc(WATCH_BATCH, sizeof *watch->sorted);
    return watch->packets && watch->packet_sides && watch->sorted;
}

bool watch_open(struct watch *watch, struct live *live, const struct watch *first) {
    const struct live_options *options = &live->options;
    *watch = (struct watch){.live = live, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!allocate_batch(watch)) {
        command_error("%s", strerror(ENOMEM));
        return false;
    }
    for (unsigned i = 0; i < options->interfaces_count; i++) {
        const struct ring_options own = {
            .size = (size_t)(options->ring_kib << 10) / options->threads,
            .promiscuous = options->promiscuous,
            .is_shared = options->threads > 1,
            .first = first ? &first->rings[i] : NULL,
        };
        watch->rings_count++;
        if (!ring_open(&watch->rings[i], options->interfaces[i], &own))
            return false;
    }
    return true;
}

bool watch_receive(struct watch *watch) {
    const struct sock_fprog *filter = live_filter_of_kernel(watch->live->filter);
    for (unsigned i = 0; i < watch->rings_count; i++)
        if (!ring_start(&watch->rings[i], filter))
            return false;
    return true;
}

void watch_close(struct watch *watch) {
    for (unsigned i = 0; i < watch->rings_count; i++)
        ring_close(&watch->rings[i]);
    for (unsigned i = 0; i < watch->sides_count; i++)
        free_side(watch->sides[i]);
    free(watch->packets);
    free(watch->packet_sides);
    free(watch->sorted);
    free(watch->found);
}
