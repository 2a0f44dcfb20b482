/* SPDX-License-Identifier: MIT */
/*
 * Tests sites that are patched while threads run them.
 *
 * usage: test_patch_live GUARD WRITER      as in carry_patch_select()
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "harness/check_patch.h"
#include "harness/child.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "hosted/hosted_patch.h"

static const struct effort *effort;
static size_t rounds; /* the rounds of each test: an exchange of pages costs four times as much as a
                         trap */
static const char *guard, *writer;

/* Returns whether an emulator runs this program. Emulators may run old text after a change. */
static bool is_emulated(void) {
    return fault_under_valgrind() || placed_in_qemu();
}

/* --- Each kind --- */

static void test_flips(void) {
    for (size_t i = 0; i < PLACED_KINDS; i++) {
        const struct placed_kind *kind = &placed_kinds()[i];
        size_t flips = rounds / 2; /* for each kind: at level long, at least 62,500 */
        struct verdict verdict = check_flips(kind, flips, 1);
        verdict_report(&verdict, "%s: %zu commits of %zu sites", kind->name, flips, kind->count);
    }
}

static void test_parked(void) {
    struct verdict verdict = check_parked(effort->rounds / 500);
    verdict_report(&verdict, "threads return from functions whose calls have changed");
}

static void test_many_threads(void) {
    for (size_t i = 0; i < 3; i++) {
        struct verdict verdict = check_flips(&placed_kinds()[i], rounds / 10, 8);
        verdict_report(&verdict, "%s: eight threads", placed_kinds()[i].name);
    }
}

/* --- Other activities at the same time --- */

static bool companion_stop;
static size_t companion_rounds;

static bool companion_goes_on(void) {
    __atomic_fetch_add(&companion_rounds, 1, __ATOMIC_SEQ_CST);
    return !__atomic_load_n(&companion_stop, __ATOMIC_SEQ_CST);
}

/*
 * Flips calls while two threads run them, and a third one runs `companion` until companion_stop is
 * set. The companion returns whether it succeeded.
 */
static struct verdict flips_beside(void *(*companion)(void *), size_t flips) {
    pthread_t thread;
    void *content = NULL;
    companion_stop = false;
    companion_rounds = 0;
    if (pthread_create(&thread, NULL, companion, NULL))
        abort();
    while (!__atomic_load_n(&companion_rounds, __ATOMIC_SEQ_CST))
        sched_yield();
    struct verdict verdict = check_flips(&placed_kinds()[0], flips, 2);
    __atomic_store_n(&companion_stop, true, __ATOMIC_SEQ_CST);
    pthread_join(thread, &content);
    if (!content)
        verdict_fail(&verdict, "the other activity failed in round %zu", companion_rounds);
    return verdict;
}

static void test_beside(void *(*companion)(void *), const char *name) {
    struct verdict verdict = flips_beside(companion, rounds / 4);
    verdict_report(&verdict, "%s", name);
    tap_note("%zu rounds", companion_rounds);
}

/* Stores the ids of all threads. Returns their number. */
static size_t list_threads(pid_t *threads, size_t max) {
    DIR *folder = opendir("/proc/self/task");
    size_t count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < max;)
        if (entry->d_name[0] != '.')
            threads[count++] = atoi(entry->d_name);
    closedir(folder);
    return count;
}

static void on_storm(int signal) {
    (void)signal;
    int saved = errno;
    placed_run();
    errno = saved;
}

