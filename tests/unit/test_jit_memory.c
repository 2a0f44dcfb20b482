/* SPDX-License-Identifier: MIT */
/*
 * Tests functions made at run time: their pages, handles, threads, forks, and refused system calls.
 */
#include <carry/cpu.h>
#include <carry/jit.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/sandbox.h"
#include "harness/tap.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define REFUSE_EXEC_GAIN 1

#define THREADS      8
#define SIZES        512
#define DISTINCT     (4 * SIZES)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static unsigned char data[8 * SIZES];

/* Returns a spec. Indices below DISTINCT yield specs that differ in size or multiple. */
static struct carry_jit_sum_spec spec_of(size_t index) {
    size_t size = 8 * (index % SIZES + 1);
    return (struct carry_jit_sum_spec){.min_size = size,
                                       .max_size = size,
                                       .multiple = (size_t)1 << index / SIZES % 4,
                                       .vector_bits = 64};
}

static int make_distinct(size_t index, const struct carry_jit **jit) {
    struct carry_jit_sum_spec spec = spec_of(index);
    return carry_jit_sum(&spec, jit);
}

static bool is_right(const struct carry_jit *jit, size_t index) {
    size_t size = spec_of(index).max_size;
    return oracle_fold(jit->sum(data, size, 1)) == oracle_sum(data, size, 1);
}

static bool makes_right_sums(size_t index) {
    const struct carry_jit *jit;
    if (make_distinct(index, &jit))
        return false;
    bool ok = is_right(jit, index);
    carry_jit_release(jit);
    return ok;
}

/* --- The kernel's information about this process --- */

struct mapping {
    uintptr_t low, high;
    char protection[5];
};

/* Calls `body` for each mapping until it returns true. Returns whether it did. */
static bool any_mapping(bool (*body)(const struct mapping *, const void *), const void *argument) {
    FILE *maps = fopen("/proc/self/maps", "r");
    struct mapping mapping;
    bool found = false;
    while (maps && !found &&
           fscanf(maps, "%lx-%lx %4s%*[^\n]", &mapping.low, &mapping.high, mapping.protection) == 3)
        found = body(&mapping, argument);
    if (maps)
        fclose(maps);
    return found;
}

static bool is_writable_text(const struct mapping *mapping, const void *unused) {
    (void)unused;
    return mapping->protection[1] == 'w' && mapping->protection[2] == 'x';
}

static bool is_text_at(const struct mapping *mapping, const void *address) {
    return mapping->low <= (uintptr_t)address && (uintptr_t)address < mapping->high &&
           !strcmp(mapping->protection, "r-xp");
}

static bool is_counted(const struct mapping *mapping, const void *count) {
    (void)mapping;
    ++*(size_t *)(uintptr_t)count;
    return false;
}

static size_t mapping_count(void) {
    size_t count = 0;
    any_mapping(is_counted, &count);
    return count;
}

static size_t resident_pages(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    if (statm && fscanf(statm, "%*u %zu", &pages) != 1)
        pages = 0;
    if (statm)
        fclose(statm);
    return pages;
}

/* --- Handles --- */

static const void *text_of(const struct carry_jit *jit) {
    return (const void *)(uintptr_t)jit->sum;
}

/*
 * Returns whether the code begins with ENDBR64 or BTI c, as indirect calls demand where landing
 * pads are enforced.
 */
static bool has_landing_pad(const struct carry_jit *jit) {
    static const struct {
        const char *arch;
        unsigned char bytes[4];
    } pads[] = {{"x86_64", {0xf3, 0x0f, 0x1e, 0xfa}}, {"aarch64", {0x5f, 0x24, 0x03, 0xd5}}};
    for (size_t i = 0; i < COUNT(pads); i++)
        if (!strcmp(pads[i].arch, carry_cpu_arch()))
            return !memcmp(text_of(jit), pads[i].bytes, sizeof pads[i].bytes);
    return false;
}

