/* SPDX-License-Identifier: MIT */
/* Reads the imports of a loaded object. */
#include "hook/elf.h"

#include "base/hook_host.h"
#include "hook/stub.h"

/* --- Structures of 64-bit ELF --- */

struct segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t physical;
    uint64_t file_size;
    uint64_t size;
    uint64_t align;
};

enum { SEGMENT_LOAD = 1, SEGMENT_DYNAMIC = 2, SEGMENT_RELRO = 0x6474e552 };
enum { EXECUTABLE = 1, WRITABLE = 2, READABLE = 4 };

struct entry {
    uint64_t tag;
    uint64_t value;
};

enum {
    TAG_END = 0,
    TAG_PLT_SIZE = 2,
    TAG_STRINGS = 5,
    TAG_SYMBOLS = 6,
    TAG_RELOCATIONS = 7,
    TAG_RELOCATIONS_SIZE = 8,
    TAG_STRINGS_SIZE = 10,
    TAG_SYMBOLIC = 16,
    TAG_PLT_KIND = 20,
    TAG_PLT = 23,
    TAG_FLAGS = 30,
    TAG_NAMED_MAX = TAG_FLAGS,
    TAG_VERSIONS = 0x6ffffff0,
    TAG_NEEDED_VERSIONS = 0x6ffffffe,
};

#define FLAG_SYMBOLIC 2

struct relocation {
    uint64_t slot;
    uint32_t type;
    uint32_t symbol;
    int64_t addend;
};

struct symbol {
    uint32_t name;
    uint8_t info;
    uint8_t other;
    uint16_t section; /* 0: defined by another object */
    uint64_t value;
    uint64_t size;
};

enum { SYMBOL_FUNCTION = 2, SYMBOL_IFUNC = 10 };

/* A file whose versions are needed, and one of these versions. `first` and `next` are relative to
 * the structure. */
struct needed_file {
    uint16_t version;
    uint16_t count;
    uint32_t file;
    uint32_t first;
    uint32_t next;
};

struct needed_version {
    uint32_t hash;
    uint16_t flags;
    uint16_t index;
    uint32_t name;
    uint32_t next;
};

#define VERSION_HIDDEN 0x8000

/* --- Reading --- */

static struct segment segment_at(const struct carry_elf *elf, size_t index) {
    struct segment segment;
    __builtin_memcpy(&segment, (const void *)(elf->segments + index * sizeof segment),
                     sizeof segment);
    return segment;
}

/* Checks whether bytes lie in one segment that has all of `flags`. */
static bool is_in_segment(const struct carry_elf *elf, uintptr_t address, size_t size,
                          uint32_t flags) {
    for (size_t i = 0; i < elf->segment_count; i++) {
        struct segment segment = segment_at(elf, i);
        if (segment.type != SEGMENT_LOAD || (segment.flags & flags) != flags)
            continue;
        uint64_t offset = address - (elf->base + segment.address);
        if (offset < segment.size && size <= segment.size - offset)
            return true;
    }
    return false;
}

/* Copies a structure. Returns false if it is not in the object. */
static bool read_struct(const struct carry_elf *elf, uintptr_t address, void *to, size_t size) {
    if (!is_in_segment(elf, address, size, READABLE))
        return false;
    __builtin_memcpy(to, (const void *)address, size);
    return true;
}

/* Returns the string at an offset, or "". */
static const char *string_at(const struct carry_elf *elf, uint64_t offset) {
    return offset < elf->strings.size ? (const char *)elf->strings.address + offset : "";
}

/* Relocates an address that the dynamic section contains, unless the dynamic linker has done so
 * already. */
static uintptr_t relocate_address(const struct carry_elf *elf, uint64_t address) {
    return is_in_segment(elf, address, 1, READABLE) ? address : elf->base + address;
}

/* --- The dynamic section --- */

