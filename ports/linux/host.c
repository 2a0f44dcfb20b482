/* SPDX-License-Identifier: MIT */
/* Implements the core's hosts in Linux. docs/kernel.md describes what each must do. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/fault_host.h"
#include "base/host.h"
#include "base/text_host.h"
#include "carry_module.h"

/* --- base/host.h --- */

static char mask[128];
/* A longer list is refused: a truncated list would mask fewer features than demanded. */
module_param_string(mask, mask, sizeof mask, 0444);
MODULE_PARM_DESC(mask, "CPU features to do without, as in avx512f,erms");

/*
 * Returns the features to mask. The core asks the CPU itself, so features that the command line of
 * Linux disabled (clearcpuid=, noxsave) are masked too: sections of Linux would not save their
 * registers.
 */
const char *carry_host_cpu_mask(void) {
    static const struct {
        const char *name;
        unsigned int feature;
    } rows[] = MACHINE_FEATURES;
    static char text[sizeof mask + 128]; /* room for the mask and all names of the rows */
    size_t i;

    strscpy(text, mask, sizeof text);
    for (i = 0; i < ARRAY_SIZE(rows); i++) {
        if (machine_has(rows[i].feature))
            continue;
        strlcat(text, ",", sizeof text);
        strlcat(text, rows[i].name, sizeof text);
    }
    return text;
}

/*
 * Returns no features; called on AArch64 only. kernel_neon_begin() saves NEON registers only, so no
 * other feature may be used.
 */
uint64_t carry_host_hwcap(enum carry_host_hwcap word) {
    (void)word;
    return 0;
}

/* --- base/fault_host.h: Linux searches its own table, see <arch>/base/fault_table.h --- */

unsigned carry_host_survives = CARRY_HOST_COPIES;

size_t carry_host_copy(void *dst, const void *src, size_t size) {
    return size;
}

/* --- base/text_host.h: a module may not write text, so nothing is ever opened --- */

static DEFINE_MUTEX(transaction_mutex);
static DEFINE_MUTEX(text_mutex); /* taken after transaction_mutex */

static void *allocate_memory(size_t size) {
    return kvmalloc(size, GFP_KERNEL);
}

static void release_memory(void *memory, size_t size) {
    kvfree(memory);
}

static void begin_transaction(void) {
    mutex_lock(&transaction_mutex);
}

static void end_transaction(void) {
    mutex_unlock(&transaction_mutex);
}

static void lock_text(void) {
    mutex_lock(&text_mutex);
}

static void unlock_text(void) {
    mutex_unlock(&text_mutex);
}

static bool is_alone(void) {
    return false;
}

static int open_session(const struct carry_text_run *runs, size_t count, bool quiet,
                        struct carry_text_session *session) {
    return CARRY_ERROR_PERMISSION;
}

static bool close_session(bool keep) {
    return true;
}

static bool write_text(uintptr_t address, const void *bytes, size_t size) {
    return false;
}

static void synchronise_nothing(void) {
}

static void yield_cpu(void) {
    cond_resched();
}

static const char *backend_name(void) {
    return "none";
}

static void forget_text(uintptr_t low, uintptr_t high) {
}

static size_t page_bytes(void) {
    return PAGE_SIZE;
}

const struct carry_text_host *carry_host_text(void) {
    static const struct carry_text_host host = {
        .page_bytes = page_bytes,
        .allocate = allocate_memory,
        .release = release_memory,
        .begin = begin_transaction,
        .end = end_transaction,
        .lock = lock_text,
        .unlock = unlock_text,
        .alone = is_alone,
        .open = open_session,
        .close = close_session,
        .write = write_text,
        .yield = yield_cpu,
        .synchronise = synchronise_nothing,
        .backend = backend_name,
        .forget = forget_text,
    };
    return &host;
}