static void test_sharing(void) {
    const struct carry_jit *first, *second, *other;
    if (make_distinct(3, &first) || make_distinct(3, &second) || make_distinct(4, &other)) {
        tap_ok(false, "functions are made");
        return;
    }
    tap_ok(TAP_EQ(first, second) && TAP_NE(first, other),
           "equal specs share a function, different ones do not");
    tap_ok(any_mapping(is_text_at, text_of(first)), "text is private, readable and executable");
    tap_ok(TAP_EQ((uintptr_t)text_of(first) % 64, 0), "text begins at a cache line");
    tap_ok(has_landing_pad(first), "text begins with a landing pad");
    const void *text = text_of(first);
    carry_jit_release(first);
    tap_ok(is_right(second, 3), "a function exists as long as it has a user");
    carry_jit_release(second);
    tap_ok(!any_mapping(is_text_at, text), "the last release unmaps the function");
    tap_ok(is_right(other, 4), "a release does not affect other functions");
    carry_jit_release(other);
    carry_jit_release(NULL);
}

static void expect_landing_pad(const char *name, int error, const struct carry_jit *jit) {
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(has_landing_pad(jit)),
           "%s begins with a landing pad", name);
    carry_jit_release(jit);
}

/* Each kind of function has its own prologue. */
static void test_landing_pads(void) {
    static const unsigned char udp[28] = {[0] = 0x45, [3] = 28, [9] = 17, [23] = 2, [25] = 8};
    static const struct carry_jit_field lifetime = {8, 1};
    const struct carry_jit_template_spec template = {
        .frame = {.data = udp, .captured = sizeof udp, .wire = sizeof udp, .linktype = 228},
        .fields = &lifetime,
        .count = 1,
    };
    struct carry_jit_packet_spec stack = {
        .linktype = 228, .count = 2, .layers = {CARRY_PROTOCOL_IP, CARRY_PROTOCOL_UDP}};
    const struct carry_jit *jit = NULL;
    int error = carry_jit_packet(&stack, &jit);
    expect_landing_pad("a check", error, jit);
    stack.flags = CARRY_JIT_FILL;
    error = carry_jit_packet(&stack, &jit);
    expect_landing_pad("a fill", error, jit);
    error = carry_jit_template(&template, &jit);
    expect_landing_pad("a template", error, jit);
}

/* A function made for a CPU with a feature is not returned after the feature has been masked. */
static void test_mask(void) {
    const struct carry_jit_sum_spec spec = {.min_size = 1024, .max_size = 1024};
    const struct carry_jit *with, *without;
    bool made = !carry_jit_sum(&spec, &with);
    carry_cpu_set_mask("all");
    made &= !carry_jit_sum(&spec, &without);
    carry_cpu_set_mask("");
    if (!tap_ok(made, "a function is made with all features, and with none"))
        return;
    if (carry_cpu_has("avx2") || carry_cpu_has("neon"))
        tap_ok(TAP_NE(with, without), "the two functions differ");
    else
        tap_skip("the two functions differ", "this CPU has no vectors that sums use");
    carry_jit_release(with);
    carry_jit_release(without);
}

/* --- Memory --- */

/*
 * Returns whether QEMU or valgrind runs this process: their own pages and mappings would be
 * counted, too.
 */
static bool is_emulated(void) {
    char name[16] = "";
    FILE *comm = fopen("/proc/self/comm", "r");
    if (comm && !fgets(name, sizeof name, comm))
        name[0] = '\0';
    if (comm)
        fclose(comm);
    return !strncmp(name, "qemu-", 5) || fault_under_valgrind();
}

static bool all_work(size_t count) {
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok &= makes_right_sums(i);
    return ok;
}

static void test_flat_memory(void) {
    size_t count = effort_chosen() == &effort_short ? 500 : 10000;
    bool ok = all_work(count);
    size_t pages = resident_pages(), maps = mapping_count();
    ok &= all_work(count);
    size_t pages_now = resident_pages(), maps_now = mapping_count();
    tap_ok(ok, "%zu functions made, called and released, twice", count);
    if (is_emulated() || fault_under_asan())
        tap_skip("memory does not grow", "the emulator's or checker's own grows");
    else
        tap_ok(TAP_LT(pages_now, pages + 64) && TAP_LE(maps_now, maps + 2),
               "memory does not grow: from %zu pages to %zu, from %zu mappings to %zu", pages,
               pages_now, maps, maps_now);
}

