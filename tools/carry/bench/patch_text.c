/* SPDX-License-Identifier: MIT */
/* Writes texts to a file without a name, and maps it like the dynamic loader maps text: private,
 * executable and not writable. Thus the first patch of a page copies it, as in any text. */
#define _GNU_SOURCE
#include "bench/patch_text.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/patch_code.h"

/* The pointer, flag or key of a site, on a cache line of its own. */
struct patch_line {
    _Alignas(64) struct carry_key key; /* other forms use its value as their pointer or flag */
};

/* --- Parts --- */

static void put_part(struct patch_maker *maker, const struct patch_bytes *part) {
    patch_put(maker, part->bytes, part->size);
}

static void align_to_line(struct patch_maker *maker) {
    size_t size = -maker->at % PATCH_LINE_BYTES;
    patch_code.fill(maker->memory + maker->at, size);
    maker->at += size;
}

static bool is_keyed(enum patch_form form) {
    return form == FORM_BRANCH_OFF || form == FORM_BRANCH_ON;
}

static bool is_patched(enum patch_form form) {
    return is_keyed(form) || form == FORM_PATCHED_CALL || form == FORM_PATCHED_INLINE ||
           form == FORM_PATCHED_NOP;
}

static bool is_replaced(enum patch_form form) {
    return form == FORM_PATCHED_INLINE || form == FORM_PATCHED_NOP;
}

static void put_work(struct patch_maker *maker) {
    put_part(maker, maker->shape.eight ? &patch_code.eight : &patch_code.one);
}

static void put_unit(struct patch_maker *maker, size_t index) {
    const enum patch_form form = maker->shape.form;
    if (form != FORM_INLINED)
        patch_code.put[form](maker, index);
    if (form == FORM_INLINED || patch_form_is_branch(form))
        put_work(maker);
}

static void put_loop(struct patch_maker *maker) {
    maker->at = maker->layout.loop;
    put_part(maker, &patch_code.enter);
    align_to_line(maker);
    size_t start = maker->at;
    for (size_t i = 0; i < maker->shape.sites; i++) {
        put_unit(maker, i);
        if (maker->shape.spread)
            align_to_line(maker);
    }
    patch_code.put_jump_back(maker, start);
    put_part(maker, &patch_code.leave);
}

static void put_callees(struct patch_maker *maker) {
    for (size_t i = 0; i < maker->callee_count; i++) {
        maker->at = patch_callee_at(maker, i);
        if (patch_code.land.size)
            put_part(maker, &patch_code.land);
        put_work(maker);
        put_part(maker, &patch_code.ret);
    }
}

/* Puts the record of the body of callee 0. The size of the body's instruction (0: there is none)
 * follows, and then, aligned, the instruction. */
static void put_body_record(struct patch_maker *maker) {
    uint8_t size = maker->shape.form == FORM_PATCHED_INLINE ? (uint8_t)patch_code.one.size : 0;
    size_t aux = maker->layout.records + (maker->record_count + 1) * sizeof(struct carry_site);
    const struct carry_site record = {.kind = CARRY_SITE_BODY};
    patch_put_record_of(maker, record, maker->layout.loop, patch_callee_at(maker, 0), aux);
    maker->memory[aux] = size;
    maker->at = aux + patch_code.instruction_align;
    patch_put(maker, patch_code.one.bytes, size);
}

static void put_all(struct patch_maker *maker) {
    put_loop(maker);
    put_callees(maker);
    if (is_replaced(maker->shape.form))
        put_body_record(maker);
}

/* --- Memory --- */

static size_t round_to_pages(size_t bytes) {
    const size_t inside = (size_t)sysconf(_SC_PAGESIZE) - 1;
    return (bytes + inside) & ~inside;
}

/* Lays out the parts of a text. Stubs and callees lie on either side of the loop: branches of
 * AArch64 reach 128 MiB in each direction. */
