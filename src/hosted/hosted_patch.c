/* SPDX-License-Identifier: MIT */
/* The host of `patch` in a Linux process: locks, fork() and sessions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_patch.h"
#include "hosted/origin.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hook_host.h"

/* glibc 2.32 and later report whether the process has one thread. With other C libraries, the
 * process is assumed to have several threads. */
#if defined(__GLIBC__) && 100 * __GLIBC__ + __GLIBC_MINOR__ >= 232
#include <sys/single_threaded.h>
#else
static const char __libc_single_threaded;
#endif

struct lock {
    pthread_mutex_t mutex;
    unsigned depth;          /* how many times its owner must unlock it */
    int cancellation_before; /* the state before the owner first locked it */
};

static struct lock transactions;
static struct lock objects; /* also guards commits; locked after `transactions` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct carry_text_writer *writer; /* of the open session */
static const char *writer_name = "none";
static const struct carry_text_run *open_runs;
static size_t open_count;
static struct carry_text_session session;
static sigset_t signals_before;

/* --- Memory, locks, fork --- */

static void *allocate_memory(size_t size) {
    return malloc(size);
}

static void release_memory(void *memory, size_t size) {
    (void)size;
    free(memory);
}

/*
 * Makes a recursive mutex: a thread with an open transaction may call exit(), which unloads all
 * objects, and callbacks that list hooks may ask for statistics.
 */
static void make_mutex(struct lock *lock) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* Locks, and disables cancellation: threads that wait for the lock, or at a guard, would wait for
 * ever if its owner were cancelled. */
static void take_lock(struct lock *lock) {
    int cancellation;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    pthread_mutex_lock(&lock->mutex);
    if (!lock->depth++)
        lock->cancellation_before = cancellation;
}

static void release_lock(struct lock *lock) {
    int cancellation = lock->cancellation_before;
    bool last = !--lock->depth;
    pthread_mutex_unlock(&lock->mutex);
    if (last)
        pthread_setcancelstate(cancellation, &cancellation);
}

/* Locks a mutex anew in the child of fork(), where its owner has another thread ID. */
static void retake_lock(struct lock *lock) {
    make_mutex(lock);
    for (unsigned i = 0; i < lock->depth; i++)
        pthread_mutex_lock(&lock->mutex);
}

static void before_fork(void) {
    take_lock(&transactions);
    take_lock(&objects);
}

static void after_fork_in_parent(void) {
    carry_text_after_fork(false);
    release_lock(&objects);
    release_lock(&transactions);
}

static void after_fork_in_child(void) {
    retake_lock(&transactions);
    retake_lock(&objects);
    carry_text_after_fork(true);
    carry_patch_forked();
    carry_trap_forked();
    release_lock(&objects);
    release_lock(&transactions);
}

