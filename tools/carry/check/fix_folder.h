/* SPDX-License-Identifier: MIT */
/* Repairs the captures below a folder, each into a copy below another folder. */
#ifndef CARRY_TOOLS_FIX_FOLDER_H
#define CARRY_TOOLS_FIX_FOLDER_H

#include <stdint.h>

struct fix_folder {
    const char *input;
    const char *output; /* NULL: write no copies */
    /* Repairs a capture, and returns its status. `output` is NULL if the folder's `output` is
     * NULL. */
    int (*fix)(void *context, const char *input, const char *output);
    void *context;
    uint64_t captures; /* found */
    uint64_t skipped;  /* files that are not captures */
};

/*
 * Repairs the captures in the order of their names, and creates the folders for the copies. Returns
 * the most severe status. A copy keeps the name of its capture. If that name claims a compression
 * that cannot be written, the copy's name omits it, unless another file's copy would have the same
 * name.
 */
int fix_folder(struct fix_folder *folder);

#endif
