/* SPDX-License-Identifier: MIT */
/*
 * Mutates ELF files with patchable sites, and makes files to start from. The text of these files
 * has a few slots, each with a site, its stub and its instructions.
 *
 * The address of each loaded byte, minus its offset in the file, is the same number: distances
 * between addresses equal distances in the file.
 */
#include <elf.h>
#include <string.h>

#include <carry/patch.h>

#include "mutate.h"

#define BASE 0x400000

#define SLOTS        8
#define SLOT_BYTES   64
#define STUB         16 /* offset in a slot */
#define INSTRUCTIONS 40
#define KEYS         4
#define KEY_BYTES    8
#define RECORD_BYTES 16
#define RECORDS_MAX  96
#define LOADS        3

enum { TEXT = 1, SITES, DATA, RELOCATIONS, SYMBOLS, STRINGS, NAMES, SECTIONS };

static const char strings[] = "\0carry_op_route\0carry_key_tracing\0forward\0carry_patch_applied\0"
                              "carry_patch_refusal";

static const char names[] = "\0.text\0carry_sites\0.data\0.rela.dyn\0.dynsym\0.dynstr\0.shstrtab";

static const struct {
    uint32_t name, type, flags, link, entry, room;
} sections[SECTIONS] = {
    [TEXT] = {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, SLOTS *SLOT_BYTES},
    [SITES] = {7, SHT_PROGBITS, SHF_ALLOC, 0, 0, RECORDS_MAX *RECORD_BYTES},
    [DATA] = {19, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 0, KEYS *KEY_BYTES},
    [RELOCATIONS] = {25, SHT_RELA, SHF_ALLOC, SYMBOLS, sizeof(Elf64_Rela),
                     KEYS * sizeof(Elf64_Rela)},
    [SYMBOLS] = {35, SHT_DYNSYM, 0, STRINGS, sizeof(Elf64_Sym),
                 (1 + SLOTS + KEYS) * sizeof(Elf64_Sym)},
    [STRINGS] = {43, SHT_STRTAB, 0, 0, 0, sizeof strings},
    [NAMES] = {51, SHT_STRTAB, 0, 0, 0, sizeof names},
};

/* A file under construction. */
struct object {
    struct edit file;
    bool is_aarch64;
    size_t at[SECTIONS], end[SECTIONS];
};

static void put_at(struct object *object, size_t at, const void *bytes, size_t size) {
    memcpy(object->file.bytes + at, bytes, size);
}

static size_t any_below(struct object *object, size_t limit) {
    return edit_random(&object->file, limit);
}

/* Writes at `at` the distance from `from` to `to`. */
static void put_distance(struct object *object, size_t at, size_t from, size_t to) {
    edit_put(&object->file, at, 4, true, (uint32_t)(to - from));
}

static size_t slot_at(const struct object *object, size_t number) {
    return object->at[TEXT] + number % SLOTS * SLOT_BYTES;
}

static size_t key_at(const struct object *object, size_t number) {
    return object->at[DATA] + number % KEYS * KEY_BYTES;
}

/* --- Sites, each in a valid state --- */

/* Each row is a size, and instructions of that size. Some instructions are relative to their own
   address. */
static const uint8_t instructions[][7] = {
    {0},
    {1, 0x90},
    {4, 0x48, 0x8d, 0x47, 1},
    {4, 0x57, 0x58, 0xeb, 0xfe},
    {5, 0xe8, 0, 0, 0, 0},
    {6, 0x8b, 0x05, 0, 0, 0, 0},
};

static const uint8_t *any_instruction(struct object *object) {
    return instructions[any_below(object, sizeof instructions / sizeof *instructions)];
}

static void make_call(struct object *object, size_t site, size_t at_key) {
    static const uint8_t inlined[] = {0x2e, 0x2e, 0x48, 0x8d, 0x47, 1};
    const bool jumps = any_below(object, 2), direct = any_below(object, 2);
    const uint8_t starts[2][2] = {{0xff, jumps ? 0x25 : 0x15}, {0x2e, jumps ? 0xe9 : 0xe8}};
    put_at(object, site, starts[direct], sizeof *starts);
    put_distance(object, site + 2, site + 6,
                 direct ? slot_at(object, any_below(object, SLOTS)) : at_key);
    if (!any_below(object, 4))
        put_at(object, site, inlined, sizeof inlined);
}