struct dynamic {
    uint64_t named[TAG_NAMED_MAX + 1];
    uint64_t versions;
    uint64_t needed_versions;
};

static void read_dynamic(const struct carry_elf *elf, uintptr_t address, struct dynamic *dynamic) {
    struct entry entry;
    for (; read_struct(elf, address, &entry, sizeof entry) && entry.tag != TAG_END;
         address += sizeof entry) {
        if (entry.tag <= TAG_NAMED_MAX)
            dynamic->named[entry.tag] = entry.tag == TAG_SYMBOLIC ? 1 : entry.value;
        else if (entry.tag == TAG_VERSIONS)
            dynamic->versions = entry.value;
        else if (entry.tag == TAG_NEEDED_VERSIONS)
            dynamic->needed_versions = entry.value;
    }
}

static struct carry_elf_table read_table(const struct carry_elf *elf, const struct dynamic *dynamic,
                                         size_t address, size_t size) {
    struct carry_elf_table table = {relocate_address(elf, dynamic->named[address]),
                                    dynamic->named[size]};
    if (!is_in_segment(elf, table.address, table.size, READABLE))
        table.size = 0;
    return table;
}

/* Checks that the last string ends with the table, so that all strings end within it. */
static bool ends_strings(const struct carry_elf_table *strings) {
    return strings->size && !((const char *)strings->address)[strings->size - 1];
}

static void use_dynamic(struct carry_elf *elf, const struct dynamic *dynamic) {
    const uint64_t *named = dynamic->named;
    if (named[TAG_PLT_KIND] == TAG_RELOCATIONS) /* the PLT's relocations have addends */
        elf->relocations[0] = read_table(elf, dynamic, TAG_PLT, TAG_PLT_SIZE);
    elf->relocations[1] = read_table(elf, dynamic, TAG_RELOCATIONS, TAG_RELOCATIONS_SIZE);
    elf->strings = read_table(elf, dynamic, TAG_STRINGS, TAG_STRINGS_SIZE);
    if (!ends_strings(&elf->strings))
        elf->strings.size = 0;
    elf->symbols = relocate_address(elf, named[TAG_SYMBOLS]);
    elf->versions = dynamic->versions ? relocate_address(elf, dynamic->versions) : 0;
    elf->needed_versions =
        dynamic->needed_versions ? relocate_address(elf, dynamic->needed_versions) : 0;
    elf->own_first = named[TAG_SYMBOLIC] || named[TAG_FLAGS] & FLAG_SYMBOLIC;
}

/* Returns the pages that RELRO protects: both ends of its area are rounded down. */
static struct carry_elf_table inner_pages(uintptr_t address, size_t size) {
    const uintptr_t inside = carry_host_hook()->page_bytes() - 1;
    uintptr_t low = address & ~inside;
    uintptr_t high = (address + size) & ~inside;
    return (struct carry_elf_table){low, high > low ? high - low : 0};
}

void carry_elf_open(struct carry_elf *elf, uintptr_t base, const void *segments, size_t count) {
    struct dynamic dynamic = {0};
    *elf =
        (struct carry_elf){.base = base, .segments = (uintptr_t)segments, .segment_count = count};
    for (size_t i = 0; i < count; i++) {
        struct segment segment = segment_at(elf, i);
        uintptr_t address = base + segment.address;
        if (segment.type == SEGMENT_DYNAMIC)
            read_dynamic(elf, address, &dynamic);
        else if (segment.type == SEGMENT_RELRO) /* may end past the segment that contains it */
            elf->constant = inner_pages(address, segment.size);
    }
    use_dynamic(elf, &dynamic);
}

/* --- Imports --- */

/* Version numbers have 16 bits: a longer list is a circle. */
#define VERSIONS_MAX 65536

