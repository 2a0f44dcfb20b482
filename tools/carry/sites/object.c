/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files by libelf, which decodes tables in any byte order. This file bounds memory and
 * time: parts of a valid file do not overlap, so neither the sections nor the loads may be larger
 * in total than the file.
 */
#include "sites/object.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <carry/patch.h>

#include "sites/debug.h"
#include "sites/sites_machine.h"

#define SECTION      "carry_sites"
#define RECORD_BYTES 16
_Static_assert(sizeof(struct carry_site) == RECORD_BYTES, "a record");

/* Writes the problem. Returns false, so that a caller can return the result. */
__attribute__((format(printf, 2, 3))) static bool refuse(char *problem, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, OBJECT_PROBLEM_SIZE, format, arguments);
    va_end(arguments);
    return false;
}

static bool read_file(const struct object *object, uint64_t offset, void *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t part =
            pread(object->file, (uint8_t *)buffer + done, size - done, (off_t)(offset + done));
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

/* --- The header --- */

static bool header_fits(struct object *object, const Elf64_Ehdr *header, char *problem) {
    uint16_t type = (uint16_t)object_little((const uint8_t *)&header->e_type, 2);
    uint16_t machine = (uint16_t)object_little((const uint8_t *)&header->e_machine, 2);
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(problem, "not a 64-bit ELF file: class %u at offset 4",
                      header->e_ident[EI_CLASS]);
    if (header->e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(problem,
                      "not little-endian, as all files with sites: byte order %u at offset 5",
                      header->e_ident[EI_DATA]);
    if (object->size < sizeof *header)
        return refuse(problem, "truncated: it ends at offset %llu, within the ELF header",
                      (unsigned long long)object->size);
    object->machine = machine_of(machine);
    if (!object->machine)
        return refuse(problem, "neither for x86-64 nor for AArch64: machine %u at offset 18",
                      machine);
    if (type == ET_REL)
        return refuse(problem, "a relocatable object (type 1 at offset 16): link it first");
    if (type != ET_EXEC && type != ET_DYN)
        return refuse(problem, "neither an executable nor a shared object: type %u at offset 16",
                      type);
    uint64_t segments = object_little((const uint8_t *)&header->e_phoff, 8);
    uint64_t sections = object_little((const uint8_t *)&header->e_shoff, 8);
    if (segments >= object->size)
        return refuse(problem, "truncated: program headers at offset %llu are beyond the end",
                      (unsigned long long)segments);
    if (sections >= object->size)
        return refuse(problem, "truncated: section headers at offset %llu are beyond the end",
                      (unsigned long long)sections);
    return true;
}

static bool check_elf_header(struct object *object, char *problem) {
    Elf64_Ehdr header = {0};
    struct stat status;
    if (fstat(object->file, &status) || !S_ISREG(status.st_mode))
        return refuse(problem, "not a regular file");
    object->size = (uint64_t)status.st_size;
    size_t size = object->size < sizeof header ? (size_t)object->size : sizeof header;
    if (!read_file(object, 0, &header, size))
        return refuse(problem, "cannot be read");
    if (size < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(problem, "not an ELF file: no ELF header at offset 0");
    return header_fits(object, &header, problem);
}

/* --- Loads --- */

static bool within_file(const struct object *object, uint64_t offset, uint64_t size) {
    return offset <= object->size && size <= object->size - offset;
}

static bool add_load(struct object *object, const GElf_Phdr *segment, uint64_t *total,
                     char *problem) {
    unsigned long long offset = segment->p_offset;
    if (!within_file(object, offset, segment->p_filesz))
        return refuse(problem, "truncated: a segment at offset %llu goes beyond the end at %llu",
                      offset, (unsigned long long)object->size);
    if (segment->p_filesz > segment->p_memsz ||
        segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
        return refuse(problem, "damaged: the segment at offset %llu has an impossible size",
                      offset);
    const struct object_load *last = &object->loads[object->loads_count] - 1;
    if (object->loads_count && segment->p_vaddr < last->address + last->size)
        return refuse(problem, "damaged: the segment at offset %llu is not after the previous one",
                      offset);
    *total += segment->p_filesz;
    if (*total > object->size)
        return refuse(problem, "damaged: the segment at offset %llu overlaps others", offset);
    if (!segment->p_memsz)
        return true; /* another load may begin at the address of an empty one */
    object->loads[object->loads_count++] = (struct object_load){
        .address = segment->p_vaddr,
        .size = segment->p_memsz,
        .offset = segment->p_offset,
        .file_bytes = segment->p_filesz,
        .executable = segment->p_flags & PF_X,
    };
    return true;
}

static bool find_loads(struct object *object, char *problem) {
    size_t count;
    uint64_t total = 0;
    GElf_Ehdr header;
    if (!gelf_getehdr(object->elf, &header) || elf_getphdrnum(object->elf, &count))
        return refuse(problem, "damaged: %s", elf_errmsg(-1));
    object->is_fixed = header.e_type == ET_EXEC;
    unsigned long long table = header.e_phoff;
    if (!within_file(object, table, (uint64_t)count * sizeof(Elf64_Phdr)))
        return refuse(problem, "truncated: %zu program headers at offset %llu go beyond the end",
                      count, table);
    object->headers_end = table + count * sizeof(Elf64_Phdr);
    object->loads = calloc(count + 1, sizeof *object->loads);
    for (size_t i = 0; object->loads && i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(object->elf, (int)i, &segment))
            return refuse(problem, "damaged: the program headers at offset %llu: %s", table,
                          elf_errmsg(-1));
        if (segment.p_type == PT_LOAD && !add_load(object, &segment, &total, problem))
            return false;
    }
    if (!object->loads)
        return refuse(problem, "out of memory");
    return object->loads_count ||
           refuse(problem, "damaged: the program headers at offset %llu load nothing", table);
}

/* --- Symbols --- */

/* The longest name of a symbol: names of templates are long. */
#define NAME_MAX_BYTES 4096

static int by_address(const void *a, const void *b) {
    const struct object_symbol *symbol_a = a, *symbol_b = b;
    if (symbol_a->address != symbol_b->address)
        return symbol_a->address < symbol_b->address ? -1 : 1;
    return strcmp(symbol_a->name, symbol_b->name);
}

/* Returns whether a name is a mapping symbol: $x marks instructions, $d data (ABI for the Arm
 * 64-bit Architecture, "Mapping symbols"). */
static bool is_mark(const struct object *object, const char *name) {
    return object->machine->has_marks && name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (!name[2] || name[2] == '.');
}

static bool is_useful(const struct object *object, const GElf_Sym *symbol, const char *name) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool typed =
        type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC;
    return typed && symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && name && *name &&
           !is_mark(object, name) && strnlen(name, NAME_MAX_BYTES) < NAME_MAX_BYTES;
}

static bool read_symbols(struct object *object, Elf_Scn *section, const GElf_Shdr *header,
                         char *problem) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data ? data->d_size / sizeof(Elf64_Sym) : 0;
    object->symbols = calloc(count + 1, sizeof *object->symbols);
    if (!object->symbols)
        return refuse(problem, "out of memory");
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        const char *name = elf_strptr(object->elf, header->sh_link, symbol.st_name);
        if (is_useful(object, &symbol, name))
            object->symbols[object->symbols_count++] =
                (struct object_symbol){symbol.st_value, symbol.st_size, name};
    }
    if (object->symbols_count)
        qsort(object->symbols, object->symbols_count, sizeof *object->symbols, by_address);
    return true;
}

