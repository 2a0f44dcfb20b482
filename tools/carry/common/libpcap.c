/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/libpcap.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of libpcap on Debian, and elsewhere. The tool is not linked with it: to load it and its
 * dependencies, every command would take a third longer to start (on Debian 12, they include
 * libdbus and libsystemd).
 */
static const char *const names[] = {"libpcap.so.0.8", "libpcap.so.1"};

bool libpcap_load(struct libpcap *libpcap, const char **problem) {
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW);
    bool all = handle;
#define FIND(name)                                                                                 \
    libpcap->name = all ? (__typeof__(name) *)(uintptr_t)dlsym(handle, #name) : NULL;              \
    all &= libpcap->name != NULL;
    LIBPCAP_FUNCTIONS(FIND)
#undef FIND
    *problem = all ? NULL : dlerror();
    return all;
}
