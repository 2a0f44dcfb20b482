/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "selftest/library.h"

bool library_load(struct library *library, const char *path, const char **problem) {
    void *handle = dlopen(path, RTLD_NOW);
    bool all = handle;
#define FIND(name)                                                                                 \
    library->name = all ? (__typeof__(name) *)(uintptr_t)dlsym(handle, #name) : NULL;              \
    all &= library->name != NULL;
    LIBRARY_FUNCTIONS(FIND)
#undef FIND
    *problem = all ? NULL : dlerror();
    return all;
}