/* --- Relocations --- */

static int by_place(const void *a, const void *b) {
    const struct object_relocation *relocation_a = a, *relocation_b = b;
    return (relocation_a->at > relocation_b->at) - (relocation_a->at < relocation_b->at);
}

static struct object_relocation resolve_relocation(struct object *object, const GElf_Rela *rela,
                                                   Elf_Data *symbols, size_t strings) {
    struct object_relocation relocation = {rela->r_offset, (uint64_t)rela->r_addend, NULL};
    GElf_Sym symbol;
    if (GELF_R_TYPE(rela->r_info) == object->machine->relative)
        return relocation;
    relocation.import = "another object's function";
    if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &symbol))
        return relocation;
    const char *name = elf_strptr(object->elf, strings, symbol.st_name);
    if (symbol.st_shndx == SHN_UNDEF)
        relocation.import = name && *name ? name : relocation.import;
    else if (GELF_R_TYPE(rela->r_info) == object->machine->absolute)
        relocation = (struct object_relocation){rela->r_offset,
                                                symbol.st_value + (uint64_t)rela->r_addend, NULL};
    return relocation;
}

static bool read_relocations(struct object *object, Elf_Scn *section, const GElf_Shdr *header,
                             char *problem) {
    Elf_Data *data = elf_getdata(section, NULL), *symbols = NULL;
    size_t count = data ? data->d_size / sizeof(Elf64_Rela) : 0, strings = 0;
    Elf_Scn *linked = elf_getscn(object->elf, header->sh_link);
    GElf_Shdr linked_header;
    if (linked && gelf_getshdr(linked, &linked_header) && linked_header.sh_type == SHT_DYNSYM) {
        symbols = elf_getdata(linked, NULL);
        strings = linked_header.sh_link;
    }
    struct object_relocation *grown =
        reallocarray(object->relocations, object->relocations_count + count + 1, sizeof *grown);
    if (!grown)
        return refuse(problem, "out of memory");
    object->relocations = grown;
    for (size_t i = 0; i < count; i++) {
        GElf_Rela rela;
        if (gelf_getrela(data, (int)i, &rela))
            grown[object->relocations_count++] =
                resolve_relocation(object, &rela, symbols, strings);
    }
    return true;
}

