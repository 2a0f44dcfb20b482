/* SPDX-License-Identifier: MIT */
/*
 * Threads that judge packets as they come: each has a ring for every interface, and a checker for
 * every direction of an interface, whose summaries the main thread reads meanwhile.
 */
#ifndef CARRY_TOOLS_LIVE_WATCH_H
#define CARRY_TOOLS_LIVE_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

#include "live/interfaces.h"
#include "live/options.h"
#include "live/ring.h"

/* Packets that are judged in one go. */
#define WATCH_BATCH 4096u

struct packet_file;
struct outlet;
struct found;
struct live_filter;

/* Either direction of each interface. */
#define WATCH_SIDES_MAX (2 * INTERFACES_MAX)

/* One direction of an interface. */
struct side {
    struct watch *watch;
    unsigned interface; /* its number */
    bool sent;
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary;
    struct carry_capture_packet *packets; /* of the present batch, in that of the watch */
    size_t count;
    uint64_t last_written; /* number of the packet */
};

/* What all threads share. */
struct live {
    struct live_options options;
    struct interfaces interfaces;
    struct outlet *outlet;
    struct packet_file *file;         /* NULL: not wanted */
    const struct live_filter *filter; /* NULL: none */
    atomic_uint_least64_t packets;
    atomic_bool stops; /* the threads are to end */
    atomic_int error;  /* CARRY_ERROR_ of the thread that failed first */
    int signal_event;  /* readable once a signal asks the command to end; -1: cannot wait */
    int stop_event;    /* readable once they are */
    int end_event;     /* readable once a thread has ended by itself */
};

struct watch {
    struct live *live;
    pthread_t thread;
    bool runs;
    struct ring rings[LIVE_INTERFACES_MAX];
    unsigned rings_count;
    struct interface_cache cache;
    struct ring_packet *packets;         /* of WATCH_BATCH, in the order in which they came */
    struct side **packet_sides;          /* of each */
    struct carry_capture_packet *sorted; /* the same by their sides */
    pthread_mutex_t lock;                /* held while the sides change */
    struct side *sides[WATCH_SIDES_MAX];
    unsigned sides_count;
    struct side *of[INTERFACES_MAX][2]; /* the same by interface and whether it sent */
    struct found *found;                /* single checksums that are to be shown */
    size_t found_count, found_capacity;
};

/* Opens the rings, of which those of `first` (NULL: this one is) have the same packets; false after
   a message. watch_close() is due all the same. */
bool watch_open(struct watch *watch, struct live *live, const struct watch *first);
void watch_close(struct watch *watch);

/* Lets packets come to the rings, once those of all watches are open; false after a message. */
bool watch_receive(struct watch *watch);

/* False with errno set. */
bool watch_start(struct watch *watch);

/* After live_stop(): waits until the thread has judged what had come, and settles the summaries. */
void watch_end(struct watch *watch);

/* Lets all threads end. */
void live_stop(struct live *live);

#endif
