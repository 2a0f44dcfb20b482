/* SPDX-License-Identifier: MIT */
/*
 * Writes texts of AArch64: the instructions that compilers and linkers emit (Arm ARM, C6.2), and
 * the sites that <carry/patch/aarch64.h> defines. Targets of branches by register start with a
 * landing pad, as in programs for BTI. The argument of a callee is in x1. In x0, the register of
 * the result, it would make each call wait for the previous one, which would hide the cost of
 * calls.
 */
#include "bench/patch_code.h"

enum { INSTRUCTION_BYTES = 4 };

#define B        UINT32_C(0x14000000)
#define BL       UINT32_C(0x94000000)
#define CBNZ_W16 UINT32_C(0x35000010)
#define CBZ_X16  UINT32_C(0xb4000010)
#define CBZ_X19  UINT32_C(0xb4000013)
#define ADRP_X16 UINT32_C(0x90000010)
#define ADD_X16  UINT32_C(0x91000210) /* add x16, x16, offset */
#define LDR_X16  UINT32_C(0xf9400210) /* ldr x16, [x16, offset] */
#define LDR_X17  UINT32_C(0xf9400211) /* ldr x17, [x16, offset] */
#define LDRB_W16 UINT32_C(0x39400210) /* ldrb w16, [x16, offset] */
#define LDAR_X16 UINT32_C(0xc8dffe10) /* ldar x16, [x16] */
#define BR_X16   UINT32_C(0xd61f0200)
#define BR_X17   UINT32_C(0xd61f0220)
#define BLR_X16  UINT32_C(0xd63f0200)
#define DEC_X19  UINT32_C(0xd1000673) /* sub x19, x19, 1 */
#define NOP      UINT32_C(0xd503201f)

/* Instructions are little-endian, whatever the byte order of data is. */
#define WORD(instruction)                                                                          \
    (uint8_t)((instruction)&0xff), (uint8_t)((instruction) >> 8 & 0xff),                           \
        (uint8_t)((instruction) >> 16 & 0xff), (uint8_t)((instruction) >> 24)

static const uint8_t enter[] = {
    WORD(0xd503245f), /* bti c */
    WORD(0xa9be7bfd), /* stp x29, x30, [sp, -32]! */
    WORD(0x910003fd), /* mov x29, sp */
    WORD(0xf9000bf3), /* str x19, [sp, 16] */
    WORD(0xaa0003f3), /* mov x19, x0 */
};

static const uint8_t leave[] = {
    WORD(0xf9400bf3), /* ldr x19, [sp, 16] */
    WORD(0xa8c27bfd), /* ldp x29, x30, [sp], 32 */
    WORD(0xd65f03c0), /* ret */
};

static const uint8_t land[] = {WORD(0xd503245f)}; /* bti c */

static const uint8_t one[] = {WORD(0x91000420)}; /* add x0, x1, 1 */

static const uint8_t eight[] = {
    WORD(0x8b010420), /* add x0, x1, x1, lsl 1 */
    WORD(0xaa0003e9), /* mov x9, x0 */
    WORD(0xd347fd29), /* lsr x9, x9, 7 */
    WORD(0xca090000), /* eor x0, x0, x9 */
    WORD(0xaa0003ea), /* mov x10, x0 */
    WORD(0xd37df14a), /* lsl x10, x10, 3 */
    WORD(0x8b0a0000), /* add x0, x0, x10 */
    WORD(0x93c01400), /* ror x0, x0, 5 */
};

static const uint8_t ret[] = {WORD(0xd65f03c0)};

/* --- Instructions --- */

static void put_word(struct patch_maker *maker, uint32_t instruction) {
    const uint8_t bytes[] = {WORD(instruction)};
    patch_put(maker, bytes, sizeof bytes);
}

static uint32_t branch_distance(const struct patch_maker *maker, size_t target) {
    return (uint32_t)((intptr_t)(target - maker->at) / INSTRUCTION_BYTES);
}

/* Puts B or BL, which reach 128 MiB. */
static void put_branch(struct patch_maker *maker, uint32_t opcode, size_t target) {
    put_word(maker, opcode | (branch_distance(maker, target) & 0x03ffffff));
}

/* Puts CBZ or CBNZ, which reach 1 MiB. */
static void put_test(struct patch_maker *maker, uint32_t opcode, size_t target) {
    put_word(maker, opcode | (branch_distance(maker, target) & 0x7ffff) << 5);
}

