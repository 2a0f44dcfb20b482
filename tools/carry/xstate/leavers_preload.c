/* SPDX-License-Identifier: MIT */
/*
 * Makes libcarry-leavers.so. `carry xstate leavers` loads this library into a program. The library
 * hooks all calls between the program's objects, and counts the calls that return with dirty
 * uppers.
 *
 * The program must run as if this library were absent, so failures are ignored, and nothing is
 * printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <carry/cpu.h>
#include <carry/hook.h>
#include <carry/thunk.h>

#include "xstate/leavers_table.h"

static struct leavers_table *table;

/* --- Functions that are not hooked --- */

/* Functions that cannot be called through a thunk, besides the functions that the library skips. */
static const char *const not_hooked[] = {
    "__tls_get_addr",    /* some compilers call it with the stack unaligned */
    "__morestack",       /* gets arguments in other registers, and moves the stack */
    "__rust_probestack", /* the same as __morestack */
    "makecontext",       /* gets any number of arguments on the stack */
    "execl",             /* the same as makecontext, like the functions below */
    "execle",
    "execlp",
};

static bool may_be_hooked(const char *function) {
    for (size_t i = 0; i < sizeof not_hooked / sizeof *not_hooked; i++)
        if (strcmp(not_hooked[i], function) == 0)
            return false;
    return true;
}

/* --- Objects --- */

#define OBJECTS_MAX 4096

static struct object {
    uintptr_t low, high;
    const char *name;
} objects[OBJECTS_MAX];
static size_t objects_count;
static unsigned long long loaded; /* the number of objects ever loaded, when they were listed */
static char program[4096];

static int add_loaded_object(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    loaded = info->dlpi_adds;
    if (objects_count == OBJECTS_MAX)
        return 1;
    struct object *object = &objects[objects_count++];
    *object = (struct object){.low = UINTPTR_MAX, .name = info->dlpi_name};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        object->low = start < object->low ? start : object->low;
        object->high =
            start + segment->p_memsz > object->high ? start + segment->p_memsz : object->high;
    }
    return 0;
}

static const struct object *object_at(uintptr_t address) {
    for (size_t i = 0; i < objects_count; i++)
        if (address - objects[i].low < objects[i].high - objects[i].low)
            return &objects[i];
    return NULL;
}

