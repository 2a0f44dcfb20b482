/* SPDX-License-Identifier: MIT */
/* Judges preferences by measured times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "cpu/claims.h"

#define TOLERATED 0.02 /* smaller differences do not count, as a share of the time */

static void add_mask_item(char *mask, const char *sign, const char *name) {
    const size_t used = strlen(mask);
    snprintf(mask + used, CLAIM_MASK - used, "%s%s%s", used ? "," : "", sign, name);
}

/* Compares both ways round by round, so that what slows a whole round does not count. */
static void compare_works(struct claim_times *times, size_t rounds) {
    double ratios[rounds];
    for (size_t i = 0; i < rounds; i++)
        ratios[i] = times->samples[CLAIM_WITH][i] / times->samples[CLAIM_WITHOUT][i];
    times->ratio = bench_stats(ratios, rounds);
}

/* Returns the ratios of all works without other work beside them, as one: their geometric means of
 * each round. All members are 1 if there are no such works. */
static struct bench_stats speed_ratio(const struct claim_state *state, size_t rounds) {
    double means[rounds];
    size_t count = 0;
    memset(means, 0, sizeof means);
    for (size_t i = 0; i < state->time_count; i++) {
        const struct claim_times *times = &state->times[i];
        for (size_t j = 0; j < rounds && !times->beside; j++)
            means[j] += log(times->samples[CLAIM_WITH][j] / times->samples[CLAIM_WITHOUT][j]);
        count += !times->beside;
    }
    for (size_t j = 0; j < rounds; j++)
        means[j] = exp(means[j] / fmax(1, (double)count));
    return bench_stats(means, rounds);
}

static enum claim_verdict speed_verdict(const struct bench_stats *ratio) {
    if (ratio->high < 1 - TOLERATED)
        return CLAIM_HOLDS;
    if (ratio->low > 1 + TOLERATED)
        return CLAIM_FAILS;
    return ratio->low >= 1 - TOLERATED && ratio->high <= 1 + TOLERATED ? CLAIM_SAME
                                                                       : CLAIM_UNDECIDED;
}

/* Judges a preference. It fails if the other work of any turn takes longer; otherwise, speed
 * decides. */
static enum claim_verdict judge_state(const struct claim_state *state, size_t rounds) {
    bool undecided = false;
    for (size_t i = 0; i < state->time_count; i++) {
        if (!state->times[i].beside)
            continue;
        if (state->times[i].ratio.low > 1 + TOLERATED)
            return CLAIM_FAILS;
        undecided |= state->times[i].ratio.high > 1 + TOLERATED;
    }
    const struct bench_stats ratio = speed_ratio(state, rounds);
    const enum claim_verdict verdict = speed_verdict(&ratio);
    return undecided && verdict != CLAIM_FAILS ? CLAIM_UNDECIDED : verdict;
}

bool claim_is_wrong(const struct claim_state *state) {
    return state->verdict == (state->table ? CLAIM_FAILS : CLAIM_HOLDS);
}

void claims_judge(struct claims *claims) {
    for (size_t i = 0; i < claims->count; i++) {
        struct claim_state *state = &claims->states[i];
        for (size_t j = 0; j < state->time_count; j++)
            compare_works(&state->times[j], claims->rounds);
        if (state->time_count)
            state->verdict = judge_state(state, claims->rounds);
        if (claim_is_wrong(state))
            add_mask_item(claims->mask, state->table ? "" : "+", state->name);
    }
}

int claims_status(const struct claims *claims) {
    int status = STATUS_CLEAN;
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim_state *state = &claims->states[i];
        if (claim_is_wrong(state))
            status = status_max(status, STATUS_BAD);
        if (state->verdict == CLAIM_UNDECIDED)
            status = status_max(status, STATUS_UNCHECKED);
    }
    return status;
}
