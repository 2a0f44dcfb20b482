/* SPDX-License-Identifier: MIT */
/* Reads lists of files: names, each followed by NUL, as find -print0 writes them. */
#ifndef CARRY_TOOLS_FILE_LIST_H
#define CARRY_TOOLS_FILE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct file_list_visitor {
    bool (*visit)(void *context, const char *path); /* false ends the list */
    void *context;
};

/*
 * Visits the files that `list` names. If `list` is "-", the names are read from standard input,
 * which then cannot be a file of the list. The last name may lack its NUL. Returns NULL, or a text
 * about an error in the list; the names before the error were visited.
 */
const char *file_list_visit(const char *list, const struct file_list_visitor *visitor);

#endif
