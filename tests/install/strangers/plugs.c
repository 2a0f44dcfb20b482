/* SPDX-License-Identifier: MIT */
/*
 * Plugins that contain their own copies of the library.
 *
 * usage: plugs copies|loads PLUG     copies: two copies commit in turn, while threads run both;
 *                                    loads: one is loaded and unloaded, without leaks
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../linkers/expect.h"

#define COPIES  2
#define THREADS 2
#define FLIPS   400
#define LOADS   1000
#define LEAK    (LOADS * 1024L) /* bytes: a quarter of a page for each load */

struct plug {
    int (*run)(int number);
    int (*flip)(int on);
};

static struct plug plugs[COPIES];
static _Atomic int stop;
static _Atomic long wrong;

static struct plug open_plug(void *handle) {
    struct plug plug = {NULL, NULL};
    if (handle) {
        plug.run = (int (*)(int))dlsym(handle, "plug_run");
        plug.flip = (int (*)(int))dlsym(handle, "plug_flip");
    }
    EXPECT(plug.run && plug.flip, true);
    return plug;
}

static void *run_both(void *unused) {
    while (!stop)
        for (int i = 0; i < COPIES; i++) {
            int seen = plugs[i].run(5);
            wrong += seen != 6 && seen != 7 && seen != 106 && seen != 107;
        }
    return unused;
}

static void copies(const char *path) {
    pthread_t threads[THREADS];
    long errors = 0;
    plugs[0] = open_plug(dlopen(path, RTLD_NOW));
    plugs[1] = open_plug(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
    if (failures)
        return;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_both, NULL);
    for (int i = 0; i < FLIPS; i++)
        errors += plugs[i % COPIES].flip(i / COPIES % 2) != 0;
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT(errors, 0);
    EXPECT(wrong, 0);
}

/* Returns the resident memory in bytes. */
static long resident(void) {
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmRSS:", 6))
            kilobytes = atol(line + 6);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static void load_once(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    struct plug plug = open_plug(handle);
    EXPECT(plug.flip(1), 0);
    EXPECT(plug.run(5), 107);
    EXPECT(plug.flip(0), 0);
    EXPECT(dlclose(handle), 0);
}

static void loads(const char *path) {
    for (int i = 0; i < 20; i++)
        load_once(path);
    long before = resident();
    for (int i = 0; i < LOADS && !failures; i++)
        load_once(path);
    EXPECT(resident() - before < LEAK, true);
}

int main(int argc, char **argv) {
    alarm(60);
    if (argc == 3 && !strcmp(argv[1], "copies"))
        copies(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "loads"))
        loads(argv[2]);
    return result();
}
