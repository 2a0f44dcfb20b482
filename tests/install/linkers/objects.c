/* SPDX-License-Identifier: MIT */
/* Objects with sites that are loaded and unloaded. usage: objects SCENARIO PLUGIN [PLUGIN] */
#include "expect.h"
#include "plugin.h"
#include "share.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 300

CARRY_OP(long, host_op, long);
CARRY_KEY(mode);

static long host_double(long a) {
    return 2 * a;
}
static long host_triple(long a) {
    return 3 * a;
}

CARRY_OP_DEFINE(host_op, host_double);
CARRY_KEY_DEFINE(mode, false);

static char **paths;

struct loaded {
    void *handle;
    const struct plugin *plugin;
};

static struct loaded load(const char *path) {
    struct loaded loaded = {dlopen(path, RTLD_NOW | RTLD_LOCAL), NULL};
    if (!loaded.handle) {
        puts(dlerror());
        exit(2);
    }
    loaded.plugin = (const struct plugin *)dlsym(loaded.handle, "plugin");
    return loaded;
}

static struct carry_patch_counts stats(void) {
    struct carry_patch_counts now;
    carry_patch_stats(&now);
    return now;
}

static size_t not_asked(void) {
    return stats().unpatched[CARRY_PATCH_NOT_ASKED];
}

static void expect_success_of(pid_t child) {
    int status = -1;
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
}

/* --- Scenarios --- */

static void check_unpatched_then_patched(void) {
    struct carry_patch_counts first = stats();
    struct loaded loaded = load(paths[0]);
    EXPECT(stats().objects, first.objects + 1);
    EXPECT(stats().sites, first.sites + PLUGIN_SITES);
    EXPECT(not_asked(), stats().sites);
    EXPECT(loaded.plugin->run(5), 6);
    EXPECT(loaded.plugin->mode(), true);
    EXPECT(loaded.plugin->choice(5), -1);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    EXPECT(not_asked(), 0);
    EXPECT(loaded.plugin->choice(5), 4);
    EXPECT(loaded.plugin->run(5), 6);
    EXPECT(loaded.plugin->mode(), true);
    size_t direct = stats().direct;
    size_t sites = stats().sites;
    dlclose(loaded.handle);
    EXPECT(stats().direct, direct - PLUGIN_CALLS);
    EXPECT(stats().sites, sites - PLUGIN_SITES);
    loaded = load(paths[0]);
    EXPECT(stats().direct, direct);
    EXPECT(not_asked(), 0);
    EXPECT(loaded.plugin->run(5), 6);
}

/* Checks that an importer follows its key, whether it is loaded before the commit or after it, and
   can be unloaded. */
static void check_imports(void) {
    for (int applied = 0; applied < 2; applied++) {
        EXPECT(share_set(true, true), CARRY_OK);
        struct loaded loaded = load(paths[0]);
        EXPECT(loaded.plugin->early(), 9);
        EXPECT(loaded.plugin->run(5), -4);
        EXPECT(share_set(false, true), CARRY_OK);
        EXPECT(loaded.plugin->early(), 9);
        EXPECT(loaded.plugin->run(5), -6);
        EXPECT(loaded.plugin->set_share(false), CARRY_OK);
        EXPECT(loaded.plugin->run(5), 6);
        EXPECT(share_run(5), 6);
        struct loaded second = load(paths[1]);
        EXPECT(second.plugin->early(), 11);
        EXPECT(share_set(true, false), CARRY_OK);
        EXPECT(loaded.plugin->run(5) == 4 && second.plugin->run(5) == 4, true);
        dlclose(loaded.handle);
        EXPECT(share_set(true, true), CARRY_OK);
        EXPECT(second.plugin->run(5), -4);
        dlclose(second.handle);
        EXPECT(share_set(false, false), CARRY_OK);
        EXPECT(share_run(5), 6);
        EXPECT(carry_patch_apply(0), CARRY_OK);
    }
    EXPECT(not_asked(), 0);
}

/* Checks three keys with the same name in three objects; none of them is exported. */
static void check_names(void) {
    EXPECT(carry_patch_apply(0), CARRY_OK);
    struct loaded loaded = load(paths[0]);
    EXPECT(loaded.plugin->choice(5), 4); /* resolved when its first site was registered */
    for (int i = 0; i < 8; i++) {
        struct carry_patch patch;
        carry_patch_begin(&patch);
        carry_patch_set(&patch, &carry_key_mode, i & 1);
        EXPECT(carry_patch_commit(&patch), CARRY_OK);
        EXPECT(share_set_mode((i & 2) != 0), CARRY_OK);
        EXPECT(loaded.plugin->set_mode((i & 4) != 0), CARRY_OK);
        EXPECT(carry_unlikely(mode), i & 1);
        EXPECT(share_mode(), (i & 2) != 0);
        EXPECT(loaded.plugin->mode(), (i & 4) != 0);
    }
}

/* --- Under load --- */

static bool stop;

static void *run_sites(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        long host = carry_call(host_op)(6);
        long share = share_run(6);
        if ((host != 12 && host != 18) || (share != 7 && share != 5 && share != -7 && share != -5))
            return &stop;
        (void)carry_unlikely(mode);
    }
    return NULL;
}

static void *commit(void *unused) {
    (void)unused;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        struct carry_patch patch;
        carry_patch_begin(&patch);
        carry_set(&patch, host_op, i & 1 ? host_double : host_triple);
        carry_patch_set(&patch, &carry_key_mode, i & 1);
        if (carry_patch_commit(&patch) || share_set((i & 2) != 0, (i & 4) != 0))
            return &stop;
    }
    return NULL;
}

