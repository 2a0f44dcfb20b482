/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/libpcap.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of libpcap on Debian, and on other systems. The tool is not linked with libpcap: otherwise
 * every command would load libpcap and its dependencies (on Debian 12 also libdbus and libsystemd),
 * and take a third longer to start.
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
