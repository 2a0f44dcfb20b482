/* SPDX-License-Identifier: MIT */
/*
 * Runs the threads that judge packets as they arrive: each has a ring for every interface, and a
 * checker for every direction of an interface. The main thread reads the checkers' summaries while
 * these threads run.
 */
#ifndef CARRY_TOOLS_LIVE_WATCH_H
#define CARRY_TOOLS_LIVE_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <carry/capture.h>

#include "live/interfaces.h"
#include "live/live_options.h"
#include "live/ring.h"

/* The most packets that are judged at once. */
#define WATCH_BATCH 4096u

struct packet_file;
struct outlet;
struct found;
struct live_filter;

/* Both directions of each interface. */
#define WATCH_SIDES_MAX (2 * INTERFACES_MAX)

/* One direction of an interface. */
struct side {
    struct watch *watch;
    unsigned interface; /* number of the interface */
    bool sent;
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary;
    /* Its packets of the current batch, within `sorted` of the watch. */
    struct carry_capture_packet *packets;
    size_t count;
    uint64_t last_written; /* number of the last packet that was written */
};

/* The state that all threads share. */
struct live {
    struct live_options options;
    struct interfaces interfaces;
    struct outlet *outlet;
    struct packet_file *file;         /* NULL: not requested */
    const struct live_filter *filter; /* NULL: none */
    atomic_uint_least64_t packets;
    atomic_bool stops; /* the threads must end */
    atomic_int error;  /* error code of the first thread that failed */
    int signal_event;  /* readable once a signal asks the command to end; -1: not available */
    int stop_event;    /* readable once the threads must end */
    int end_event;     /* readable once no more packets are wanted, or something has failed */
};

struct watch {
    struct live *live;
    pthread_t thread;
    bool runs;
    struct ring rings[LIVE_INTERFACES_MAX];
    unsigned rings_count;
    struct interface_cache cache;
    struct ring_packet *packets;         /* WATCH_BATCH packets, in the order of arrival */
    struct side **packet_sides;          /* the side of each of `packets` */
    struct carry_capture_packet *sorted; /* the same packets, sorted by side */
    pthread_mutex_t lock;                /* held while the sides change */
    struct side *sides[WATCH_SIDES_MAX];
    unsigned sides_count;
    struct side *of[INTERFACES_MAX][2]; /* the sides, by interface and `sent` */
    struct found *found;                /* single checksums to show */
    size_t found_count, found_capacity;
};

/* Opens the rings. They share packets with the rings of `first`; NULL: this is the first watch.
   Returns false after a message on failure; call watch_close() even then. */
bool watch_open(struct watch *watch, struct live *live, const struct watch *first);
void watch_close(struct watch *watch);

/* Lets packets arrive at the rings. Call it once the rings of all watches are open. Returns false
   after a message on failure. */
bool watch_receive(struct watch *watch);

/* Starts the thread. Returns false with errno set on failure. */
bool watch_start(struct watch *watch);

/* Waits after live_stop() until the thread has judged the packets that had arrived. Completes the
   summaries. */
void watch_end(struct watch *watch);

/* Makes all threads end. */
void live_stop(struct live *live);

#endif
