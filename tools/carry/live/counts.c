/* SPDX-License-Identifier: MIT */
#include "live/counts.h"

#include <stdlib.h>
#include <string.h>

#include "check/verdict_set.h"
#include "common/clock.h"

static bool is_row_before(const struct live_row *row, unsigned interface, bool sent) {
    return row->interface < interface || (row->interface == interface && row->sent < sent);
}

/* Returns the row of one direction of an interface; NULL if there is none. */
static struct live_row *find_live_row(const struct live_counts *counts, unsigned interface,
                                      bool sent) {
    for (unsigned i = 0; i < counts->rows_count; i++)
        if (counts->rows[i].interface == interface && counts->rows[i].sent == sent)
            return &counts->rows[i];
    return NULL;
}

static struct live_row *add_live_row(struct live_counts *counts, unsigned interface, bool sent) {
    struct live_row *rows = realloc(counts->rows, (counts->rows_count + 1) * sizeof *rows);
    unsigned place = 0;
    if (!rows)
        return NULL;
    counts->rows = rows;
    while (place < counts->rows_count && is_row_before(&rows[place], interface, sent))
        place++;
    memmove(rows + place + 1, rows + place, (counts->rows_count++ - place) * sizeof *rows);
    rows[place] = (struct live_row){.interface = interface, .sent = sent};
    return &rows[place];
}

static void add_summary(struct live_row *row, const struct carry_capture_summary *summary) {
    row->packets += carry_capture_totals(summary)->packets;
    row->bytes += carry_capture_totals(summary)->bytes;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            row->sums[protocol][verdict] += carry_capture_count(summary, protocol, verdict);
}

static bool add_watch(struct live_counts *counts, struct watch *watch) {
    bool ok = true;
    pthread_mutex_lock(&watch->lock);
    for (unsigned i = 0; i < watch->sides_count && ok; i++) {
        const struct side *side = watch->sides[i];
        struct live_row *row = find_live_row(counts, side->interface, side->sent);
        row = row ? row : add_live_row(counts, side->interface, side->sent);
        ok = row;
        if (ok)
            add_summary(row, side->summary);
    }
    pthread_mutex_unlock(&watch->lock);
    for (unsigned i = 0; i < watch->rings_count; i++)
        counts->drops[i] += ring_drops(&watch->rings[i]);
    return ok;
}

bool counts_take(struct live_counts *counts, struct watch *watches, unsigned watches_count) {
    bool ok = true;
    counts_free(counts);
    for (unsigned i = 0; i < watches_count; i++)
        ok &= add_watch(counts, &watches[i]);
    counts->time_ns = clock_ns();
    return ok;
}

void counts_free(struct live_counts *counts) {
    free(counts->rows);
    *counts = (struct live_counts){0};
}

static void subtract_row(struct live_row *row, const struct live_row *before) {
    row->packets -= before->packets;
    row->bytes -= before->bytes;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            row->sums[protocol][verdict] -= before->sums[protocol][verdict];
}

bool counts_subtract(struct live_counts *since, const struct live_counts *now,
                     const struct live_counts *before) {
    counts_free(since);
    *since = *now;
    since->time_ns -= before->time_ns;
    since->rows = calloc(now->rows_count + 1, sizeof *since->rows);
    since->rows_count = since->rows ? now->rows_count : 0;
    for (unsigned i = 0; i < since->rows_count; i++) {
        const struct live_row *old =
            find_live_row(before, now->rows[i].interface, now->rows[i].sent);
        since->rows[i] = now->rows[i];
        if (old)
            subtract_row(&since->rows[i], old);
    }
    for (unsigned i = 0; i < LIVE_INTERFACES_MAX; i++)
        since->drops[i] -= before->drops[i];
    return since->rows;
}

static void raise_to(uint64_t *value, uint64_t now) {
    *value = now > *value ? now : *value;
}

static void raise_row(struct live_row *row, const struct live_row *now) {
    raise_to(&row->packets, now->packets);
    raise_to(&row->bytes, now->bytes);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            raise_to(&row->sums[protocol][verdict], now->sums[protocol][verdict]);
}

bool counts_raise(struct live_counts *counts, const struct live_counts *now) {
    for (unsigned i = 0; i < now->rows_count; i++) {
        const struct live_row *from = &now->rows[i];
        struct live_row *row = find_live_row(counts, from->interface, from->sent);
        row = row ? row : add_live_row(counts, from->interface, from->sent);
        if (!row)
            return false;
        raise_row(row, from);
    }
    for (unsigned i = 0; i < LIVE_INTERFACES_MAX; i++)
        raise_to(&counts->drops[i], now->drops[i]);
    return true;
}

uint64_t counts_packets(const struct live_counts *counts) {
    uint64_t packets = 0;
    for (unsigned i = 0; i < counts->rows_count; i++)
        packets += counts->rows[i].packets;
    return packets;
}

uint64_t counts_drops(const struct live_counts *counts) {
    uint64_t drops = 0;
    for (unsigned i = 0; i < LIVE_INTERFACES_MAX; i++)
        drops += counts->drops[i];
    return drops;
}

uint64_t counts_sums(const struct live_row *row, unsigned verdicts) {
    uint64_t sums = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            sums += verdict_is_in(verdict, verdicts) ? row->sums[protocol][verdict] : 0;
    return sums;
}

bool counts_has(const struct live_row *row, unsigned protocol) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (row->sums[protocol][verdict])
            return true;
    return false;
}
