/* SPDX-License-Identifier: MIT */
/* Implements the core's hosts in this kernel. docs/kernel.md describes what each must do. */
#include "base/host.h"
#include "base/fault_host.h"
#include "base/fiber_host.h"
#include "base/text_host.h"
#include "kernel.h"

#include <string.h>

/* --- base/host.h --- */

/*
 * Returns the features to mask: the text after "mask=" on the command line, as in
 * "mask=xsavec,avx2".
 */
const char *carry_host_cpu_mask(void) {
    static char mask[64];
    const char *from = kernel_option_text("mask=");
    for (size_t i = 0; from && i + 1 < sizeof mask && from[i] && from[i] != ' '; i++)
        mask[i] = from[i];
    return from ? mask : NULL;
}

/* Returns no features; called on AArch64 only. Sections save NEON registers only, so no other
   feature may be used. */
uint64_t carry_host_hwcap(enum carry_host_hwcap word) {
    (void)word;
    return 0;
}

/* --- base/fault_host.h: trap.c searches the table; it is available from the start --- */

unsigned carry_host_survives = CARRY_HOST_COPIES | CARRY_HOST_FRAMES;

struct carry_fault_frame **carry_host_fault_frames(void) {
    return &cpu_here()->frames;
}

size_t carry_host_copy(void *dst, const void *src, size_t size) {
    (void)dst;
    (void)src;
    return size;
}

/* --- base/fiber_host.h --- */

bool carry_host_has_fibers(void) {
    return false;
}

void carry_host_fiber_switch(struct carry_context *from, struct carry_context *to, bool finished) {
    (void)from;
    (void)to;
    (void)finished;
}

int carry_host_fiber_preempts(void) {
    return CARRY_OK;
}

/* --- base/text_host.h --- */

static uint8_t heap[1 << 20] __attribute__((aligned(16)));
static size_t heap_used;
static unsigned begun;
static unsigned locked;
static bool breaks_sync;
static bool breaks_write;

static void *allocate_memory(size_t size) {
    size_t start = heap_used;
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof heap - start)
        return NULL;
    heap_used += size;
    return heap + start;
}

static void release_memory(void *memory, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if ((uint8_t *)memory + size == heap + heap_used)
        heap_used -= size;
}

static void take_lock(unsigned *word) {
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        cpu_pause();
}

