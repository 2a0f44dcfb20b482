/* SPDX-License-Identifier: MIT */
/*
 * The debug file of a stripped ELF file, which holds its symbols: where it may be, and whether it
 * is the right one. Nothing that a file says is trusted.
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

/* What a file says of its debug file. */
struct debug_link {
    char name[DEBUG_NAME_SIZE]; /* in .gnu_debuglink, or "" */
    uint32_t crc;               /* of the debug file that has this name */
    uint8_t build_id[DEBUG_BUILD_ID_SIZE];
    size_t build_id_size; /* 0: there is none */
};

/* Reads a section that has this name: does nothing if it is neither of the two that tell. */
void debug_link_read(struct debug_link *link, Elf_Scn *section, const char *name);

/*
 * Where the debug file of the file at `path` may be, `root` before all paths: one of DEBUG_PLACES.
 * To be freed; NULL if nothing is known for this place.
 */
#define DEBUG_PLACES 4
char *debug_link_place(const struct debug_link *link, const char *root, const char *path,
                       size_t index);

/* Is `file`, which says `own` of itself, what was looked for in that place? */
bool debug_link_matches(const struct debug_link *link, const struct debug_link *own, int file,
                        size_t index);

#endif
