/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/own_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folders that are searched, relative to the folder of the tool. */
static const char *const folders[] = {"", "../" CARRY_OWN_DIR "/"};

bool own_file_find(const char *name, char path[PATH_MAX]) {
    char tool[PATH_MAX], candidate[2 * PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", tool, sizeof tool - 1);
    tool[size > 0 ? size : 0] = '\0';
    int folder = (int)(strrchr(tool, '/') ? strrchr(tool, '/') - tool + 1 : 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(candidate, sizeof candidate, "%.*s%s%s", folder, tool, folders[i], name);
        if (realpath(candidate, path))
            return true;
    }
    return false;
}