/* --- Records --- */

static int by_site(const void *a, const void *b) {
    const struct record *record_a = a, *record_b = b;
    if (record_a->site != record_b->site)
        return record_a->site < record_b->site ? -1 : 1;
    bool body_a = record_a->kind == CARRY_SITE_BODY, body_b = record_b->kind == CARRY_SITE_BODY;
    if (body_a != body_b)
        return body_a - body_b;
    return (record_a->at > record_b->at) - (record_a->at < record_b->at);
}

static bool read_records(struct object *object, Elf_Scn *section, const GElf_Shdr *header,
                         char *problem) {
    if (object->section)
        return refuse(problem, "damaged: a second section " SECTION " at offset %llu",
                      (unsigned long long)header->sh_offset);
    Elf_Data *data = header->sh_type == SHT_PROGBITS ? elf_rawdata(section, NULL) : NULL;
    if (!data || !header->sh_addr)
        return refuse(problem, "damaged: section " SECTION " at offset %llu is not loaded",
                      (unsigned long long)header->sh_offset);
    object->section = header->sh_addr;
    object->section_bytes = data->d_size;
    object->records = calloc(data->d_size / RECORD_BYTES + 1, sizeof *object->records);
    if (!object->records)
        return refuse(problem, "out of memory");
    const uint8_t *bytes = data->d_buf;
    for (; object->records_count < data->d_size / RECORD_BYTES; bytes += RECORD_BYTES) {
        uint64_t at = header->sh_addr + object->records_count * RECORD_BYTES;
        object->records[object->records_count++] = (struct record){
            .at = at,
            .site = object_relative(bytes, at),
            .key = object_relative(bytes + 4, at + 4),
            .aux = object_relative(bytes + 8, at + 8),
            .kind = bytes[12],
            .length = bytes[13],
            .flags = bytes[14],
            .version = bytes[15],
        };
    }
    if (object->records_count)
        qsort(object->records, object->records_count, sizeof *object->records, by_site);
    return true;
}

/* --- Properties --- */

#define PROPERTY_BYTES 8 /* the type and the size; data is padded to a multiple */

/* Returns whether a note NT_GNU_PROPERTY_TYPE_0, a list of properties, demands landing pads (ABI
 * for the Arm 64-bit Architecture, "ELF"). */
static bool properties_demand_landing(const uint8_t *bytes, size_t size) {
    for (size_t at = 0; size - at >= PROPERTY_BYTES;) {
        const uint64_t type = object_little(bytes + at, 4);
        const uint64_t length = object_little(bytes + at + 4, 4);
        at += PROPERTY_BYTES;
        if (length > size - at)
            return false;
        if (type == GNU_PROPERTY_AARCH64_FEATURE_1_AND && length >= 4)
            return object_little(bytes + at, 4) & GNU_PROPERTY_AARCH64_FEATURE_1_BTI;
        const uint64_t step = (length + PROPERTY_BYTES - 1) / PROPERTY_BYTES * PROPERTY_BYTES;
        if (step > size - at)
            return false;
        at += (size_t)step;
    }
    return false;
}

static void read_properties(struct object *object, Elf_Scn *section) {
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Nhdr note;
    size_t name, properties;
    for (size_t at = 0, next;
         data && (next = gelf_getnote(data, at, &note, &name, &properties)) > 0; at = next) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type == NT_GNU_PROPERTY_TYPE_0 && note.n_namesz == sizeof "GNU" &&
            memcmp(bytes + name, "GNU", sizeof "GNU") == 0)
            object->is_guarded = properties_demand_landing(bytes + properties, note.n_descsz);
    }
}

