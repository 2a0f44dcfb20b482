/* SPDX-License-Identifier: MIT */
/*
 * Tests the reader of imports on a copy of a loaded object that is damaged in all its parts. The
 * copied segments end before inaccessible pages.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/rng.h"
#include "harness/tap.h"
#include "hook/elf.h"
#include "hook/stub.h"

#define SEGMENTS_MAX 16
#define PAGE_BYTES   ((uint64_t)sysconf(_SC_PAGESIZE))

/* The copy of an object. */
static struct {
    ElfW(Phdr) segments[SEGMENTS_MAX];
    size_t count;
    uint8_t *base; /* the copy's address 0 */
    uint8_t *pristine;
    size_t size;
    size_t parts[4][2]; /* offset and size of each part that is read */
    size_t part_count;
} copy;

static int find_object(struct dl_phdr_info *info, size_t size, void *context) {
    const struct dl_phdr_info **found = context;
    static struct dl_phdr_info kept;
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so") || info->dlpi_phnum > SEGMENTS_MAX)
        return 0;
    kept = *info;
    *found = &kept;
    return 1;
}

static size_t end_of(const ElfW(Phdr) * segment) {
    return segment->p_vaddr + segment->p_memsz;
}

/* Copies a loaded segment. The copy can be read and written, even if the segment is text. */
static void copy_segment(const struct dl_phdr_info *info, const ElfW(Phdr) * segment) {
    size_t low = segment->p_vaddr & ~(PAGE_BYTES - 1);
    size_t high = (end_of(segment) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    if (mprotect(copy.base + low, high - low, PROT_READ | PROT_WRITE))
        abort();
    if (segment->p_flags & PF_R)
        memcpy(copy.base + segment->p_vaddr, (const uint8_t *)info->dlpi_addr + segment->p_vaddr,
               segment->p_memsz);
}

static void add_part(size_t offset, size_t size) {
    copy.parts[copy.part_count][0] = offset;
    copy.parts[copy.part_count++][1] = size;
}

/*
 * Returns an entry's address: the dynamic linker relocates some of these addresses, and leaves
 * others unchanged.
 */
static uint8_t *address_in(const ElfW(Dyn) * entry) {
    uintptr_t address = entry->d_un.d_ptr;
    return address < copy.size ? copy.base + address : (uint8_t *)address;
}

/* Moves the addresses in the dynamic section from the object to the copy. */
static void move_dynamic(uintptr_t from, const ElfW(Phdr) * segment) {
    ElfW(Dyn) *entry = (ElfW(Dyn) *)(copy.base + segment->p_vaddr);
    add_part(segment->p_vaddr, segment->p_memsz);
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_un.d_ptr >= from && entry->d_un.d_ptr - from < copy.size)
            entry->d_un.d_ptr += (uintptr_t)copy.base - from;
        size_t size = entry->d_tag == DT_SYMTAB                                 ? 2048
                      : entry->d_tag == DT_JMPREL || entry->d_tag == DT_VERNEED ? 256
                                                                                : 0;
        if (size)
            add_part((size_t)(address_in(entry) - copy.base), size);
    }
}