static const char *name_at(uintptr_t address) {
    const struct object *object = object_at(address);
    return !object ? "" : object == objects ? program : object->name; /* the program is first */
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

/* --- Rows of slots, which callbacks look up without a lock --- */

#define SLOTS 131072 /* a power of two */

static struct {
    uintptr_t address; /* written last */
    struct leavers_row *row;
} slots[SLOTS];
static size_t slots_count;

static size_t slot_of(uintptr_t address) {
    size_t place = (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
    for (;; place = (place + 1) % SLOTS) {
        uintptr_t there = __atomic_load_n(&slots[place].address, __ATOMIC_ACQUIRE);
        if (!there || there == address)
            return place;
    }
}

static bool add_slot(const struct carry_hook_place *place) {
    size_t slot = slot_of(place->address);
    if (slots[slot].address)
        return true;
    if (2 * slots_count >= SLOTS)
        return false;
    slots[slot].row =
        leavers_table_row(table, name_at(place->address), place->symbol, name_at(place->function));
    if (!slots[slot].row)
        return false;
    slots_count++;
    __atomic_store_n(&slots[slot].address, place->address, __ATOMIC_RELEASE);
    return true;
}

/* --- Registers that thunks save --- */

#define XMM_BYTES 16
#define YMM_BYTES 32

static bool is_dirty(const struct carry_thunk_call *call) {
    return call->vector_size > XMM_BYTES;
}

/* Makes the thunk load the two vectors that may be results as xmm registers, with clean uppers. */
static void clean_uppers(struct carry_thunk_call *call) {
    unsigned char *vectors = call->vectors;
    memmove(vectors + XMM_BYTES, vectors + call->vector_size, XMM_BYTES);
    call->vector_size = XMM_BYTES;
}

static bool is_zero(const unsigned char *bytes, size_t size) {
    return !*bytes && !memcmp(bytes, bytes + 1, size - 1);
}

/*
 * Keeps uppers dirty. If the uppers of all `kept` vectors are zero, the dirty registers are ones
 * that the thunk does not save. The last upper is then made dirty, because on AMD loaded zeroes are
 * in use only until the next switch of threads. Nothing reads that upper: if the vector is an
 * argument or a result, it is an xmm register.
 */
static void keep_dirty(struct carry_thunk_call *call, size_t kept) {
    const size_t half = call->vector_size / 2;
    unsigned char *upper = (unsigned char *)call->vectors + half;
    while (--kept && is_zero(upper, half))
        upper += call->vector_size;
    if (!kept && is_zero(upper, half))
        *upper = 1;
}

#define ARGUMENTS 8
#define RESULTS   2

/* --- Calls --- */

/* The number of calls of a thread that are recorded: the innermost calls. */
#define FRAMES 64

struct frame {
    uintptr_t stack; /* the stack pointer; it identifies the call until the call returns */
    bool dirty;
};

static _Thread_local struct {
    struct frame frames[FRAMES];
    size_t depth;
    bool left; /* uppers have been dirty since a counted leaver returned */
} thread __attribute__((tls_model("initial-exec")));

static struct frame *innermost_frame(void) {
    return &thread.frames[(thread.depth - 1) % FRAMES];
}

static void on_enter(const struct carry_hook_place *place, struct carry_thunk_call *call,
                     void *user) {
    uintptr_t stack = (uintptr_t)call->stack;
    (void)place;
    (void)user;
    while (thread.depth && innermost_frame()->stack <= stack) /* ended by longjmp or an exception */
        thread.depth--;
    thread.depth++;
    *innermost_frame() = (struct frame){stack, is_dirty(call)};
    thread.left = thread.left && is_dirty(call);
    if (is_dirty(call))
        keep_dirty(call, ARGUMENTS);
}

/* Finds the frame of the call that returns; returns false if it was not recorded. */
static bool find_frame(const struct carry_thunk_call *call, struct frame *frame) {
    uintptr_t stack = (uintptr_t)call->stack;
    while (thread.depth && innermost_frame()->stack < stack)
        thread.depth--;
    if (!thread.depth || innermost_frame()->stack != stack)
        return false;
    *frame = *innermost_frame();
    thread.depth--;
    return true;
}

static void add_one(uint64_t *count) {
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

/* Counts a call, and returns whether its function made the uppers dirty. */
static bool is_leaver(struct leavers_row *row, const struct carry_thunk_call *call) {
    struct frame frame;
    add_one(&row->calls);
    if (!find_frame(call, &frame))
        add_one(&row->unknown);
    else if (frame.dirty)
        add_one(&row->called_dirty);
    else
        return is_dirty(call) && !thread.left;
    return false;
}

/* Judges a call. Cleans the uppers that a leaver made dirty, unless table->keep is set. If the
 * caller made the uppers dirty, they are judged when the caller returns. */
static void on_leave(const struct carry_hook_place *place, struct carry_thunk_call *call,
                     void *user) {
    struct leavers_row *row = slots[slot_of(place->address)].row;
    bool leaver = is_leaver(row, call);
    (void)user;
    if (leaver)
        add_one(call->vector_size > YMM_BYTES ? &row->zmm : &row->ymm);
    thread.left = table->keep && is_dirty(call) && (leaver || thread.left);
    if (leaver && !table->keep)
        clean_uppers(call);
    else if (is_dirty(call))
        keep_dirty(call, RESULTS);
}

/* --- Hooks --- */

static void on_lookup(const struct carry_hook_place *place, struct carry_thunk_call *call,
                      void *user);

static const struct object *own;

static bool is_lookup_call(const struct carry_hook_place *place, void *user) {
    (void)user;
    return object_at(place->address) != own &&
           (strcmp(place->symbol, "dlsym") == 0 || strcmp(place->symbol, "dlvsym") == 0);
}

static bool is_call_hooked(const struct carry_hook_place *place, void *user) {
    (void)user;
    return (place->by_plt || table->addresses) && object_at(place->address) != own &&
           may_be_hooked(place->symbol) && add_slot(place);
}

static struct carry_hook calls = {
    .wants = is_call_hooked,
    .enter = on_enter,
    .leave = on_leave,
};

static struct carry_hook lookups = {.wants = is_lookup_call, .enter = on_lookup};

static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

/* Hooks all calls that are not hooked yet, unless another thread is doing this. Returns 0, or an
 * error of attaching. */
static int attach_all_calls(void) {
    if (pthread_mutex_trylock(&attaching) != 0)
        return CARRY_OK;
    objects_count = 0;
    dl_iterate_phdr(add_loaded_object, NULL);
    own = object_at((uintptr_t)&table);
    int error = carry_hook_attach_calls(&calls);
    carry_hook_attach_calls(&lookups);
    pthread_mutex_unlock(&attaching);
    return error;
}

/* Hooks objects that dlopen() has loaded, before a function is looked up: the functions of such
 * objects must be looked up before they can be called. */
static void on_lookup(const struct carry_hook_place *place, struct carry_thunk_call *call,
                      void *user) {
    unsigned long long now = 0;
    (void)place;
    (void)call;
    (void)user;
    dl_iterate_phdr(count_loaded, &now);
    if (now != loaded)
        attach_all_calls();
}

/* --- The beginning --- */

static struct leavers_table *open_table(const char *path) {
    struct stat status;
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_size == sizeof(struct leavers_table))
        memory = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

__attribute__((constructor)) static void begin_counting(void) {
    table = open_table(getenv(LEAVERS_VARIABLE));
    if (!table)
        return;
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
    /* Thunks then read which components are in use, not their values. */
    carry_cpu_set_mask("+fast_xgetbv1");
    add_one(attach_all_calls() == CARRY_ERROR_PERMISSION ? &table->refused : &table->processes);
}
