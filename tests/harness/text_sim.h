/* SPDX-License-Identifier: MIT */
/*
 * A host of `patch` as a kernel would bring one, on text that nobody runs: read-only where the
 * library sees it, written elsewhere, and every write judged by what a thread at any site could
 * run into. It fails on demand. Defines carry_host_text(), so programs link the core alone.
 */
#ifndef CARRY_TESTS_TEXT_SIM_H
#define CARRY_TESTS_TEXT_SIM_H

#include "harness/verdict.h"
#include "patch/patch.h"

#define SIM_PAGE_BYTES ((size_t)4096)
#define SIM_TEXT_BYTES (32 * SIM_PAGE_BYTES)
#define SIM_DATA_BYTES (64 * SIM_PAGE_BYTES)
#define SIM_SITES_MAX  2000
#define SIM_CALL_BYTES 6
#define SIM_OPERATIONS 64

/* What the host leaves out of the protocol: a row TEXT of the table. */
#define TEXT(name, mode, flags, trail, fetch, consequence) SIM_OMITS_##name,
#define OTHER(model, name, flags, test, consequence)
#define ORDER(mode, flags, sites, trail)
enum sim_omission {
    SIM_OMITS_NOTHING,
#include "../../proof/patch/omissions.def"
};
#undef TEXT
#undef OTHER
#undef ORDER

/* Where code goes on that was interrupted: on a CPU, below an interrupt, or without a CPU. */
enum sim_context { SIM_RUNS, SIM_INTERRUPTED, SIM_WAITS, SIM_CONTEXTS };

struct sim {
    const uint8_t *text; /* SIM_TEXT_BYTES, as the library sees it */
    uint8_t *writable;   /* the same memory */
    uint8_t *data;       /* SIM_DATA_BYTES, within reach of the text: for records and keys */

    /* What the test wants of the host. */
    bool alone;
    bool writes_pairs;
    bool at_once;         /* what live sessions write is seen when they end */
    bool holds_no_traps;  /* nobody waits at traps */
    bool exchange_fails;  /* the next one of these shows the first of its runs alone */
    bool has_debugger;    /* another process may write text: commits must write sites alone */
    size_t breaks_at;     /* ... and at the next exchange puts a trap at this offset; 0: nowhere */
    int refusal;          /* what open() returns */
    size_t fail_at;       /* the number of the write that fails, from 1; 0: none */
    bool fails_on;        /* ... and all after it */
    bool fails_halfway;   /* it has written its first half by then, unless it is a pair */
    const uint8_t *stuck; /* writes to this page fail, from fail_at on; or NULL */
    size_t allocations;   /* how many succeed */
    bool can_stop;        /* it has stop() and start() */
    bool stop_fails;
    const uint8_t *several;          /* SIM_CALL_BYTES that are several instructions, or NULL */
    uintptr_t goes_on[SIM_CONTEXTS]; /* stop() fails if one is inside of a site; 0: nowhere */
    enum sim_omission leaves_out;
    void (*look)(void); /* called after each operation, or NULL */

    /* What the host saw since sim_reset(). */
    size_t opens;
    size_t stops; /* that succeeded */
    size_t stops_refused;
    size_t writes;
    size_t synchronisations;
    size_t jumps; /* guards */
    size_t traps;
    char operations[SIM_OPERATIONS];         /* the first of them, in the letters of the table */
    uintptr_t forgotten_low, forgotten_high; /* the text that went last */
    struct verdict verdict;
};

extern struct sim sim;

/* Maps the memory; ends the test with "Bail out!" if it cannot. */
void sim_open(void);

/* A host that does as it is asked, and has seen nothing. */
void sim_reset(void);

/* Tells the judge of a site, once it stands in the text; sim_forget() of none. */
void sim_add_site(uintptr_t address, size_t length);
void sim_forget(void);

/*
 * Watches a site of at most 16 bytes. Could a core, or the code that goes on somewhere, now fetch
 * these bytes there, from `first` on? Each byte may be as of any moment since all cores were
 * synchronised. What is written as a pair, or by an exchange, is as of one.
 */
void sim_watch(uintptr_t address, size_t length);
bool sim_may_fetch(const uint8_t *bytes, size_t first);

#endif
