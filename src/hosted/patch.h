/* SPDX-License-Identifier: MIT */
/* How a Linux process writes its own text, and holds the threads that come by. */
#ifndef CARRY_HOSTED_PATCH_H
#define CARRY_HOSTED_PATCH_H

#include "base/text_host.h"

#include "hosted/context.h"

/* The size of the system's pages. */
size_t carry_page_bytes(void);

/* A way to write text. Rows of a table, best first. */
struct carry_text_writer {
    const char *name;
    bool writes_pairs;
    bool stays;    /* text keeps its pages, so that they may be exchanged */
    bool protects; /* close() sets the protection of pages, by the origin that text has */
    bool (*open)(const struct carry_text_run *runs, size_t count);
    bool (*write)(uintptr_t address, const void *bytes, size_t size);
    void (*close)(const struct carry_text_run *runs, size_t count);
};

/* What a writer has to do, beside writing. */
enum carry_text_need {
    CARRY_TEXT_ANY,
    CARRY_TEXT_IN_PAIRS,
    CARRY_TEXT_IN_PLACE,
    CARRY_TEXT_IN_PAIRS_IN_PLACE,
};

/*
 * Opens the first writer that works, was seen to work, does what is needed, and may be chosen; or
 * returns NULL.
 */
const struct carry_text_writer *carry_text_open(const struct carry_text_run *runs, size_t count,
                                                enum carry_text_need need);

/*
 * Notes that the system refused a write: the writer is not opened again until failures are
 * forgotten, when the commit is over, and then only if it is proved to work once more.
 */
void carry_text_note_failure(const struct carry_text_writer *writer);
void carry_text_forget_failures(void);

/* Where caches of instructions do not follow those of data, as on AArch64, makes them, for text
 * that was written. Every core has to be synchronised thereafter. */
void carry_text_clean(uintptr_t address, size_t size);

/* Only the writer of this name may be chosen, all if NULL. False if there is none of this name. */
bool carry_text_choose(const char *name);

/* Were any of these pages moved, to be written in another place? */
bool carry_text_is_moved(const struct carry_text_run *runs, size_t count);

/* A page with a function that returns a byte of it: does it run what was written there? */
struct carry_text_run carry_text_probe_run(void);
bool carry_text_probe_returns(uint8_t value);

/*
 * --- Pages that are exchanged: src/hosted/exchange.c ---
 *
 * Text is written in copies of its pages, which the system then puts in their place, each run at
 * once. Returns who writes the copies, or NULL if that does not work here.
 */
const struct carry_text_writer *carry_exchange_open(const struct carry_text_run *runs,
                                                    size_t count);
bool carry_exchange_write(uintptr_t address, const void *bytes, size_t size);

/*
 * Puts the copies in place, or drops them. Where one cannot be put in place, those before are taken
 * back: only where that fails too, text has changed in part. AGAIN: none was exchanged, and the
 * same may be tried once more, as another process changed a site, or a writer failed.
 */
enum carry_exchange {
    CARRY_EXCHANGED_ALL,
    CARRY_EXCHANGED_AGAIN,
    CARRY_EXCHANGED_NONE,
    CARRY_EXCHANGED_SOME,
};
enum carry_exchange carry_exchange_close(void);
void carry_exchange_drop(void);

/* As carry_text_host.parts. Asks the dynamic linker, so not with a lock. */
size_t carry_object_parts(uintptr_t address, struct carry_text_part *parts, size_t limit);

/* The protection of text in an object with these GNU properties; NULL: none. */
int carry_pages_protection(const void *properties, size_t size);

/* A file in memory that may be mapped executable, closed on exec; negative if there is none. */
int carry_text_file(void);

/* Text there is about to be unmapped. */
void carry_text_forget(uintptr_t low, uintptr_t high);

/* After fork(), in both processes, with the lock held. */
void carry_text_after_fork(bool in_child);

/*
 * Does no thread block SIGTRAP now, and will none in a handler of signals? What a thread blocks of
 * itself afterwards is not seen. False if that cannot be told.
 */
bool carry_trap_is_safe(void);

/* Waits out the commit that is under way, on behalf of threads that run into a guard. */
bool carry_trap_begin(void);
void carry_trap_end(void);

/* In a child, where this thread is alone. */
void carry_trap_forked(void);

#endif
