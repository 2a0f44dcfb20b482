/* SPDX-License-Identifier: MIT */
/* Finds symbols, relocations and records of an object in tables that are sorted by address. */
#include <stdlib.h>
#include <string.h>

#include "sites/object.h"

static bool sorts_before(const struct object_symbol *symbol, uint64_t address, const char *name) {
    return symbol->address < address ||
           (symbol->address == address && strcmp(symbol->name, name) < 0);
}

/* Returns the index of the first symbol that does not sort before `address` and `name`. */
static size_t symbol_from(const struct object *object, uint64_t address, const char *name) {
    size_t low = 0;
    for (size_t high = object->symbols_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (sorts_before(&object->symbols[middle], address, name))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct object_symbol *object_symbol_at(const struct object *object, uint64_t address,
                                             const char *prefix) {
    size_t i = symbol_from(object, address, prefix);
    if (i < object->symbols_count && object->symbols[i].address == address &&
        strncmp(object->symbols[i].name, prefix, strlen(prefix)) == 0)
        return &object->symbols[i];
    return NULL;
}

/* The most symbols before an address to examine: functions may have aliases, and labels inside. */
#define SYMBOLS_BACK 16

const struct object_symbol *object_symbol_around(const struct object *object, uint64_t address) {
    size_t end = symbol_from(object, address + 1, "");
    for (size_t i = end; i > 0 && end - i < SYMBOLS_BACK; i--) {
        const struct object_symbol *symbol = &object->symbols[i - 1];
        if (address - symbol->address < symbol->size || (i == end && !symbol->size))
            return symbol;
    }
    return NULL;
}

const struct object_symbol *object_symbol_named(const struct object *object, const char *name) {
    for (size_t i = 0; i < object->symbols_count; i++)
        if (strcmp(object->symbols[i].name, name) == 0)
            return &object->symbols[i];
    return NULL;
}

static int compare_place(const void *address, const void *relocation) {
    uint64_t wanted = *(const uint64_t *)address;
    uint64_t at = ((const struct object_relocation *)relocation)->at;
    return (wanted > at) - (wanted < at);
}

const struct object_relocation *object_relocation_at(const struct object *object,
                                                     uint64_t address) {
    if (!object->relocations_count)
        return NULL;
    return bsearch(&address, object->relocations, object->relocations_count,
                   sizeof *object->relocations, compare_place);
}

size_t object_record_from(const struct object *object, uint64_t address) {
    size_t low = 0;
    for (size_t high = object->records_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (object->records[middle].site < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
