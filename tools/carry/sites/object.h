/* SPDX-License-Identifier: MIT */
/*
 * Reads an ELF file for a machine that has sites: its loads, its symbols, and the records of its
 * sites. No content of a file is trusted. Addresses are the addresses in the file plus `bias`, the
 * distance by which a process moved the object.
 */
#ifndef CARRY_TOOLS_SITES_OBJECT_H
#define CARRY_TOOLS_SITES_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the file that is loaded. */
struct object_load {
    uint64_t address;
    uint64_t size;       /* in memory */
    uint64_t offset;     /* in the file */
    uint64_t file_bytes; /* bytes that are in the file; the others of `size` are zero */
    bool executable;
};

struct object_symbol {
    uint64_t address;
    uint64_t size; /* 0: unknown */
    const char *name;
};

/* A relocation: the loader writes a value, or the address of another object's symbol. */
struct object_relocation {
    uint64_t at;
    uint64_t value;
    const char *import; /* or NULL */
};

/* A record of section carry_sites, with its offsets resolved. */
struct record {
    uint64_t at; /* the address of the record */
    uint64_t site;
    uint64_t key;
    uint64_t aux;
    uint8_t kind;
    uint8_t length;
    uint8_t flags;
    uint8_t version;
};

struct object {
    const char *path;
    const struct machine *machine;
    uint64_t bias;
    struct object_load *loads;
    size_t loads_count;
    struct object_symbol *symbols; /* sorted by address */
    size_t symbols_count;
    struct object_relocation *relocations; /* sorted by address */
    size_t relocations_count;
    struct record *records; /* sorted by the site's address, sites before bodies */
    size_t records_count;
    uint64_t section; /* address of carry_sites; 0: there is none */
    uint64_t section_bytes;
    uint64_t headers_end; /* offset of the end of the program headers */
    bool is_guarded;      /* pages demand landing pads: BTI of AArch64 */
    /* The object is loaded at the address that it was linked for, so instructions may contain
     * addresses. */
    bool is_fixed;
    /* The file from which the members above are read. */
    int file;
    uint64_t size;
    struct Elf *elf;
    struct object *debug; /* the debug object that `symbols` are from, or NULL */
};

#define OBJECT_PROBLEM_SIZE 192

/*
 * Opens the object in `file`. object_close() closes `file`, and so does a failure; the caller keeps
 * `path`. Returns NULL, with a reason in `problem`, if the file is damaged, or is not an ELF file
 * that can have sites, or if there is no memory. A stripped file gets the symbols of its debug
 * file, if there is one beside `path`, in the folder .debug beside `path`, or in /usr/lib/debug.
 * The folder `root` precedes these paths ("": no other root).
 */
struct object *object_open(int file, const char *root, const char *path,
                           char problem[OBJECT_PROBLEM_SIZE]);
void object_close(struct object *object);

/* Adds `bias` to all addresses of the object. */
void object_move(struct object *object, uint64_t bias);

/* Returns the load that contains an address, or NULL. */
const struct object_load *object_load_of(const struct object *object, uint64_t address);

/* Reads the file's bytes for `address`; returns false if they are not all within one load. */
bool object_read(const struct object *object, uint64_t address, void *buffer, size_t size);

/* Returns the symbol at `address` whose name begins with `prefix`, or NULL. */
const struct object_symbol *object_symbol_at(const struct object *object, uint64_t address,
                                             const char *prefix);

/* Returns the symbol that contains `address`, or the nearest symbol before it if its size is
 * unknown, or NULL. */
const struct object_symbol *object_symbol_around(const struct object *object, uint64_t address);

/* Returns the symbol with this name, or NULL. */
const struct object_symbol *object_symbol_named(const struct object *object, const char *name);

/* Returns the relocation at `address`, or NULL. */
const struct object_relocation *object_relocation_at(const struct object *object, uint64_t address);

/* Returns the index of the first record whose site is at or after `address`, or records_count. */
size_t object_record_from(const struct object *object, uint64_t address);

static inline uint64_t object_little(const uint8_t *bytes, size_t size) {
    uint64_t value = 0;
    while (size--)
        value = value << 8 | bytes[size];
    return value;
}

/* Returns `base` plus the 32-bit offset at `bytes`. */
static inline uint64_t object_relative(const uint8_t *bytes, uint64_t base) {
    return base + (uint64_t)(int64_t)(int32_t)(uint32_t)object_little(bytes, 4);
}

#endif