/* --- Sections --- */

/*
 * Checks a table of names: its last byte is 0, so that each name ends within it (System V ABI,
 * chapter 4). Without that byte, libelf would search past the table. Compressed tables are refused:
 * libelf expands them, up to a thousandfold.
 */
static bool check_names(const struct object *object, const GElf_Shdr *header, char *problem) {
    unsigned long long offset = header->sh_offset;
    uint8_t last = 0;
    if (header->sh_flags & SHF_COMPRESSED)
        return refuse(problem, "damaged: the names at offset %llu are compressed", offset);
    if (header->sh_size && !read_file(object, offset + header->sh_size - 1, &last, 1))
        return refuse(problem, "cannot be read");
    return !last || refuse(problem, "damaged: the names at offset %llu do not end in 0", offset);
}

static bool check_section(const struct object *object, const GElf_Shdr *header, uint64_t *total,
                          char *problem) {
    unsigned long long offset = header->sh_offset;
    if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL)
        return true;
    if (!within_file(object, offset, header->sh_size))
        return refuse(problem, "truncated: a section at offset %llu goes beyond the end at %llu",
                      offset, (unsigned long long)object->size);
    *total += header->sh_size;
    if (*total > object->size)
        return refuse(problem, "damaged: the section at offset %llu overlaps others", offset);
    return header->sh_type != SHT_STRTAB || check_names(object, header, problem);
}

/* The table of all symbols, if there is one; otherwise the table of the dynamic linker. */
struct symbols_table {
    Elf_Scn *section;
    GElf_Shdr header;
};

static bool is_whole(const struct symbols_table *symbols) {
    return symbols->section && symbols->header.sh_type == SHT_SYMTAB;
}

static bool read_section(struct object *object, Elf_Scn *section, const GElf_Shdr *header,
                         size_t names, char *problem) {
    const char *name = elf_strptr(object->elf, names, header->sh_name);
    if (header->sh_type == SHT_RELA && header->sh_flags & SHF_ALLOC)
        return read_relocations(object, section, header, problem);
    if (name && strcmp(name, SECTION) == 0)
        return read_records(object, section, header, problem);
    if (name && strcmp(name, ".note.gnu.property") == 0 && header->sh_type == SHT_NOTE &&
        object->machine->lands)
        read_properties(object, section);
    return true;
}

/* Checks all sections before any is read. */
static bool check_sections(struct object *object, struct symbols_table *symbols, char *problem) {
    uint64_t total = 0;
    GElf_Shdr header;
    *symbols = (struct symbols_table){0};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
        if (!gelf_getshdr(section, &header))
            return refuse(problem, "damaged: %s", elf_errmsg(-1));
        if (!check_section(object, &header, &total, problem))
            return false;
        if (header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && !symbols->section))
            *symbols = (struct symbols_table){section, header};
    }
    return true;
}

static bool read_sections(struct object *object, char *problem) {
    size_t names = 0;
    GElf_Shdr header;
    elf_getshdrstrndx(object->elf, &names);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));)
        if (!gelf_getshdr(section, &header) ||
            !read_section(object, section, &header, names, problem))
            return false;
    if (object->relocations_count)
        qsort(object->relocations, object->relocations_count, sizeof *object->relocations,
              by_place);
    return true;
}

/* --- Beginning and end --- */

static struct object *allocate_object(int file, const char *path) {
    struct object *object = calloc(1, sizeof *object);
    if (!object) {
        close(file);
        return NULL;
    }
    object->file = file;
    object->path = path;
    return object;
}

void object_close(struct object *object) {
    if (object->debug)
        object_close(object->debug);
    elf_end(object->elf);
    close(object->file);
    free(object->loads);
    free(object->symbols);
    free(object->relocations);
    free(object->records);
    free(object);
}

static bool begin_object(struct object *object, char *problem) {
    elf_version(EV_CURRENT);
    if (!check_elf_header(object, problem))
        return false;
    object->elf = elf_begin(object->file, ELF_C_READ, NULL);
    return (object->elf && elf_kind(object->elf) == ELF_K_ELF) ||
           refuse(problem, "damaged: %s", elf_errmsg(-1));
}

