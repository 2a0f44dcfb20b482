/* SPDX-License-Identifier: MIT */
/* Loads the tested library by dlopen(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "selftest/library.h"

bool library_load(struct library *library, const char *path, const char **problem) {
    char here[PATH_MAX]; /* the dynamic linker searches other folders for names without a folder */
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *handle = dlopen(here, RTLD_NOW);
    bool all = handle;
#define FIND(name)                                                                                 \
    library->name = all ? (__typeof__(name) *)(uintptr_t)dlsym(handle, #name) : NULL;              \
    all &= library->name != NULL;
    LIBRARY_FUNCTIONS(FIND)
#undef FIND
    *problem = all ? NULL : dlerror();
    return all;
}
