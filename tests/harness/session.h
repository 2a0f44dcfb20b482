/* SPDX-License-Identifier: MIT */
/* A check of packets that are added one by one, with one thread. */
#ifndef CARRY_TESTS_SESSION_H
#define CARRY_TESTS_SESSION_H

#include <carry/capture.h>

#include "harness/frame.h"

struct session {
    struct carry_capture_checker *checker;
    struct carry_capture_summary *summary; /* keeps the first finding */
    uint64_t packets;
    uint64_t related[8]; /* the last eight packets that were reported as related to other packets */
    unsigned related_count;
};

/* Begins a check. With `alone`, packets are judged alone, and those that are related to others are
   noted. */
void begin_session(struct session *session, bool alone);

/* Adds a packet as the next one of the session. */
void add_packet(struct session *session, struct carry_capture_packet packet);

/* Adds a frame that was captured completely. */
void add_frame(struct session *session, const struct frame *frame);

/* Ends the check. The caller frees the summary. */
void end_session(struct session *session);

#endif
