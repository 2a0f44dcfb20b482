/* SPDX-License-Identifier: MIT */
/*
 * Tests `patch` in a Linux process with restrictions. Each case runs in its own child process; its
 * name states what is refused, and which way to write text remains.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/fault.h"
#include "harness/sandbox.h"
#include "harness/site_record.h"
#include "harness/tap.h"
#include "hosted/hosted_patch.h"
#include "patch/patch_internal.h"

#define CASE_SECONDS 60

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define REFUSE_EXEC_GAIN 1
#define SYSCALL_MSEAL    462
#ifndef MFD_EXEC
#define MFD_EXEC 0x10
#endif

/* --- Sites that are patched --- */

CARRY_OP(int, step, int);
CARRY_KEY(traced);

static int add_one(int number) {
    return number + 1;
}

static int add_ten(int number) {
    return number + 10;
}

CARRY_OP_DEFINE(step, add_one);
CARRY_KEY_DEFINE(traced, false);

static int take_step_here(int number) {
    return carry_call(step)(number);
}

static bool is_traced_here(void) {
    return carry_unlikely(traced);
}

/* Calls the operation in another page: adjacent pages would be exchanged together. */
static __attribute__((noinline, aligned(8192))) int take_step_far(int number) {
    return carry_call(step)(number);
}

/* Called by address: emulators may keep several translations of a function, made at different
   times. */
static int (*const volatile take_step)(int) = take_step_here;
static bool (*const volatile is_traced)(void) = is_traced_here;

static int flip(bool on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, step, on ? add_ten : add_one);
    carry_patch_set(&patch, &carry_key_traced, on);
    return carry_patch_commit(&patch);
}

static bool is_on(void) {
    return take_step(1) == 11 && is_traced();
}

static bool is_off(void) {
    return take_step(1) == 2 && !is_traced();
}

/* --- Cases --- */

enum { PASSED, FAILED, SKIPPED };

static struct shared {
    char text[200];
    bool flag;
} * shared;

static void leave_case(int status, const char *format, va_list args) {
    vsnprintf(shared->text, sizeof shared->text, format, args);
    _exit(status);
}

/* A thread that runs the sites during commits. */
static struct {
    pthread_t thread;
    bool runs;
    bool stop;
    bool wrong;
    unsigned rounds;
} runner;

static void end_runner(void) {
    __atomic_store_n(&runner.stop, true, __ATOMIC_RELAXED);
    if (runner.runs)
        pthread_join(runner.thread, NULL);
    runner.runs = false;
}

/* Ends the case as failed unless `ok`. */
static __attribute__((format(printf, 2, 3))) void require(bool ok, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!ok)
        leave_case(FAILED, format, args);
    va_end(args);
}

static __attribute__((format(printf, 1, 2))) void skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    end_runner();
    leave_case(SKIPPED, format, args);
    va_end(args);
}

/* Waits for a child process. Returns its status, or FAILED if it did not start or a signal ended
   it. */
static int wait_for(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return FAILED;
    if (WIFSIGNALED(status))
        snprintf(shared->text, sizeof shared->text, "dies of signal %d", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static void run_case(const char *name, void (*body)(void)) {
    shared->text[0] = '\0';
    shared->flag = false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(CASE_SECONDS);
        body();
        _exit(PASSED);
    }
    int status = wait_for(child);
    if (status == SKIPPED) {
        tap_skip(name, "%s", shared->text);
        return;
    }
    if (status)
        tap_note("%s: %s", name, shared->text);
    tap_ok(!status, "%s", name);
}

/* --- Ways that work here: emulators do not notice all writes --- */

/* A function that returns its second byte; tests a way to write without the library. */
static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0xc3};

static bool returns(uint8_t *place, int number) {
    int (*volatile function)(void) = (int (*)(void))(uintptr_t)place;
    return function() == number;
}

/* Maps code from a file, as text is; valgrind assumes that such memory is constant. */
static uint8_t *map_code(int fd, int protection, int flags) {
    if (ftruncate(fd, 4096) || pwrite(fd, code, sizeof code, 0) != sizeof code)
        _exit(FAILED);
    uint8_t *place = mmap(NULL, 4096, protection, flags, fd, 0);
    if (place == MAP_FAILED)
        _exit(FAILED);
    return place;
}

static bool procmem_works(void) {
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    uint8_t *place = map_code(memfd_create("code", 0), PROT_READ | PROT_EXEC, MAP_PRIVATE);
    return returns(place, 1) && pwrite(memory, "\x02", 1, (off_t)(uintptr_t)place + 1) == 1 &&
           returns(place, 2);
}

