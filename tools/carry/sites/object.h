/* SPDX-License-Identifier: MIT */
/*
 * An ELF file for one of the machines that have sites: what it loads, its symbols, and the records
 * of its patchable sites. Nothing in a file is trusted. Addresses are those of the file plus
 * `bias`, where it stands in a process.
 */
#ifndef CARRY_TOOLS_SITES_OBJECT_H
#define CARRY_TOOLS_SITES_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of the file that is loaded. */
struct object_load {
    uint64_t address;
    uint64_t size;       /* in memory */
    uint64_t offset;     /* in the file */
    uint64_t file_bytes; /* what is behind these is zero */
    bool executable;
};

struct object_symbol {
    uint64_t address;
    uint64_t size; /* 0: unknown */
    const char *name;
};

/* What the loader writes: a value, or the address of another object's symbol. */
struct object_relocation {
    uint64_t at;
    uint64_t value;
    const char *import; /* or NULL */
};

/* A record of section carry_sites, with its offsets resolved. */
struct record {
    uint64_t at; /* where the record itself stands */
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
    struct object_symbol *symbols; /* by address */
    size_t symbols_count;
    struct object_relocation *relocations; /* by address */
    size_t relocations_count;
    struct record *records; /* by the site's address, sites before bodies */
    size_t records_count;
    uint64_t section; /* address of carry_sites; 0: there is none */
    uint64_t section_bytes;
    uint64_t headers_end; /* offset behind the program headers */
    bool is_guarded;      /* its pages demand landing pads: BTI of AArch64 */
    bool is_fixed; /* it stands where it was linked to, so that instructions may hold addresses */
    /* What the rest comes from. */
    int file;
    uint64_t size;
    struct Elf *elf;
    struct object *debug; /* whose symbols these are, or NULL */
};

#define OBJECT_PROBLEM_SIZE 192

/*
 * Opens what `file` holds, which it closes with the object. `path` stays the caller's. NULL with a
 * reason in `problem` if this is no ELF file that can have sites, or a damaged one. The symbols of
 * a stripped file are those of its debug file, if there is one: `path` and /usr/lib/debug are in
 * the folder `root` then ("" for none).
 */
struct object *object_open(int file, const char *root, const char *path,
                           char problem[OBJECT_PROBLEM_SIZE]);
void object_close(struct object *object);

/* Moves the object to where a process has it. */
void object_move(struct object *object, uint64_t bias);

/* The load that this address is in, or NULL. */
const struct object_load *object_load_of(const struct object *object, uint64_t address);

/* Reads what the file holds for `address`; false if that is not all within one load. */
bool object_read(const struct object *object, uint64_t address, void *buffer, size_t size);

/* The symbol that begins at `address` with a name that begins with `prefix`, or NULL. */
const struct object_symbol *object_symbol_at(const struct object *object, uint64_t address,
                                             const char *prefix);

/* The symbol that `address` is in, or NULL. */
const struct object_symbol *object_symbol_around(const struct object *object, uint64_t address);

/* The symbol with this name, or NULL. */
const struct object_symbol *object_symbol_named(const struct object *object, const char *name);

/* What the loader writes to `address`, or NULL. */
const struct object_relocation *object_relocation_at(const struct object *object, uint64_t address);

/* The index of the first record whose site is at `address` or behind; or records_count. */
size_t object_record_from(const struct object *object, uint64_t address);

static inline uint64_t object_little(const uint8_t *bytes, size_t size) {
    uint64_t value = 0;
    while (size--)
        value = value << 8 | bytes[size];
    return value;
}

/* What the 32-bit offset at `bytes` points to, counted from `base`. */
static inline uint64_t object_relative(const uint8_t *bytes, uint64_t base) {
    return base + (uint64_t)(int64_t)(int32_t)(uint32_t)object_little(bytes, 4);
}

#endif
