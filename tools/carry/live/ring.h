/* SPDX-License-Identifier: MIT */
/*
 * Reads packets of an interface, with the kernel's information about their checksums, from a packet
 * socket. The kernel fills the socket's ring block by block (packet(7), TPACKET_V3). Packets are
 * not copied.
 *
 *     do {
 *         for (count = 0; count < BATCH && ring_next(&ring, &packets[count]); count++)
 *             continue;
 *         judge(packets, count);
 *     } while (ring_release(&ring));
 */
#ifndef CARRY_TOOLS_LIVE_RING_H
#define CARRY_TOOLS_LIVE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/capture.h>

/* Names all interfaces of the network namespace, including later ones. */
#define RING_ANY "any"

/* Link types of packets. Loopback interfaces are Ethernet, too. IP packets of all other interfaces
   are raw IP; their other packets are not judged, and have the registry's first number for private
   use. */
#define RING_LINKTYPE_ETHERNET 1
#define RING_LINKTYPE_RAW      101
#define RING_LINKTYPE_OTHER    147

struct sock_fprog;

struct ring_options {
    size_t size; /* bytes of packets that may wait */
    bool promiscuous;
    bool is_shared;           /* other rings share the packets */
    const struct ring *first; /* the first ring of the group; NULL: this ring */
};

struct ring {
    const char *name; /* of the interface, or RING_ANY */
    bool is_any;      /* the name is RING_ANY */
    bool promiscuous;
    bool is_shared; /* shares packets with the other rings of a fanout group */
    int group;      /* number of the group */
    bool is_first;  /* the first ring of its group: only it reports states that are not failures */
    bool has_vnet;  /* the kernel says where checksums start */
    int socket;     /* -1: not open */
    int index;      /* of the interface; 0: any, or it has disappeared */
    bool is_down;   /* the interface has disappeared or is down: no packets arrive */
    uint8_t *blocks;
    size_t block_size;
    unsigned blocks_count;
    unsigned block, held; /* the first block that is not released, and the number of blocks read
                             from there */
    const uint8_t *next;  /* the next packet of the last block read */
    uint32_t left;        /* unread packets of that block */
    uint64_t drops;       /* at the last call of ring_drops() */
};

struct ring_packet {
    struct carry_capture_packet packet; /* has no number; valid until ring_release() */
    int interface;                      /* the system's index */
    const char *name;                   /* of the interface; NULL: the ring's name is RING_ANY */
};

/* Opens a ring; no packet arrives before ring_start(). Returns false after a message on failure;
   call ring_close() even then. */
bool ring_open(struct ring *ring, const char *name, const struct ring_options *options);
void ring_close(struct ring *ring);

/* Ensures that no packet reaches two of the rings that share packets. Call it between ring_open()
   of all of them and ring_start() of the first. */
void ring_await_joined(void);

/* Lets packets arrive: those that pass the filter, or all if `filter` is NULL. Returns false after
   a message on failure. */
bool ring_start(struct ring *ring, const struct sock_fprog *filter);

/*
 * Returns the next packet; false if the kernel has handed out no more. The kernel hands out a block
 * when it is full, or after a timeout of at most a second. Also returns false if ring_release()
 * must first return the blocks that were read.
 */
bool ring_next(struct ring *ring, struct ring_packet *packet);

/* Returns to the kernel the blocks that were read; false if there are none. */
bool ring_release(struct ring *ring);

/* Stops the arrival of packets. */
void ring_stop(struct ring *ring);

/* Checks whether the block that the kernel is filling has packets, which ring_next() does not
 * return yet. */
bool ring_has_rest(const struct ring *ring);

/* Returns how many packets arrived while the ring was full, since it was opened. Always call it
   from the same thread; that need not be the one that reads. */
uint64_t ring_drops(struct ring *ring);

/* Checks whether the interface has disappeared or is down, and reports that once. Call this when
   poll() reports an error of the socket. */
void ring_update_link(struct ring *ring);

/* Checks whether an interface that disappeared or was down is back, and resumes with it. */
void ring_recheck_link(struct ring *ring);

#endif
