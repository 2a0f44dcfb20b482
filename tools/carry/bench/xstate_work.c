/* SPDX-License-Identifier: MIT */
/* Times thunks and context switches with components in use. */
#define _GNU_SOURCE
#include "bench/xstate_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <carry/context.h>
#include <carry/image.h>
#include <carry/thunk.h>
#include <carry/xstate.h>

#define BIT(name) CARRY_XSTATE_BIT(name)

#define STACK_BYTES 65536

void bench_calls(void (*function)(void), size_t calls);
void bench_sse_callback(const struct carry_thunk *thunk, struct carry_thunk_call *call);
void bench_target(void);
void bench_thunk_xsavec(void);
void bench_thunk_enter(void);
void bench_thunk_around(void);

struct carry_thunk bench_enter = {.enter = bench_sse_callback, .target = (void *)bench_target};
struct carry_thunk bench_around = {
    .enter = bench_sse_callback, .leave = bench_sse_callback, .target = (void *)bench_target};
CARRY_THUNK(bench_thunk_enter, bench_enter)
CARRY_THUNK_AROUND(bench_thunk_around, bench_around)

bool bench_xstate_supported(void) {
    return true;
}

size_t bench_xstate_masks(uint64_t masks[BENCH_XSTATE_ROWS]) {
    const uint64_t reachable = xstate_reachable();
    const uint64_t rows[BENCH_XSTATE_ROWS] = {
        BIT(SSE),
        BIT(SSE) | BIT(OPMASK) | BIT(HI16_ZMM),
        BIT(SSE) | BIT(AVX),
        BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM),
    };
    size_t count = 0;
    for (size_t i = 0; i < BENCH_XSTATE_ROWS; i++)
        if (!(rows[i] & ~reachable))
            masks[count++] = rows[i];
    return count;
}

/* --- Thunks --- */

static void (*const thunks[BENCH_THUNKS])(void) = {
    [BENCH_THUNK_CALL] = bench_target,
    [BENCH_THUNK_ENTER] = bench_thunk_enter,
    [BENCH_THUNK_AROUND] = bench_thunk_around,
    [BENCH_THUNK_XSAVEC] = bench_thunk_xsavec,
};

/* Thunks preserve the components in use. */
uint32_t bench_xstate_run_thunk(enum bench_thunk thunk, uint64_t in_use, size_t calls) {
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    xstate_dirty(in_use);
    bench_calls(thunks[thunk], calls);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return (uint32_t)calls;
}

static uint32_t run_thunk(const void *context, size_t cell, size_t subject, size_t first,
                          size_t calls) {
    const uint64_t *masks = context;
    (void)first;
    return bench_xstate_run_thunk((enum bench_thunk)subject, masks[cell], calls);
}

bool bench_xstate_thunks(struct xstate_grid *grid, const struct xstate_effort *effort) {
    uint64_t masks[BENCH_XSTATE_ROWS];
    struct bench_plan plan = {
        .cells = bench_xstate_masks(masks),
        .subjects = xstate_has_op(XSTATE_XSAVEC) ? BENCH_THUNKS : BENCH_THUNK_XSAVEC,
        .run = run_thunk,
        .context = masks,
    };
    carry_thunk_prepare();
    return xstate_grid_measure(grid, &plan, effort);
}

/* --- Switches --- */

static struct switches {
    uint64_t masks[BENCH_XSTATE_ROWS];
    void *areas[2];
    size_t area_size;
    struct carry_context here, there;
    ucontext_t old_here, old_there;
    char stack[STACK_BYTES] __attribute__((aligned(16)));
} switches;

/* Runs the other context: makes its registers dirty, then only switches back. */
static struct carry_context *switch_back(void *argument, uintptr_t mask) {
    (void)argument;
    xstate_dirty(mask);
    for (;;)
        carry_context_switch(&switches.there, &switches.here, 0);
    return NULL;
}

static void run_contexts(uint64_t mask, bool keeps, size_t calls) {
    uint64_t kept = keeps ? carry_xstate_default() : 0;
    carry_context_adopt(&switches.here, NULL, 0);
    carry_context_create(&switches.there, switches.stack, STACK_BYTES, switch_back, NULL);
    carry_context_keep(&switches.here, switches.areas[0], switches.area_size, kept);
    carry_context_keep(&switches.there, switches.areas[1], switches.area_size, kept);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    xstate_dirty(mask);
    carry_context_switch(&switches.here, &switches.there, mask);
    for (size_t i = 0; i < calls; i += 2)
        carry_context_switch(&switches.here, &switches.there, 0);
}