static bool alias_works(void) {
    int fd = memfd_create("code", 0);
    uint8_t *place = map_code(fd, PROT_READ | PROT_EXEC, MAP_SHARED);
    uint8_t *writable = map_code(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    bool first = returns(place, 1);
    ((volatile uint8_t *)writable)[1] = 2;
    return first && returns(place, 2);
}

static bool mprotect_works(void) {
    uint8_t *place = map_code(memfd_create("code", 0), PROT_READ | PROT_EXEC, MAP_PRIVATE);
    if (!returns(place, 1) || mprotect(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    bool first = returns(place, 1);
    ((volatile uint8_t *)place)[1] = 2;
    return first && returns(place, 2);
}

static struct way {
    const char *backend;
    bool (*works)(void);
    bool is_there;
} ways[] = {
    {"procmem", procmem_works, false},
    {"alias", alias_works, false},
    {"mprotect", mprotect_works, false},
};

static void find_ways(void) {
    for (size_t i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(ways[i].works() ? PASSED : FAILED);
        ways[i].is_there = wait_for(child) == PASSED;
        tap_note("%s: %s", ways[i].backend, ways[i].is_there ? "works" : "does not work here");
    }
}

static bool is_there(const char *backend) {
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(ways[i].backend, backend))
            return ways[i].is_there;
    return false;
}

static void needs(const char *backend) {
    if (!is_there(backend))
        skip("what %s writes is not run here", backend);
}

static void only(const char *backend) {
    needs(backend);
    carry_patch_select(backend, NULL);
}

/* --- Results of a case --- */

static struct carry_patch_counts stats_now(void) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    return stats;
}

/* Requires that commits succeed and take effect, written by `backend` where that works. */
static void require_patching(const char *backend) {
    for (int i = 0; i < 20; i++) {
        bool on = i % 2 == 0;
        int error = flip(on);
        require(!error, "commit %d returns %d", i, error);
        require(on ? is_on() : is_off(), "commit %d is not in effect", i);
    }
    if (!is_there(backend))
        return;
    struct carry_patch_counts stats = stats_now();
    require(stats.direct + stats.inlined && stats.branches, "sites are left unpatched");
    require(!strcmp(stats.backend, backend), "written by %s", stats.backend);
}

/* Requires that nothing is written: sites follow their keys in memory, and are counted. */
static void require_following(enum carry_patch_reason reason) {
    for (int i = 0; i < 20; i++) {
        bool on = i % 2 == 0;
        int error = flip(on);
        require(!error, "commit %d returns %d", i, error);
        require(on ? is_on() : is_off(), "commit %d is not in effect", i);
    }
    struct carry_patch_counts stats = stats_now();
    require(!stats.direct && !stats.inlined && !stats.branches, "sites are patched");
    require(stats.unpatched[reason] >= 2, "%zu sites for the reason \"%s\"",
            stats.unpatched[reason], carry_patch_reason_name(reason));
}

/* Requires that a commit fails and changes nothing. */
static void require_refusal(bool on, int expected) {
    if (!stats_now().branches)
        skip("nothing that is written is run here");
    require(on ? is_on() : is_off(), "not as it was at first");
    int error = flip(!on);
    require(error == expected, "commit returns %d, not %d", error, expected);
    require(on ? is_on() : is_off(), "something has changed");
    require(carry_get(step) == (on ? add_ten : add_one), "the operation has changed");
}

static void *run_sites(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&runner.stop, __ATOMIC_RELAXED)) {
        int result = take_step(1);
        is_traced();
        if (result != 2 && result != 11)
            runner.wrong = true;
        __atomic_fetch_add(&runner.rounds, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void start_runner(void) {
    runner.runs = !pthread_create(&runner.thread, NULL, run_sites, NULL);
    require(runner.runs, "no thread");
    while (!__atomic_load_n(&runner.rounds, __ATOMIC_RELAXED))
        sched_yield();
}

static void stop_runner(void) {
    end_runner();
    require(!runner.wrong, "the thread saw something else");
}

/* --- The dynamic linker, which lists objects under its own lock --- */

static int ask_there(struct dl_phdr_info *info, size_t size, void *stop) {
    (void)info;
    (void)size;
    (void)stop;
    stats_now();
    return 0;
}

static int stay_there(struct dl_phdr_info *info, size_t size, void *stop) {
    (void)info;
    (void)size;
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        sched_yield();
    return 1;
}

static bool linker_stop;

static void *list_objects(void *look) {
    while (!__atomic_load_n(&linker_stop, __ATOMIC_RELAXED))
        dl_iterate_phdr((int (*)(struct dl_phdr_info *, size_t, void *))look, &linker_stop);
    return NULL;
}

static void require_beside_linker(int (*look)(struct dl_phdr_info *, size_t, void *)) {
    pthread_t linker;
    start_runner();
    require(!pthread_create(&linker, NULL, list_objects, (void *)(uintptr_t)look), "no thread");
    usleep(10000);
    for (int i = 0; i < 500; i++)
        require(!flip(i % 2 == 0), "commit %d fails", i);
    __atomic_store_n(&linker_stop, true, __ATOMIC_RELAXED);
    pthread_join(linker, NULL);
    stop_runner();
}

static void commit_beside_linker(void) {
    require_beside_linker(stay_there);
}

static void ask_within_linker(void) {
    require_beside_linker(ask_there);
}

/* --- Refusals --- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void refuse_calls(const struct sandbox_rule *rules, size_t count) {
    if (!sandbox_filter(rules, count))
        skip("no filters of system calls here: %s", strerror(errno));
}

/* Where this filter is used, only /proc/self/mem is opened for reading and writing. */
static const struct sandbox_rule no_procmem[] = {
    {SYS_openat, EACCES, 2, O_ACCMODE, O_RDWR},
};
static const struct sandbox_rule no_memfd[] = {{.call = SYS_memfd_create, .error = EPERM}};

/* Like systemd's MemoryDenyWriteExecute. */
static const struct sandbox_rule no_new_code[] = {
    {SYS_mmap, EPERM, 2, PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC},
    {SYS_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC},
    {SYS_pkey_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC},
};
static const struct sandbox_rule no_pwrite[] = {{.call = SYS_pwrite64, .error = EIO}};
static const struct sandbox_rule no_membarrier[] = {{.call = SYS_membarrier, .error = EPERM}};
static const struct sandbox_rule unknown_membarrier[] = {{.call = SYS_membarrier, .error = ENOSYS}};
static const struct sandbox_rule no_sigtrap[] = {{SYS_rt_sigaction, EPERM, 0, ~0u, SIGTRAP}};

#define REFUSE(rules) refuse_calls(rules, COUNT(rules))

/* Skips a case under valgrind, which ends the process if it cannot map executable pages itself. */
static void skip_under_valgrind(void) {
    if (fault_under_valgrind())
        skip("valgrind needs new code");
}

static void refuse_new_code(void) {
    skip_under_valgrind();
    REFUSE(no_new_code);
}

static void refuse_exec_gain(void) {
    skip_under_valgrind();
    if (prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
        skip("this kernel has no PR_SET_MDWE");
}

/* --- Each restriction alone and with a thread --- */

static void patches_plainly(void) {
    require_patching("procmem");
}

/*
 * Checks that sites are patched through another mapping or, if a second thread runs, in copies of
 * pages.
 */
static void patches_by_alias(void) {
    REFUSE(no_procmem);
    require_patching(runner.runs ? "mprotect" : "alias");
}

static void patches_by_mprotect(void) {
    REFUSE(no_procmem);
    REFUSE(no_memfd);
    require_patching("mprotect");
}

static void mdwe(void) {
    refuse_exec_gain();
    require_patching("procmem");
}

static void mdwe_alias(void) {
    refuse_exec_gain();
    REFUSE(no_procmem);
    require_patching("alias");
}

static void mdwe_nothing(void) {
    refuse_exec_gain();
    REFUSE(no_procmem);
    REFUSE(no_memfd);
    require_following(CARRY_PATCH_PERMISSION);
}

static void filter_procmem(void) {
    refuse_new_code();
    require_patching("procmem");
}

static void filter_alias(void) {
    refuse_new_code();
    REFUSE(no_procmem);
    require_patching("alias");
}

/* The first rule imitates the kernel's setting vm.memfd_noexec, the second one older kernels. */
static const struct sandbox_rule no_plain_memfd[] = {
    {SYS_memfd_create, EACCES, 1, MFD_EXEC, 0},
};
static const struct sandbox_rule no_exec_memfd[] = {
    {SYS_memfd_create, EINVAL, 1, MFD_EXEC, MFD_EXEC},
};

static void plain_memfd_refused(void) {
    if (memfd_create("code", MFD_EXEC) < 0)
        skip("this kernel has no MFD_EXEC");
    REFUSE(no_procmem);
    REFUSE(no_plain_memfd);
    require_patching("alias");
}

static void exec_memfd_refused(void) {
    REFUSE(no_procmem);
    REFUSE(no_exec_memfd);
    require_patching("alias");
}

static void filter_nothing(void) {
    refuse_new_code();
    REFUSE(no_procmem);
    REFUSE(no_memfd);
    require_following(CARRY_PATCH_PERMISSION);
}

static void no_proc(void) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || mount("none", "/proc", "tmpfs", 0, NULL))
        skip("no mount namespace: %s", strerror(errno));
    require_patching("alias");
}

/* Runs a case only without valgrind and sanitizers: they handle its system calls themselves, or
   need them. */
static void run_native(const char *name, void (*body)(void)) {
    if (fault_under_valgrind() || fault_under_asan())
        tap_skip(name, "valgrind or a sanitizer handles the system calls");
    else
        run_case(name, body);
}

static void (*threaded_body)(void);

static void threaded(void) {
    start_runner();
    threaded_body();
    stop_runner();
}

static void run_both(const char *name, void (*body)(void)) {
    char text[120];
    run_case(name, body);
    threaded_body = body;
    snprintf(text, sizeof text, "%s, with a thread", name);
    run_case(text, threaded);
}

/* --- Permission that is withdrawn --- */

static void keeps_text_without_procmem(void) {
    needs("procmem");
    require_patching("procmem");
    require(!flip(true), "commit fails");
    REFUSE(no_procmem);
    REFUSE(no_pwrite);
    REFUSE(no_memfd);
    refuse_new_code();
    for (int i = 0; i < 3; i++)
        require_refusal(true, CARRY_ERROR_PERMISSION);
}

/* Checks that text is written in another way if the way used before is refused. */
static void falls_back_to_alias(void) {
    require_patching("procmem");
    closefrom(3);
    REFUSE(no_procmem);
    refuse_new_code();
    require_patching("alias");
}

static void keeps_alias_without_memfd(void) {
    only("alias");
    require_patching("alias");
    REFUSE(no_memfd);
    refuse_new_code();
    require_patching("alias");
}

/* Checks that the alias remains in use: pages that were moved once cannot be written through
   /proc/self/mem. */
static void keeps_alias_after_procmem(void) {
    require_patching("procmem");
    only("alias");
    require_patching("alias");
    carry_patch_select(NULL, NULL);
    require_patching("alias");
}

static bool writable_text(void) {
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    require(maps, "no /proc/self/maps");
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, " rwx");
    fclose(maps);
    return found;
}