static void check_churn(void) {
    pthread_t threads[2];
    EXPECT(carry_patch_apply(0), CARRY_OK);
    size_t sites = stats().sites;
    EXPECT(pthread_create(&threads[0], NULL, run_sites, NULL), 0);
    EXPECT(pthread_create(&threads[1], NULL, commit, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct loaded first = load(paths[i & 1]);
        struct loaded second = load(paths[!(i & 1)]);
        EXPECT(first.plugin->set_mode(i & 1), CARRY_OK);
        EXPECT(first.plugin->mode(), i & 1);
        EXPECT(second.plugin->mode(), true);
        long result = labs(second.plugin->run(6));
        EXPECT(result == 5 || result == 7, true);
        EXPECT(not_asked(), 0);
        dlclose(first.handle);
        dlclose(second.handle);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT(wrong == NULL, true);
    }
    EXPECT(stats().sites, sites);
}

/* --- Several copies of the library --- */

static volatile sig_atomic_t traps;

static void on_trap(int signal) {
    (void)signal;
    traps++;
}

/*
 * Checks objects that contain the library. They have their own sites, unknown to this program's
 * library. Each copy finds the handlers of the other copies; the program's own handler receives all
 * other traps.
 */
static void check_copies(void) {
    signal(SIGTRAP, on_trap);
    pthread_t thread;
    size_t sites = stats().sites;
    struct loaded copies[] = {load(paths[0]), load(paths[1])};
    EXPECT(stats().sites, sites);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    EXPECT(copies[0].plugin->apply(0), CARRY_OK);
    EXPECT(copies[1].plugin->apply(0), CARRY_OK);
    EXPECT(pthread_create(&thread, NULL, run_sites, NULL), 0);
    bool modes[] = {true, true};
    for (int i = 0; i < ROUNDS; i++) {
        share_set(i & 1, i & 2);
        for (size_t j = 0; j < 2; j++) {
            int error = copies[j].plugin->set_mode(i & 1);
            EXPECT(error == CARRY_OK || (i > 1 && error == CARRY_ERROR_PERMISSION), true);
            if (!error)
                modes[j] = i & 1;
            EXPECT(copies[j].plugin->mode(), modes[j]);
            __asm__ volatile("int3");
        }
    }
    EXPECT(traps, 2 * ROUNDS);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

/* --- The end of the program --- */

static void run_at_exit(void) {
    EXPECT(share_run(5), -4);
    EXPECT(carry_call(host_op)(2), 6);
    EXPECT(share_set(false, false), CARRY_OK);
    EXPECT(share_run(5), 6);
    fflush(stdout);
    _exit(failures ? 1 : 0);
}

static __attribute__((destructor)) void run_last(void) {
    if (paths && !strcmp(paths[-1], "exit"))
        run_at_exit();
}

/* Checks that sites are unchanged, and can still be changed, in a destructor of this program. */
static void check_exit(void) {
    struct carry_patch patch;
    load(paths[0]);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    carry_patch_begin(&patch);
    carry_set(&patch, host_op, host_triple);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(share_set(true, true), CARRY_OK);
    puts("ok");
    exit(0);
}

/* Checks that objects can be loaded in the middle of a transaction, and that the process can fork
   and exit. */
static void check_inside(void) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, host_op, host_triple);
    struct loaded loaded = load(paths[0]);
    EXPECT(loaded.plugin->run(5), 6);
    dlclose(loaded.handle);
    pid_t child = fork();
    if (!child)
        _exit(carry_patch_commit(&patch) || share_set(true, true) || share_run(5) != -4);
    expect_success_of(child);
    exit(result());
}

/* --- Text that is mapped twice --- */

static bool hides_memory;

/* Replaces the C library's function, for libcarry too, to imitate a system without /proc. */
int open64(const char *path, int flags, ...) {
    if (hides_memory && !strcmp(path, "/proc/self/mem"))
        return -1;
    return openat(AT_FDCWD, path, flags);
}
int open(const char *path, int flags, ...) __attribute__((alias("open64")));

/* Checks objects that are loaded where other objects were unloaded: other memory may be at the
   same addresses. */
static void check_alias(void) {
    hides_memory = true;
    EXPECT(carry_patch_apply(0), CARRY_OK);
    EXPECT(strcmp(stats().backend, "alias"), 0);
    for (int i = 0; i < 4; i++) {
        struct loaded loaded = load(paths[i & 1]);
        EXPECT(not_asked(), 0);
        EXPECT(loaded.plugin->run(5), 6);
        EXPECT(loaded.plugin->set_mode(false), CARRY_OK);
        EXPECT(loaded.plugin->mode(), false);
        dlclose(loaded.handle);
    }
    pid_t child = fork();
    if (!child) {
        struct loaded loaded = load(paths[0]);
        EXPECT(not_asked(), 0);
        EXPECT(loaded.plugin->run(5), 6);
        _exit(failures);
    }
    expect_success_of(child);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"load", check_unpatched_then_patched},
    {"imports", check_imports},
    {"names", check_names},
    {"churn", check_churn},
    {"copies", check_copies},
    {"exit", check_exit},
    {"inside", check_inside},
    {"alias", check_alias},
};

int main(int count, char **arguments) {
    if (count < 3)
        return 2;
    paths = arguments + 2;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(scenarios[i].name, arguments[1]))
            scenarios[i].run();
    return result();
}
