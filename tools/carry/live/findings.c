/* SPDX-License-Identifier: MIT */
#include "live/findings.h"

#include <stdio.h>

#include "capture/report.h"
#include "common/command.h"
#include "live/packet_file.h"
#include "live/report.h"
#include "live/watch.h"

static void write_packet(struct side *side, const struct carry_capture_packet *packet) {
    struct packet_file *file = side->watch->live->file;
    if (!file || side->last_written == packet->number)
        return;
    side->last_written = packet->number;
    packet_file_lock(file);
    packet_file_add(file, packet);
    packet_file_unlock(file);
}

/* Threads print whole lines. */
static void print(const struct side *side, const struct carry_capture_finding *finding) {
    const struct live *live = side->watch->live;
    const char *interface = live->interfaces.names[side->interface];
    flockfile(stdout);
    if (live->options.json)
        report_live_finding_json(interface, side->sent, finding);
    else
        report_finding_text(interface, finding);
    fflush(stdout);
    funlockfile(stdout);
}

bool findings_take(void *user, const struct carry_capture_finding *finding) {
    struct side *side = user;
    write_packet(side, finding->packet);
    if (!side->watch->live->options.quiet)
        print(side, finding);
    return !command_output_failed();
}
