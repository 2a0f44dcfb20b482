/* SPDX-License-Identifier: MIT */
/*
 * Tests that pages that demand landing pads (BTI of AArch64) still demand them after commits,
 * however text is written: an indirect call of a function without a landing pad raises SIGILL.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness/bti_object.h"
#include "harness/child.h"
#include "harness/tap.h"

static sigjmp_buf before;

static void leave_handler(int number) {
    (void)number;
    siglongjmp(before, 1);
}

/* Returns whether a call of the function raises SIGILL. The call is a BLR, because the compiler
   does not know the function. */
static bool is_refused(uint64_t (*volatile function)(void)) {
    if (sigsetjmp(before, 1))
        return true;
    (void)function();
    return false;
}

static bool demands_pads(void) {
    signal(SIGILL, leave_handler);
    return is_refused(bti_bare) && !is_refused(bti_padded);
}

static int set_choice(uintptr_t on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, bti_key(), on);
    return carry_patch_commit(&patch);
}

/* How text is written, and how threads are held; NULL: there are no threads. */
static const struct way {
    const char *backend, *guard;
} ways[] = {
    {"procmem", NULL}, {"alias", NULL},      {"mprotect", NULL},    {"procmem", "remap"},
    {"alias", "jump"}, {"mprotect", "jump"}, {"mprotect", "remap"},
};
static const struct way *way;

static int stop[2]; /* a pipe on which the other thread waits */

static void *wait_for_end(void *unused) {
    char byte;
    return read(stop[0], &byte, 1) < 0 ? &stop : unused;
}

static bool start_thread(void) {
    pthread_t thread;
    return !pipe(stop) && !pthread_create(&thread, NULL, wait_for_end, NULL);
}

static bool is_writing(void) {
    struct carry_patch_counts counts;
    carry_patch_stats(&counts);
    return !strcmp(counts.backend, way->backend);
}

static bool choice_is(void) {
    return !carry_patch_select(way->backend, way->guard) && (!way->guard || start_thread());
}

static bool can_write(void) {
    return choice_is() && !set_choice(1) && is_writing();
}

static bool keeps_pads(void) {
    bool ok = choice_is() && demands_pads();
    for (unsigned i = 0; i < 4; i++)
        ok = ok && !set_choice(i % 2) && bti_choice() == 1 + i % 2 && demands_pads();
    return ok;
}

int main(void) {
    const size_t count = sizeof ways / sizeof *ways;
    if (!child_says(NULL, demands_pads))
        return tap_skip_all("no page demands landing pads here");
    for (size_t i = 0; i < count; i++) {
        way = &ways[i];
        const char *guard = way->guard ? way->guard : "no threads";
        if (!child_says(NULL, can_write))
            tap_skip(way->backend, "text cannot be written like this here, with %s", guard);
        else
            tap_ok(child_says(NULL, keeps_pads), "%s, %s: pages demand landing pads after commits",
                   way->backend, guard);
    }
    return tap_done();
}