static void test_many_at_once(void) {
    static const struct carry_jit *held[1000];
    size_t maps = mapping_count();
    size_t count = 0;
    while (count < COUNT(held) && !make_distinct(count, &held[count]))
        count++;
    bool ok = TAP_EQ(count, COUNT(held));
    for (size_t i = 0; i < count; i++)
        ok &= is_right(held[i], i) && any_mapping(is_text_at, text_of(held[i]));
    for (size_t i = 0; i < count; i++)
        carry_jit_release(held[i]);
    size_t maps_now = mapping_count();
    tap_ok(ok, "%zu functions at once, each on pages that are not writable", COUNT(held));
    if (fault_under_asan())
        tap_skip("all are unmapped", "the checker maps memory of its own");
    else
        tap_ok(TAP_LE(maps_now, maps + 2), "all are unmapped: %zu mappings, then %zu", maps,
               maps_now);
}

/* --- Threads --- */

static pthread_barrier_t threads_start;
static bool threads_stop;

static void *use_functions(void *number) {
    size_t rounds = effort_chosen() == &effort_short ? 100 : 6000;
    uintptr_t wrong = 0;
    pthread_barrier_wait(&threads_start);
    for (size_t i = 0; i < rounds; i++) {
        const struct carry_jit *shared, *own;
        if (make_distinct(0, &shared) || make_distinct((size_t)number, &own))
            return (void *)1;
        wrong |= !is_right(shared, 0);
        wrong |= !is_right(own, (size_t)number);
        carry_jit_release(shared);
        carry_jit_release(own);
    }
    return (void *)wrong;
}

static void *look_for_writable_text(void *unused) {
    (void)unused;
    uintptr_t found = 0;
    while (!__atomic_load_n(&threads_stop, __ATOMIC_RELAXED))
        found |= any_mapping(is_writable_text, NULL);
    return (void *)found;
}

static bool ends_well(pthread_t thread) {
    void *wrong;
    return !pthread_join(thread, &wrong) && !wrong;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    bool ok = true;
    pthread_barrier_init(&threads_start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use_functions, (void *)(i + 1)))
            abort(); /* other threads wait for this one */
    for (size_t i = 0; i < THREADS; i++)
        ok &= ends_well(threads[i]);
    tap_ok(ok, "%d threads make, call and release equal and other functions", THREADS);
}

static void test_writable_text(void) {
    const char *name = "no page is ever seen writable and executable";
    pthread_t watcher;
    if (fault_under_valgrind()) {
        tap_skip(name, "valgrind itself has such pages");
        return;
    }
    bool ok = !pthread_create(&watcher, NULL, look_for_writable_text, NULL);
    ok &= all_work(effort_chosen() == &effort_short ? 100 : 2000);
    __atomic_store_n(&threads_stop, true, __ATOMIC_RELAXED);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(ends_well(watcher)), "%s", name);
}

/* --- Forks --- */

static const struct carry_jit *kept;

static bool child_works(void) {
    bool ok = is_right(kept, 9);
    for (size_t i = 0; i < 200; i++)
        ok &= makes_right_sums(i);
    carry_jit_release(kept);
    return ok;
}

static void test_fork(void) {
    if (make_distinct(9, &kept)) {
        tap_ok(false, "a function is made");
        return;
    }
    bool ok = child_says(NULL, child_works);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(is_right(kept, 9)),
           "parent and child can use functions made before a fork");
    carry_jit_release(kept);
}

static void *make_functions(void *unused) {
    (void)unused;
    uintptr_t wrong = 0;
    for (size_t i = 0; !__atomic_load_n(&threads_stop, __ATOMIC_RELAXED); i++)
        wrong |= !makes_right_sums(i);
    return (void *)wrong;
}

static bool makes_one(void) {
    return makes_right_sums(5);
}

static void test_fork_under_lock(void) {
    if (is_emulated()) {
        tap_skip("children of many threads", "emulators cannot fork processes with threads");
        return;
    }
    size_t forks = effort_chosen() == &effort_short ? 5 : 200;
    pthread_t thread;
    __atomic_store_n(&threads_stop, false, __ATOMIC_RELAXED);
    bool ok = !pthread_create(&thread, NULL, make_functions, NULL);
    for (size_t i = 0; ok && i < forks; i++)
        ok &= child_says(NULL, makes_one);
    __atomic_store_n(&threads_stop, true, __ATOMIC_RELAXED);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(ends_well(thread)),
           "%zu children can be forked while a thread makes functions", forks);
}

/* --- Refused system calls --- */

static const struct sandbox_rule no_new_text[] = {
    {SYS_mprotect, EPERM, 2, PROT_EXEC, PROT_EXEC},
};
static const struct sandbox_rule no_files[] = {{.call = SYS_memfd_create, .error = EPERM}};

