/* SPDX-License-Identifier: MIT */
/*
 * Tests signal handlers of several copies of the library in one process.
 * usage: test_signals COPY COPY COPY
 * Each COPY is a shared object with its own library (harness/signals_copy.h).
 */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/child.h"
#include "harness/fault.h"
#include "harness/signals_copy.h"
#include "harness/tap.h"
#include "hosted/levels.h"

#define COPIES     3
#define ROUNDS     1000
#define PAGE_BYTES 4096

static struct signals_copy *copies[COPIES];

static bool load_copies(char **paths) {
    bool ok = true;
    for (int i = 0; i < COPIES && ok; i++) {
        void *object = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        copies[i] = object ? dlsym(object, "signals_copy") : NULL;
        ok = copies[i] != NULL;
    }
    return ok;
}

static bool all_acquire(void) {
    bool ok = true;
    for (int i = 0; i < COPIES; i++)
        ok = ok && !copies[i]->acquire();
    return ok;
}

static bool all_survive(void) {
    bool ok = true;
    for (int i = 0; i < COPIES; i++)
        ok = ok && copies[i]->survives();
    return ok;
}

/* --- Another program's handler --- */

static struct sigaction found;
static unsigned char *volatile page;
static volatile sig_atomic_t strange;

static void on_strange_fault(int number, siginfo_t *info, void *context) {
    if (!page || info->si_addr != page) {
        found.sa_sigaction(number, info, context);
        return;
    }
    strange++;
    mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

static void install_stranger(void) {
    const struct sigaction action = {
        .sa_sigaction = on_strange_fault,
        .sa_flags = SA_SIGINFO | SA_NODEFER,
    };
    sigaction(SIGSEGV, &action, &found);
}

/* Returns whether a fault that concerns no copy reaches the stranger's handler exactly once. */
static bool stranger_is_called(void) {
    page = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strange = 0;
    *(volatile unsigned char *)page = 1;
    munmap(page, PAGE_BYTES);
    return strange == 1;
}

static struct sigaction installed_handler(void) {
    struct sigaction action;
    sigaction(SIGSEGV, NULL, &action);
    return action;
}

static bool stranger_is_installed(void) {
    return installed_handler().sa_sigaction == on_strange_fault;
}

/* --- Copies --- */

static bool in_turn(void) {
    bool ok = true;
    install_stranger();
    for (int i = 0; i < ROUNDS && ok; i++)
        ok = !copies[i % COPIES]->acquire() && (i < COPIES || all_survive());
    return ok && stranger_is_called();
}

static bool in_turn_over_stranger(void) {
    bool ok = all_acquire();
    install_stranger();
    for (int i = 0; i < ROUNDS && ok; i++)
        ok = !copies[i % COPIES]->acquire() && all_survive() && stranger_is_called();
    return ok;
}

static bool strangers_come_and_go(void) {
    bool ok = all_acquire();
    for (int i = 0; i < ROUNDS && ok; i++) {
        install_stranger();
        ok = !copies[i % COPIES]->acquire() && all_acquire() && all_survive() &&
             stranger_is_called();
        sigaction(SIGSEGV, &found, NULL);
        ok = ok && all_survive() && all_acquire() && all_survive();
    }
    return ok;
}

static bool go_in_reverse(void) {
    install_stranger();
    bool ok = all_acquire();
    for (int i = COPIES; i--;)
        copies[i]->release();
    return ok && stranger_is_installed();
}

/* Releases the middle copy and installs it again. The copy remains in the chain all the time. */
static bool middle_goes(void) {
    install_stranger();
    bool ok = all_acquire();
    copies[1]->release();
    ok = ok && copies[0]->survives() && copies[2]->survives() && stranger_is_called();
    ok = ok && !copies[1]->acquire() && all_survive();
    for (int i = COPIES; i--;)
        copies[i]->release();
    return ok && stranger_is_installed();
}

static bool comes_back(void) {
    bool ok = true;
    for (int i = 0; i < ROUNDS && ok; i++) {
        ok = all_acquire() && all_survive();
        for (int j = 0; j < COPIES; j++)
            copies[(i + j) % COPIES]->release();
    }
    return ok && all_acquire() && all_survive();
}

/* --- Copies at the same time --- */

static void acquire_another(void) {
    copies[1]->acquire();
}

static bool install_together(void) {
    install_stranger();
    copies[0]->meanwhile = acquire_another;
    return !copies[0]->acquire() && copies[0]->survives() && copies[1]->survives() &&
           stranger_is_called();
}

static bool removed_together(void) {
    bool ok = !copies[0]->acquire();
    copies[0]->meanwhile = acquire_another;
    copies[0]->release();
    return ok && copies[1]->survives() && !copies[0]->acquire() && copies[0]->survives();
}

/* --- Handlers of other code --- */

static const unsigned char just_return[] = {0xc3};

static bool acquires_over(const void *handler) {
    const struct sigaction action = {
        .sa_sigaction = (void (*)(int, siginfo_t *, void *))(uintptr_t)handler,
        .sa_flags = SA_SIGINFO,
    };
    return !sigaction(SIGSEGV, &action, NULL) && all_acquire() && all_survive();
}

static unsigned char *map_pages(size_t size) {
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool first_of_mapping(void) {
    unsigned char *two = map_pages(2 * PAGE_BYTES), *start = two + PAGE_BYTES;
    memcpy(start, just_return, sizeof just_return);
    return !munmap(two, PAGE_BYTES) && !mprotect(start, PAGE_BYTES, PROT_READ | PROT_EXEC) &&
           acquires_over(start);
}

static bool executable_alone(void) {
    unsigned char *start = map_pages(PAGE_BYTES);
    memcpy(start + 16, just_return, sizeof just_return);
    return !mprotect(start, PAGE_BYTES, PROT_EXEC) && acquires_over(start + 16);
}

static bool over_unloaded(void) {
    unsigned char *start = map_pages(PAGE_BYTES);
    return !munmap(start, PAGE_BYTES) && acquires_over(start + 16);
}

static bool no_handler(void) {
    return acquires_over(SIG_DFL) && acquires_over(SIG_IGN);
}

/* --- Forged marks --- */

struct forged {
    struct carry_signal_mark mark;
    unsigned char code[CARRY_SIGNAL_ALIGNMENT - sizeof(struct carry_signal_mark)];
    struct carry_signal_link link;
};

static struct forged *forge_mark(void) {
    struct forged *forged = (struct forged *)map_pages(PAGE_BYTES);
    memcpy(forged->code, just_return, sizeof just_return);
    mprotect(forged, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
    forged->mark.magic = CARRY_SIGNAL_MAGIC;
    forged->mark.links =
        (int32_t)(offsetof(struct forged, link) - offsetof(struct carry_signal_mark, links));
    for (int i = 0; i < 3; i++) {
        forged->link.previous[i].sa_handler = (sighandler_t)(uintptr_t)forged->code;
        forged->link.previous[i].sa_flags = SA_SIGINFO;
    }
    return forged;
}

static bool over_circle(void) {
    return acquires_over(forge_mark()->code);
}

static bool other_version(void) {
    struct forged *forged = forge_mark();
    forged->mark.magic++;
    forged->mark.links = INT32_MAX; /* points to unmapped memory */
    return acquires_over(forged->code);
}

/* Installs a copy's handler again, without SA_SIGINFO. The handler passes the signal to a copy,
   although the system calls it without siginfo. */
static bool without_siginfo(void) {
    bool ok = all_acquire();
    signal(SIGSEGV, installed_handler().sa_handler);
    return ok && all_acquire() && all_survive();
}

static void test_copies(void) {
    tap_ok(child_says(NULL, in_turn), "three copies can install in turn, any number of times");
    tap_ok(child_says(NULL, in_turn_over_stranger),
           "copies install over another handler; it is called once");
    tap_ok(child_says(NULL, strangers_come_and_go),
           "other handlers can be installed over copies, and removed");
    tap_ok(child_says(NULL, go_in_reverse),
           "copies that uninstall in reverse order restore the previous handler");
    tap_ok(child_says(NULL, middle_goes), "a copy between others can uninstall and install again");
    tap_ok(child_says(NULL, comes_back), "copies can install and uninstall in any order");
    tap_ok(child_says(NULL, install_together), "a copy can install while another installs");
    tap_ok(child_says(NULL, removed_together), "a copy can install while another uninstalls");
}

static void test_handlers(void) {
    tap_ok(child_says(NULL, first_of_mapping),
           "a copy installs over a handler with nothing mapped before it");
    tap_ok(child_says(NULL, executable_alone),
           "a copy installs over a handler in execute-only memory");
    tap_ok(child_says(NULL, over_unloaded), "a copy installs over a handler that was unloaded");
    tap_ok(child_says(NULL, no_handler), "a copy installs over no handler");
    tap_ok(child_says(NULL, over_circle), "a copy installs over marks that form a circle");
    tap_ok(child_says(NULL, other_version), "a copy installs over a mark of another version");
    tap_ok(child_says(NULL, without_siginfo),
           "a copy installs over a copy's handler that receives no siginfo");
}

int main(int argc, char **argv) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports every fault as an error");
    if (argc != COPIES + 1 || !load_copies(argv + 1)) {
        tap_ok(false, "copies are loaded");
        return tap_done();
    }
    test_copies();
    test_handlers();
    return tap_done();
}