static bool make_copy(void) {
    const struct dl_phdr_info *info = NULL;
    dl_iterate_phdr(find_object, &info);
    if (!info)
        return false;
    copy.count = info->dlpi_phnum;
    memcpy(copy.segments, info->dlpi_phdr, copy.count * sizeof *copy.segments);
    for (size_t i = 0; i < copy.count; i++)
        if (copy.segments[i].p_type == PT_LOAD && end_of(&copy.segments[i]) > copy.size)
            copy.size = end_of(&copy.segments[i]);
    copy.size = (copy.size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    copy.base = mmap(NULL, copy.size + PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < copy.count; i++)
        if (copy.segments[i].p_type == PT_LOAD)
            copy_segment(info, &copy.segments[i]);
    for (size_t i = 0; i < copy.count; i++)
        if (copy.segments[i].p_type == PT_DYNAMIC)
            move_dynamic(info->dlpi_addr, &copy.segments[i]);
    return true;
}

/*
 * The results of read_all(): numbers of imports, the length of the longest symbol with its version,
 * and whether the object searches itself first.
 */
static size_t imports, longest, constant, versioned, unbound;
static bool own_first;

/* Reads all imports with all their members. */
static void read_all(void *unused) {
    struct carry_elf elf;
    struct carry_elf_cursor cursor = {0, 0};
    struct carry_elf_import import;
    (void)unused;
    imports = longest = constant = versioned = unbound = 0;
    carry_elf_open(&elf, (uintptr_t)copy.base, copy.segments, copy.count);
    own_first = elf.own_first;
    while (carry_elf_next(&elf, &cursor, &import)) {
        size_t length = strlen(import.symbol) + strlen(import.version);
        imports++;
        longest = length > longest ? length : longest;
        constant += import.constant;
        versioned += *import.version != '\0';
        unbound += !import.bound;
    }
}

static bool reader_survives(void) {
    struct fault fault;
    if (fault_catch(read_all, NULL, &fault))
        return true;
    tap_note("%s at the copy's 0x%zx", fault.name, (size_t)(fault.address - (uintptr_t)copy.base));
    return false;
}

/* Replaces 1, 2, 4 or 8 bytes of a part. */
static void damage_word(uint8_t *at) {
    static const uint64_t words[] = {0, 1, 7, 0xffff, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63};
    uint64_t word = words[rng_below(sizeof words / sizeof *words)];
    size_t size = (size_t)1 << rng_below(4);
    if (rng_below(2))
        word = rng_next();
    memcpy(at, &word, size);
}

static void test_part(size_t part, size_t rounds) {
    static const char *const names[] = {"dynamic section", "a table", "a table", "a table"};
    uint8_t *start = copy.base + copy.parts[part][0];
    size_t size = copy.parts[part][1];
    uint8_t *before = malloc(size);
    size_t survived = 0, fewer = 0;
    read_all(NULL);
    const size_t all = imports;
    memcpy(before, start, size);
    for (size_t i = 0; i < rounds; i++) {
        for (size_t times = 1 + rng_below(3); times; times--)
            damage_word(start + rng_below(size - 8));
        survived += reader_survives();
        fewer += imports < all;
        memcpy(start, before, size);
    }
    free(before);
    tap_ok(TAP_EQ(survived, rounds), "%s at 0x%zx damaged %zu times, with fewer imports in %zu",
           names[part], copy.parts[part][0], rounds, fewer);
}

/* --- Facts from the dynamic linker, and facts from the object --- */

/* Returns the first segment of a type that has all of `flags`; NULL if there is none. */
static ElfW(Phdr) * find_segment(uint32_t type, uint32_t flags) {
    for (size_t i = 0; i < copy.count; i++)
        if (copy.segments[i].p_type == type && (copy.segments[i].p_flags & flags) == flags)
            return &copy.segments[i];
    return NULL;
}

/* Returns the first entry with a tag, or NULL. */
static ElfW(Dyn) * find_entry(ElfW(Sxword) tag) {
    const ElfW(Phdr) *dynamic = find_segment(PT_DYNAMIC, 0);
    ElfW(Dyn) *entry = (ElfW(Dyn) *)(copy.base + dynamic->p_vaddr);
    while (entry->d_tag != tag && entry->d_tag != DT_NULL)
        entry++;
    return entry->d_tag == tag ? entry : NULL;
}

static ElfW(Verneed) * find_versions(void) {
    const ElfW(Dyn) *entry = find_entry(DT_VERNEED);
    return entry ? (ElfW(Verneed) *)address_in(entry) : NULL;
}

/* Tests version tables that point outside, or to themselves: these must not cause endless loops. */
static void test_circles(void) {
    ElfW(Verneed) *need = find_versions();
    if (!need) {
        tap_skip("versions in a circle", "the object needs none");
        return;
    }
    ElfW(Verneed) before = *need;
    need->vn_next = UINT32_MAX;
    bool ok = reader_survives();
    *need = before;
    need->vn_aux = 0; /* makes the entry refer to itself */
    need->vn_next = 1;
    tap_ok(TAP_TRUE(reader_survives()) && TAP_TRUE(ok),
           "versions that point outside, or overlap, are ignored");
    *need = before;
}

#define VERSIONS_MAX 65536 /* the number of possible version indices */

/*
 * Writes `before` versions without a number and then the object's own versions over the end of the
 * copied text, which nothing executes.
 */
static void put_versions(ElfW(Verneed) * need, ElfW(Vernaux) * list, size_t before) {
    const ElfW(Vernaux) *version = (ElfW(Vernaux) *)((uint8_t *)need + need->vn_aux);
    for (size_t i = 0; i < before; i++)
        list[i] = (ElfW(Vernaux)){.vna_next = sizeof *list};
    for (size_t i = 0; i < need->vn_cnt; i++) {
        list[before + i] = *version;
        list[before + i].vna_next = sizeof *list;
        version = (ElfW(Vernaux) *)((uint8_t *)version + version->vna_next);
    }
}

static void test_many_versions(void) {
    const ElfW(Phdr) *text = find_segment(PT_LOAD, PF_R | PF_X);
    ElfW(Verneed) *need = find_versions();
    if (!need || text->p_memsz < (VERSIONS_MAX + need->vn_cnt) * sizeof(ElfW(Vernaux))) {
        tap_skip("many versions", "the object needs none, or is too small for them");
        return;
    }
    const ElfW(Verneed) before = *need;
    const size_t end = end_of(text) & ~(sizeof(ElfW(Vernaux)) - 1);
    ElfW(Vernaux) *list = (ElfW(Vernaux) *)(copy.base + end) - VERSIONS_MAX - need->vn_cnt;
    bool found[2];
    for (size_t i = 0; i < 2; i++) {
        put_versions(need, list, i ? VERSIONS_MAX : VERSIONS_MAX - need->vn_cnt);
        need->vn_aux = (uint32_t)((uint8_t *)list - (uint8_t *)need);
        need->vn_next = sizeof *need;
        found[i] = reader_survives() && versioned;
        *need = before;
    }
    tap_ok(TAP_TRUE(found[0]) && TAP_TRUE(!found[1]),
           "only as many versions are read as can exist");
}

static void test_no_dynamic(void) {
    ElfW(Phdr) *dynamic = find_segment(PT_DYNAMIC, 0);
    const ElfW(Phdr) before = *dynamic;
    dynamic->p_vaddr = copy.size;
    tap_ok(TAP_TRUE(reader_survives()) && TAP_EQ(imports, 0),
           "an unmapped dynamic section has no imports");
    *dynamic = before;
}

/*
 * Tests the two marks of a symbolic object: DF_SYMBOLIC in DT_FLAGS, and DT_SYMBOLIC. Replaces an
 * irrelevant entry if the object has no DT_FLAGS.
 */
static void test_symbolic(void) {
    ElfW(Dyn) *entry = find_entry(DT_FLAGS) ? find_entry(DT_FLAGS) : find_entry(DT_SONAME);
    const ElfW(Dyn) before = *entry;
    *entry = (ElfW(Dyn)){.d_tag = DT_FLAGS};
    read_all(NULL);
    bool ok = !own_first;
    entry->d_un.d_val = DF_SYMBOLIC;
    read_all(NULL);
    ok = own_first && ok;
    entry->d_tag = DT_SYMBOLIC;
    read_all(NULL);
    tap_ok(TAP_TRUE(own_first) && TAP_TRUE(ok),
           "both flags of an object that searches itself first are recognised");
    *entry = before;
}

/* Tests segments that are read-only after relocation: all, a part of a page, a negative size. */
static void test_constant(void) {
    ElfW(Phdr) *constants = find_segment(PT_GNU_RELRO, 0);
    if (!constants) {
        tap_skip("slots that are constant", "the object has none");
        return;
    }
    const ElfW(Phdr) before = *constants;
    constants->p_vaddr = 0;
    constants->p_memsz = copy.size;
    read_all(NULL);
    bool ok = constant == imports;
    constants->p_memsz = 8;
    read_all(NULL);
    ok = !constant && ok;
    constants->p_memsz = -PAGE_BYTES;
    read_all(NULL);
    tap_ok(TAP_EQ(constant, 0) && TAP_TRUE(ok), "slots are constant in whole pages");
    *constants = before;
}

/* Returns the slot of an import through the PLT, or NULL. */
static uintptr_t *find_plt_slot(void) {
    struct carry_elf elf;
    struct carry_elf_cursor cursor = {0, 0};
    struct carry_elf_import import = {.by_plt = false};
    carry_elf_open(&elf, (uintptr_t)copy.base, copy.segments, copy.count);
    while (!import.by_plt && carry_elf_next(&elf, &cursor, &import))
        ;
    return import.by_plt ? import.slot : NULL;
}

/* Returns whether a segment contains the tables. Linkers that do not separate text put all
   read-only data into one segment. */
static bool holds_tables(const ElfW(Phdr) * segment) {
    const size_t symbols = (size_t)(address_in(find_entry(DT_SYMTAB)) - copy.base);
    return symbols - segment->p_vaddr < segment->p_memsz;
}

/*
 * A slot that points to readable text is bound unless code there calls the binder. Unreadable text
 * may contain such code, so a slot that points to it counts as not bound.
 */
static void test_unreadable_text(void) {
    ElfW(Phdr) *text = find_segment(PT_LOAD, PF_R | PF_X);
    uintptr_t *slot = find_plt_slot();
    if (!slot || holds_tables(text)) {
        tap_skip("text that may not be read", "the object has no PLT, or no text apart");
        return;
    }
    uint8_t *page = copy.base + ((text->p_vaddr + PAGE_BYTES) & ~(PAGE_BYTES - 1));
    const uintptr_t before = *slot;
    *slot = (uintptr_t)page;
    memset(page, 0xcc, 16);
    read_all(NULL);
    bool ok = !unbound;
    text->p_flags &= ~(uint32_t)PF_R;
    mprotect(page, PAGE_BYTES, PROT_NONE);
    tap_ok(TAP_TRUE(reader_survives()) && TAP_EQ(unbound, 1) && TAP_TRUE(ok),
           "unreadable text may be a binder");
    mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
    text->p_flags |= PF_R;
    *slot = before;
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    if (!carry_stub_supported())
        return tap_skip_all("calls cannot be hooked here");
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports each fault");
    if (!make_copy())
        return tap_skip_all("no C library that is a shared object");
    read_all(NULL);
    tap_ok(TAP_GT(imports, 3) && TAP_GT(longest, 8), "%zu imports of a copy of the C library",
           imports);
    for (size_t i = 0; i < copy.part_count; i++)
        test_part(i, effort->rounds / 10);
    test_circles();
    test_no_dynamic();
    test_symbolic();
    test_constant();
    test_unreadable_text();
    test_many_versions();
    return tap_done();
}