static bool can_filter(void) {
    return sandbox_filter(no_files, 1) && syscall(SYS_memfd_create, "", 0) < 0 && errno == EPERM;
}

static bool works_by_file(void) {
    return sandbox_filter(no_new_text, 1) && all_work(20);
}

/* Returns whether makers fail and leave no memory mapped. Mappings are not compared under checkers,
   which map memory themselves. */
static bool is_refused(void) {
    const struct carry_jit *jit = (const struct carry_jit *)data;
    bool is_checked = fault_under_asan() || fault_under_valgrind();
    size_t maps = mapping_count();
    return sandbox_filter(no_new_text, 1) && sandbox_filter(no_files, 1) &&
           make_distinct(5, &jit) == CARRY_ERROR_PERMISSION &&
           jit == (const struct carry_jit *)data &&
           make_distinct(5, &jit) == CARRY_ERROR_PERMISSION &&
           (is_checked || mapping_count() <= maps);
}

/* Returns whether PR_SET_MDWE works. It would break valgrind, whose own code is writable. */
static bool has_mdwe(void) {
    return !fault_under_valgrind() && !prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0);
}

static bool works_under_mdwe(void) {
    return has_mdwe() && all_work(20);
}

static void test_refusals(void) {
    static const struct {
        const char *name;
        bool (*is_there)(void), (*works)(void);
        const char *reason;
    } cases[] = {
        {"where no page may become executable, a file is used", can_filter, works_by_file,
         "no filters of system calls here"},
        {"without files too, the maker fails and leaves no memory mapped", can_filter, is_refused,
         "no filters of system calls here"},
        {"under PR_SET_MDWE, a file is used", has_mdwe, works_under_mdwe,
         "the kernel has no PR_SET_MDWE, or valgrind needs such pages"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (child_says(NULL, cases[i].is_there))
            tap_ok(child_says(NULL, cases[i].works), "%s", cases[i].name);
        else
            tap_skip(cases[i].name, "%s", cases[i].reason);
}

/* --- No memory --- */

static size_t address_space(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    if (!statm || fscanf(statm, "%zu", &pages) != 1)
        return 0;
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Makes functions until one fails, then releases all. Sets *made to their number. Returns whether
 * the cause of the failure was a lack of memory.
 */
static bool fills_memory(size_t *made) {
    static const struct carry_jit *held[DISTINCT];
    size_t count = 0;
    int error = CARRY_OK;
    while (count < COUNT(held) && !(error = make_distinct(count, &held[count])))
        count++;
    for (size_t i = 0; i < count; i++)
        carry_jit_release(held[i]);
    *made = count;
    return error == CARRY_ERROR_MEMORY;
}

static bool limit_address_space(void) {
    size_t most = address_space() + ((size_t)2 << 20);
    const struct rlimit limit = {most, most};
    return !setrlimit(RLIMIT_AS, &limit);
}

static bool survives_without_memory(void) {
    size_t first, second;
    if (!makes_right_sums(1) || !limit_address_space())
        return false;
    /* malloc() may keep memory of the first round for the second. */
    return fills_memory(&first) && first > 50 && fills_memory(&second) && second + 5 >= first &&
           makes_right_sums(1);
}

static void test_no_memory(void) {
    const char *name = "without memory, makers fail and lose nothing";
    if (is_emulated() || fault_under_asan())
        tap_skip(name, "the limit would affect the emulator or checker");
    else
        tap_ok(child_says(NULL, survives_without_memory), "%s", name);
}

/* --- The end of the process --- */

static void use_at_exit(void) {
    if (!is_right(kept, 9) || !makes_right_sums(10))
        _exit(1);
    carry_jit_release(kept);
}

/* Returns whether functions work at exit. The handler is registered before the library's first use,
   so it runs after any handler of the library. */
static bool works_at_exit(void) {
    pid_t child = fork();
    if (child == 0) {
        atexit(use_at_exit);
        exit(make_distinct(9, &kept) ? 1 : 0);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

int main(void) {
    rng_fill(data, sizeof data);
    tap_ok(works_at_exit(), "functions are called, made and released at the exit of the process");
    test_sharing();
    test_landing_pads();
    test_mask();
    test_flat_memory();
    test_many_at_once();
    test_threads();
    test_writable_text();
    test_fork();
    test_fork_under_lock();
    test_refusals();
    test_no_memory();
    return tap_done();
}
