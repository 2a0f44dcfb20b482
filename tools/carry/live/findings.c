/* SPDX-License-Identifier: MIT */
#include "live/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/report.h"
#include "common/command.h"
#include "live/packet_file.h"
#include "live/reader.h"
#include "live/report.h"
#include "live/watch.h"

struct found {
    struct side *side;
    struct carry_capture_finding finding;
};

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

static void show(struct side *side, const struct carry_capture_finding *finding) {
    const struct live *live = side->watch->live;
    write_packet(side, finding->packet);
    if (!live->options.quiet && !command_output_failed() &&
        reader_await(STDOUT_FILENO, live->stop_event, 0))
        print(side, finding);
}

static bool has_room(struct watch *watch) {
    if (watch->found_count < watch->found_capacity)
        return true;
    const size_t capacity = watch->found_capacity ? 2 * watch->found_capacity : WATCH_BATCH;
    struct found *found = realloc(watch->found, capacity * sizeof *found);
    if (!found)
        return false;
    watch->found = found;
    watch->found_capacity = capacity;
    return true;
}

bool findings_take(void *user, const struct carry_capture_finding *finding) {
    struct side *side = user;
    struct watch *watch = side->watch;
    if (has_room(watch))
        watch->found[watch->found_count++] = (struct found){side, *finding};
    else
        show(side, finding);
    return !command_output_failed();
}

void findings_show(struct watch *watch) {
    for (size_t i = 0; i < watch->found_count; i++)
        show(watch->found[i].side, &watch->found[i].finding);
    watch->found_count = 0;
}