static void set_up_locks(void) {
    make_mutex(&transactions);
    make_mutex(&objects);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void begin_transaction(void) {
    pthread_once(&once, set_up_locks);
    take_lock(&transactions);
}

static void end_transaction(void) {
    release_lock(&transactions);
}

/* While a thread holds the lock `objects`, hooks call no callbacks on it. Calls of the C library
 * may be hooked, and a callback may run a site: the thread would wait at its own guard. */
static unsigned locks;
static bool inside_before;

static void lock_objects(void) {
    pthread_once(&once, set_up_locks);
    take_lock(&objects);
    if (!locks++)
        inside_before = carry_host_go_inside(true);
}

static void unlock_objects(void) {
    if (!--locks)
        carry_host_go_inside(inside_before);
    release_lock(&objects);
}

static void yield_processor(void) {
    sched_yield();
}

/* --- Threads --- */

static bool is_single_threaded(void) {
    return __libc_single_threaded;
}

static bool call_membarrier(int command) {
    return !syscall(SYS_membarrier, command, 0, 0);
}

/* Checks whether cores can be synchronised. Asks the system at each call, because a system call
 * filter may have been installed after the last one; asking is cheap. */
static bool can_synchronise(void) {
    return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

static void synchronise_cores(void) {
    if (!call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
        carry_ucontext_serialise();
}

/* Blocks all signals except those that this thread's own instructions cause. */
static void block_signals(void) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    pthread_sigmask(SIG_BLOCK, &set, &signals_before);
}

/* --- Debuggers --- */

/* Returns whether another process traces this thread: debuggers may write text at any time. They
 * set breakpoints, and step over them in text that they borrow. */
static bool is_traced(void) {
    static const char field[] = "\nTracerPid:\t";
    char text[512];
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *found = strstr(text, field);
    return found && found[sizeof field - 1] != '0';
}

/* --- Sessions --- */

/* The instruction or exchange that holds threads during a session, best first. */
enum guard { REMAP, JUMP, TRAP, GUARDS };

static const char *const guard_names[GUARDS] = {
    [REMAP] = "remap",
    [JUMP] = "jump",
    [TRAP] = "trap",
};

static enum guard chosen = GUARDS;    /* by the program; GUARDS: any */
static enum carry_exchange exchanged; /* the result of the last session: see may_exchange() */
static bool write_failed;             /* in the open session */
static bool in_place;                 /* the open session writes in place, with jumps as guards */
static bool needs_trap; /* the last session, `in_place`, was discarded: a site needs a trap */

static bool may_exchange(void) {
    return exchanged == CARRY_EXCHANGED_ALL || exchanged == CARRY_EXCHANGED_AGAIN;
}

static bool open_exchange(const struct carry_text_run *runs, size_t count) {
    bool wanted = (chosen == GUARDS || chosen == REMAP) && may_exchange();
    writer = wanted ? carry_exchange_open(runs, count) : NULL;
    session.at_once = writer;
    session.sites_only = writer;
    return writer;
}

/*
 * Opens a session for a process that is traced by a debugger, which may write text at any time. If
 * pages were exchanged, writes of the debugger to the old page could be lost, and a debugger
 * receives the signals of traps. So jumps hold threads. Returns whether the session is open.
 */
static bool open_in_place(const struct carry_text_run *runs, size_t count) {
    bool wanted = (chosen == GUARDS || chosen == JUMP) && !needs_trap && may_exchange() &&
                  !carry_text_is_moved(runs, count);
    writer = wanted ? carry_text_open(runs, count, CARRY_TEXT_IN_PAIRS_IN_PLACE) : NULL;
    session.writes_pairs = writer;
    in_place = writer;
    return writer;
}

/*
 * Checks whether guards may be traps. A thread that runs into a trap while SIGTRAP is blocked kills
 * the process. This is risked only if the program chose traps, or if text is already written in
 * part.
 */
static bool may_trap(void) {
    if (!carry_ucontext_has_traps())
        return false;
    return chosen == TRAP || exchanged == CARRY_EXCHANGED_SOME ||
           (chosen == GUARDS && !session.sites_only && carry_trap_is_safe());
}

/* Opens a session with jumps as guards, and with traps for sites or writers that need them. Returns
 * whether it is open. */
static bool open_guards(const struct carry_text_run *runs, size_t count) {
    bool wanted = chosen != REMAP || exchanged == CARRY_EXCHANGED_SOME;
    bool traps = wanted && may_trap();
    writer =
        wanted ? carry_text_open(runs, count, traps ? CARRY_TEXT_ANY : CARRY_TEXT_IN_PAIRS) : NULL;
    if (!writer)
        return false;
    session.writes_pairs = writer->writes_pairs;
    session.holds_traps = traps && carry_trap_begin();
    if (traps && !session.holds_traps)
        writer->close(runs, count);
    return traps == session.holds_traps;
}

static bool open_live(const struct carry_text_run *runs, size_t count) {
    const bool traced = is_traced();
    if (traced && open_in_place(runs, count)) {
        session.sites_only = true;
        return true;
    }
    if (open_exchange(runs, count))
        return true;
    session.sites_only = traced;
    return open_guards(runs, count);
}

static bool open_quiet(const struct carry_text_run *runs, size_t count) {
    writer = carry_text_open(runs, count, CARRY_TEXT_ANY);
    return writer;
}

/* Lets the next commit use every way again. Called at the end of a commit. */
static void forget_refusals(void) {
    carry_text_forget_failures();
    needs_trap = false;
}

/* Opens a session: see carry_text_host.open. A program with one thread may have more threads when
 * the sites change again. So cores must be synchronisable even with one thread, unless `quiet`. */
static int open_text_session(const struct carry_text_run *runs, size_t count, bool quiet,
                             struct carry_text_session *opened) {
    if (!quiet && !can_synchronise())
        return CARRY_ERROR_NO_SYNC;
    block_signals();
    session = (struct carry_text_session){0};
    write_failed = false;
    in_place = false;
    bool ready = quiet || is_single_threaded() ? open_quiet(runs, count) : open_live(runs, count);
    exchanged = CARRY_EXCHANGED_ALL;
    if (!ready) {
        forget_refusals();
        pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
        return CARRY_ERROR_PERMISSION;
    }
    writer_name = writer->name;
    open_runs = runs;
    open_count = count;
    *opened = session;
    return CARRY_OK;
}

static void close_text(bool keep) {
    if (!session.at_once)
        writer->close(open_runs, open_count);
    else if (keep)
        exchanged = carry_exchange_close();
    else
        carry_exchange_drop();
}

/* Notes which way of writing was refused. Returns whether another session may succeed in another
 * way. */
static bool note_refusals(bool keep) {
    if (write_failed)
        carry_text_note_failure(writer);
    else if (!keep && in_place)
        needs_trap = true;
    else
        return exchanged != CARRY_EXCHANGED_ALL;
    return true;
}

static bool close_text_session(bool keep) {
    close_text(keep);
    if (session.holds_traps)
        carry_trap_end();
    bool again = note_refusals(keep);
    if (!again)
        forget_refusals();
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
    return !again;
}

static bool write_session_text(uintptr_t address, const void *bytes, size_t size) {
    bool ok = session.at_once ? carry_exchange_write(address, bytes, size)
                              : writer->write(address, bytes, size);
    write_failed = write_failed || !ok;
    return ok;
}

static void note_origin(uintptr_t address) {
    struct carry_text_origin *origin = carry_origin_look_up(address);
    if (!origin)
        return;
    lock_objects();
    carry_origin_note(origin);
    unlock_objects();
}

/* Notes the origin of the text at an address. The first call also notes the origin of the library's
 * own text, on which writers are tested. */
static void note_origins(uintptr_t address) {
    static bool has_noted_own;
    if (!__atomic_exchange_n(&has_noted_own, true, __ATOMIC_RELAXED))
        note_origin((uintptr_t)carry_patch_probe_byte);
    note_origin(address);
}

static void forget_text(uintptr_t low, uintptr_t high) {
    carry_text_forget(low, high);
    carry_origin_forget(low, high);
}

static const char *writer_in_use(void) {
    return writer_name;
}

static int select_writer_and_guard(const char *name, const char *guard) {
    enum guard wanted = guard ? 0 : GUARDS;
    while (guard && wanted < GUARDS && strcmp(guard, guard_names[wanted]))
        wanted++;
    if ((guard && wanted == GUARDS) || !carry_text_choose(name))
        return CARRY_ERROR_UNKNOWN;
    chosen = wanted;
    return CARRY_OK;
}

const struct carry_text_host *carry_host_text(void) {
    static const struct carry_text_host host = {
        .page_bytes = carry_page_bytes,
        .allocate = allocate_memory,
        .release = release_memory,
        .begin = begin_transaction,
        .end = end_transaction,
        .lock = lock_objects,
        .unlock = unlock_objects,
        .yield = yield_processor,
        .alone = is_single_threaded,
        .open = open_text_session,
        .close = close_text_session,
        .write = write_session_text,
        .is_watched = is_traced,
        .synchronise = synchronise_cores,
        .backend = writer_in_use,
        .select = select_writer_and_guard,
        .before_register = note_origins,
        .parts = carry_object_parts,
        .forget = forget_text,
    };
    return &host;
}