static void mprotect_closes(void) {
    only("mprotect");
    require_patching("mprotect");
    require(!writable_text(), "text stays writable");
}

static void no_trap_handler(void) {
    only("mprotect");
    carry_patch_select("mprotect", "trap");
    start_runner();
    REFUSE(no_sigtrap);
    require_following(CARRY_PATCH_PERMISSION);
    require(!writable_text(), "text stays writable");
    stop_runner();
}

/* --- mseal --- */

static void seal_text(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    require(maps, "no /proc/self/maps");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t low;
        uintptr_t high;
        if (sscanf(line, "%zx-%zx r-xp", &low, &high) == 2 && strstr(line, " r-xp ") &&
            low <= (uintptr_t)take_step_here && (uintptr_t)take_step_here < high)
            if (syscall(SYSCALL_MSEAL, low, high - low, 0))
                skip("this kernel has no mseal()");
    }
    fclose(maps);
}

static void sealed(void) {
    seal_text();
    require_patching("procmem");
}

static void sealed_nothing(void) {
    seal_text();
    REFUSE(no_procmem);
    require_following(CARRY_PATCH_PERMISSION);
}

/* --- Pages that are exchanged --- */

static const struct sandbox_rule no_exchange[] = {{.call = SYS_mremap, .error = EPERM}};

static void exchange_refused(void) {
    REFUSE(no_exchange);
    start_runner();
    require_patching("procmem");
    require(!is_there("procmem") || !strcmp(stats_now().guard, "trap"), "held by \"%s\"",
            stats_now().guard);
    stop_runner();
}

static void block_traps(int how) {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(how, &trap, NULL);
}

/* Checks that commits are refused while a thread blocks SIGTRAP: a trap would end the process. */
static void exchange_refused_blocked(void) {
    only("procmem"); /* cannot hold threads by jumps */
    REFUSE(no_exchange);
    require(!flip(true), "commit fails");
    block_traps(SIG_BLOCK);
    start_runner();
    block_traps(SIG_UNBLOCK);
    require_refusal(true, CARRY_ERROR_PERMISSION);
    stop_runner();
    require(!flip(false), "commit fails although no thread blocks it");
}

static void ignore(int number) {
    (void)number;
}

static void exchange_refused_handler(void) {
    struct sigaction action = {.sa_handler = ignore};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    only("procmem"); /* cannot hold threads by jumps */
    REFUSE(no_exchange);
    require(!flip(true), "commit fails");
    start_runner();
    require_refusal(true, CARRY_ERROR_PERMISSION);
    stop_runner();
}

/* Leaves only the exchange of pages, and traps. */
static void leave_traps(void) {
    REFUSE(no_memfd);
    refuse_new_code();
}

