/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xstate/prof_symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias; /* libdwfl's addresses minus the file's addresses */
};

static Dwfl_Module *report_module(Dwfl *dwfl, const char *path, int file) {
    int own = dup(file); /* libdwfl closes this descriptor if it can use the file */
    Dwfl_Module *module = own < 0 ? NULL : dwfl_report_offline(dwfl, path, path, own);
    if (!module && own >= 0)
        close(own);
    return dwfl_report_end(dwfl, NULL, NULL) == 0 ? module : NULL;
}

struct symbols *symbols_open(const char *path, int file) {
    static char *debug_path; /* NULL: the default of elfutils */
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return NULL;
    symbols->dwfl = dwfl_begin(&callbacks);
    symbols->module = symbols->dwfl ? report_module(symbols->dwfl, path, file) : NULL;
    symbols->elf = symbols->module ? dwfl_module_getelf(symbols->module, &symbols->bias) : NULL;
    if (symbols->elf)
        return symbols;
    symbols_close(symbols);
    return NULL;
}

void symbols_close(struct symbols *symbols) {
    if (symbols && symbols->dwfl)
        dwfl_end(symbols->dwfl);
    free(symbols);
}

/* --- Places --- */

static bool find_header(const struct symbols *symbols, size_t i, uint32_t type, GElf_Phdr *header) {
    return gelf_getphdr(symbols->elf, (int)i, header) && header->p_type == type;
}

static bool find_address(const struct symbols *symbols, uint64_t offset, uint64_t *address) {
    size_t count;
    GElf_Phdr header;
    if (elf_getphdrnum(symbols->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (find_header(symbols, i, PT_LOAD, &header) && header.p_flags & PF_X &&
            offset - header.p_offset < header.p_filesz) {
            *address = header.p_vaddr + (offset - header.p_offset);
            return true;
        }
    }
    return false;
}

/* --- Functions without symbols, by the index of .eh_frame (LSB core, 10.6.2) --- */

#define INDEX_HEAD     12
#define INDEX_ROW      8
#define INDEX_ENCODING 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4, which all linkers write */
#define COUNT_ENCODING 0x03 /* DW_EH_PE_udata4 */

struct eh_index {
    const uint8_t *rows;
    size_t count;
    uint64_t address; /* the address of .eh_frame_hdr, to which rows are relative */
};

static bool find_index(const struct symbols *symbols, struct eh_index *index) {
    size_t count, size;
    GElf_Phdr header;
    uint32_t rows;
    const uint8_t *file = (const uint8_t *)elf_rawfile(symbols->elf, &size);
    if (!file || elf_getphdrnum(symbols->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!find_header(symbols, i, PT_GNU_EH_FRAME, &header) || header.p_filesz < INDEX_HEAD ||
            header.p_offset > size || size - header.p_offset < header.p_filesz)
            continue;
        const uint8_t *head = file + header.p_offset;
        memcpy(&rows, head + 8, sizeof rows);
        if (head[0] != 1 || head[2] != COUNT_ENCODING || head[3] != INDEX_ENCODING ||
            rows > (header.p_filesz - INDEX_HEAD) / INDEX_ROW)
            return false;
        *index = (struct eh_index){head + INDEX_HEAD, rows, header.p_vaddr};
        return true;
    }
    return false;
}

static uint64_t row_start(const struct eh_index *index, size_t row) {
    int32_t distance;
    memcpy(&distance, index->rows + row * INDEX_ROW, sizeof distance);
    return index->address + (uint64_t)(int64_t)distance;
}

/* Returns the last start of a function at or before the address, by the index; the address itself
 * if the index has none. */
static uint64_t find_start(const struct symbols *symbols, uint64_t address) {
    struct eh_index index;
    if (!find_index(symbols, &index) || !index.count || address < row_start(&index, 0))
        return address;
    size_t low = 0, high = index.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (row_start(&index, middle) <= address)
            low = middle;
        else
            high = middle;
    }
    return row_start(&index, low);
}

bool symbols_find(const struct symbols *symbols, uint64_t offset,
                  struct symbols_function *function) {
    GElf_Off distance;
    GElf_Sym symbol;
    uint64_t address;
    if (!find_address(symbols, offset, &address))
        return false;
    function->name = dwfl_module_addrinfo(symbols->module, address + symbols->bias, &distance,
                                          &symbol, NULL, NULL, NULL);
    function->address = function->name ? address - distance : find_start(symbols, address);
    return true;
}
