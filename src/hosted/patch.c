/* SPDX-License-Identifier: MIT */
/* The host of `patch` in a Linux process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/patch.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hook_host.h"

/* Where the C library does not tell that there is one thread, there may be more. */
#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
static const char __libc_single_threaded;
#endif

struct lock {
    pthread_mutex_t mutex;
    unsigned depth;          /* how often its owner has taken it */
    int cancellation_before; /* of the first time */
};

static struct lock transactions;
static struct lock objects; /* and commits; taken after the other */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct carry_text_writer *writer; /* of the open session */
static const char *writer_name = "none";
static const struct carry_text_run *open_runs;
static size_t open_count;
static bool guards_stand;
static sigset_t signals_before;

/* --- Memory, locks, fork --- */

static void *allocate(size_t size) {
    return malloc(size);
}

static void release(void *memory, size_t size) {
    (void)size;
    free(memory);
}

/*
 * Recursive, as whoever has a transaction open may call exit(), which unloads all objects, and what
 * is told of hooks may ask for counts.
 */
static void make_mutex(struct lock *lock) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* Its owner is not cancelled: whoever waits for it, or at a guard, would do so for ever. */
static void take(struct lock *lock) {
    int cancellation;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    pthread_mutex_lock(&lock->mutex);
    if (!lock->depth++)
        lock->cancellation_before = cancellation;
}

static void give_back(struct lock *lock) {
    int cancellation = lock->cancellation_before;
    bool last = !--lock->depth;
    pthread_mutex_unlock(&lock->mutex);
    if (last)
        pthread_setcancelstate(cancellation, &cancellation);
}

/* In a child, where the owner has another name. */
static void own_again(struct lock *lock) {
    make_mutex(lock);
    for (unsigned i = 0; i < lock->depth; i++)
        pthread_mutex_lock(&lock->mutex);
}

static void before_fork(void) {
    take(&transactions);
    take(&objects);
}

static void after_fork_in_parent(void) {
    carry_text_after_fork(false);
    give_back(&objects);
    give_back(&transactions);
}

static void after_fork_in_child(void) {
    own_again(&transactions);
    own_again(&objects);
    carry_text_after_fork(true);
    carry_patch_forked();
    give_back(&objects);
    give_back(&transactions);
}

static void set_up(void) {
    make_mutex(&transactions);
    make_mutex(&objects);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void begin(void) {
    pthread_once(&once, set_up);
    take(&transactions);
}

static void end(void) {
    give_back(&transactions);
}

/*
 * Calls of the C library may be hooked, and a callback may run a site: this thread would wait at a
 * guard of its own. So hooks call nobody back.
 */
static unsigned locks;
static bool inside_before;

static void lock(void) {
    pthread_once(&once, set_up);
    take(&objects);
    if (!locks++)
        inside_before = carry_host_go_inside(true);
}

static void unlock(void) {
    if (!--locks)
        carry_host_go_inside(inside_before);
    give_back(&objects);
}

static void yield(void) {
    sched_yield();
}

/* --- Threads --- */

static bool alone(void) {
    return __libc_single_threaded;
}

static bool membarrier(int command) {
    return !syscall(SYS_membarrier, command, 0, 0);
}

/* Asked each time, which costs little: a filter of system calls may have come in between. */
static bool can_synchronise(void) {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

static void synchronise(void) {
    if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
        carry_ucontext_serialise();
}

/* All but those that this thread brings upon itself, which nothing can put off. */
static void block_signals(void) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    pthread_sigmask(SIG_BLOCK, &set, &signals_before);
}

/* --- Sessions --- */

static int open_session(const struct carry_text_run *runs, size_t count, bool alone_now,
                        bool *writes_pairs) {
    if (!can_synchronise() && !alone_now)
        return CARRY_ERROR_NO_SYNC;
    block_signals();
    writer = carry_text_open(runs, count);
    guards_stand = writer && !alone_now;
    bool ready = writer && (!guards_stand || carry_trap_begin());
    if (!ready) {
        if (writer)
            writer->close(runs, count);
        pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
        return CARRY_ERROR_PERMISSION;
    }
    writer_name = writer->name;
    *writes_pairs = writer->writes_pairs;
    open_runs = runs;
    open_count = count;
    return CARRY_OK;
}

static void close_session(void) {
    writer->close(open_runs, open_count);
    if (guards_stand)
        carry_trap_end();
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
}

static bool write_text(uintptr_t address, const void *bytes, size_t size) {
    return writer->write(address, bytes, size);
}

static const char *backend(void) {
    return writer_name;
}

const struct carry_text_host *carry_host_text(void) {
    static const struct carry_text_host host = {
        .allocate = allocate,
        .release = release,
        .begin = begin,
        .end = end,
        .lock = lock,
        .unlock = unlock,
        .yield = yield,
        .alone = alone,
        .open = open_session,
        .close = close_session,
        .write = write_text,
        .synchronise = synchronise,
        .backend = backend,
        .forget = carry_text_forget,
    };
    return &host;
}
