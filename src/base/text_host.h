/* SPDX-License-Identifier: MIT */
/*
 * How `patch` writes text: functions that the host provides, and functions that the host may call.
 * src/hosted/hosted_patch.c is the host in a Linux process; an operating-system kernel provides its
 * own.
 */
#ifndef CARRY_BASE_TEXT_HOST_H
#define CARRY_BASE_TEXT_HOST_H

#include <carry/base.h>

/*
 * Returns a byte of its own text, carry_patch_probe_byte. With this function, a host verifies that
 * the CPU runs the text that the host writes.
 */
uint8_t carry_patch_probe(void);
extern const uint8_t carry_patch_probe_byte[];

/* Consecutive pages that hold sites to be written. */
struct carry_text_run {
    uintptr_t low;
    uintptr_t high;
};

/* A loaded part of an object: readable memory. */
struct carry_text_part {
    uintptr_t low;
    uintptr_t high;
    bool executable;
};

/* How a session writes, and when other threads see its writes. */
struct carry_text_session {
    bool writes_pairs; /* a write of two bytes, or of four aligned ones, is one store */
    bool holds_traps;  /* a thread that meets a trap waits for the end: guards may be traps */
    bool at_once;      /* at the end, threads see all writes to a run at once: no guards needed */
    bool sites_only;   /* another process may write text: nothing between sites is written */
};

struct carry_text_host {
    /* Returns the size of a page: the unit of protection. */
    size_t (*page_bytes)(void);

    /* Allocate memory for lists, not necessarily zeroed (NULL on failure), and free it. */
    void *(*allocate)(size_t size);
    void (*release)(void *memory, size_t size);

    /*
     * Exclude other transactions, from carry_patch_begin() to the commit or abort. Between them the
     * program may load objects, and wait for other threads that load objects: code that registers
     * an object takes only lock().
     */
    void (*begin)(void);
    void (*end)(void);

    /* Exclude other commits, and changes of the list of objects. A caller that needs both locks
     * calls begin() first. */
    void (*lock)(void);
    void (*unlock)(void);

    /* Returns whether this is the only thread of the program, so that no other can run text. */
    bool (*alone)(void);

    /*
     * Begin and end a session of writes within `runs`. open() returns 0, CARRY_ERROR_PERMISSION or
     * CARRY_ERROR_NO_SYNC. `quiet`: no other thread runs text within `runs`. During a session no
     * signal handler runs on this thread. close() without `keep` discards the writes that no thread
     * has seen yet. It returns false if some writes cannot be seen although `keep` demands them, or
     * if writes were refused and another way is left: the next session then uses that way, and the
     * caller must write everything again.
     */
    int (*open)(const struct carry_text_run *runs, size_t count, bool quiet,
                struct carry_text_session *session);
    bool (*close)(bool keep);

    /*
     * Writes text within one run: a pair as one store if `writes_pairs`, other bytes in any order.
     * Returns false if not all bytes were written. Without `sites_only`, the bytes may include text
     * between sites, with the values read a moment before.
     */
    bool (*write)(uintptr_t address, const void *bytes, size_t size);

    /* NULL, or returns whether another process may write text now, as debuggers do. Called in a
     * session without `sites_only`, before text between sites is written. */
    bool (*is_watched)(void);

    /* Gives the CPU to another thread. */
    void (*yield)(void);

    /* Makes every core that runs this program fetch the text written before the call. */
    void (*synchronise)(void);

    /*
     * NULL, or two functions that allow several instructions to replace a call. stop() returns true
     * once all other CPUs stand still, and no interrupted code, on any CPU or waiting for one,
     * would continue inside a site (carry_patch_is_inside()). If this state cannot be reached,
     * stop() returns false, and no CPU stands still. Until start(), text may be written as if
     * alone() were true, and this CPU takes no interrupts. Anything that arrives nevertheless, such
     * as an NMI, must run no sites.
     */
    bool (*stop)(void);
    void (*start)(void);

    /* Returns how text is written, as a name to display: "procmem", "alias". */
    const char *(*backend)(void);

    /* Does what carry_patch_select() does. NULL if the host can write text in one way only. */
    int (*select)(const char *backend, const char *guard);

    /* NULL, or called before sites of the object that contains `address` are registered, outside
     * lock(). */
    void (*before_register)(uintptr_t address);

    /*
     * NULL, or finds the loaded parts of the object that contains `address`, outside lock(). Fills
     * in at most `limit` parts, and returns how many there are: 0 if no object contains the
     * address, for example because the program allocated that memory.
     */
    size_t (*parts)(uintptr_t address, struct carry_text_part *parts, size_t limit);

    /* Called after the sites from `low` to `high` were removed, as their text may be unmapped.
     * Never called during a session. */
    void (*forget)(uintptr_t low, uintptr_t high);
};

/* Returns the host of this program. */
const struct carry_text_host *carry_host_text(void);

/* Returns whether a site starts at this address. Callable at any time, also in signal handlers. */
bool carry_patch_is_site(uintptr_t address);

/* Returns whether a site starts before this address and ends after it. Callable at any time. */
bool carry_patch_is_inside(uintptr_t address);

/* Forgets readers on other threads. Called in a forked process, which has only this thread. */
void carry_patch_forked(void);

#endif