/* Puts ADRP of the 4-KiB page that contains the target. The memory starts at such a page. */
static void put_page(struct patch_maker *maker, size_t target) {
    uint32_t number = (uint32_t)(target / 4096 - maker->at / 4096);
    put_word(maker, ADRP_X16 | (number & 3) << 29 | (number >> 2 & 0x7ffff) << 5);
}

/* Puts an instruction that follows ADRP, with the offset of the target in its page, in units of
   `unit` bytes. */
static void put_in_page(struct patch_maker *maker, uint32_t opcode, size_t target, size_t unit) {
    put_word(maker, opcode | (uint32_t)(target % 4096 / unit) << 10);
}

static void fill_nops(uint8_t *bytes, size_t size) {
    const uint8_t nop[] = {WORD(NOP)};
    for (size_t at = 0; at < size; at++)
        bytes[at] = nop[at % sizeof nop];
}

/* --- Forms --- */

static void put_direct(struct patch_maker *maker, size_t index) {
    put_branch(maker, BL, patch_callee_at(maker, index));
}

static void put_pointer(struct patch_maker *maker, size_t index) {
    const size_t pointer = patch_line_at(maker, index);
    put_page(maker, pointer);
    put_in_page(maker, LDR_X16, pointer, sizeof(uint64_t));
    put_word(maker, BLR_X16);
}

static void put_plt(struct patch_maker *maker, size_t index) {
    const size_t pointer = patch_line_at(maker, index);
    put_branch(maker, BL, patch_stub_at(maker, index));

    size_t next = maker->at;
    maker->at = patch_stub_at(maker, index);
    put_page(maker, pointer);
    put_in_page(maker, LDR_X17, pointer, sizeof(uint64_t));
    put_in_page(maker, ADD_X16, pointer, 1);
    put_word(maker, BR_X17);
    maker->at = next;
}

/* Puts the start of a stub: it loads the key into x16. */
static void put_load_of_key(struct patch_maker *maker, size_t index) {
    const size_t key = patch_line_at(maker, index);
    put_page(maker, key);
    put_in_page(maker, ADD_X16, key, 1);
    put_word(maker, LDAR_X16);
}

static void put_call_site(struct patch_maker *maker, size_t index) {
    const size_t stub = patch_stub_at(maker, index);
    const struct carry_site record = {.kind = CARRY_SITE_CALL, .length = INSTRUCTION_BYTES};
    patch_put_record(maker, record, patch_line_at(maker, index), stub);
    put_branch(maker, BL, stub);

    size_t next = maker->at;
    maker->at = stub;
    put_load_of_key(maker, index);
    put_word(maker, BR_X16);
    maker->at = next;
}

static void put_flag(struct patch_maker *maker, size_t index) {
    const size_t flag = patch_line_at(maker, index);
    put_page(maker, flag);
    put_in_page(maker, LDRB_W16, flag, 1);
    put_test(maker, CBNZ_W16, maker->at + INSTRUCTION_BYTES);
}

static void put_branch_site(struct patch_maker *maker, size_t index) {
    const size_t stub = patch_stub_at(maker, index);
    const struct carry_site record = {
        .kind = CARRY_SITE_BRANCH, .length = INSTRUCTION_BYTES, .flags = CARRY_SITE_JUMPS_IF_ON};
    patch_put_record(maker, record, patch_line_at(maker, index), stub);
    put_branch(maker, B, stub);

    size_t next = maker->at;
    maker->at = stub;
    put_load_of_key(maker, index);
    put_test(maker, CBZ_X16, maker->at + 2 * INSTRUCTION_BYTES);
    put_branch(maker, B, next);
    put_branch(maker, B, next);
    maker->at = next;
}

/* Puts the end of the loop. A CBNZ might not reach back to the start of the loop. */
static void put_jump_back(struct patch_maker *maker, size_t start) {
    put_word(maker, DEC_X19);
    put_test(maker, CBZ_X19, maker->at + 2 * INSTRUCTION_BYTES);
    put_branch(maker, B, start);
}

/* Retpolines exist on x86 only. */
const struct patch_code patch_code = {
    .instruction_align = INSTRUCTION_BYTES,
    .put =
        {
            [FORM_DIRECT] = put_direct,
            [FORM_POINTER] = put_pointer,
            [FORM_PLT] = put_plt,
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
    .land = PATCH_BYTES(land),
    .one = PATCH_BYTES(one),
    .eight = PATCH_BYTES(eight),
    .ret = PATCH_BYTES(ret),
    .fill = fill_nops,
};
