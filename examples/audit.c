/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of a program to functions of other objects. It is an auditor of the dynamic
 * linker, rtld-audit(7), for programs that were not compiled for it:
 *
 *     LD_AUDIT=./libcarry-audit.so program
 *
 * The usual way to see calls is la_pltenter(). The code of glibc that calls it saves vectors at
 * each call, and leaves the upper halves of vector registers dirty, so that SSE code of the program
 * runs slowly from then on. Here la_symbind64() binds each function to a thunk instead. The thunk
 * keeps arguments in vectors of any width. Its function `enter`, in place of la_pltenter(), finds
 * clean upper halves, and leaves them clean.
 *
 * The auditor needs glibc 2.35 or newer: older versions do not call la_symbind64() for programs
 * linked with -z now. The compiler makes the thunks, so their number is fixed; calls of further
 * functions are not seen.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <carry/cpu.h>
#include <carry/thunk.h>
#include <carry/xstate.h>

/* The dynamic linker looks up functions with this attribute by their names. */
#define AUDIT __attribute__((visibility("default")))

/* The upper halves of vectors: they must not be in use in count_call(). */
#define UPPERS (CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(ZMM_HI256))

/* A thunk, its function, and its counts. Threads call at the same time, so additions are atomic. */
struct seen {
    struct carry_thunk *thunk;
    void (*function)(void);
    const char *name; /* name of the function; NULL: the thunk is free */
    uint64_t calls;
    uint64_t dirty; /* calls of count_call() that found dirty upper halves */
};

static bool is_known; /* the CPU reports which state is in use */

/* Counts a call, in place of la_pltenter(). It may read and change arguments, and call anything. */
static void count_call(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    struct seen *seen = thunk->user;
    (void)call;
    __atomic_fetch_add(&seen->calls, 1, __ATOMIC_RELAXED);
    if (is_known && carry_xstate_in_use() & UPPERS)
        __atomic_fetch_add(&seen->dirty, 1, __ATOMIC_RELAXED);
}

/* --- The thunks: seen_00() to seen_ff() --- */

#define REPEAT_16(one, high)                                                                       \
    one(high##0) one(high##1) one(high##2) one(high##3) one(high##4) one(high##5) one(high##6)     \
        one(high##7) one(high##8) one(high##9) one(high##a) one(high##b) one(high##c) one(high##d) \
            one(high##e) one(high##f)
#define REPEAT_256(one)                                                                            \
    REPEAT_16(one, 0)                                                                              \
    REPEAT_16(one, 1)                                                                              \
    REPEAT_16(one, 2)                                                                              \
    REPEAT_16(one, 3)                                                                              \
    REPEAT_16(one, 4)                                                                              \
    REPEAT_16(one, 5)                                                                              \
    REPEAT_16(one, 6)                                                                              \
    REPEAT_16(one, 7)                                                                              \
    REPEAT_16(one, 8)                                                                              \
    REPEAT_16(one, 9)                                                                              \
    REPEAT_16(one, a)                                                                              \
    REPEAT_16(one, b)                                                                              \
    REPEAT_16(one, c)                                                                              \
    REPEAT_16(one, d)                                                                              \
    REPEAT_16(one, e)                                                                              \
    REPEAT_16(one, f)

#define MAKE_THUNK(number)                                                                         \
    static struct carry_thunk thunk_##number = {.enter = count_call};                              \
    void seen_##number(void);                                                                      \
    CARRY_THUNK(seen_##number, thunk_##number)
REPEAT_256(MAKE_THUNK)

#define LIST_THUNK(number) {.thunk = &thunk_##number, .function = seen_##number},
static struct seen all[] = {REPEAT_256(LIST_THUNK)};
#define THUNKS (sizeof all / sizeof *all)

static size_t used;
static bool is_ready;
static int report; /* a copy of standard error, which programs close before the auditor ends */

/* --- Functions that the dynamic linker calls --- */

AUDIT unsigned la_version(unsigned version) {
    is_ready = carry_thunk_prepare() == CARRY_OK;
    is_known = carry_cpu_has("xgetbv1");
    report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* Requests calls from the program itself (an empty name) to any object. */
AUDIT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
    (void)space, (void)cookie;
    return LA_FLG_BINDTO | (*map->l_name ? 0 : LA_FLG_BINDFROM);
}

/* Binds a function to a thunk. Does not change results of dlsym(): the program may compare them. */
AUDIT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                             unsigned *flags, const char *name) {
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    (void)index, (void)from, (void)to;
    if (!is_ready || *flags & LA_SYMB_DLSYM || (type != STT_FUNC && type != STT_GNU_IFUNC))
        return symbol->st_value;
    const size_t place = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    if (place >= THUNKS)
        return symbol->st_value;
    struct seen *seen = &all[place];
    seen->thunk->target = (const void *)symbol->st_value;
    seen->thunk->user = seen;
    seen->name = name;
    return (uintptr_t)seen->function;
}

/* Prints the counts. The auditor ends after the program, unless the program calls _exit(). */
__attribute__((destructor)) static void print_counts(void) {
    for (size_t i = 0; i < THUNKS && all[i].name; i++)
        if (all[i].calls)
            dprintf(report, "%10" PRIu64 " calls, %" PRIu64 " dirty: %s\n", all[i].calls,
                    all[i].dirty, all[i].name);
    if (used > THUNKS)
        dprintf(report, "%zu more functions were not seen\n", used - THUNKS);
}