static void make_jump(struct object *object, size_t site, size_t target) {
    put_at(object, site, (uint8_t[]){0xe9}, 1);
    put_distance(object, site + 1, site + 5, target);
}

static void make_branch(struct object *object, size_t site, size_t at_key) {
    static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};
    static const uint8_t stub[] = {0x80, 0x3d, 0, 0, 0, 0, 0, 0x0f, 0x84};
    const size_t at = site + STUB, target = slot_at(object, any_below(object, SLOTS));
    make_jump(object, site, any_below(object, 2) ? at : target);
    if (!any_below(object, 4))
        put_at(object, site, nop, sizeof nop);
    put_at(object, at, stub, sizeof stub);
    put_distance(object, at + 2, at + 7, at_key);
    put_distance(object, at + 9, at + 13, target);
    make_jump(object, at + 13, site + 5);
}

static void make_alternative(struct object *object, size_t site, size_t at_key) {
    const uint8_t *both[] = {any_instruction(object), any_instruction(object)};
    const uint8_t *now = both[any_below(object, 2)], sizes[] = {*both[0], *both[1]};
    const size_t at = site + INSTRUCTIONS + sizeof sizes;
    (void)at_key;
    put_at(object, site, now + 1, *now);
    put_at(object, site + INSTRUCTIONS, sizes, sizeof sizes);
    put_at(object, at, both[0] + 1, sizes[0]);
    put_at(object, at + sizes[0], both[1] + 1, sizes[1]);
}

static void make_body(struct object *object, size_t site, size_t at_key) {
    const uint8_t *body = any_instruction(object);
    (void)at_key;
    put_at(object, site + INSTRUCTIONS, body, 1 + *body);
}

static void make_entry(struct object *object, size_t site, size_t at_key) {
    static const uint8_t nops[2][5] = {{0x0f, 0x1f, 0x44, 0, 0}, {0x0f, 0x1f, 0x44, 0, 8}};
    const size_t state = any_below(object, 4);
    (void)at_key;
    if (state < 2)
        put_at(object, site, nops[state], sizeof *nops);
    else if (state == 2)
        make_jump(object, site, site + STUB);
}

/* --- Sites on AArch64 --- */

static void put_words(struct object *object, size_t at, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        edit_put(&object->file, at + 4 * i, 4, true, words[i]);
}

static uint32_t branch_word(uint32_t opcode, size_t from, size_t to) {
    return opcode | ((uint32_t)(to - from) / 4 & 0x3ffffff);
}

/* Returns an instruction: nop; add x0, x0, 1; adr x0, .; b to itself; or 0. */
static uint32_t any_word(struct object *object) {
    static const uint32_t words[] = {0xd503201f, 0x91000400, 0x10000000, 0x14000000, 0};
    return words[any_below(object, sizeof words / sizeof *words)];
}

/* Makes a site. The file fits in one page, so the offset of a key within the page is its place in
   the file. */
static void make_site_aarch64(struct object *object, size_t site, size_t at_key, bool tests) {
    const size_t at = site + STUB, away = slot_at(object, any_below(object, SLOTS));
    const uint32_t add = 0x91000210 | (uint32_t)at_key << 10;
    const uint32_t test = any_below(object, 2) ? 0xb4000050 : 0xb5000050;
    const uint32_t stub[] = {0x90000010,
                             add,
                             0xc8dffe10,
                             tests ? test : 0xd61f0200,
                             branch_word(0x14000000, at + 16, away),
                             branch_word(0x14000000, at + 20, site + 4)};
    const uint32_t opcode = tests || any_below(object, 2) ? 0x14000000 : 0x94000000;
    const uint32_t now = any_below(object, 4)
                             ? branch_word(opcode, site, any_below(object, 2) ? at : away)
                             : any_word(object);
    put_words(object, site, &now, 1);
    put_words(object, at, stub, sizeof stub / sizeof *stub);
}

static void make_call_aarch64(struct object *object, size_t site, size_t at_key) {
    make_site_aarch64(object, site, at_key, false);
}

static void make_branch_aarch64(struct object *object, size_t site, size_t at_key) {
    make_site_aarch64(object, site, at_key, true);
}

