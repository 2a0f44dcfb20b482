/* SPDX-License-Identifier: MIT */
/*
 * Compresses outputs whose names end in .gz or .zst, if the build can also unpack that format.
 */
#ifndef CARRY_TOOLS_PACK_H
#define CARRY_TOOLS_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct pack;

/* Receives compressed bytes. */
typedef void pack_write_fn(void *context, const void *bytes, size_t size);

/* Checks whether this build can compress as the file's name demands. */
bool pack_knows(const char *path);

/* Opens compression for a name that pack_knows() accepts; NULL if there is no memory. */
struct pack *pack_open(const char *path, pack_write_fn *write, void *context);
void pack_close(struct pack *pack);

/* Compresses bytes, or writes the end of the compressed file. Returns 0, or an errno. */
int pack_add(struct pack *pack, const void *bytes, size_t size);
int pack_end(struct pack *pack);

/* Reads the first bytes of a file, uncompressed, at most `size`; returns their number. */
size_t pack_head(const char *path, void *head, size_t size);

#endif
