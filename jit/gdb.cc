/* SPDX-License-Identifier: MIT */
/*
 * Implements GDB's interface for text made at run time ("JIT Compilation Interface" in its manual):
 * a list of symbol files in memory, and a function at which GDB stops to read the list. Each of
 * these files describes one function: its name, its address, and how to find its caller.
 */
#include "listing.h"

#include <cstddef>
#include <cstring>
#include <unordered_map>

#include <elf.h>

#include "frame.h"

/* --- Names and layouts that GDB knows --- */

/* Makes this library use its own definition, even if other libraries define the same names. */
#define SEEN_BY_GDB __attribute__((visibility("protected")))

extern "C" {

struct jit_code_entry {
    jit_code_entry *next_entry, *prev_entry;
    const void *symfile_addr;
    uint64_t symfile_size;
};

enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_descriptor {
    uint32_t version, action_flag;
    jit_code_entry *relevant_entry, *first_entry;
};

SEEN_BY_GDB extern jit_descriptor __jit_debug_descriptor;
SEEN_BY_GDB jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};

SEEN_BY_GDB void __jit_debug_register_code();
SEEN_BY_GDB __attribute__((noinline)) void __jit_debug_register_code() {
    __asm__ volatile("" ::: "memory");
}

} // extern "C"

namespace carry::jit {
namespace {

/* --- A symbol file --- */

enum { NO_SECTION, TEXT, FRAME, SYMBOLS, STRINGS, SECTION_COUNT };

/* .eh_frame (LSB, "Exception Frames"), with absolute addresses. */
struct __attribute__((packed)) Frame {
    uint32_t cie_size = offsetof(Frame, fde_size) - offsetof(Frame, cie_id);
    uint32_t cie_id = 0;
    uint8_t version = 1;
    char augmentation = '\0';
    uint8_t code_alignment = frame_rules.code_alignment;
    uint8_t data_alignment = frame_rules.data_alignment;
    uint8_t return_register = frame_rules.return_register;
    uint8_t instructions[sizeof frame_rules.instructions];
    uint32_t fde_size = offsetof(Frame, end) - offsetof(Frame, distance_to_cie);
    uint32_t distance_to_cie = offsetof(Frame, distance_to_cie);
    uint64_t low, size;
    uint32_t end = 0;
};

struct Fixed {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTION_COUNT];
    Elf64_Sym symbols[2];
    Frame frame;
};

/* Adds a string with its terminator, and returns its offset. */
uint32_t add_string(std::string &strings, const std::string &string) {
    size_t at = strings.size();
    strings += string;
    strings += '\0';
    return static_cast<uint32_t>(at);
}

void fill_elf_header(Elf64_Ehdr &header) {
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = frame_rules.machine;
    header.e_version = EV_CURRENT;
    header.e_shoff = offsetof(Fixed, sections);
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = SECTION_COUNT;
    header.e_shstrndx = STRINGS;
}

void fill_sections(Elf64_Shdr *sections, std::string &strings, uint64_t text, uint64_t text_size) {
    sections[TEXT] = {add_string(strings, ".text"),
                      SHT_NOBITS,
                      SHF_ALLOC | SHF_EXECINSTR,
                      text,
                      0,
                      text_size,
                      0,
                      0,
                      1,
                      0};
    sections[FRAME] = {add_string(strings, ".eh_frame"),
                       SHT_PROGBITS,
                       SHF_ALLOC,
                       0,
                       offsetof(Fixed, frame),
                       sizeof(Frame),
                       0,
                       0,
                       1,
                       0};
    sections[SYMBOLS] = {add_string(strings, ".symtab"), SHT_SYMTAB, 0, 0, offsetof(Fixed, symbols),
                         2 * sizeof(Elf64_Sym),          STRINGS,    1, 8, sizeof(Elf64_Sym)};
    uint32_t own_name = add_string(strings, ".strtab");
    sections[STRINGS] = {own_name, SHT_STRTAB, 0, 0, sizeof(Fixed), strings.size(), 0, 0, 1, 0};
}

std::string make_symbol_file(const std::string &name, uint64_t text, uint64_t text_size) {
    Fixed fixed{};
    std::string strings(1, '\0');
    fill_elf_header(fixed.header);
    fixed.symbols[1] = {add_string(strings, name),
                        ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        STV_DEFAULT,
                        TEXT,
                        0,
                        text_size};
    fill_sections(fixed.sections, strings, text, text_size);
    memcpy(fixed.frame.instructions, frame_rules.instructions, sizeof frame_rules.instructions);
    fixed.frame.low = text;
    fixed.frame.size = text_size;
    return std::string(reinterpret_cast<const char *>(&fixed), sizeof fixed) + strings;
}

/* --- The list --- */

struct Listed {
    std::string file;
    jit_code_entry entry;
};

using Files = std::unordered_map<const struct carry_jit *, Listed>;

/* Returns the list of files. It is never destroyed: GDB may read it until the process has ended. */
Files &listed_files() {
    static Files &all = *new Files;
    return all;
}

void notify_gdb(uint32_t action, jit_code_entry &entry) {
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    __jit_debug_descriptor.relevant_entry = nullptr;
}

} // namespace

void gdb_list(const std::string &name, const struct carry_jit &jit) {
    std::string file = make_symbol_file(name, reinterpret_cast<uintptr_t>(jit.sum), jit.text_size);
    Listed &listed = listed_files()[&jit];
    listed.file = std::move(file);
    jit_code_entry &entry = listed.entry;
    jit_code_entry *&first = __jit_debug_descriptor.first_entry;
    entry = {first, nullptr, listed.file.data(), listed.file.size()};
    if (first)
        first->prev_entry = &entry;
    first = &entry;
    notify_gdb(JIT_REGISTER_FN, entry);
}

void gdb_unlist(const struct carry_jit &jit) noexcept {
    auto at = listed_files().find(&jit);
    if (at == listed_files().end())
        return;
    jit_code_entry &entry = at->second.entry;
    (entry.prev_entry ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
        entry.next_entry;
    if (entry.next_entry)
        entry.next_entry->prev_entry = entry.prev_entry;
    notify_gdb(JIT_UNREGISTER_FN, entry);
    listed_files().erase(at);
}

} // namespace carry::jit