static void make_alternative_aarch64(struct object *object, size_t site, size_t at_key) {
    const uint8_t sizes[] = {4, (uint8_t)(any_below(object, 2) ? 4 : 0)};
    const uint32_t words[] = {any_word(object), any_word(object)};
    (void)at_key;
    put_words(object, site, &words[any_below(object, 2)], 1);
    put_at(object, site + INSTRUCTIONS, sizes, sizeof sizes);
    put_words(object, site + INSTRUCTIONS + 4, words, 2);
}

static void make_body_aarch64(struct object *object, size_t site, size_t at_key) {
    const uint8_t size = (uint8_t)(4 * any_below(object, 3));
    const uint32_t words[] = {any_word(object), any_word(object)};
    (void)at_key;
    put_at(object, site + INSTRUCTIONS, &size, 1);
    put_words(object, site + INSTRUCTIONS + 4, words, 2);
}

static const struct kind {
    void (*make)(struct object *object, size_t site, size_t at_key);
    uint8_t length, aux;
} kinds[2][1 + CARRY_SITE_ENTRY] = {
    {
        [CARRY_SITE_CALL] = {make_call, 6, 0},
        [CARRY_SITE_JUMP] = {make_call, 6, 0},
        [CARRY_SITE_BRANCH] = {make_branch, 5, STUB},
        [CARRY_SITE_ALTERNATIVE] = {make_alternative, 6, INSTRUCTIONS},
        [CARRY_SITE_BODY] = {make_body, 0, INSTRUCTIONS},
        [CARRY_SITE_ENTRY] = {make_entry, 5, STUB},
    },
    {
        [CARRY_SITE_CALL] = {make_call_aarch64, 4, STUB},
        [CARRY_SITE_JUMP] = {make_call_aarch64, 4, STUB},
        [CARRY_SITE_BRANCH] = {make_branch_aarch64, 4, STUB},
        [CARRY_SITE_ALTERNATIVE] = {make_alternative_aarch64, 4, INSTRUCTIONS},
        [CARRY_SITE_BODY] = {make_body_aarch64, 0, INSTRUCTIONS},
        [CARRY_SITE_ENTRY] = {make_entry, 5, STUB},
    },
};

static size_t any_kind(struct object *object) {
    return CARRY_SITE_CALL + any_below(object, CARRY_SITE_ENTRY);
}

/* --- The sections --- */

static void make_record(struct object *object, size_t at, size_t number, size_t kind) {
    const struct kind *row = &kinds[object->is_aarch64][kind];
    const size_t site = slot_at(object, number);
    const size_t at_key = kind == CARRY_SITE_BODY ? site : key_at(object, number);
    const uint8_t fixed[] = {(uint8_t)kind, row->length, (uint8_t)any_below(object, 16),
                             CARRY_SITE_VERSION};
    row->make(object, site, key_at(object, number));
    put_distance(object, at, at, site);
    put_distance(object, at + 4, at + 4, at_key);
    put_distance(object, at + 8, at + 8, site + row->aux);
    put_at(object, at + 12, fixed, sizeof fixed);
}

/* Makes one record for each of some slots; or a record for each slot, and then many records of
   bodies in the last slot. */
static void make_records(struct object *object) {
    const size_t count = any_below(object, 8) ? any_below(object, SLOTS + 1) : RECORDS_MAX;
    for (size_t i = 0; i < count; i++)
        make_record(object, object->at[SITES] + i * RECORD_BYTES, i < SLOTS ? i : SLOTS - 1,
                    i < SLOTS ? any_kind(object) : CARRY_SITE_BODY);
    object->end[SITES] = object->at[SITES] + count * RECORD_BYTES;
}

/* Makes the keys: each holds the address of a slot, except the last, which holds the name of a
   feature. */
static void make_keys(struct object *object) {
    for (size_t i = 0; i < KEYS; i++) {
        const uint64_t value = BASE + slot_at(object, any_below(object, SLOTS));
        edit_put(&object->file, key_at(object, i), 4, true, (uint32_t)value);
    }
    put_at(object, key_at(object, KEYS - 1), "avx2", 5);
}