/* Returns the name of the version with this number. */
static const char *version_name(const struct carry_elf *elf, uint16_t index) {
    struct needed_file file = {.next = 0};
    size_t seen = 0;
    for (uintptr_t at = elf->needed_versions; read_struct(elf, at, &file, sizeof file);
         at += file.next) {
        struct needed_version version;
        uintptr_t inner = at + file.first;
        for (; seen++ < VERSIONS_MAX && read_struct(elf, inner, &version, sizeof version);
             inner += version.next) {
            if (version.index == index)
                return string_at(elf, version.name);
            if (!version.next)
                break;
        }
        if (!file.next || seen >= VERSIONS_MAX)
            break;
    }
    return "";
}

static const char *symbol_version(const struct carry_elf *elf, uint32_t symbol) {
    uint16_t index;
    if (!elf->versions ||
        !read_struct(elf, elf->versions + symbol * sizeof index, &index, sizeof index))
        return "";
    return version_name(elf, index & (uint16_t)~VERSION_HIDDEN);
}

static bool is_constant(const struct carry_elf *elf, uintptr_t address) {
    return address - elf->constant.address < elf->constant.size;
}

/* Checks for a slot of the right kind. Slots of the PLT count only in the first table, because
 * binders use its indices; the second table may contain the first. */
static bool is_slot(const struct carry_elf *elf, const struct carry_elf_cursor *at,
                    const struct relocation *relocation, uintptr_t slot) {
    enum carry_slot_kind kind = carry_slot_kind(relocation->type);
    return kind == (at->table ? CARRY_SLOT_OTHER : CARRY_SLOT_PLT) && slot % sizeof slot == 0 &&
           is_in_segment(elf, slot, sizeof slot, READABLE | WRITABLE);
}

static bool is_function(const struct symbol *symbol) {
    unsigned type = symbol->info & 0xf;
    return type == SYMBOL_FUNCTION || type == SYMBOL_IFUNC;
}

/* Checks whether `value` may be a binder. Text that cannot be read may be one. */
static bool may_be_binder(const struct carry_elf *elf, uintptr_t value, size_t index) {
    return is_in_segment(elf, value, CARRY_BINDER_BYTES, EXECUTABLE) &&
           (!is_in_segment(elf, value, CARRY_BINDER_BYTES, EXECUTABLE | READABLE) ||
            carry_is_binder((const uint8_t *)value, index));
}

static bool read_import(const struct carry_elf *elf, const struct carry_elf_cursor *at,
                        struct carry_elf_import *import) {
    struct relocation relocation;
    struct symbol symbol;
    const uintptr_t place = elf->relocations[at->table].address + at->index * sizeof relocation;
    if (!read_struct(elf, place, &relocation, sizeof relocation) ||
        !is_slot(elf, at, &relocation, elf->base + relocation.slot) ||
        !read_struct(elf, elf->symbols + relocation.symbol * sizeof symbol, &symbol, sizeof symbol))
        return false;
    /* A slot outside the PLT may belong to a variable. */
    if (at->table && !is_function(&symbol))
        return false;
    import->slot = (uintptr_t *)(elf->base + relocation.slot);
    import->value = __atomic_load_n(import->slot, __ATOMIC_RELAXED);
    import->symbol = string_at(elf, symbol.name);
    import->version = symbol_version(elf, relocation.symbol);
    import->bound = at->table || !may_be_binder(elf, import->value, at->index);
    import->by_plt = !at->table;
    import->variant = carry_symbol_is_variant(symbol.other);
    import->constant = is_constant(elf, (uintptr_t)import->slot);
    return *import->symbol && import->value; /* 0: weak and undefined */
}

bool carry_elf_next(const struct carry_elf *elf, struct carry_elf_cursor *cursor,
                    struct carry_elf_import *import) {
    for (; cursor->table < 2; cursor->table++, cursor->index = 0) {
        size_t count = elf->relocations[cursor->table].size / sizeof(struct relocation);
        while (cursor->index < count) {
            bool found = read_import(elf, cursor, import);
            cursor->index++;
            if (found)
                return true;
        }
    }
    return false;
}
