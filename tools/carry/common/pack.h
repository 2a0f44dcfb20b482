/* SPDX-License-Identifier: MIT */
/*
 * Compresses outputs whose names end in .gz or .zst, if the build can also unpack that format.
 */
#ifndef CARRY_TOOLS_PACK_H
#define CARRY_TOOLS_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct pack;

/* Where compressed bytes go. */
typedef void pack_write_fn(void *context, const void *bytes, size_t size);

/* Can a file of this name be compressed as its name says? */
bool pack_knows(const char *path);

/* For a name that it knows; NULL without memory. */
struct pack *pack_open(const char *path, pack_write_fn *write, void *context);
void pack_close(struct pack *pack);

/* These return 0, or an errno. */
int pack_add(struct pack *pack, const void *bytes, size_t size);
int pack_end(struct pack *pack);

/* The first bytes of a file, uncompressed if it is compressed; how many there are, `size` at most.
 */
size_t pack_head(const char *path, void *head, size_t size);

#endif