static void make_relocations(struct object *object) {
    static const uint32_t types[2][3] = {
        {R_X86_64_RELATIVE, R_X86_64_64, R_X86_64_GLOB_DAT},
        {R_AARCH64_RELATIVE, R_AARCH64_ABS64, R_AARCH64_GLOB_DAT},
    };
    size_t at = object->at[RELOCATIONS];
    for (size_t i = any_below(object, KEYS); i-- > 0; at += sizeof(Elf64_Rela)) {
        const Elf64_Rela relocation = {
            .r_offset = BASE + key_at(object, i),
            .r_info = ELF64_R_INFO(any_below(object, SLOTS),
                                   types[object->is_aarch64][any_below(object, 3)]),
            .r_addend = (Elf64_Sxword)(BASE + slot_at(object, i)),
        };
        put_at(object, at, &relocation, sizeof relocation);
    }
    object->end[RELOCATIONS] = at;
}

static void make_symbols(struct object *object) {
    static const uint32_t starts[] = {1, 16, 34, 42, 62};
    size_t at = object->at[SYMBOLS] + sizeof(Elf64_Sym);
    for (size_t i = 0; i < SLOTS + KEYS; i++, at += sizeof(Elf64_Sym)) {
        const Elf64_Sym symbol = {
            .st_name = starts[any_below(object, sizeof starts / sizeof *starts)],
            .st_info = i < SLOTS ? STT_FUNC : STT_OBJECT,
            .st_shndx = any_below(object, 4) ? TEXT : SHN_UNDEF,
            .st_value = BASE + (i < SLOTS ? slot_at(object, i) : key_at(object, i)),
            .st_size = any_below(object, 2 * SLOT_BYTES),
        };
        put_at(object, at, &symbol, sizeof symbol);
    }
    object->end[SYMBOLS] = at;
}

static void make_section_headers(struct object *object, size_t table) {
    for (size_t i = 1; i < SECTIONS; i++) {
        const Elf64_Shdr header = {
            .sh_name = sections[i].name,
            .sh_type = sections[i].type,
            .sh_flags = sections[i].flags,
            .sh_addr = sections[i].flags & SHF_ALLOC ? BASE + object->at[i] : 0,
            .sh_offset = object->at[i],
            .sh_size = object->end[i] - object->at[i],
            .sh_link = sections[i].link,
            .sh_addralign = 1,
            .sh_entsize = sections[i].entry,
        };
        put_at(object, table + i * sizeof header, &header, sizeof header);
    }
}

/* Makes the program headers: an executable and a writable segment, and an empty one between
   them. */
static void make_loads(struct object *object) {
    const Elf64_Phdr headers[] = {
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_X,
         .p_vaddr = BASE,
         .p_filesz = object->at[DATA],
         .p_memsz = object->at[DATA]},
        {.p_type = any_below(object, 2) ? PT_LOAD : PT_NOTE, .p_vaddr = BASE + object->at[DATA]},
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_W,
         .p_offset = object->at[DATA],
         .p_vaddr = BASE + object->at[DATA],
         .p_filesz = sections[DATA].room,
         .p_memsz = sections[DATA].room + any_below(object, KEY_BYTES)},
    };
    put_at(object, sizeof(Elf64_Ehdr), headers, sizeof headers);
}

static void make_header(struct object *object, size_t table) {
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = any_below(object, 2) ? ET_DYN : ET_EXEC,
        .e_machine = object->is_aarch64 ? EM_AARCH64 : EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_shoff = table,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = LOADS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = NAMES,
    };
    put_at(object, 0, &header, sizeof header);
}

/* Assigns places to the sections; returns the place after them. */
static size_t place_sections(struct object *object) {
    size_t at = sizeof(Elf64_Ehdr) + LOADS * sizeof(Elf64_Phdr);
    for (size_t i = 1; i < SECTIONS; i++) {
        object->at[i] = at;
        object->end[i] = at += sections[i].room;
    }
    return at;
}

static void start_object(struct edit *edit) {
    static uint8_t bytes[4096];
    struct object object = {
        .file = {.bytes = bytes, .size = sizeof bytes, .random = edit_random(edit, SIZE_MAX)}};
    const size_t table = place_sections(&object);
    object.is_aarch64 = any_below(&object, 2);
    memset(bytes, 0, sizeof bytes);
    memset(bytes + object.at[TEXT], 0x90, sections[TEXT].room);
    make_keys(&object);
    make_records(&object);
    make_relocations(&object);
    make_symbols(&object);
    put_at(&object, object.at[STRINGS], strings, sizeof strings);
    put_at(&object, object.at[NAMES], names, sizeof names);
    make_section_headers(&object, table);
    make_loads(&object);
    make_header(&object, table);
    edit_replace(edit, 0, edit->size, bytes, table + SECTIONS * sizeof(Elf64_Shdr));
}

