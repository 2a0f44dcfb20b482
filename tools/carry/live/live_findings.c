/* SPDX-License-Identifier: MIT */
#include "live/live_findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/report.h"
#include "live/live_report.h"
#include "live/outlet.h"
#include "live/packet_file.h"
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

static void print_found(FILE *out, const struct found *found) {
    const struct live *live = found->side->watch->live;
    const char *interface = live->interfaces.names[found->side->interface];
    if (live->options.json)
        report_live_finding_json(out, interface, found->side->sent, &found->finding);
    else
        report_finding_text(out, interface, &found->finding);
}

/* Prints findings; adds all their lines to the outlet at once. */
static void show_found(struct watch *watch, const struct found *found, size_t count) {
    struct live *live = watch->live;
    struct outlet_text text;
    if (live->options.quiet || !count || !outlet_begin(&text))
        return;
    for (size_t i = 0; i < count; i++)
        print_found(text.out, &found[i]);
    outlet_end(live->outlet, &text, &live->stops);
}

static bool has_found_room(struct watch *watch) {
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
    const struct found found = {side, *finding};
    if (has_found_room(watch)) {
        watch->found[watch->found_count++] = found;
    } else {
        write_packet(side, finding->packet);
        show_found(watch, &found, 1);
    }
    return !outlet_has_failed(watch->live->outlet);
}

void findings_show(struct watch *watch) {
    for (size_t i = 0; i < watch->found_count; i++)
        write_packet(watch->found[i].side, watch->found[i].finding.packet);
    show_found(watch, watch->found, watch->found_count);
    watch->found_count = 0;
}