static bool check_section_table(struct object *object, char *problem) {
    GElf_Ehdr header;
    size_t count;
    if (!gelf_getehdr(object->elf, &header) || elf_getshdrnum(object->elf, &count))
        return refuse(problem, "damaged: %s", elf_errmsg(-1));
    unsigned long long table = header.e_shoff;
    if (!table)
        return refuse(problem, "has no section headers, which give the address of records");
    if (!count || !within_file(object, table, (uint64_t)count * sizeof(Elf64_Shdr)))
        return refuse(problem, "truncated: %zu section headers at offset %llu go beyond the end",
                      count ? count : header.e_shnum, table);
    return true;
}

/* --- Debug files --- */

static void read_link(const struct object *object, struct debug_link *link) {
    size_t names = 0;
    GElf_Shdr header;
    *link = (struct debug_link){.build_id_size = 0};
    elf_getshdrstrndx(object->elf, &names);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(object->elf, names, header.sh_name) : NULL;
        if (name && header.sh_type != SHT_NOBITS)
            debug_link_read(link, section, name);
    }
}

/* Loads a debug file. Its program headers describe parts that it does not contain. */
static bool load_debug(struct object *debug, const struct debug_link *link, size_t place) {
    char problem[OBJECT_PROBLEM_SIZE];
    struct symbols_table symbols;
    struct debug_link own;
    if (!begin_object(debug, problem) || !check_section_table(debug, problem) ||
        !check_sections(debug, &symbols, problem) || !is_whole(&symbols))
        return false;
    read_link(debug, &own);
    return debug_link_matches(link, &own, debug->file, place) &&
           read_symbols(debug, symbols.section, &symbols.header, problem);
}

static struct object *open_debug(const char *path, const struct debug_link *link, size_t place) {
    int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct object *debug = file < 0 ? NULL : allocate_object(file, NULL);
    if (!debug || load_debug(debug, link, place))
        return debug;
    object_close(debug);
    return NULL;
}

static bool find_debug(struct object *object, const char *root) {
    struct debug_link link;
    read_link(object, &link);
    for (size_t place = 0; !object->debug && place < DEBUG_PLACES; place++) {
        char *path = debug_link_place(&link, root, object->path, place);
        object->debug = open_debug(path, &link, place);
        free(path);
    }
    if (!object->debug)
        return false;
    object->symbols = object->debug->symbols;
    object->symbols_count = object->debug->symbols_count;
    object->debug->symbols = NULL;
    return true;
}

/* --- Opening and closing --- */

static bool load_object(struct object *object, const char *root, char *problem) {
    struct symbols_table symbols;
    if (!begin_object(object, problem) || !find_loads(object, problem) ||
        !check_section_table(object, problem) || !check_sections(object, &symbols, problem) ||
        !read_sections(object, problem))
        return false;
    return (!is_whole(&symbols) && find_debug(object, root)) || !symbols.section ||
           read_symbols(object, symbols.section, &symbols.header, problem);
}

struct object *object_open(int file, const char *root, const char *path,
                           char problem[OBJECT_PROBLEM_SIZE]) {
    struct object *object = allocate_object(file, path);
    if (!object) {
        refuse(problem, "out of memory");
        return NULL;
    }
    if (load_object(object, root, problem))
        return object;
    object_close(object);
    return NULL;
}

void object_move(struct object *object, uint64_t bias) {
    object->bias += bias;
    if (object->section)
        object->section += bias;
    for (size_t i = 0; i < object->loads_count; i++)
        object->loads[i].address += bias;
    for (size_t i = 0; i < object->symbols_count; i++)
        object->symbols[i].address += bias;
    for (size_t i = 0; i < object->relocations_count; i++) {
        object->relocations[i].at += bias;
        object->relocations[i].value += bias;
    }
    for (size_t i = 0; i < object->records_count; i++) {
        object->records[i].at += bias;
        object->records[i].site += bias;
        object->records[i].key += bias;
        object->records[i].aux += bias;
    }
}

/* --- Contents --- */

const struct object_load *object_load_of(const struct object *object, uint64_t address) {
    size_t low = 0;
    for (size_t high = object->loads_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct object_load *load = &object->loads[middle];
        if (address - load->address < load->size)
            return load;
        if (load->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool object_read(const struct object *object, uint64_t address, void *buffer, size_t size) {
    const struct object_load *here = object_load_of(object, address);
    if (!here || size > here->size - (address - here->address))
        return false;
    uint64_t start = address - here->address;
    size_t in_file = start < here->file_bytes ? (size_t)(here->file_bytes - start) : 0;
    if (in_file > size)
        in_file = size;
    memset((uint8_t *)buffer + in_file, 0, size - in_file);
    return read_file(object, here->offset + start, buffer, in_file);
}
