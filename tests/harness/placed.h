/* SPDX-License-Identifier: MIT */
/*
 * Sites that are patched while other threads run them. The sites are in patch_sites_<arch>.S. For
 * each kind, and for each byte or instruction of a site, one site has it at the beginning of a
 * cache line, and another one has it at the beginning of a page. This code needs no operating
 * system: placed_start() starts the threads or CPUs that run the sites.
 */
#ifndef CARRY_TESTS_PLACED_H
#define CARRY_TESTS_PLACED_H

#include <carry/patch.h>

#ifdef __aarch64__
#include "harness/placed_aarch64.h"
#else
#include "harness/placed_x86_64.h"
#endif
#include "harness/verdict.h"

typedef uint64_t placed_fn(uint64_t argument);

struct placed {
    placed_fn *function;
    const uint8_t *site;
};

#define PLACED_STATES_MAX 6

/* A value of the key, and the result that the sites' functions then have for PLACED_ARGUMENT. */
struct placed_state {
    uintptr_t value;
    uint64_t result;
};

#define PLACED_ARGUMENT 1000

struct placed_kind {
    const char *name;
    size_t length; /* of a site */
    bool in_text;  /* true: sites that cannot be patched do not follow the key, but keep their first
                      state */
    struct carry_key *key;
    const struct placed *sites;
    size_t count;
    size_t state_count;
    struct placed_state states[PLACED_STATES_MAX]; /* the first has the initial result */
};

#define PLACED_NAME(name, ...) PLACED_##name,
enum placed_name { PLACED_ROWS(PLACED_NAME) PLACED_KINDS };

/* Returns all kinds. The first call must precede the first commit. */
const struct placed_kind *placed_kinds(void);

/*
 * Changes the key of a kind `flips` times, while `runners` other threads run all of its sites.
 * During a commit they may see the old or the new state, after it only the new one.
 */
struct verdict check_flips(const struct placed_kind *kind, size_t flips, size_t runners);

/*
 * Runs and judges the sites of the current or last check_flips(). Other threads and signal handlers
 * may call it.
 */
void placed_run(void);

/* Sets a key and commits. */
int placed_commit(struct carry_key *key, uintptr_t value);

/* --- Provided by the programs that use this file --- */

/*
 * Start `count` other threads that run `run`, and wait for them to end. placed_start() returns the
 * number of started threads.
 */
size_t placed_start(void (*run)(void), size_t count);
void placed_join(void);
void placed_yield(void);

/*
 * Returns a function that jumps to `function` and is out of range of direct calls; NULL if
 * impossible.
 */
placed_fn *placed_far(placed_fn *function);

#endif