static void refuse_exchange_of(uintptr_t address) {
    const struct sandbox_rule rules[] = {
        {SYS_mremap, EPERM, 4, ~0u, (uint32_t)(address & ~UINT64_C(4095))},
    };
    REFUSE(rules);
}

/* Checks a commit where not all pages can be exchanged, and where traps cannot hold threads. */
static void exchange_refused_in_part(void) {
    uintptr_t here = (uintptr_t)take_step_here, far = (uintptr_t)take_step_far;
    start_runner();
    require(!flip(true), "commit fails");
    leave_traps();
    REFUSE(no_sigtrap);
    refuse_exchange_of(here < far ? far : here);
    for (int i = 0; i < 3; i++) {
        require_refusal(true, CARRY_ERROR_PERMISSION);
        require(take_step_far(1) == 11, "a site has changed");
    }
    stop_runner();
}

/* Checks that the process survives if a way that worked before is refused now. */
static void exchange_goes_blocked(void) {
    block_traps(SIG_BLOCK);
    start_runner();
    block_traps(SIG_UNBLOCK);
    require(!flip(true), "commit fails");
    leave_traps();
    REFUSE(no_exchange);
    for (int i = 0; i < 100; i++)
        require_refusal(true, CARRY_ERROR_PERMISSION);
    stop_runner();
}

/* Leaves one descriptor. It is needed to list the threads, so their signal masks cannot be read. */
static void exchange_refused_descriptors(void) {
    const struct rlimit few = {64, 64};
    int last = -1;
    block_traps(SIG_BLOCK);
    start_runner();
    block_traps(SIG_UNBLOCK);
    require(!flip(true), "commit fails");
    leave_traps();
    REFUSE(no_exchange);
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd; (fd = dup(1)) >= 0;)
        last = fd;
    close(last);
    for (int i = 0; i < 100; i++)
        require_refusal(true, CARRY_ERROR_PERMISSION);
    stop_runner();
}

/* Checks that threads in the trap handler, where all signals are blocked, prevent no commit. */
static void exchange_refused_often(void) {
    needs("procmem");
    REFUSE(no_exchange);
    leave_traps();
    start_runner();
    for (int i = 0; i < 5000; i++)
        require(!flip(i % 2 == 0), "commit %d fails", i);
    stop_runner();
}

static const struct sandbox_rule no_advice[] = {{.call = SYS_madvise, .error = EPERM}};
static const struct sandbox_rule unknown_advice[] = {{.call = SYS_madvise, .error = EINVAL}};

/* Checks pages of text that the program may write: they may contain data of the program. */
static void writable_pages(void) {
    needs("procmem");
    volatile uint8_t *page = (volatile uint8_t *)((uintptr_t)take_step_far & ~UINT64_C(4095));
    if (mprotect((void *)(uintptr_t)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
        skip("no writable text here: %s", strerror(errno));
    start_runner();
    for (int i = 0; i < 100; i++) {
        require(!flip(i % 2 == 0), "commit %d fails", i);
        require(take_step_far(1) == (i % 2 ? 2 : 11), "commit %d is not in effect", i);
        require(strcmp(stats_now().guard, "remap") != 0, "commit %d exchanges the page", i);
        page[4095] = (uint8_t)i;
    }
    stop_runner();
}

static void writable_pages_refused(void) {
    REFUSE(no_advice);
    writable_pages();
}

/* Checks a filter that comes between two commits, and answers as systems before Linux 5.14. */
static void writable_pages_unknown(void) {
    require(!flip(true), "commit fails");
    REFUSE(unknown_advice);
    writable_pages();
}

/* Returns whether the page of the sites is still mapped from this program's file. */
static bool is_ours(void) {
    char line[512], program[256];
    bool found = false;
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    FILE *maps = fopen("/proc/self/maps", "re");
    require(maps && size > 0, "no /proc/self");
    program[size] = '\0';
    while (fgets(line, sizeof line, maps)) {
        uintptr_t low, high;
        if (sscanf(line, "%zx-%zx", &low, &high) == 2 && low <= (uintptr_t)take_step_here &&
            (uintptr_t)take_step_here < high)
            found = strstr(line, program);
    }
    fclose(maps);
    return found;
}

static void exchange_keeps_names(void) {
    start_runner();
    require_patching("procmem");
    require(!is_there("procmem") || !strcmp(stats_now().guard, "remap"), "held by \"%s\"",
            stats_now().guard);
    require(is_ours(), "/proc/self/maps does not name the program");
    stop_runner();
}

static void exchange_without_advice(void) {
    REFUSE(unknown_advice);
    exchange_keeps_names();
}

/* --- membarrier --- */

static void no_sync(void) {
    REFUSE(no_membarrier);
    start_runner();
    require_following(CARRY_PATCH_NO_SYNC);
    stop_runner();
}

static void unknown_sync(void) {
    REFUSE(unknown_membarrier);
    start_runner();
    require_following(CARRY_PATCH_NO_SYNC);
    stop_runner();
}

/* Checks that sites follow their keys: if they were patched, they could not be changed after
   threads have started. */
static void no_sync_alone(void) {
    REFUSE(no_membarrier);
    require_following(CARRY_PATCH_NO_SYNC);
}

static void no_sync_quiet(void) {
    only("procmem");
    REFUSE(no_membarrier);
    int error = carry_patch_apply(CARRY_PATCH_QUIET);
    require(!error, "carry_patch_apply() returns %d", error);
    require(stats_now().branches, "sites are left unpatched");
}

static void keeps_text_without_sync(void) {
    start_runner();
    require_patching("procmem");
    REFUSE(no_membarrier);
    require_refusal(false, CARRY_ERROR_NO_SYNC);
    stop_runner();
}

/* --- File descriptors --- */

#define USER_FILES 40

static void check_user_files(int file) {
    struct stat status;
    require(!fstat(file, &status) && !status.st_size, "a file of the program was written to");
}

static void reused_descriptors(void) {
    FILE *temporary = tmpfile();
    require(temporary, "no temporary file");
    for (int round = 0; round < 3; round++) {
        require(!flip(true) && is_on() && !flip(false) && is_off(), "a commit fails");
        for (int number = 3; number < USER_FILES; number++)
            if (number != fileno(temporary))
                dup2(fileno(temporary), number);
        require(!flip(true) && is_on() && !flip(false) && is_off(), "a commit fails");
        check_user_files(fileno(temporary));
        for (int number = 3; number < USER_FILES; number++)
            if (number != fileno(temporary))
                close(number);
    }
    require_patching("procmem");
    check_user_files(fileno(temporary));
}

/*
 * Returns whether a file /proc/PID/mem is open: a process that inherits it could write this
 * process's memory.
 */
static bool has_memory_open(void) {
    char path[64];
    char target[64];
    for (int number = 0; number < 1024; number++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
        ssize_t size = readlink(path, target, sizeof target - 1);
        target[size < 0 ? 0 : size] = '\0';
        if (size > 4 && !strcmp(target + size - 4, "/mem"))
            return true;
    }
    return false;
}

static void child_has_no_memory(void) {
    require(!flip(true), "commit fails");
    pid_t child = fork();
    if (child == 0)
        _exit(has_memory_open() ? FAILED : PASSED);
    require(wait_for(child) == PASSED, "a child may write its parent's memory");
}

static size_t open_descriptors(void) {
    size_t count = 0;
    for (int number = 0; number < 1024; number++)
        count += fcntl(number, F_GETFD) >= 0;
    return count;
}

/* Checks that at most one descriptor, of /proc/self/mem, remains open. */
static void few_descriptors(void) {
    size_t before = open_descriptors();
    require_patching("procmem");
    require(open_descriptors() <= before + 1, "descriptors are left open");
    closefrom(3);
    REFUSE(no_procmem);
    before = open_descriptors();
    require_patching("alias");
    require(open_descriptors() == before, "descriptors are left open");
}

static void no_descriptors(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    require_patching("mprotect");
}

static void no_descriptors_no_code(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    refuse_new_code();
    require_following(CARRY_PATCH_PERMISSION);
}

static void no_address_space(void) {
    const struct rlimit none = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &none);
    require_patching("procmem");
}

static void no_address_space_alias(void) {
    const struct rlimit none = {1 << 20, 1 << 20};
    REFUSE(no_procmem);
    refuse_new_code();
    setrlimit(RLIMIT_AS, &none);
    require_following(CARRY_PATCH_PERMISSION);
}

/* --- fork, exec --- */

static void flip_often(bool first) {
    for (int i = 0; i < 200; i++) {
        bool on = (i % 2 == 0) == first;
        require(!flip(on), "commit %d fails", i);
        require(on ? is_on() : is_off(), "commit %d is not in effect", i);
        sched_yield();
        require(on ? is_on() : is_off(), "the other process changed the text");
    }
}

static void fork_and_flip(void) {
    require(!flip(true) && is_on(), "commit fails");
    pid_t child = fork();
    if (child == 0) {
        require(is_on(), "the child starts with another text");
        flip_often(false);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            flip_often(true);
            _exit(PASSED);
        }
        flip_often(false);
        _exit(wait_for(grandchild));
    }
    flip_often(true);
    require(wait_for(child) == PASSED, "%s in the child",
            shared->text[0] ? shared->text : "a failure");
    flip_often(true);
}

