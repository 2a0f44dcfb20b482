/* SPDX-License-Identifier: MIT */
/* How a Linux process writes its own text, and holds the threads that reach changing text. */
#ifndef CARRY_HOSTED_PATCH_H
#define CARRY_HOSTED_PATCH_H

#include "base/text_host.h"

#include "hosted/hosted_context.h"

/* Returns the size of the system's pages. */
size_t carry_page_bytes(void);

static inline size_t carry_text_run_bytes(const struct carry_text_run *run) {
    return run->high - run->low;
}

/* A way to write text: a row of the table in hosted_text.c. */
struct carry_text_writer {
    const char *name;
    bool writes_pairs; /* see carry_text_session.writes_pairs */
    bool keeps_pages;  /* does not move text to other pages, so its pages can still be exchanged */
    bool protects;     /* close() sets the protection of pages, from the origin of their text */
    bool (*open)(const struct carry_text_run *runs, size_t count);
    bool (*write)(uintptr_t address, const void *bytes, size_t size);
    void (*close)(const struct carry_text_run *runs, size_t count);
};

/* The capability that a writer must have. PAIRS: `writes_pairs`; PLACE: `keeps_pages`. */
enum carry_text_need {
    CARRY_TEXT_ANY,
    CARRY_TEXT_IN_PAIRS,
    CARRY_TEXT_IN_PLACE,
    CARRY_TEXT_IN_PAIRS_IN_PLACE,
};

/*
 * Opens the first writer that was proved to work, does what `need` demands, is allowed by
 * carry_text_choose(), and can be opened. Returns it, or NULL.
 */
const struct carry_text_writer *carry_text_open(const struct carry_text_run *runs, size_t count,
                                                enum carry_text_need need);

/*
 * Notes that the system refused a write. The writer is not opened again before
 * carry_text_forget_failures(), which is called at the end of a commit. It must then be proved to
 * work again.
 */
void carry_text_note_failure(const struct carry_text_writer *writer);
void carry_text_forget_failures(void);

/* Makes instruction caches coherent with written text on machines that need it, such as AArch64.
 * Every core must be synchronised afterwards. */
void carry_text_clean(uintptr_t address, size_t size);

/* Allows only the writer `name`, or all if NULL. Returns false if there is no such writer. */
bool carry_text_choose(const char *name);

/* Checks whether any of these pages was moved to a file that is mapped twice. */
bool carry_text_is_moved(const struct carry_text_run *runs, size_t count);

/* Return the page of carry_patch_probe(), and whether that function returns `value` now. */
struct carry_text_run carry_text_probe_run(void);
bool carry_text_probe_returns(uint8_t value);

/*
 * --- Pages that are exchanged: src/hosted/exchange.c ---
 *
 * Text is written in copies of its pages, which the system then puts in place, each run at once.
 * carry_exchange_open() returns the writer of the copies, or NULL if this does not work here.
 */
const struct carry_text_writer *carry_exchange_open(const struct carry_text_run *runs,
                                                    size_t count);
bool carry_exchange_write(uintptr_t address, const void *bytes, size_t size);

/*
 * carry_exchange_close() puts the copies in place; carry_exchange_drop() discards them. If a copy
 * cannot be put in place, the exchanges before it are reverted. SOME: reverting failed too, so text
 * has changed in part. AGAIN: nothing was exchanged, but another attempt may succeed, because
 * another process changed a site or a writer failed.
 */
enum carry_exchange {
    CARRY_EXCHANGED_ALL,
    CARRY_EXCHANGED_AGAIN,
    CARRY_EXCHANGED_NONE,
    CARRY_EXCHANGED_SOME,
};
enum carry_exchange carry_exchange_close(void);
void carry_exchange_drop(void);

/* Does what carry_text_host.parts does. Asks the dynamic linker, so never call it with a lock
 * held. */
size_t carry_object_parts(uintptr_t address, struct carry_text_part *parts, size_t limit);

/* Returns the protection of text in an object with these GNU properties (NULL: none). */
int carry_pages_protection(const void *properties, size_t size);

/* Returns a file in memory that can be mapped executable, closed on exec; negative on failure. */
int carry_text_file(void);

/* Forgets what is known of text in this range, which is about to be unmapped. */
void carry_text_forget(uintptr_t low, uintptr_t high);

/*
 * Notes that pages are shared with another process. Called after fork() in both processes, with the
 * lock held.
 */
void carry_text_after_fork(bool in_child);

/*
 * Checks that no thread blocks SIGTRAP, and that no signal handler of the program will. It does not
 * detect a thread that blocks the signal later. Returns false if it cannot determine this.
 */
bool carry_trap_is_safe(void);

/*
 * Begin and end a commit with traps: threads that run into a trap during it wait for its end.
 * carry_trap_begin() returns false if the signal handler cannot be installed.
 */
bool carry_trap_begin(void);
void carry_trap_end(void);

/* Forgets threads that wait at traps. Called after fork() in the child, which has one thread. */
void carry_trap_forked(void);

#endif
