/* SPDX-License-Identifier: MIT */
#include "harness/session.h"

static bool note_related(void *user, const struct carry_capture_packet *packet) {
    struct session *session = user;
    session->related[session->related_count++ % 8] = packet->number;
    return true;
}

void begin_session(struct session *session, bool alone) {
    *session = (struct session){.packets = 0};
    const struct carry_capture_check_options options = {
        .threads = 1, .kept = 1, .alone = alone, .related = note_related, .user = session};
    session->summary = carry_capture_summary_create();
    carry_capture_checker_create(&options, &session->checker);
    carry_capture_checker_begin(session->checker, session->summary);
}

void add_packet(struct session *session, struct carry_capture_packet packet) {
    packet.number = ++session->packets;
    carry_capture_checker_add(session->checker, &packet, 1);
}

void add_frame(struct session *session, const struct frame *frame) {
    add_packet(session, (struct carry_capture_packet){.data = frame->bytes,
                                                      .captured = frame->size,
                                                      .wire = frame->size,
                                                      .linktype = frame->linktype});
}

void end_session(struct session *session) {
    carry_capture_checker_end(session->checker);
    carry_capture_checker_free(session->checker);
}