static void fork_procmem(void) {
    only("procmem");
    fork_and_flip();
}

static void fork_alias(void) {
    only("alias");
    fork_and_flip();
}

static void fork_mprotect(void) {
    only("mprotect");
    fork_and_flip();
}

/* Checks a fork after which neither process can have its own pages: both continue, and neither
   changes the other's text. */
static void fork_without_descriptors(void) {
    const struct rlimit none = {0, 0};
    REFUSE(no_procmem);
    refuse_new_code();
    require_patching("alias");
    require(!flip(true), "commit fails");
    setrlimit(RLIMIT_NOFILE, &none);
    pid_t child = fork();
    if (child == 0) {
        require_refusal(true, CARRY_ERROR_PERMISSION);
        _exit(PASSED);
    }
    require_refusal(true, CARRY_ERROR_PERMISSION);
    require(wait_for(child) == PASSED, "the child: %s", shared->text);
    require(is_on(), "the child changed the text");
}

/* Checks a fork with shared pages: if the child made its pages writable, they would still be shared
   with its parent. */
static void fork_alias_then_mprotect(void) {
    REFUSE(no_procmem);
    require(!flip(true) && is_on(), "commit fails");
    pid_t child = fork();
    if (child == 0) {
        REFUSE(no_memfd);
        flip(false);
        _exit(PASSED);
    }
    require(wait_for(child) == PASSED, "the child: %s", shared->text);
    require(is_on(), "the child changed the text");
}

static void spawn_program(void) {
    extern char **environ;
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    require(!flip(true) && is_on(), "commit fails");
    start_runner();
    for (int i = 0; i < 20; i++) {
        pid_t child;
        int error = posix_spawnp(&child, name, NULL, NULL, arguments, environ);
        if (error)
            skip("no program to run: %s", strerror(error));
        require(!flip(i % 2), "commit fails");
        require(wait_for(child) == 0, "the program fails");
    }
    stop_runner();
}

static void spawn_alias(void) {
    only("alias");
    spawn_program();
}

/* --- Threads that look up sites while others fork --- */

static void *ask_for_sites(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&runner.stop, __ATOMIC_RELAXED))
        carry_patch_is_site((uintptr_t)take_step_here);
    return NULL;
}

