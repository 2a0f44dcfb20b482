/* SPDX-License-Identifier: MIT */
/* Points and their stubs, and the callbacks of a hook that a thunk calls for them. */
#include "hook/hook_internal.h"

#define PAGE_BYTES UINT64_C(4096) /* no system has smaller pages */
#define TEXT_BYTES (CARRY_BLOCK_POINTS * (size_t)CARRY_STUB_BYTES)

#define BUCKETS 1024

/* The default of carry_hook.stack_words: enough for 40 integer arguments. */
#define STACK_WORDS 32

static struct carry_hook_block *last_made;
static struct carry_hook_block *blocks; /* of calls */
static struct carry_hook_point *buckets[BUCKETS];

static inline uintptr_t next_page_start(uintptr_t address) {
    return (address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* --- Callbacks --- */

/* The callbacks of one hook. */
struct callback {
    uint32_t generation;
    carry_hook_callback *enter;
    carry_hook_callback *leave;
    void *user;
    bool counted;
};

/*
 * Reads the callbacks of a point. Returns false if none are enabled, or if the generation shows
 * that they changed during the reads. Functions with CARRY_INLINE save a sixth of the cost of a
 * hooked call.
 */
CARRY_INLINE bool take_callback(const struct carry_hook_point *point, struct callback *callback) {
    callback->generation = __atomic_load_n(&point->generation, __ATOMIC_ACQUIRE);
    callback->enter = __atomic_load_n(&point->enter, __ATOMIC_RELAXED);
    callback->leave = __atomic_load_n(&point->leave, __ATOMIC_RELAXED);
    callback->user = __atomic_load_n(&point->user, __ATOMIC_RELAXED);
    callback->counted = __atomic_load_n(&point->counted, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return callback->generation % 2 &&
           __atomic_load_n(&point->generation, __ATOMIC_RELAXED) == callback->generation;
}

static int *error_number(void) {
    if (!carry_host_hook_thread.error_number)
        carry_host_hook_thread.error_number = carry_host_errno();
    return carry_host_hook_thread.error_number;
}

/* Calls a callback. Hooks ignore calls that the callback makes, and errno is preserved. */
static void call_back(const struct carry_hook_point *point, carry_hook_callback *function,
                      struct carry_thunk_call *call, void *user) {
    carry_host_hook_thread.inside = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    int *error = error_number();
    int saved = *error;
    function(&point->place, call, user);
    *error = saved;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    carry_host_hook_thread.inside = false;
}

/* Calls a callback of a hook whose detaching waits for callbacks. Either carry_point_wait() sees
 * the count, or this function sees that the point was stopped. */
static void call_back_counted(struct carry_hook_point *point, carry_hook_callback *function,
                              struct carry_thunk_call *call, void *user, uint32_t generation) {
    /* Not NULL if a signal interrupted another call of this function outside its callback. */
    const void *interrupted = carry_host_hook_thread.counted;
    carry_host_hook_thread.counted = point;
    __atomic_fetch_add(&point->running, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&point->generation, __ATOMIC_SEQ_CST) == generation)
        call_back(point, function, call, user);
    __atomic_fetch_sub(&point->running, 1, __ATOMIC_RELEASE);
    carry_host_hook_thread.counted = interrupted;
}

/* Hands over no pointer to `callback`, so that compilers keep its members in registers. */
CARRY_INLINE void run_callback(struct carry_hook_point *point, carry_hook_callback *function,
                               struct carry_thunk_call *call, const struct callback *callback) {
    if (callback->counted)
        call_back_counted(point, function, call, callback->user, callback->generation);
    else
        call_back(point, function, call, callback->user);
}

/*
 * Returns how many of `count` words can be read. A function may have fewer arguments than its thunk
 * copies, and the stack may end before the last of these words. The thread remembers the last
 * readable page.
 */
static __attribute__((noinline)) uint64_t readable_words(const uint64_t *words, uint64_t count) {
    const uintptr_t low = (uintptr_t)words, high = (uintptr_t)(words + count);
    for (uintptr_t page = next_page_start(low); page < high; page += PAGE_BYTES) {
        if (page == carry_host_hook_thread.readable_page)
            continue;
        if (!carry_host_hook()->is_readable(page))
            return (page - low) / sizeof *words;
        carry_host_hook_thread.readable_page = page;
    }
    return count;
}

/* Returns the upper part of the call's `library`: the limit of words that the thunk may copy. */
CARRY_INLINE uint64_t words_end(const struct carry_hook_point *point,
                                const struct carry_thunk_call *call) {
    uint64_t count = UINT64_C(2) + __atomic_load_n(&point->stack_words, __ATOMIC_RELAXED);
    if (next_page_start((uintptr_t)call->stack) < (uintptr_t)(call->stack + count))
        count = readable_words(call->stack, count);
    return (1 + count) << CARRY_STUB_WORDS_SHIFT;
}

/*
 * Calls `enter`. Stores the generation in the call, so that `leave` is called only for the hook
 * that saw the call begin. This hook may have no `leave`: the thread may have read the thunk's
 * address while another hook was attached.
 */
static void call_enter(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    struct carry_hook_point *point = (struct carry_hook_point *)thunk;
    struct callback callback;
    /* The stub has loaded the address of the thunk, and on AArch64 a branch does not order loads:
     * the loads of a thunk around a call must not see the point in an earlier state. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool around = __atomic_load_n(&point->around, __ATOMIC_RELAXED);
    const uint64_t end = around ? words_end(point, call) : 0;
    const bool called = !carry_host_hook_thread.inside && take_callback(point, &callback);
    call->library = end | (called ? callback.generation : 0);
    if (called && callback.enter)
        run_callback(point, callback.enter, call, &callback);
}

static void call_leave(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    struct carry_hook_point *point = (struct carry_hook_point *)thunk;
    struct callback callback;
    if (!carry_host_hook_thread.inside && take_callback(point, &callback) && callback.leave &&
        callback.generation == (uint32_t)call->library)
        run_callback(point, callback.leave, call, &callback);
}

void carry_point_set(struct carry_hook_point *point, const struct carry_hook *hook) {
    __atomic_store_n(&point->enter, hook->enter, __ATOMIC_RELAXED);
    __atomic_store_n(&point->leave, hook->leave, __ATOMIC_RELAXED);
    __atomic_store_n(&point->user, hook->user, __ATOMIC_RELAXED);
    __atomic_store_n(&point->counted, hook->waits, __ATOMIC_RELAXED);
    if (hook->leave)
        __atomic_store_n(&point->around, true, __ATOMIC_RELAXED);
    const uint32_t words = hook->stack_words ? (uint32_t)hook->stack_words : STACK_WORDS;
    __atomic_store_n(&point->stack_words, words, __ATOMIC_RELAXED);
    point->hook = hook;
    __atomic_store_n(&point->through, carry_stub_thunk(hook->leave != NULL, point->whole),
                     __ATOMIC_RELEASE);
}

void carry_point_start(struct carry_hook_point *point) {
    __atomic_store_n(&point->generation, point->generation + 1, __ATOMIC_RELEASE);
}

void carry_point_stop(struct carry_hook_point *point) {
    __atomic_store_n(&point->generation, point->generation + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void carry_point_wait(const struct carry_hook_point *point) {
    while (__atomic_load_n(&point->running, __ATOMIC_ACQUIRE))
        carry_host_text()->yield();
}

/* --- Blocks --- */

static size_t round_to_pages(size_t size) {
    const size_t inside = carry_host_hook()->page_bytes() - 1;
    return (size + inside) & ~inside;
}

/* Writes the stubs of a block. Text has pages of its own before the points, so the distance from a
 * stub to its point is the same in all blocks. */
static void write_stubs(uint8_t *text) {
    size_t points = round_to_pages(TEXT_BYTES) + offsetof(struct carry_hook_block, points);
    for (size_t i = 0; i < CARRY_BLOCK_POINTS; i++)
        carry_stub_write(
            text + i * CARRY_STUB_BYTES,
            (uint32_t)(points + i * sizeof(struct carry_hook_point) - i * CARRY_STUB_BYTES),
            offsetof(struct carry_hook_point, through));
}

struct carry_hook_block *carry_block_make(uintptr_t near) {
    uint8_t stubs[TEXT_BYTES];
    write_stubs(stubs);
    uint8_t *text = carry_host_hook()->map(near, carry_entry_reach(), stubs, TEXT_BYTES,
                                           round_to_pages(sizeof(struct carry_hook_block)));
    if (!text)
        return NULL;
    struct carry_hook_block *block = (struct carry_hook_block *)(text + round_to_pages(TEXT_BYTES));
    for (size_t i = 0; i < CARRY_BLOCK_POINTS; i++) {
        block->points[i].stub = (uintptr_t)text + i * CARRY_STUB_BYTES;
        block->points[i].thunk.enter = call_enter;
        block->points[i].thunk.leave = call_leave;
        block->points[i].thunk.stack_words = CARRY_STACK_WORDS_MAX; /* call_enter() sets the end */
    }
    block->made_before = last_made;
    last_made = block;
    return block;
}

/* Resets what other threads left: running callbacks, and points that they were detaching. */
void carry_hook_forked(void) {
    for (struct carry_hook_block *block = last_made; block; block = block->made_before)
        for (size_t i = 0; i < CARRY_BLOCK_POINTS; i++) {
            struct carry_hook_point *point = &block->points[i];
            if (point->running)
                point->running = point == carry_host_hook_thread.counted;
            if (point->planned)
                point->planned = false;
        }
}

/* --- Points of slots --- */

static struct carry_hook_point **slot_bucket(uintptr_t slot) {
    return &buckets[slot / sizeof slot % BUCKETS];
}

struct carry_hook_point *carry_point_at(uintptr_t slot) {
    struct carry_hook_point *point = *slot_bucket(slot);
    while (point && !(point->place.address == slot && carry_point_is_on(point)))
        point = point->same_bucket;
    return point;
}

static struct carry_hook_point *new_point(void) {
    if (!blocks || blocks->used == CARRY_BLOCK_POINTS) {
        struct carry_hook_block *block = carry_block_make(0);
        if (!block)
            return NULL;
        block->next = blocks;
        blocks = block;
    }
    return &blocks->points[blocks->used++];
}

struct carry_hook_point *carry_point_make(uintptr_t slot, uintptr_t target) {
    struct carry_hook_point **bucket = slot_bucket(slot);
    for (struct carry_hook_point *point = *bucket; point; point = point->same_bucket)
        if (point->place.address == slot && (uintptr_t)point->thunk.target == target)
            return point;
    struct carry_hook_point *point = new_point();
    if (!point)
        return NULL;
    point->place.address = slot;
    point->thunk.target = (const void *)target;
    point->same_bucket = *bucket;
    *bucket = point;
    return point;
}
