/* SPDX-License-Identifier: MIT */
/*
 * Writes texts of x86-64: the instructions that compilers and linkers emit, and the sites that
 * <carry/patch/x86_64.h> defines.
 */
#include "bench/patch_code.h"
#include "common/nops.h"

#define REL32_BYTES 4

enum { CALL_BYTES = 6, BRANCH_BYTES = 5 }; /* of sites */

static const uint8_t enter[] = {
    0x53,             /* push %rbx */
    0x48, 0x89, 0xfb, /* mov %rdi, %rbx */
};

static const uint8_t leave[] = {
    0x5b, /* pop %rbx */
    0xc3, /* ret */
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

static const uint8_t ret[] = {0xc3};

static const uint8_t retpoline[] = {
    0xe8, 0x07, 0x00, 0x00, 0x00, /*    call 1f */
    0xf3, 0x90,                   /* 0: pause */
    0x0f, 0xae, 0xe8,             /*    lfence */
    0xeb, 0xf9,                   /*    jmp 0b */
    0x4c, 0x89, 0x1c, 0x24,       /* 1: mov %r11, (%rsp) */
    0xc3,                         /*    ret */
};

/* --- Bytes --- */

#define PUT(maker, ...)                                                                            \
    patch_put(maker, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Puts the offset of `target` from the end of the instruction, which has `after` bytes after the
 * offset. */
static void put_rel32(struct patch_maker *maker, size_t target, size_t after) {
    int32_t rel32 = (int32_t)(target - (maker->at + REL32_BYTES + after));
    patch_put(maker, &rel32, sizeof rel32);
}

/* --- Forms --- */

static void put_direct(struct patch_maker *maker, size_t index) {
    PUT(maker, 0xe8);
    put_rel32(maker, patch_callee_at(maker, index), 0);
}

static void put_pointer(struct patch_maker *maker, size_t index) {
    PUT(maker, 0xff, 0x15);
    put_rel32(maker, patch_line_at(maker, index), 0);
}

static void put_plt(struct patch_maker *maker, size_t index) {
    PUT(maker, 0xe8);
    put_rel32(maker, patch_stub_at(maker, index), 0);

    size_t next = maker->at;
    maker->at = patch_stub_at(maker, index);
    PUT(maker, 0xff, 0x25);
    put_rel32(maker, patch_line_at(maker, index), 0);
    maker->at = next;
}

/* Puts the thunk that all calls share. */
static void put_thunk(struct patch_maker *maker) {
    size_t next = maker->at;
    maker->at = patch_stub_at(maker, 0);
    patch_put(maker, retpoline, sizeof retpoline);
    maker->at = next;
}

static void put_retpoline(struct patch_maker *maker, size_t index) {
    PUT(maker, 0x4c, 0x8b, 0x1d); /* mov pointer(%rip), %r11; call thunk */
    put_rel32(maker, patch_line_at(maker, index), 0);
    PUT(maker, 0xe8);
    put_rel32(maker, patch_stub_at(maker, 0), 0);
    if (index == 0)
        put_thunk(maker);
}

static void put_call_site(struct patch_maker *maker, size_t index) {
    const struct carry_site record = {.kind = CARRY_SITE_CALL, .length = CALL_BYTES};
    patch_put_record(maker, record, patch_line_at(maker, index), 0);
    put_pointer(maker, index);
}

static void put_flag(struct patch_maker *maker, size_t index) {
    PUT(maker, 0x80, 0x3d);
    put_rel32(maker, patch_line_at(maker, index), 1);
    PUT(maker, 0x00, 0x0f, 0x85);
    put_rel32(maker, maker->at + REL32_BYTES, 0);
}

static void put_branch_site(struct patch_maker *maker, size_t index) {
    const struct carry_site record = {
        .kind = CARRY_SITE_BRANCH, .length = BRANCH_BYTES, .flags = CARRY_SITE_JUMPS_IF_ON};
    patch_put_record(maker, record, patch_line_at(maker, index), patch_stub_at(maker, index));
    PUT(maker, 0xe9);
    put_rel32(maker, patch_stub_at(maker, index), 0);

    size_t next = maker->at;
    maker->at = patch_stub_at(maker, index);
    PUT(maker, 0x80, 0x3d);
    put_rel32(maker, patch_line_at(maker, index), 1);
    PUT(maker, 0x00, 0x0f, 0x85);
    put_rel32(maker, next, 0);
    PUT(maker, 0xe9);
    put_rel32(maker, next, 0);
    maker->at = next;
}

static void put_jump_back(struct patch_maker *maker, size_t start) {
    PUT(maker, 0x48, 0xff, 0xcb, 0x0f, 0x85); /* dec %rbx; jnz start */
    put_rel32(maker, start, 0);
}

const struct patch_code patch_code = {
    .instruction_align = 1,
    .put =
        {
            [FORM_DIRECT] = put_direct,
            [FORM_POINTER] = put_pointer,
            [FORM_PLT] = put_plt,
            [FORM_RETPOLINE] = put_retpoline,
            [FORM_PATCHED_CALL] = put_call_site,
            [FORM_PATCHED_INLINE] = put_call_site,
            [FORM_PATCHED_NOP] = put_call_site,
            [FORM_FLAG] = put_flag,
            [FORM_BRANCH_OFF] = put_branch_site,
            [FORM_BRANCH_ON] = put_branch_site,
        },
    .put_jump_back = put_jump_back,
    .enter = PATCH_BYTES(enter),
    .leave = PATCH_BYTES(leave),
    .one = PATCH_BYTES(one),
    .eight = PATCH_BYTES(eight),
    .ret = PATCH_BYTES(ret),
    .fill = nops_fill,
};