static void fork_while_asked(void) {
    require(!flip(true), "commit fails");
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT(threads); i++)
        require(!pthread_create(&threads[i], NULL, ask_for_sites, NULL), "no thread");
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(CASE_SECONDS);
            carry_patch_unregister(__start_carry_sites);
            _exit(PASSED);
        }
        require(wait_for(child) == PASSED,
                "a child process waits for threads that it does not have");
    }
    __atomic_store_n(&runner.stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

/* --- Text that a case writes itself: jumps of one operation --- */

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define OWN_SITES       256
#define OWN_STRIDE      4096

static struct own {
    uint8_t *text;
    struct carry_site *records;
    struct carry_key *key;
} own;

static void *map_near(size_t size, int flags, uintptr_t hint) {
    void *memory = mmap((void *)hint, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    require(memory != MAP_FAILED, "no memory");
    return memory;
}

/* Reserves room for text, at a boundary of huge pages, and makes the records of its sites. */
static void reserve_own(void) {
    uint8_t *room = map_near(3 * HUGE_PAGE_BYTES, 0, 0);
    uintptr_t start = ((uintptr_t)room + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    own.text = (uint8_t *)start;
    own.key = (struct carry_key *)(start + HUGE_PAGE_BYTES);
    own.records = (struct carry_site *)(own.key + 1);
    own.key->value = (uintptr_t)own.text;
    for (size_t i = 0; i < OWN_SITES; i++) {
        struct carry_site *record = &own.records[i];
        uintptr_t site = start + i * OWN_STRIDE + 100;
        *record = (struct carry_site){.kind = CARRY_SITE_JUMP, .length = 6, .version = 1};
        record->site = site_record_distance(&record->site, site);
        record->key = site_record_distance(&record->key, (uintptr_t)own.key);
    }
}

static void write_original(const struct carry_site *record) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    carry_encode_original(record, bytes);
    memcpy((void *)carry_site_address(record), bytes, record->length);
}

static void fill_own(void) {
    memset(own.text, 0xc3, HUGE_PAGE_BYTES);
    for (size_t i = 0; i < OWN_SITES; i++)
        write_original(&own.records[i]);
    require(!mprotect(own.text, HUGE_PAGE_BYTES, PROT_READ | PROT_EXEC), "no text");
}

static int set_key(struct carry_key *key, uintptr_t value) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, key, value);
    return carry_patch_commit(&patch);
}

static bool own_jumps_to(uintptr_t target) {
    for (size_t i = 0; i < OWN_SITES; i++) {
        const uint8_t *site = (const uint8_t *)carry_site_address(&own.records[i]);
        int32_t distance;
        memcpy(&distance, site + 2, 4);
        if (site[0] != 0x2e || site[1] != 0xe9 ||
            (uintptr_t)site + 6 + (uintptr_t)(intptr_t)distance != target)
            return false;
    }
    return true;
}

static void require_own(uintptr_t target) {
    require(!set_key(own.key, target), "a commit fails");
    require(own_jumps_to(target), "a commit is not in the text");
}

/*
 * Requires that a commit succeeds and leaves the text of the first `count` sites unchanged: they
 * follow their key in memory.
 */
static void require_own_follows(size_t count) {
    require(!set_key(own.key, (uintptr_t)own.text + 1), "a commit fails");
    for (size_t i = 0; i < count; i++)
        require(*(const uint8_t *)carry_site_address(&own.records[i]) == 0xff, "text has changed");
}

static void exchange_refused_chosen(void) {
    needs("alias"); /* "jump" would be possible with it */
    reserve_own();
    fill_own();
    require(!carry_patch_register(own.records, own.records + OWN_SITES), "no memory");
    carry_patch_select(NULL, "remap");
    REFUSE(no_exchange);
    start_runner();
    require_own_follows(OWN_SITES);
    stop_runner();
}

/* Copies one page, then two pages. The second write fails: no copy replaces its page. */
static void exchange_not_written(void) {
    static const struct sandbox_rule no_two_pages[] = {{SYS_pwrite64, EIO, 2, ~0u, 8192}};
    only("procmem");
    reserve_own();
    own.records[1].site = site_record_distance(&own.records[1].site, (uintptr_t)own.text + 200);
    fill_own();
    require(!carry_patch_register(own.records, own.records + 4), "no memory");
    start_runner();
    require(!flip(true), "commit fails");
    REFUSE(no_two_pages);
    require_own_follows(4);
    stop_runner();
}

/* --- A backend that worked is refused from now on --- */

static void refuse_writes(const char *guard) {
    needs("procmem");
    start_runner();
    carry_patch_select(NULL, guard);
    require(!flip(true), "commit fails");
    require(!strcmp(stats_now().backend, "procmem"), "written by %s", stats_now().backend);
    REFUSE(no_pwrite);
}

static void falls_back_to_mprotect(void) {
    refuse_writes(NULL);
    require_patching("mprotect");
    require(!strcmp(stats_now().guard, "remap"), "guarded by %s", stats_now().guard);
    stop_runner();
}

static void falls_back_from_traps(void) {
    refuse_writes("trap");
    require_patching("alias");
    stop_runner();
}

static void falls_back_alone(void) {
    needs("procmem");
    require(!flip(true), "commit fails");
    REFUSE(no_pwrite);
    require_patching("alias");
}

/* Checks that every commit fails if no way to write text is left. */
static void fails_without_other_way(void) {
    only("procmem");
    start_runner();
    require(!flip(true), "commit fails");
    REFUSE(no_pwrite);
    for (int i = 0; i < 3; i++)
        require_refusal(true, CARRY_ERROR_PERMISSION);
    stop_runner();
}

/* --- Debuggers --- */

#define DEBUGGER_WRITES 20000
#define NOT_ALLOWED     77

/*
 * Writes one byte of its parent's text repeatedly, and reads it four times after each write. Exits
 * with the number of reads that find another byte, at most 70, or with NOT_ALLOWED.
 */
static _Noreturn void be_debugger(uintptr_t address, bool *ready) {
    char path[64];
    int lost = 0;
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)getppid());
    int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0 || ptrace(PTRACE_SEIZE, getppid(), 0, 0))
        _exit(NOT_ALLOWED);
    __atomic_store_n(ready, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < DEBUGGER_WRITES; i++) {
        const uint8_t byte = (uint8_t)i;
        uint8_t found;
        if (pwrite(memory, &byte, 1, (off_t)address) != 1)
            _exit(NOT_ALLOWED);
        for (int j = 0; j < 4; j++)
            if (pread(memory, &found, 1, (off_t)address) == 1 && found != byte)
                lost++;
    }
    _exit(lost < 70 ? lost : 70);
}

/*
 * Checks that each byte that a debugger writes remains while commits change other bytes of the
 * page.
 */
static void debugger_writes(void) {
    int status;
    needs("procmem");
    reserve_own();
    fill_own();
    require(!carry_patch_register(own.records, own.records + 1), "no memory");
    start_runner();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    bool *ready = &shared->flag;
    pid_t child = fork();
    if (child == 0)
        be_debugger((uintptr_t)own.text + 2000, ready);
    for (uintptr_t i = 0; waitpid(child, &status, WNOHANG) == 0; i++)
        if (__atomic_load_n(ready, __ATOMIC_SEQ_CST))
            require(!set_key(own.key, (uintptr_t)own.text + i % 2), "a commit fails");
        else
            sched_yield();
    stop_runner();
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED)
        skip("no process may trace another here");
    require(!status, "%d bytes that a debugger wrote were lost", WEXITSTATUS(status));
}