static void release_lock(unsigned *word) {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static void begin_transaction(void) {
    take_lock(&begun);
}

static void end_transaction(void) {
    release_lock(&begun);
}

static void lock_text(void) {
    take_lock(&locked);
}

static void unlock_text(void) {
    release_lock(&locked);
}

static bool is_alone(void) {
    return cpu_count() == 1;
}

static uint64_t flags_before;

static int open_session(const struct carry_text_run *runs, size_t count, bool quiet,
                        struct carry_text_session *session) {
    (void)runs;
    (void)count;
    (void)quiet;
    *session = (struct carry_text_session){
        .writes_pairs = TEXT_WRITES_PAIRS,
        .holds_traps = true,
    };
    flags_before = cpu_interrupts_off();
    return CARRY_OK;
}

/*
 * Whether the other CPU waits in an interrupt handler (`holds`). It waits while text is written:
 * QEMU's threads lose writes to a page that another thread translates at that moment. Between the
 * steps of a commit, unless `stopped`, it continues where it was interrupted, and executes the text
 * as it then is.
 */
static bool holds;
static bool stopped;

/*
 * Whether the other CPU keeps running while text is written (`live` on the command line): possible
 * if all of QEMU is one thread, and no site needs a guard.
 */
static bool writes_live;

/* Ranges written since all CPUs were last synchronised. */
static struct carry_text_run unsynchronised[64];
static size_t unsynchronised_count;
unsigned host_races;

static void note_write(uintptr_t low, uintptr_t high) {
    for (size_t i = 0; i < unsynchronised_count; i++)
        host_races += low < unsynchronised[i].high && unsynchronised[i].low < high;
    if (unsynchronised_count < sizeof unsynchronised / sizeof *unsynchronised)
        unsynchronised[unsynchronised_count++] = (struct carry_text_run){low, high};
    else
        PANIC("more than %zu writes between synchronisations", unsynchronised_count);
}

/* Writes text. `break=write` drops every fifth write. */
static bool write_text(uintptr_t address, const void *bytes, size_t size) {
    static unsigned count;
    if (!holds && !writes_live) {
        cpu_hold_other();
        holds = true;
    }
    note_write(address, address + size);
    if (!breaks_write || ++count % 5)
        text_write(address, bytes, size);
    return true;
}

static void serialise_cpu(void *unused) {
    (void)unused;
    cpu_serialise();
}

static void release_cpu(void) {
    cpu_serialise();
    if (holds && !stopped) {
        cpu_release_other();
        holds = false;
    }
    if (writes_live)
        cpu_call_other(serialise_cpu, NULL);
    unsynchronised_count = 0;
}

static bool close_session(bool keep) {
    (void)keep;
    release_cpu();
    cpu_interrupts_restore(flags_before);
    return true;
}

/* Synchronises all CPUs. `break=sync` omits every second synchronisation. */
static void synchronise_cpus(void) {
    static unsigned count;
    if (!breaks_sync || ++count % 2)
        release_cpu();
}

/* --- All CPUs outside sites --- */

#define STOP_TRIES 30

static bool breaks_stop;
static uint64_t flags_before_stop;
unsigned host_stops_refused;

/* Returns whether no CPU was interrupted inside a site. Suspended threads called thread_switch(),
 * so they are outside sites too. */
static bool all_outside(void) {
    for (unsigned i = 0; i < cpu_count(); i++)
        for (const struct interrupted *each = cpu_of(i)->interrupted; each; each = each->outer)
            if (carry_patch_is_inside(*trap_pc(each->frame)))
                return false;
    return true;
}

/* Waits longer each time: a CPU that is stopped again at once makes no progress. */
static void let_run(unsigned tries) {
    release_cpu();
    for (unsigned i = 0; i < tries * 100; i++)
        cpu_pause();
}

/* Stops all CPUs outside sites; returns false after too many tries. With `break=stop`, does not
   check where CPUs were interrupted. */
static bool stop_cpus(void) {
    flags_before_stop = cpu_interrupts_off();
    for (unsigned i = 0; i < STOP_TRIES; i++) {
        cpu_hold_other();
        holds = true;
        stopped = breaks_stop || all_outside();
        if (stopped)
            return true;
        __atomic_fetch_add(&host_stops_refused, 1, __ATOMIC_SEQ_CST);
        let_run(i);
    }
    cpu_interrupts_restore(flags_before_stop);
    return false;
}

static void start_cpus(void) {
    stopped = false;
    release_cpu();
    cpu_interrupts_restore(flags_before_stop);
}

static void yield_cpu(void) {
    cpu_pause();
}

static const char *backend_name(void) {
    return "kernel";
}

static void forget_text(uintptr_t low, uintptr_t high) {
    (void)low;
    (void)high;
}

static size_t page_bytes(void) {
    return PAGE_BYTES;
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
        .synchronise = synchronise_cpus,
        .backend = backend_name,
        .forget = forget_text,
        .stop = stop_cpus,
        .start = start_cpus,
    };
    return &host;
}

/*
 * Guards a site: a CPU that traps there retries until the site is complete. Interrupts may be off
 * on that CPU, so it answers requests of the writing CPU here.
 */
static bool wait_at_site(struct trap_frame *frame) {
    uintptr_t site = *trap_pc(frame) - TRAP_BREAKPOINT_BYTES;
    if (!carry_patch_is_site(site))
        return false;
    *trap_pc(frame) = site;
    cpu_poll();
    return true;
}

void host_prepare(void) {
    breaks_sync = kernel_option("break=sync");
    breaks_write = kernel_option("break=write");
    writes_live = kernel_option("live");
    breaks_stop = kernel_option("break=stop");
    trap_set(TRAP_BREAKPOINT, wait_at_site);
}

/*
 * --- Functions that compilers call, and functions for tests; memory.c of the architecture defines
 * further ones ---
 */

static bool is_same_word(const uint8_t *a, const uint8_t *b) {
    uint64_t x, y;
    __builtin_memcpy(&x, a, sizeof x);
    __builtin_memcpy(&y, b, sizeof y);
    return x == y;
}

int memcmp(const void *a, const void *b, size_t size) {
    const uint8_t *x = a;
    const uint8_t *y = b;
    size_t i = 0;
    while (i + 8 <= size && is_same_word(x + i, y + i))
        i += 8;
    while (i < size && x[i] == y[i])
        i++;
    return i < size ? x[i] - y[i] : 0;
}

size_t strlen(const char *text) {
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

int strncmp(const char *a, const char *b, size_t size) {
    size_t i = 0;
    while (i < size && a[i] && a[i] == b[i])
        i++;
    return i < size ? a[i] - b[i] : 0;
}
