/* SPDX-License-Identifier: MIT */
/*
 * Finds the debug file that contains the symbols of a stripped ELF file, and verifies that it
 * belongs to that file. No content of a file is trusted.
 *
 * Source: GDB's manual, "Debugging Information in Separate Files".
 */
#ifndef CARRY_TOOLS_SITES_DEBUG_H
#define CARRY_TOOLS_SITES_DEBUG_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_NAME_SIZE     256
#define DEBUG_BUILD_ID_SIZE 64

/* The properties by which a file identifies its debug file. */
struct debug_link {
    char name[DEBUG_NAME_SIZE]; /* in .gnu_debuglink, or "" */
    uint32_t crc;               /* of the debug file that has this name */
    uint8_t build_id[DEBUG_BUILD_ID_SIZE];
    size_t build_id_size; /* 0: the file has no build ID */
};

/* Reads a section with this name, if it is .gnu_debuglink or the build ID; else does nothing. */
void debug_link_read(struct debug_link *link, Elf_Scn *section, const char *name);

/*
 * Returns the path of place `index`, which is less than DEBUG_PLACES: the debug file of the file at
 * `path` may be there. Returns NULL if the link does not name this place. `root` precedes all
 * paths. The caller frees the result.
 */
#define DEBUG_PLACES 4
char *debug_link_place(const struct debug_link *link, const char *root, const char *path,
                       size_t index);

/* Returns whether `file`, whose own link is `own`, is the debug file sought at place `index`. */
bool debug_link_matches(const struct debug_link *link, const struct debug_link *own, int file,
                        size_t index);

#endif