/* Unloads an object and loads another one at its addresses. */
static void reloads_text(void) {
    reserve_own();
    for (int i = 0; i < 4; i++) {
        fill_own();
        require(!carry_patch_register(own.records, own.records + OWN_SITES), "no memory");
        require_own((uintptr_t)own.text + 1);
        require_own((uintptr_t)own.text + 2);
        carry_patch_unregister(own.records);
        require(mmap(own.text, HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == own.text,
                "no memory");
    }
}

static void text_goes_procmem(void) {
    only("procmem");
    reloads_text();
}

static void text_goes_alias(void) {
    only("alias");
    reloads_text();
}

static void text_goes_mprotect(void) {
    only("mprotect");
    reloads_text();
}

/* Makes one site at offset `at` of each of the ten pages from `page` on; all sites follow `key`. */
static void make_ten(size_t page, size_t at, struct carry_key *key, struct carry_site *records) {
    key->value = (uintptr_t)own.text;
    for (size_t i = 0; i < 10; i++) {
        records[i] = (struct carry_site){.kind = CARRY_SITE_JUMP, .length = 6, .version = 1};
        uintptr_t site = (uintptr_t)own.text + (page + i) * OWN_STRIDE + at;
        records[i].site = site_record_distance(&records[i].site, site);
        records[i].key = site_record_distance(&records[i].key, (uintptr_t)key);
        write_original(&records[i]);
    }
    require(!carry_patch_register(records, records + 10), "no memory");
}

static bool ten_are_patched(const struct carry_site *records) {
    bool patched = true;
    for (size_t i = 0; i < 10; i++)
        patched = patched && *(const uint8_t *)carry_site_address(&records[i]) == 0x2e;
    return patched;
}

/* Commits to runs of pages that overlap earlier ones at their beginning, end and middle. */
static void overlapping_runs(void) {
    static const size_t pages[] = {40, 35, 44, 60, 52, 30};
    only("alias");
    reserve_own();
    struct carry_key *keys = own.key + 1000;
    struct carry_site *records = (struct carry_site *)(keys + COUNT(pages));
    memset(own.text, 0xc3, HUGE_PAGE_BYTES);
    for (size_t i = 0; i < COUNT(pages); i++)
        make_ten(pages[i], 100 + 100 * i, &keys[i], records + 10 * i);
    require(!mprotect(own.text, HUGE_PAGE_BYTES, PROT_READ | PROT_EXEC), "no text");
    for (size_t round = 1; round < 4; round++)
        for (size_t i = 0; i < COUNT(pages); i++) {
            require(!set_key(&keys[i], (uintptr_t)own.text + round), "a commit fails");
            require(ten_are_patched(records + 10 * i), "a commit is not in the text");
        }
}

/*
 * Checks that sites whose first two bytes are not in one aligned word are not patched: they would
 * need traps.
 */
static void jumps_chosen(void) {
    needs("alias");
    reserve_own();
    struct carry_key *keys = own.key + 1000;
    struct carry_site *records = (struct carry_site *)(keys + 2);
    memset(own.text, 0xc3, HUGE_PAGE_BYTES);
    make_ten(0, 96, &keys[0], records);
    make_ten(0, 7, &keys[1], records + 10);
    require(!mprotect(own.text, HUGE_PAGE_BYTES, PROT_READ | PROT_EXEC), "no text");
    carry_patch_select(NULL, "jump");
    start_runner();
    require(!set_key(&keys[0], (uintptr_t)own.text + 1), "a commit fails");
    require(ten_are_patched(records), "a commit is not in the text");
    require(!strcmp(stats_now().guard, "jump"), "held by \"%s\"", stats_now().guard);
    require(!set_key(&keys[1], (uintptr_t)own.text + 1), "a commit fails");
    require(!ten_are_patched(records + 10), "a site is patched that needs a trap");
    stop_runner();
}

/* Returns how much of the case's text is in huge pages, in kB. */
static size_t huge_kilobytes(void) {
    char line[512];
    bool here = false;
    size_t total = 0;
    FILE *maps = fopen("/proc/self/smaps", "re");
    require(maps, "no /proc/self/smaps");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t low;
        uintptr_t high;
        size_t size;
        if (sscanf(line, "%zx-%zx ", &low, &high) == 2)
            here = low <= (uintptr_t)own.text && (uintptr_t)own.text < high;
        else if (here && sscanf(line, "AnonHugePages: %zu kB", &size) == 1)
            total += size;
    }
    fclose(maps);
    return total;
}

static void huge_pages(void) {
    only("procmem");
    reserve_own();
    madvise(own.text, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    fill_own();
    size_t before = huge_kilobytes();
    if (!before)
        skip("the system gives no huge pages");
    require(!carry_patch_register(own.records, own.records + OWN_SITES), "no memory");
    require_own((uintptr_t)own.text + 1);
    require(huge_kilobytes() == before, "%zu kB in huge pages are %zu", before, huge_kilobytes());
}

/* --- Stacks --- */

static void *run_on_little(void *unused) {
    static unsigned char memory[64 * 1024];
    const stack_t alternate = {.ss_sp = memory, .ss_size = sizeof memory};
    const stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&alternate, NULL);
    run_sites(unused);
    sigaltstack(&none, NULL);
    return NULL;
}

static void *flip_on_little(void *unused) {
    (void)unused;
    for (int i = 0; i < 2000; i++)
        require(!flip(i % 2 == 0), "commit %d fails", i);
    return NULL;
}

/* Patches sites while both threads have the smallest possible stack: traps need the alternate
   stack. */
static void small_stacks(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    runner.runs = !pthread_create(&runner.thread, &attributes, run_on_little, NULL);
    require(runner.runs, "no thread");
    pthread_t flipper;
    require(!pthread_create(&flipper, &attributes, flip_on_little, NULL), "no thread");
    pthread_join(flipper, NULL);
    stop_runner();
}

/* --- The mask of signals --- */

