/* SPDX-License-Identifier: MIT */
/*
 * Follows the fragments that one frame holds to what becomes of their datagrams, whose other
 * fragments stand in any frames of the capture.
 */
#ifndef CARRY_TOOLS_FOLLOW_H
#define CARRY_TOOLS_FOLLOW_H

#include "capture/capture.h"
#include "capture/reassemble.h"

struct follow {
    uint64_t frame; /* its number */

    /* Called for each datagram of which the frame holds a fragment, once that is complete, or
       certain never to be. */
    void (*complete)(void *context, const struct datagram *datagram);
    reassembler_lost_fn *lost;
    /* Called for each packet behind the frame that was read. */
    void (*further)(void *context, const struct packet *packet);
    void *context;

    struct reassembler *reassembler;
    unsigned waiting; /* how many are neither yet */
};

/* With the frame and all functions set; false with errno set. */
bool follow_open(struct follow *follow);
void follow_close(struct follow *follow);

/* Takes a packet before the frame, whose datagrams may go on in that. */
void follow_packet(struct follow *follow, const struct packet *packet);

/* Takes the frame, and reads on in the capture while a datagram is waiting. */
void follow_on(struct follow *follow, struct capture *capture, const struct packet *packet);

#endif
