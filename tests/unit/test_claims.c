/* SPDX-License-Identifier: MIT */
/* Tests what `carry cpu --measure` concludes from chosen times. */
#include <string.h>

#include "common/command.h"
#include "cpu/claims.h"
#include "harness/tap.h"

#define ROUNDS 101

static double samples[CLAIM_WORKS][CLAIM_WAYS][ROUNDS];

/* The times of a work, relative to those without the preference. */
struct chosen {
    bool beside;
    double ratio;
    double noise; /* added in every second round */
};

static void choose_times(struct claim_state *state, const struct chosen *chosen, size_t count) {
    state->time_count = count;
    for (size_t i = 0; i < count; i++) {
        state->times[i].beside = chosen[i].beside;
        for (size_t j = 0; j < ROUNDS; j++) {
            const double noise = j % 2 ? chosen[i].noise : 0;
            samples[i][CLAIM_WITHOUT][j] = 50 + (double)(j % 5); /* slow rounds slow both ways */
            samples[i][CLAIM_WITH][j] = samples[i][CLAIM_WITHOUT][j] * (chosen[i].ratio + noise);
        }
        for (size_t way = 0; way < CLAIM_WAYS; way++)
            state->times[i].samples[way] = samples[i][way];
    }
}

static const struct {
    const char *title;
    struct chosen works[3];
    size_t count;
    enum claim_verdict verdict;
} cases[] = {
    {"faster", {{false, 0.9, 0}}, 1, CLAIM_HOLDS},
    {"slower", {{false, 1.1, 0}}, 1, CLAIM_FAILS},
    {"hardly faster", {{false, 0.99, 0}}, 1, CLAIM_SAME},
    {"hardly slower", {{false, 1.01, 0}}, 1, CLAIM_SAME},
    {"faster, but only in half of the rounds", {{false, 0.9, 0.2}}, 1, CLAIM_UNDECIDED},
    {"one work much faster, one a little slower",
     {{false, 0.5, 0}, {false, 1.1, 0}},
     2,
     CLAIM_HOLDS},
    {"one much slower, one a little faster", {{false, 2, 0}, {false, 0.9, 0}}, 2, CLAIM_FAILS},
    {"loops much faster, other work slower", {{true, 1.05, 0}, {false, 0.5, 0}}, 2, CLAIM_FAILS},
    {"loops much faster, of other work one kind slower",
     {{true, 0.9, 0}, {true, 1.05, 0}, {false, 0.5, 0}},
     3,
     CLAIM_FAILS},
    {"loops faster, other work hardly slower", {{true, 1.01, 0}, {false, 0.9, 0}}, 2, CLAIM_HOLDS},
    {"loops faster, other work in noise", {{true, 1, 0.1}, {false, 0.9, 0}}, 2, CLAIM_UNDECIDED},
    {"loops slower, other work in noise", {{true, 1, 0.1}, {false, 1.1, 0}}, 2, CLAIM_FAILS},
    {"other work the same, and no loops", {{true, 1, 0}}, 1, CLAIM_SAME},
};

static void test_verdicts(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct claims claims = {.count = 1, .rounds = ROUNDS};
        claims.states[0].name = "this";
        choose_times(&claims.states[0], cases[i].works, cases[i].count);
        claims_judge(&claims);
        tap_ok(TAP_EQ(claims.states[0].verdict, cases[i].verdict), "%s", cases[i].title);
    }
}

/* Judges one preference, with a mask that removes a capability. */
static struct claims judge_one(bool table, double ratio, double noise) {
    struct claims claims = {.count = 1, .rounds = ROUNDS, .mask = "capability"};
    const struct chosen work = {false, ratio, noise};
    claims.states[0].name = "this";
    claims.states[0].table = table;
    choose_times(&claims.states[0], &work, 1);
    claims_judge(&claims);
    return claims;
}

static void test_masks(void) {
    static const struct {
        bool table;
        double ratio, noise;
        const char *mask;
        int status;
    } rows[] = {
        {true, 0.9, 0, "capability", STATUS_CLEAN},
        {false, 1.1, 0, "capability", STATUS_CLEAN},
        {true, 1.1, 0, "capability,this", STATUS_BAD},
        {false, 0.9, 0, "capability,+this", STATUS_BAD},
        {true, 1, 0, "capability", STATUS_CLEAN},
        {false, 1, 0, "capability", STATUS_CLEAN},
        {true, 0.9, 0.2, "capability", STATUS_UNCHECKED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct claims claims = judge_one(rows[i].table, rows[i].ratio, rows[i].noise);
        tap_ok(TAP_STREQ(claims.mask, rows[i].mask) &&
                   TAP_EQ(claims_status(&claims), rows[i].status),
               "the table says %s, the ratio is %g to %g", rows[i].table ? "yes" : "no",
               rows[i].ratio, rows[i].ratio + rows[i].noise);
    }
}

static void test_statuses(void) {
    struct claims claims = {.count = 3, .rounds = ROUNDS};
    for (size_t i = 0; i < claims.count; i++)
        claims.states[i].verdict = CLAIM_UNMEASURED;
    tap_ok(TAP_EQ(claims_status(&claims), STATUS_CLEAN), "what was not measured is not wrong");
    claims.states[1].verdict = CLAIM_UNDECIDED;
    tap_ok(TAP_EQ(claims_status(&claims), STATUS_UNCHECKED), "one is undecided");
    claims.states[0].verdict = CLAIM_HOLDS;
    tap_ok(TAP_EQ(claims_status(&claims), STATUS_BAD), "one is undecided, one wrong");
}

int main(void) {
    test_verdicts();
    test_masks();
    test_statuses();
    return tap_done();
}
