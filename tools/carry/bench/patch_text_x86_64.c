/* SPDX-License-Identifier: MIT */
/*
 * The instructions are those of compilers and linkers, sites those of <carry/patch/x86_64.h>. They
 * are written to a file without a name, which is then mapped as the loader maps text: private,
 * executable and not writable. So the first write to a page by a patch copies it, as of any text.
 */
#define _GNU_SOURCE
#include "bench/patch_text.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/nops.h"

#define LINE_BYTES  ((size_t)64)
#define PAGE_BYTES  ((size_t)4096)
#define REL32_BYTES 4

enum { CALL_BYTES = 6, BRANCH_BYTES = 5 }; /* of sites */

/* What a site reads has a cache line of its own. */
struct patch_line {
    _Alignas(64) struct carry_key key; /* its value is the pointer or flag of other forms */
};

/* lea 1(%rdi), %rax */
static const uint8_t one[] = {0x48, 0x8d, 0x47, 0x01};

static const uint8_t eight[] = {
    0x48, 0x8d, 0x04, 0x7f, /* lea (%rdi,%rdi,2), %rax */
    0x48, 0x89, 0xc1,       /* mov %rax, %rcx */
    0x48, 0xc1, 0xe9, 0x07, /* shr $7, %rcx */
    0x48, 0x31, 0xc8,       /* xor %rcx, %rax */
    0x48, 0x89, 0xc2,       /* mov %rax, %rdx */
    0x48, 0xc1, 0xe2, 0x03, /* shl $3, %rdx */
    0x48, 0x01, 0xd0,       /* add %rdx, %rax */
    0x48, 0xc1, 0xc8, 0x05, /* ror $5, %rax */
};

static const uint8_t prologue[] = {
    0x53,             /* push %rbx */
    0x48, 0x89, 0xfb, /* mov %rdi, %rbx */
};

static const uint8_t retpoline[] = {
    0xe8, 0x07, 0x00, 0x00, 0x00, /*    call 1f */
    0xf3, 0x90,                   /* 0: pause */
    0x0f, 0xae, 0xe8,             /*    lfence */
    0xeb, 0xf9,                   /*    jmp 0b */
    0x4c, 0x89, 0x1c, 0x24,       /* 1: mov %r11, (%rsp) */
    0xc3,                         /*    ret */
};

/* Where things stand, in bytes from the start. */
struct layout {
    size_t loop, callees, stubs, lines, records, end;
};

struct maker {
    struct patch_shape shape;
    struct layout layout;
    uint8_t *memory;
    size_t at;
    size_t line_count;
    size_t callee_count;
    size_t record_count;
};

/* --- Bytes --- */

static void put(struct maker *maker, const void *bytes, size_t size) {
    memcpy(maker->memory + maker->at, bytes, size);
    maker->at += size;
}

