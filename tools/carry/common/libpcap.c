/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/libpcap.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/*
 * With the libraries that libpcap brings along, every command would take a third longer to start
 * (on Debian 12, among them libdbus and libsystemd).
 */
static const char *const names[] = {"libpcap.so.0.8", "libpcap.so.1"}; /* Debian; elsewhere */

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