/* --- Changes --- */

/* Reads 4 bytes. Of an 8-byte number in a header, these are the lower bytes, which suffice. */
static uint32_t get_word(const struct edit *edit, size_t at) {
    return edit_get(edit, at, 4, true);
}

static void change_object_header(struct edit *edit) {
    const size_t at = 2 * edit_random(edit, sizeof(Elf64_Ehdr) / 2);
    edit_number(edit, at, edit_random(edit, 2) ? 2 : 4, true, (uint32_t)edit->size);
}

static void change_load(struct edit *edit) {
    const size_t table = get_word(edit, offsetof(Elf64_Ehdr, e_phoff));
    const size_t count = edit_get(edit, offsetof(Elf64_Ehdr, e_phnum), 2, true);
    const size_t at = table + edit_random(edit, count) * sizeof(Elf64_Phdr);
    edit_number(edit, at + 4 * edit_random(edit, sizeof(Elf64_Phdr) / 4), 4, true,
                (uint32_t)edit->size - get_word(edit, at + offsetof(Elf64_Phdr, p_offset)));
}

static size_t any_section(struct edit *edit) {
    const size_t table = get_word(edit, offsetof(Elf64_Ehdr, e_shoff));
    const size_t count = edit_get(edit, offsetof(Elf64_Ehdr, e_shnum), 2, true);
    return table + edit_random(edit, count) * sizeof(Elf64_Shdr);
}

static void change_section(struct edit *edit) {
    const size_t at = any_section(edit);
    edit_number(edit, at + 4 * edit_random(edit, sizeof(Elf64_Shdr) / 4), 4, true,
                (uint32_t)edit->size - get_word(edit, at + offsetof(Elf64_Shdr, sh_offset)));
}

/* Returns a place in a section, at a multiple of `step`. */
static size_t any_section_place(struct edit *edit, size_t step) {
    const size_t at = any_section(edit);
    const size_t size = get_word(edit, at + offsetof(Elf64_Shdr, sh_size));
    return get_word(edit, at + offsetof(Elf64_Shdr, sh_offset)) +
           edit_random(edit, size / step) * step;
}

static void change_contents(struct edit *edit) {
    edit_number(edit, any_section_place(edit, 4), 4, true, (uint32_t)edit->size);
}

static void change_section_byte(struct edit *edit) {
    edit_put(edit, any_section_place(edit, 1), 1, true, (uint32_t)edit_random(edit, 256));
}

/* Writes the distance of a random place from the written number, as records contain it. */
static void put_random_distance(struct edit *edit) {
    const size_t at = any_section_place(edit, 4);
    edit_put(edit, at, 4, true, (uint32_t)(any_section_place(edit, 1) - at));
}

/* Writes the address of a random place, as symbols, relocations and keys contain it. */
static void put_address(struct edit *edit) {
    edit_put(edit, any_section_place(edit, 8), 4, true,
             (uint32_t)(BASE + any_section_place(edit, 1)));
}

/* Overwrites a record, a symbol or a relocation with another. */
static void repeat_entry(struct edit *edit) {
    const size_t size = edit_random(edit, 2) ? RECORD_BYTES : sizeof(Elf64_Sym);
    const size_t from = any_section_place(edit, 8), to = any_section_place(edit, 8);
    for (size_t i = 0; i < size; i += 4)
        edit_put(edit, to + i, 4, true, get_word(edit, from + i));
}

static void cut_object(struct edit *edit) {
    edit->size = edit_random(edit, edit->size + 1);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static edit_fn *const changes[] = {
        change_object_header, change_load, change_section, change_contents, change_section_byte,
        put_random_distance,  put_address, repeat_entry,   cut_object,
    };
    struct edit edit = {.bytes = data, .size = size, .max = max, .random = seed};
    if (size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0 || !edit_random(&edit, 32))
        start_object(&edit);
    edit_some(&edit, changes, sizeof changes / sizeof *changes);
    return edit.size;
}