#define PUT(maker, ...)                                                                            \
    put(maker, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* An offset to `target` from the end of its instruction, `after` bytes behind it. */
static void put_rel32(struct maker *maker, size_t target, size_t after) {
    int32_t rel32 = (int32_t)(target - (maker->at + REL32_BYTES + after));
    put(maker, &rel32, sizeof rel32);
}

static void align(struct maker *maker) {
    size_t size = -maker->at % LINE_BYTES;
    nops_fill(maker->memory + maker->at, size);
    maker->at += size;
}

/* --- Parts --- */

static bool is_branch(enum patch_form form) {
    return form == FORM_BRANCH_OFF || form == FORM_BRANCH_ON;
}

static bool is_patched(enum patch_form form) {
    return is_branch(form) || form == FORM_PATCHED_CALL || form == FORM_PATCHED_INLINE ||
           form == FORM_PATCHED_NOP;
}

static bool is_replaced(enum patch_form form) {
    return form == FORM_PATCHED_INLINE || form == FORM_PATCHED_NOP;
}

static size_t callee_at(const struct maker *maker, size_t index) {
    return maker->layout.callees + index % maker->callee_count * LINE_BYTES;
}

static size_t line_at(const struct maker *maker, size_t index) {
    return maker->layout.lines + index % maker->line_count * LINE_BYTES;
}

static size_t stub_at(const struct maker *maker, size_t index) {
    return maker->layout.stubs + index * LINE_BYTES;
}

static void put_work(struct maker *maker) {
    if (maker->shape.eight)
        put(maker, eight, sizeof eight);
    else
        put(maker, one, sizeof one);
}

/* `site` and the others count from the start of the memory. */
static void put_record(struct maker *maker, struct carry_site record, size_t site, size_t key,
                       size_t aux) {
    size_t at = maker->layout.records + maker->record_count++ * sizeof record;
    record.site = (int32_t)(site - (at + offsetof(struct carry_site, site)));
    record.key = (int32_t)(key - (at + offsetof(struct carry_site, key)));
    record.aux = (int32_t)(aux - (at + offsetof(struct carry_site, aux)));
    record.version = CARRY_SITE_VERSION;
    memcpy(maker->memory + at, &record, sizeof record);
}

static void put_call_site(struct maker *maker, size_t index) {
    const struct carry_site record = {.kind = CARRY_SITE_CALL, .length = CALL_BYTES};
    put_record(maker, record, maker->at, line_at(maker, index), 0);
    PUT(maker, 0xff, 0x15);
    put_rel32(maker, line_at(maker, index), 0);
}

static void put_branch_site(struct maker *maker, size_t index) {
    const struct carry_site record = {
        .kind = CARRY_SITE_BRANCH, .length = BRANCH_BYTES, .flags = CARRY_SITE_JUMPS_IF_ON};
    put_record(maker, record, maker->at, line_at(maker, index), stub_at(maker, index));
    PUT(maker, 0xe9);
    put_rel32(maker, stub_at(maker, index), 0);

    size_t next = maker->at;
    maker->at = stub_at(maker, index);
    PUT(maker, 0x80, 0x3d);
    put_rel32(maker, line_at(maker, index), 1);
    PUT(maker, 0x00, 0x0f, 0x85);
    put_rel32(maker, next, 0);
    PUT(maker, 0xe9);
    put_rel32(maker, next, 0);
    maker->at = next;
}

static void put_flag(struct maker *maker, size_t index) {
    PUT(maker, 0x80, 0x3d);
    put_rel32(maker, line_at(maker, index), 1);
    PUT(maker, 0x00, 0x0f, 0x85);
    put_rel32(maker, maker->at + REL32_BYTES, 0);
}

static void put_plt(struct maker *maker, size_t index) {
    PUT(maker, 0xe8);
    put_rel32(maker, stub_at(maker, index), 0);

    size_t next = maker->at;
    maker->at = stub_at(maker, index);
    PUT(maker, 0xff, 0x25);
    put_rel32(maker, line_at(maker, index), 0);
    maker->at = next;
}

static void put_unit(struct maker *maker, size_t index) {
    switch (maker->shape.form) {
    case FORM_DIRECT:
        PUT(maker, 0xe8);
        put_rel32(maker, callee_at(maker, index), 0);
        return;
    case FORM_POINTER:
        PUT(maker, 0xff, 0x15);
        put_rel32(maker, line_at(maker, index), 0);
        return;
    case FORM_PLT:
        put_plt(maker, index);
        return;
    case FORM_RETPOLINE:
        PUT(maker, 0x4c, 0x8b, 0x1d); /* mov pointer(%rip), %r11; call thunk */
        put_rel32(maker, line_at(maker, index), 0);
        PUT(maker, 0xe8);
        put_rel32(maker, stub_at(maker, 0), 0);
        return;
    case FORM_PATCHED_CALL:
    case FORM_PATCHED_INLINE:
    case FORM_PATCHED_NOP:
        put_call_site(maker, index);
        return;
    case FORM_FLAG:
        put_flag(maker, index);
        break;
    case FORM_BRANCH_OFF:
    case FORM_BRANCH_ON:
        put_branch_site(maker, index);
        break;
    default:
        break;
    }
    put_work(maker);
}

static void put_loop(struct maker *maker) {
    maker->at = maker->layout.loop;
    put(maker, prologue, sizeof prologue);
    align(maker);
    size_t start = maker->at;
    for (size_t i = 0; i < maker->shape.sites; i++) {
        put_unit(maker, i);
        if (maker->shape.spread)
            align(maker);
    }
    PUT(maker, 0x48, 0xff, 0xcb, 0x0f, 0x85); /* dec %rbx; jnz start */
    put_rel32(maker, start, 0);
    PUT(maker, 0x5b, 0xc3); /* pop %rbx; ret */
}

static void put_callees(struct maker *maker) {
    for (size_t i = 0; i < maker->callee_count; i++) {
        maker->at = callee_at(maker, i);
        put_work(maker);
        PUT(maker, 0xc3);
    }
}

/* The instruction that stands for a call of callee 0, or none, behind the record of it. */
static void put_body(struct maker *maker) {
    size_t size = maker->shape.form == FORM_PATCHED_INLINE ? sizeof one : 0;
    size_t aux = maker->layout.records + (maker->record_count + 1) * sizeof(struct carry_site);
    const struct carry_site record = {.kind = CARRY_SITE_BODY};
    put_record(maker, record, maker->layout.loop, callee_at(maker, 0), aux);
    maker->at = aux;
    PUT(maker, (uint8_t)size);
    put(maker, one, size);
}

static void put_all(struct maker *maker) {
    put_loop(maker);
    put_callees(maker);
    if (maker->shape.form == FORM_RETPOLINE) {
        maker->at = stub_at(maker, 0);
        put(maker, retpoline, sizeof retpoline);
    }
    if (is_replaced(maker->shape.form))
        put_body(maker);
}

/* --- Memory --- */

static size_t pages(size_t bytes) {
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static struct layout lay_out(const struct maker *maker) {
    struct layout layout = {0};
    const size_t sites = maker->shape.sites;
    layout.callees = pages((sites + 2) * LINE_BYTES); /* an unspread unit is shorter than a line */
    layout.stubs = layout.callees + pages(maker->callee_count * LINE_BYTES);
    layout.lines = layout.stubs + pages(sites * LINE_BYTES);
    layout.records = layout.lines + pages(maker->line_count * LINE_BYTES);
    layout.end = layout.records + pages((sites + 2) * sizeof(struct carry_site));
    return layout;
}

static bool write_file(struct maker *maker, int fd) {
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

static bool map_text(struct maker *maker, int fd) {
    const struct layout *layout = &maker->layout;
    uint8_t *memory = mmap(NULL, layout->end, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    maker->memory = memory;
    if (!mprotect(memory + layout->lines, layout->records - layout->lines, PROT_READ | PROT_WRITE))
        return true;
    int error = errno;
    munmap(memory, layout->end);
    errno = error;
    return false;
}

static bool make_memory(struct maker *maker) {
    int fd = memfd_create("carry-bench", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write_file(maker, fd) && map_text(maker, fd);
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

static uintptr_t value_of(const struct patch_text *text, size_t line, unsigned state) {
    if (is_branch(text->shape.form))
        return state;
    if (text->shape.form == FORM_FLAG)
        return 0;
    size_t callees = text->line_count + 1;
    return text->callees + (line + state) % callees * LINE_BYTES;
}

/* --- What the header promises --- */

bool patch_text_supported(void) {
    return true;
}

bool patch_text_make(struct patch_text *text, const struct patch_shape *shape) {
    /* All share the callee whose body is registered. */
    bool separate = shape->separate && !is_replaced(shape->form);
    struct maker maker = {.shape = *shape, .line_count = separate ? shape->sites : 1};
    maker.callee_count = maker.line_count + 1;
    maker.layout = lay_out(&maker);
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
        text->lines[i].key.value = value_of(text, i, 0);
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
        carry_patch_set(patch, &text->lines[i].key, value_of(text, i, state));
}
