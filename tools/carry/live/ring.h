/* SPDX-License-Identifier: MIT */
/*
 * Packets of an interface, with what the kernel knows of their checksums: a packet socket whose
 * ring the kernel fills block by block (packet(7), TPACKET_V3). Packets are not copied out of it.
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

/* Stands for all interfaces of the network namespace, also those that come later. */
#define RING_ANY "any"

/* The link types of packets: of Ethernet and loopback; and of all other interfaces, of IP and of
   what is not judged (the registry's first number for private use). */
#define RING_LINKTYPE_ETHERNET 1
#define RING_LINKTYPE_RAW      101
#define RING_LINKTYPE_OTHER    147

struct sock_fprog;

struct ring_options {
    size_t size; /* of the packets that may wait, in bytes */
    bool promiscuous;
    bool is_shared;           /* the packets are, with other rings */
    const struct ring *first; /* of these; NULL: this one is */
};

struct ring {
    const char *name; /* of the interface, or RING_ANY */
    bool is_any;      /* the name is RING_ANY */
    bool promiscuous;
    bool is_shared; /* with the other rings of a fanout group, */
    int group;      /* which has this number */
    bool is_first;  /* of these: it alone prints messages */
    bool has_vnet;  /* the kernel says where checksums start */
    int socket;     /* -1: not open */
    int index;      /* of the interface; 0: any, or it is gone */
    bool is_down;   /* it is gone, or down: nothing comes */
    uint8_t *blocks;
    size_t block_size;
    unsigned blocks_count;
    unsigned block, held; /* the first block that is not released, and how many were begun */
    const uint8_t *next;  /* the next packet of the last block that was begun */
    uint32_t left;        /* packets of that block */
    uint64_t drops;       /* as last asked */
};

struct ring_packet {
    struct carry_capture_packet packet; /* without a number; its bytes stay until ring_release() */
    int interface;                      /* the system's index */
    const char *name;                   /* of the interface; NULL: the ring is of any */
};

/* No packet comes before ring_start(). False after a message. ring_close() is due all the same. */
bool ring_open(struct ring *ring, const char *name, const struct ring_options *options);
void ring_close(struct ring *ring);

/* Between ring_open() of all rings that share packets, and ring_start() of the first of them: no
   packet comes to two of them. */
void ring_await_joined(void);

/* Lets packets come, those that pass the filter (NULL: all). False after a message. */
bool ring_start(struct ring *ring, const struct sock_fprog *filter);

/*
 * Returns false if the kernel has handed out no more packets: it does when a block is full or was
 * open for a time, a second at most. Also if so many blocks are read that some must be released.
 */
bool ring_next(struct ring *ring, struct ring_packet *packet);

/* Returns the blocks that were read to the kernel; false if there are none. */
bool ring_release(struct ring *ring);

/* Lets no more packets come. */
void ring_stop(struct ring *ring);

/* Returns true if the present block has packets, though ring_next() may not return them yet.
 */
bool ring_has_rest(const struct ring *ring);

/* Packets that came while the ring was full, since it was opened. Always asked by the same thread,
   which may be another than the one that reads. */
uint64_t ring_drops(struct ring *ring);

/* What poll() reported of the socket: the interface may have gone. Says so, once. */
void ring_heed_error(struct ring *ring);

/* Looks for an interface that is gone or down, and goes on with it. */
void ring_look_again(struct ring *ring);

#endif