/* Sends signals to all other threads, including the one that commits; the handler runs sites. */
static void *make_storm(void *unused) {
    (void)unused;
    const struct timespec pause = {0, 20000};
    const struct sigaction action = {.sa_handler = on_storm, .sa_flags = SA_RESTART | SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    while (companion_goes_on()) {
        pid_t threads[16];
        for (size_t count = list_threads(threads, 16); count--;)
            if (threads[count] != gettid())
                syscall(SYS_tgkill, getpid(), threads[count], SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return &companion_stop;
}

/* Flips sites in a child process. The child has one thread at first, then two, and patches its own
   text. */
static bool child_flips(void) {
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        struct verdict verdict = check_flips(&placed_kinds()[0], 20, 1);
        _exit(verdict.ok ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void *fork_children(void *unused) {
    (void)unused;
    while (companion_goes_on())
        if (!child_flips())
            return NULL;
    return &companion_stop;
}

static void *run_some(void *unused) {
    for (int i = 0; i < 10; i++)
        placed_run();
    return unused;
}

static void *come_and_go(void *unused) {
    (void)unused;
    while (companion_goes_on()) {
        pthread_t threads[4];
        for (size_t i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, run_some, NULL))
                return NULL;
        for (size_t i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    return &companion_stop;
}

/* --- Traps of other code --- */

/* Volatile, because the compiler assumes that raise() calls no function of this file. */
static volatile struct {
    size_t count;
    int code;     /* of the last trap */
    uintptr_t pc; /* after the trap */
    bool at_site; /* a trap of the library was passed on */
    bool masked;  /* other signals are blocked */
} foreign;

static bool in_sites(uintptr_t address) {
    const struct placed_kind *kind = &placed_kinds()[0];
    for (size_t i = 0; i < kind->count; i++)
        if (address - (uintptr_t)kind->sites[i].site < kind->length)
            return true;
    return false;
}

static void on_foreign(int signal, siginfo_t *info, void *context) {
    (void)signal;
    foreign.count++;
    foreign.code = info->si_code;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    foreign.masked = sigismember(&mask, SIGUSR1);
    foreign.pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (info->si_code == SI_KERNEL && in_sites(foreign.pc - 1))
        foreign.at_site = true;
}

static void install_foreign(void (*handler)(int, siginfo_t *, void *), struct sigaction *before) {
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, before);
}

static bool flips_go_right(void) {
    struct verdict verdict = check_flips(&placed_kinds()[0], 300, 2);
    return verdict.ok && !foreign.at_site;
}

/* Raises traps by instructions and by system calls; each must reach the foreign handler once. */
static bool foreign_gets_its_traps(void) {
    foreign.count = 0;
    __asm__ __volatile__("int3" ::: "memory");
    bool ok = foreign.count == 1 && foreign.code > 0;
    raise(SIGTRAP);
    ok = ok && foreign.count == 2 && foreign.code == SI_TKILL;
    kill(getpid(), SIGTRAP);
    ok = ok && foreign.count == 3 && foreign.code == SI_USER;
    if (!fault_under_valgrind()) /* valgrind does not support the instruction */
        __asm__ __volatile__(".byte 0xcd, 3" ::: "memory"); /* int $3, in two bytes */
    return ok && foreign.count == (fault_under_valgrind() ? 3 : 4);
}

static bool foreign_before_ours(void) {
    install_foreign(on_foreign, NULL);
    return flips_go_right() && foreign_gets_its_traps() && flips_go_right();
}

static bool foreign_over_ours(void) {
    bool ok = flips_go_right();
    install_foreign(on_foreign, NULL);
    return ok && flips_go_right() && foreign_gets_its_traps() && flips_go_right();
}

/* The previous handler, to which on_polite() passes the traps that it does not count. */
static struct sigaction found;

static void on_polite(int signal, siginfo_t *info, void *context) {
    if (info->si_code <= 0)
        on_foreign(signal, info, context);
    else if (found.sa_flags & SA_SIGINFO)
        found.sa_sigaction(signal, info, context);
    else
        sigaction(signal, &found, NULL), raise(signal);
}

static bool polite_over_ours(void) {
    bool ok = flips_go_right();
    install_foreign(on_polite, &found);
    ok = ok && flips_go_right();
    raise(SIGTRAP);
    return ok && foreign.count == 1;
}

static sigjmp_buf back;

static void on_leap(int signal, siginfo_t *info, void *context) {
    on_foreign(signal, info, context);
    siglongjmp(back, 1);
}

static bool foreign_leaps_out(void) {
    install_foreign(on_leap, NULL);
    volatile bool ok = flips_go_right();
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1)) {
            __asm__ __volatile__("int3" ::: "memory");
            ok = false;
        }
    return ok && foreign.count == 3 && flips_go_right();
}

static void set_trap_flag(bool on) {
    uint64_t flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(on ? flags | 0x100 : flags & ~UINT64_C(0x100));
}

/*
 * Steps through sites while they are flipped, like a debugger, for at least a minimum number of
 * steps. The child's alarm ends it if no step is made.
 */
static void *step_through(void *unused) {
    (void)unused;
    while (companion_goes_on() || foreign.count < 100) {
        set_trap_flag(true);
        placed_run();
        set_trap_flag(false);
    }
    return &companion_stop;
}

static bool steps_go_right(void) {
    install_foreign(on_foreign, NULL);
    return flips_beside(step_through, 300).ok && !foreign.at_site;
}

/* --- Signals during the look-up of sites --- */

static bool interruptible;

bool __real_carry_patch_is_site(uintptr_t address);
bool __wrap_carry_patch_is_site(uintptr_t address);

/*
 * Checks that signals are blocked: a handler that jumped out of the look-up would leave it counted
 * forever, and unloading an object waits for all look-ups.
 */
bool __wrap_carry_patch_is_site(uintptr_t address) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (!sigismember(&mask, SIGUSR1))
        __atomic_store_n(&interruptible, true, __ATOMIC_SEQ_CST);
    return __real_carry_patch_is_site(address);
}

/*
 * Returns whether signals are blocked during look-ups, and are not blocked in the handler of a trap
 * that is not the library's, nor after the trap.
 */
static bool looks_up_undisturbed(void) {
    sigset_t mask;
    install_foreign(on_foreign, NULL);
    bool ok = flips_go_right();
    __asm__ __volatile__("int3" ::: "memory");
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return ok && foreign.count == 1 && !interruptible && !foreign.masked &&
           !sigismember(&mask, SIGUSR1);
}

/* Returns the signal that ends a child process that runs `deed`, or 0. */
static int dies_of(void (*deed)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(60);
        deed();
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void trap_of_nobody(void) {
    if (flips_go_right())
        __asm__ __volatile__("int3" ::: "memory");
}

static void raise_for_nobody(void) {
    if (flips_go_right())
        raise(SIGTRAP);
}

static void trap_between_polite_ones(void) {
    if (polite_over_ours())
        __asm__ __volatile__("int3" ::: "memory");
}

static void raise_ignored(void) {
    signal(SIGTRAP, SIG_IGN);
    if (!flips_go_right())
        _exit(1);
    raise(SIGTRAP);
}

static void trap_ignored(void) {
    raise_ignored();
    __asm__ __volatile__("int3" ::: "memory");
}

/* Must run before this process commits: each child begins without the library's handler. */
static void test_traps(void) {
    tap_ok(child_says(NULL, foreign_before_ours), "a previous handler receives its traps");
    tap_ok(child_says(NULL, foreign_over_ours), "a handler installed over ours receives its traps");
    tap_ok(child_says(NULL, polite_over_ours), "a handler can pass traps to ours");
    tap_ok(child_says(NULL, foreign_leaps_out), "a handler can jump out, three times");
    tap_ok(child_says(NULL, looks_up_undisturbed), "no handler interrupts the look-up of sites");
    if (is_emulated())
        tap_skip("single steps", "this emulator makes no single steps");
    else
        tap_ok(child_says(NULL, steps_go_right), "single steps through sites work");
    tap_ok(TAP_EQ(dies_of(trap_of_nobody), SIGTRAP), "an unhandled trap ends the process");
    tap_ok(TAP_EQ(dies_of(raise_for_nobody), SIGTRAP), "an unhandled signal ends the process");
    tap_ok(TAP_EQ(dies_of(trap_between_polite_ones), SIGTRAP),
           "a trap that all handlers pass on ends the process");
    tap_ok(TAP_EQ(dies_of(raise_ignored), 0), "an ignored signal remains ignored");
    tap_ok(TAP_EQ(dies_of(trap_ignored), SIGTRAP),
           "a trap ends the process although the signal is ignored");
}

/* --- Cancelled --- */

static bool committed;

/* Commits in a cancelled thread. The thread must not end before the first point of cancellation
   after the commits. */
static void *commit_cancelled(void *unused) {
    const struct placed_kind *kind = &placed_kinds()[0];
    pthread_cancel(pthread_self());
    committed = true;
    for (size_t i = 0; i < kind->state_count; i++)
        committed = !placed_commit(kind->key, kind->states[i].value) && committed;
    pthread_testcancel();
    return unused;
}

static bool commits_although_cancelled(void) {
    pthread_t thread;
    void *result = NULL;
    bool ok = flips_go_right() && !pthread_create(&thread, NULL, commit_cancelled, NULL) &&
              !pthread_join(thread, &result);
    return ok && committed && result == PTHREAD_CANCELED && flips_go_right();
}

static void test_cancelled(void) {
    tap_ok(child_says(NULL, commits_although_cancelled), "a cancelled thread commits");
}

/* --- Objects that are loaded while a transaction is open --- */

/* Registers sites like a constructor, while the thread with the transaction waits, as it would for
   the dynamic linker. */
static void *come_as_object(void *unused) {
    static const struct carry_site sites[] = {{.kind = UINT8_MAX, .length = 1}};
    struct carry_patch_counts stats;
    if (carry_patch_register(sites, sites + 1))
        return unused;
    carry_patch_stats(&stats);
    carry_patch_unregister(sites);
    return stats.unpatched[CARRY_PATCH_UNKNOWN_KIND] ? &companion_stop : unused;
}

static bool objects_come_meanwhile(void) {
    struct carry_patch patch;
    pthread_t thread;
    void *content = NULL;
    carry_patch_begin(&patch);
    bool ok =
        !pthread_create(&thread, NULL, come_as_object, NULL) && !pthread_join(thread, &content);
    return !carry_patch_commit(&patch) && ok && content && flips_go_right();
}

static void test_objects(void) {
    tap_ok(child_says(NULL, objects_come_meanwhile),
           "objects can be loaded while a transaction is open");
}

/* Returns why text cannot be written here, or would not run when written; otherwise NULL. */
static const char *why_not_written(void) {
    if (is_emulated())
        return "this emulator runs what it read before";
    if (!strcmp(writer, "procmem") && access("/proc/self/mem", W_OK))
        return "/proc/self/mem may not be written here";
    return NULL;
}

/* Checks the text, so that a library that patches nothing does not pass. */
static void test_written(void) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    size_t refused = stats.unpatched[CARRY_PATCH_PERMISSION] + stats.unpatched[CARRY_PATCH_NO_SYNC];
    if (refused && why_not_written()) {
        tap_skip("the text was written", "%s", why_not_written());
        tap_ok(TAP_EQ(stats.written, 0), "nothing is written here");
        return;
    }
    tap_note("backend %s, guard %s, %llu sites written", stats.backend, stats.guard,
             (unsigned long long)stats.written);
    tap_ok(TAP_EQ(refused, 0) && TAP_GT(stats.written, rounds), "the text was written");
    tap_ok(TAP_STREQ(stats.backend, writer), "by %s", writer);
    tap_ok(TAP_STREQ(stats.guard, guard), "the guard is \"%s\"", guard);
}

int main(int argc, char **argv) {
    effort = effort_chosen();
    effort_note(effort);
    if (argc != 3 || carry_patch_select(argv[2], argv[1]))
        return 2;
    guard = argv[1];
    writer = argv[2];
    rounds = strcmp(guard, "remap") ? effort->rounds : effort->rounds / 4;
    placed_kinds();
    test_traps();
    test_cancelled();
    test_objects();
    test_flips();
    test_parked();
    test_many_threads();
    test_beside(make_storm, "signals to all threads; the handler runs sites");
    if (is_emulated())
        tap_skip("children that patch", "emulators cannot fork processes with threads");
    else if (fault_under_asan())
        tap_skip("children that patch", "a sanitizer's locks may be held when its threads fork");
    else
        test_beside(fork_children, "child processes patch while their parent continues");
    test_beside(come_and_go, "threads start and end");
    test_written();
    return tap_done();
}