static struct patch_layout compute_layout(const struct patch_maker *maker) {
    struct patch_layout layout = {0};
    const size_t sites = maker->shape.sites;
    layout.loop = round_to_pages(sites * PATCH_LINE_BYTES);
    /* Each site with its work fits into a line, and so do the beginning and the end. */
    layout.callees = layout.loop + round_to_pages((sites + 2) * PATCH_LINE_BYTES);
    layout.lines = layout.callees + round_to_pages(maker->callee_count * PATCH_LINE_BYTES);
    layout.records = layout.lines + round_to_pages(maker->line_count * PATCH_LINE_BYTES);
    layout.end = layout.records + round_to_pages((sites + 2) * sizeof(struct carry_site));
    return layout;
}

static bool write_text_file(struct patch_maker *maker, int fd) {
    if (ftruncate(fd, (off_t)maker->layout.end))
        return false;
    void *memory = mmap(NULL, maker->layout.end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    maker->memory = memory;
    put_all(maker);
    munmap(memory, maker->layout.end);
    return true;
}

static bool map_text(struct patch_maker *maker, int fd) {
    const struct patch_layout *layout = &maker->layout;
    uint8_t *memory = mmap(NULL, layout->end, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    maker->memory = memory;
    /* Cores may fetch instructions before they see the writes of the other mapping. */
    __builtin___clear_cache((char *)memory, (char *)memory + layout->lines);
    if (!mprotect(memory + layout->lines, layout->records - layout->lines, PROT_READ | PROT_WRITE))
        return true;
    int error = errno;
    munmap(memory, layout->end);
    errno = error;
    return false;
}

static bool make_memory(struct patch_maker *maker) {
    int fd = memfd_create("carry-bench", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write_text_file(maker, fd) && map_text(maker, fd);
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

static uintptr_t line_value(const struct patch_text *text, size_t line, unsigned state) {
    if (is_keyed(text->shape.form))
        return state;
    if (text->shape.form == FORM_FLAG)
        return 0;
    size_t callees = text->line_count + 1;
    return text->callees + (line + state) % callees * PATCH_LINE_BYTES;
}

/* --- Functions of the header --- */

bool patch_text_has(enum patch_form form) {
    return form == FORM_INLINED ? patch_text_supported() : patch_code.put[form] != NULL;
}

bool patch_text_supported(void) {
    return patch_code.put[FORM_DIRECT] != NULL;
}

bool patch_text_make(struct patch_text *text, const struct patch_shape *shape) {
    /* All sites that a body replaces share one callee. */
    bool separate = shape->separate && !is_replaced(shape->form);
    struct patch_maker maker = {.shape = *shape, .line_count = separate ? shape->sites : 1};
    maker.callee_count = maker.line_count + 1;
    maker.layout = compute_layout(&maker);
    if (!make_memory(&maker))
        return false;
    uint8_t *memory = maker.memory;
    *text = (struct patch_text){
        .run = (void (*)(size_t))(uintptr_t)(memory + maker.layout.loop),
        .shape = *shape,
        .lines = (struct patch_line *)(memory + maker.layout.lines),
        .line_count = maker.line_count,
        .callees = (uintptr_t)memory + maker.layout.callees,
        .records = (const struct carry_site *)(memory + maker.layout.records),
        .record_count = maker.record_count,
        .memory = memory,
        .bytes = maker.layout.end,
    };
    for (size_t i = 0; i < text->line_count; i++)
        text->lines[i].key.value = line_value(text, i, 0);
    if (!carry_patch_register(text->records, text->records + text->record_count))
        return true;
    munmap(memory, text->bytes);
    errno = ENOMEM;
    return false;
}

void patch_text_release(struct patch_text *text) {
    if (text->record_count)
        carry_patch_unregister(text->records);
    munmap(text->memory, text->bytes);
}

void patch_text_set(const struct patch_text *text, struct carry_patch *patch, unsigned state) {
    if (!is_patched(text->shape.form))
        return;
    for (size_t i = 0; i < text->line_count; i++)
        carry_patch_set(patch, &text->lines[i].key, line_value(text, i, state));
}
