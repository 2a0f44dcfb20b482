/* SPDX-License-Identifier: MIT */
/* The captures below a folder, each with the place of its copy below another one. */
#ifndef CARRY_TOOLS_FIX_FOLDER_H
#define CARRY_TOOLS_FIX_FOLDER_H

#include <stdint.h>

struct fix_folder {
    const char *input;
    const char *output; /* NULL: no copies are wanted */
    /* Repairs a capture; `output` is NULL if that of the folder is. Returns its status. */
    int (*fix)(void *context, const char *input, const char *output);
    void *context;
    uint64_t captures; /* that were found, */
    uint64_t skipped;  /* and files that are none */
};

/*
 * Repairs every capture, in the order of the names, and makes the folders that copies need. Returns
 * the gravest status. A copy keeps the name of its capture. Where that claims a compression that
 * cannot be written, the copy is called without it, unless another file of the folder is.
 */
int fix_folder(struct fix_folder *folder);

#endif
