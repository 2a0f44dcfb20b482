/* SPDX-License-Identifier: MIT */
/*
 * A simulated host of `patch`, like a host in a kernel. No CPU runs its text: the library sees the
 * text read-only, and the host writes to another mapping of it. The host judges each write by what
 * a thread at any site could execute, and fails on demand. It defines carry_host_text(), so
 * programs link the core only.
 */
#ifndef CARRY_TESTS_TEXT_SIM_H
#define CARRY_TESTS_TEXT_SIM_H

#include "harness/verdict.h"
#include "patch/patch_internal.h"

#define SIM_PAGE_BYTES ((size_t)4096)
#define SIM_TEXT_BYTES (32 * SIM_PAGE_BYTES)
#define SIM_DATA_BYTES (64 * SIM_PAGE_BYTES)
#define SIM_SITES_MAX  2000
#define SIM_CALL_BYTES 6
#define SIM_OPERATIONS 64

/*
 * The steps of the protocol that the host can leave out: the rows TEXT of
 * proof/patch/omissions.def.
 */
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

/* Where interrupted code continues: on a CPU, below an interrupt, or without a CPU. */
enum sim_context { SIM_RUNS, SIM_INTERRUPTED, SIM_WAITS, SIM_CONTEXTS };

struct sim {
    const uint8_t *text; /* SIM_TEXT_BYTES, as the library sees it */
    uint8_t *writable;   /* another mapping of the same memory */
    uint8_t *data;       /* SIM_DATA_BYTES, within reach of the text: for records and keys */

    /* The test sets these properties and faults of the host. */
    bool alone;
    bool writes_pairs;
    bool at_once;         /* writes of live sessions become visible at their end */
    bool holds_no_traps;  /* traps do not hold threads */
    bool exchange_fails;  /* the next exchange shows only its first run */
    bool has_debugger;    /* another process may write text: commits must write sites only */
    size_t breaks_at;     /* where the debugger puts a trap at the next exchange; 0: nowhere */
    int refusal;          /* the result of open() */
    size_t fail_at;       /* the number of the write that fails, from 1; 0: none */
    bool fails_on;        /* all later writes fail, too */
    bool fails_halfway;   /* the failing write writes its first half, unless it is a pair */
    const uint8_t *stuck; /* writes to this page fail, from fail_at on; or NULL */
    size_t allocations;   /* how many allocations succeed */
    bool can_stop;        /* the host has stop() and start() */
    bool stop_fails;
    const uint8_t *several;          /* SIM_CALL_BYTES bytes of several instructions, or NULL */
    uintptr_t goes_on[SIM_CONTEXTS]; /* stop() fails if one of these is inside a site; 0: nowhere */
    enum sim_omission leaves_out;
    void (*look)(void); /* called after each operation, or NULL */

    /* The events that the host has recorded since sim_reset(). */
    size_t opens;
    size_t stops; /* stops that succeeded */
    size_t stops_refused;
    size_t writes;
    size_t synchronisations;
    size_t jumps; /* guards that are jumps */
    size_t traps;
    char operations[SIM_OPERATIONS];         /* the first operations, as letters of
                                                proof/patch/omissions.def */
    uintptr_t forgotten_low, forgotten_high; /* the last range for forget() */
    struct verdict verdict;
};

extern struct sim sim;

/* Maps the memory. Ends the test with "Bail out!" if that fails. */
void sim_open(void);

/* Resets the host: no operation fails, and no event is recorded. */
void sim_reset(void);

/* Adds a site that is already in the text; sim_forget() removes all sites. */
void sim_add_site(uintptr_t address, size_t length);
void sim_forget(void);

/*
 * Watches a site of at most 16 bytes. From then on, sim_may_fetch() returns whether a core could
 * fetch the bytes of the site from offset `first` on as they are in `bytes`: interrupted code may
 * continue at such an offset. A core may see each byte as it was at any moment since all cores were
 * synchronised. Bytes that are written as a pair, or by an exchange, change at the same moment.
 */
void sim_watch(uintptr_t address, size_t length);
bool sim_may_fetch(const uint8_t *bytes, size_t first);

#endif
