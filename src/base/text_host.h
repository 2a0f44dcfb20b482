/* SPDX-License-Identifier: MIT */
/*
 * How `patch` has text written, and what it answers to the host that does: src/hosted/patch.c is
 * the host of a Linux process, a kernel brings its own.
 */
#ifndef CARRY_BASE_TEXT_HOST_H
#define CARRY_BASE_TEXT_HOST_H

#include <carry/base.h>

/*
 * A function, and where in its text the byte stands that it returns: for a host to see that what
 * it writes is what is run.
 */
uint8_t carry_patch_probe(void);
extern const uint8_t carry_patch_probe_byte[];

/* Pages in a row that hold sites to be written. */
struct carry_text_run {
    uintptr_t low;
    uintptr_t high;
};

/* How the writes of a session come to be seen. */
struct carry_text_session {
    bool writes_pairs; /* a write of two bytes is one store */
    bool holds_traps;  /* who runs into a trap waits for the end: guards may be traps */
    bool at_once;      /* nothing is seen until the end, and then all of a run: no guards needed */
};

struct carry_text_host {
    /* Memory for lists, zeroed or not; NULL if there is none. */
    void *(*allocate)(size_t size);
    void (*release)(void *memory, size_t size);

    /*
     * Excludes other transactions, from the beginning of one to its end, as the program sees them.
     * It may load objects meanwhile, and wait for others who do: whatever registers an object takes
     * the lock alone.
     */
    void (*begin)(void);
    void (*end)(void);

    /* Excludes other commits, and changes of the list of objects. Taken within the former. */
    void (*lock)(void);
    void (*unlock)(void);

    /* Does this thread alone run the program, so that none can run text meanwhile? */
    bool (*alone)(void);

    /*
     * Begins to write text within `runs`, and ends it. Returns 0, CARRY_ERROR_PERMISSION, or
     * CARRY_ERROR_NO_SYNC. `quiet`: no thread runs text there. Between the two no signal handler
     * runs on this thread. Where nothing was seen yet, nothing ever is unless `keep`. close()
     * returns false if some of it is not seen although it was to be kept: the next session then
     * writes in another way, and whatever was written has to be written again.
     */
    int (*open)(const struct carry_text_run *runs, size_t count, bool quiet,
                struct carry_text_session *session);
    bool (*close)(bool keep);

    /*
     * Writes text within one run, its bytes in any order unless it is a pair. False if it could
     * not, or not all of it. What lies between sites is written as it was read a moment before.
     */
    bool (*write)(uintptr_t address, const void *bytes, size_t size);

    /* Lets another thread run. */
    void (*yield)(void);

    /* Afterwards every core fetches what was written before, if it runs this program. */
    void (*synchronise)(void);

    /*
     * NULL, or the pair that lets calls be several instructions. stop() returns true once all other
     * CPUs stand still and nothing that was interrupted, on any CPU or waiting for one, would go on
     * inside of a site (carry_patch_is_inside()). It returns false, and nothing stands still, if
     * that does not come about. Between the two text may be written as if `alone`, and no interrupt
     * is taken on this CPU. What comes even so, as NMIs do, runs no sites.
     */
    bool (*stop)(void);
    void (*start)(void);

    /* "procmem", "alias", ... for people. */
    const char *(*backend)(void);

    /* As carry_patch_select(); NULL if the host has one way only. */
    int (*select)(const char *backend, const char *guard);

    /* Sites of the object with this text are about to be registered; not within the lock, or NULL.
     */
    void (*meet)(uintptr_t address);

    /* All sites from `low` to `high` are forgotten: their text may be unmapped. Not while open. */
    void (*forget)(uintptr_t low, uintptr_t high);
};

/* The host of this program. */
const struct carry_text_host *carry_host_text(void);

/* Is there a site at this address? May be asked at any time, by a signal handler too. */
bool carry_patch_is_site(uintptr_t address);

/* Does a site start before this address and end behind it? Asked in the same way. */
bool carry_patch_is_inside(uintptr_t address);

/* In a copy of the process that has this thread alone: the others ask nothing any more. */
void carry_patch_forked(void);

#endif
