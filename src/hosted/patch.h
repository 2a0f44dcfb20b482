/* SPDX-License-Identifier: MIT */
/* How a Linux process writes its own text, and holds the threads that come by. */
#ifndef CARRY_HOSTED_PATCH_H
#define CARRY_HOSTED_PATCH_H

#include "base/text_host.h"

#include "hosted/context.h"

/* A way to write text. Rows of a table; the first that works is used. */
struct carry_text_writer {
    const char *name;
    bool writes_pairs;
    bool (*open)(const struct carry_text_run *runs, size_t count);
    bool (*write)(uintptr_t address, const void *bytes, size_t size);
    void (*close)(const struct carry_text_run *runs, size_t count);
};

/* Opens the first writer that works and was seen to work, or returns NULL. */
const struct carry_text_writer *carry_text_open(const struct carry_text_run *runs, size_t count);

/*
 * For tests: from now on only the writer of this name is tried, all if NULL; none if there is none
 * of this name. What one writer leaves behind may stop another, so a process does this once, early.
 */
void carry_text_only(const char *name);

/* A file in memory that may be mapped executable, closed on exec; negative if there is none. */
int carry_text_file(void);

/* Text there is about to be unmapped. */
void carry_text_forget(uintptr_t low, uintptr_t high);

/* After fork(), in both processes, with the lock held. */
void carry_text_after_fork(bool in_child);

/* Waits out the commit that is under way, on behalf of threads that run into a guard. */
bool carry_trap_begin(void);
void carry_trap_end(void);

#endif