static void leaves_state(void) {
    sigset_t before;
    sigset_t after;
    needs("procmem");
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    require_patching("procmem");
    REFUSE(no_procmem);
    REFUSE(no_pwrite);
    REFUSE(no_memfd);
    refuse_new_code();
    require_refusal(false, CARRY_ERROR_PERMISSION);
    closefrom(3); /* /proc/self/mem is closed, and cannot be opened again */
    require_refusal(false, CARRY_ERROR_PERMISSION);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    require(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGUSR2) &&
                !sigismember(&after, SIGTERM),
            "the mask of signals has changed");
}

/* --- All --- */

static void test_refusals(void) {
    run_both("nothing refused: procmem", patches_plainly);
    run_both("/proc/self/mem refused: alias", patches_by_alias);
    run_both("/proc/self/mem and memfd refused: mprotect", patches_by_mprotect);
    run_case("memfd refused unless for execution: alias", plain_memfd_refused);
    run_case("memfd for execution refused: alias", exec_memfd_refused);
    run_both("PR_SET_MDWE: procmem", mdwe);
    run_both("PR_SET_MDWE, /proc/self/mem refused: alias", mdwe_alias);
    run_both("PR_SET_MDWE, /proc/self/mem and memfd refused: nothing", mdwe_nothing);
    run_both("filter against new code: procmem", filter_procmem);
    run_both("filter against new code, /proc/self/mem refused: alias", filter_alias);
    run_both("filter against new code, /proc/self/mem and memfd refused: nothing", filter_nothing);
    run_case("/proc not mounted: alias", no_proc);
    run_case("pages are exchanged for pages of the same file", exchange_keeps_names);
    run_native("pages that the program writes are not exchanged: procmem", writable_pages);
    run_native("pages that the program writes are not exchanged, advice refused: procmem",
               writable_pages_refused);
    run_native("pages that the program writes are not exchanged, advice unknown: procmem",
               writable_pages_unknown);
    run_case("pages are exchanged where the system knows no advice", exchange_without_advice);
    run_case("exchange refused: traps", exchange_refused);
    run_case("exchange refused, a thread blocks SIGTRAP: nothing", exchange_refused_blocked);
    run_case("exchange refused, a handler blocks SIGTRAP: nothing", exchange_refused_handler);
    run_case("exchange refused again and again: traps", exchange_refused_often);
    run_native("exchange of some pages and traps refused: nothing", exchange_refused_in_part);
    run_native("exchange refused from now on, a thread blocks SIGTRAP: nothing",
               exchange_goes_blocked);
    run_native("exchange refused, threads cannot be asked: nothing", exchange_refused_descriptors);
    run_both("sealed text: procmem", sealed);
    run_both("sealed text, /proc/self/mem refused: nothing", sealed_nothing);
}

static void test_changes(void) {
    run_both("everything refused after sites are patched: nothing changes",
             keeps_text_without_procmem);
    run_both("/proc/self/mem refused after sites are patched: alias", falls_back_to_alias);
    run_both("memfd refused after pages are moved: alias", keeps_alias_without_memfd);
    run_both("/proc/self/mem allowed after pages are moved: alias", keeps_alias_after_procmem);
    run_native("mprotect leaves no writable text", mprotect_closes);
    run_native("no handler for SIGTRAP: nothing, and no writable text", no_trap_handler);
    run_case("membarrier refused, threads: nothing", no_sync);
    run_case("membarrier unknown, threads: nothing", unknown_sync);
    run_case("membarrier refused, alone: nothing", no_sync_alone);
    run_case("membarrier refused, quiet: procmem", no_sync_quiet);
    run_case("membarrier refused after sites are patched: nothing changes",
             keeps_text_without_sync);
    run_case("blocked signals remain blocked, and others not", leaves_state);
}

static void test_resources(void) {
    run_both("descriptors closed and reused: procmem", reused_descriptors);
    run_case("at most one descriptor remains open: procmem, alias", few_descriptors);
    run_native("no descriptors left: mprotect", no_descriptors);
    run_native("no descriptors left, filter against new code: nothing", no_descriptors_no_code);
    run_native("no address space left: procmem", no_address_space);
    run_native("no address space left, /proc/self/mem refused: nothing", no_address_space_alias);
    run_case("small stacks: procmem", small_stacks);
    run_case("huge pages are not split: procmem", huge_pages);
}

static void test_processes(void) {
    run_case("a child cannot write its parent's memory: procmem", child_has_no_memory);
    run_both("parent, child and grandchild: procmem", fork_procmem);
    run_both("parent, child and grandchild: alias", fork_alias);
    run_both("parent, child and grandchild: mprotect", fork_mprotect);
    run_native("parent and child without descriptors: nothing", fork_without_descriptors);
    run_case("a child without memfd: nothing", fork_alias_then_mprotect);
    run_case("programs run: procmem", spawn_program);
    run_case("programs run: alias", spawn_alias);
    run_case("fork while threads look up sites", fork_while_asked);
    run_case("commits while a thread lists objects", commit_beside_linker);
    run_case("commits while a thread that lists objects asks for counts", ask_within_linker);
}

static void test_objects(void) {
    run_case("exchange refused, and chosen: nothing", exchange_refused_chosen);
    run_case("a copy of a page not written: nothing", exchange_not_written);
    run_case("writes are refused from now on: mprotect", falls_back_to_mprotect);
    run_case("writes are refused from now on, traps chosen: alias", falls_back_from_traps);
    run_case("writes are refused from now on, alone: alias", falls_back_alone);
    run_case("writes are refused from now on, and no other way is left: nothing",
             fails_without_other_way);
    run_native("a debugger writes text: nothing is lost", debugger_writes);
    run_both("text is unloaded and other text loaded: procmem", text_goes_procmem);
    run_both("text is unloaded and other text loaded: alias", text_goes_alias);
    run_both("text is unloaded and other text loaded: mprotect", text_goes_mprotect);
    run_both("runs that overlap earlier ones: alias", overlapping_runs);
    run_case("jumps and no traps: alias", jumps_chosen);
}

int main(void) {
    if (!stats_now().sites)
        return tap_skip_all("these sites are of x86-64");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    find_ways();
    test_refusals();
    test_changes();
    test_resources();
    test_processes();
    test_objects();
    return tap_done();
}