static void swap_back(void) {
    for (;;)
        swapcontext(&switches.old_there, &switches.old_here);
}

static void run_swapcontext(size_t calls) {
    getcontext(&switches.old_there);
    switches.old_there.uc_stack.ss_sp = switches.stack;
    switches.old_there.uc_stack.ss_size = STACK_BYTES;
    makecontext(&switches.old_there, swap_back, 0);
    for (size_t i = 0; i < calls; i += 2)
        swapcontext(&switches.old_here, &switches.old_there);
}

/* Runs only the instructions that any switch of these components needs. */
static void run_pair(uint64_t mask, size_t calls) {
    uint64_t kept = carry_xstate_default();
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    xstate_dirty(mask);
    for (size_t i = 0; i < calls; i++) {
        carry_xstate_save(switches.areas[0], kept);
        carry_xstate_load(switches.areas[0], kept);
    }
}

static uint32_t run_switch(const void *context, size_t cell, size_t subject, size_t first,
                           size_t calls) {
    uint64_t mask = switches.masks[cell];
    (void)context;
    (void)first;
    if (subject == BENCH_SWITCH_PAIR)
        run_pair(mask, calls);
    else if (subject == BENCH_SWITCH_SWAPCONTEXT)
        run_swapcontext(calls);
    else
        run_contexts(mask, subject == BENCH_SWITCH_KEEP, calls);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return (uint32_t)calls;
}

bool bench_xstate_switches(struct xstate_grid *grid, const struct xstate_effort *effort) {
    struct bench_plan plan = {
        .cells = bench_xstate_masks(switches.masks),
        .subjects = BENCH_SWITCHES,
        .run = run_switch,
    };
    switches.area_size = carry_context_area_size(carry_xstate_default());
    for (size_t i = 0; i < 2; i++)
        switches.areas[i] = aligned_alloc(CARRY_XSTATE_ALIGN, switches.area_size);
    bool ok = switches.areas[0] && switches.areas[1] && xstate_grid_measure(grid, &plan, effort);
    for (size_t i = 0; i < 2; i++)
        free(switches.areas[i]);
    return ok;
}

/* --- Images --- */

#define IMAGE_BYTES 16384

static struct images {
    uint64_t named[BENCH_XSTATE_IMAGES];
    unsigned char image[IMAGE_BYTES] __attribute__((aligned(CARRY_XSTATE_ALIGN)));
} images;

size_t bench_xstate_named(uint64_t named[BENCH_XSTATE_IMAGES]) {
    const uint64_t rows[BENCH_XSTATE_IMAGES] = {
        0,
        BIT(SSE),
        BIT(SSE) | BIT(AVX),
        BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM),
    };
    size_t count = 0;
    for (size_t i = 0; i < BENCH_XSTATE_IMAGES; i++)
        if (!(rows[i] & ~xstate_reachable()))
            named[count++] = rows[i];
    return count;
}

/* Loads an image that names components but holds their initial values; then runs SSE code. */
static uint32_t run_after_image(const void *context, size_t cell, size_t subject, size_t first,
                                size_t calls) {
    double sum = 0;
    (void)context;
    (void)subject;
    memcpy(images.image + CARRY_XSTATE_LEGACY, &images.named[cell], sizeof images.named[cell]);
    carry_xstate_load(images.image, carry_xstate_default());
    for (size_t i = first; i < first + calls; i++)
        sum += exp((double)(i % 512 + 1) / 256);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_VECTORS);
    return (uint32_t)(int64_t)sum;
}

bool bench_xstate_images(struct xstate_grid *grid, const struct xstate_effort *effort) {
    struct carry_xstate_layout layout;
    struct bench_plan plan = {
        .cells = bench_xstate_named(images.named),
        .subjects = 1,
        .run = run_after_image,
    };
    carry_xstate_layout(&layout);
    return !carry_xstate_initial(&layout, layout.user, CARRY_XSTATE_STANDARD, images.image,
                                 sizeof images.image) &&
           xstate_grid_measure(grid, &plan, effort);
}
