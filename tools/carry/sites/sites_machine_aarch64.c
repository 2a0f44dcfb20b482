/* SPDX-License-Identifier: MIT */
/* Reads sites of AArch64 by the table in <carry/patch/aarch64.h> and the encodings in the Arm ARM,
 * C6.2. */
#include <elf.h>
#include <string.h>

#include "sites/sites_machine.h"

#define INSTRUCTION_BYTES 4
#define CALL_STUB_BYTES   16
#define BRANCH_STUB_BYTES 24
#define KEY_REGISTER      16

#define NOP         UINT32_C(0xd503201f)
#define BRANCH      UINT32_C(0x14000000) /* b */
#define LINK        UINT32_C(0x80000000) /* of a branch: bl */
#define OFFSET_MASK UINT32_C(0x03ffffff) /* of a branch, in instructions */

static uint32_t get_word(const uint8_t *bytes) {
    return (uint32_t)object_little(bytes, INSTRUCTION_BYTES);
}

static void put_word(uint8_t *bytes, uint32_t word) {
    for (size_t i = 0; i < INSTRUCTION_BYTES; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static bool is_nop(const uint8_t *bytes, size_t size) {
    return size == INSTRUCTION_BYTES && get_word(bytes) == NOP;
}

/* Returns whether a word is B, or BL if `link` is LINK, and sets its target. */
static bool read_branch(uint32_t word, uint32_t link, uint64_t address, uint64_t *target) {
    const int32_t offset = (int32_t)(word << 6) >> 4;
    *target = address + (uint64_t)(int64_t)offset;
    return (word & ~OFFSET_MASK) == (BRANCH | link);
}

static bool reaches(uint64_t site, uint64_t target) {
    const uint64_t reach = UINT64_C(1) << 27;
    return target - site + reach < 2 * reach && (target - site) % INSTRUCTION_BYTES == 0;
}

static enum site_state call_state(const struct record *record, const uint8_t *bytes,
                                  uint64_t *target) {
    const uint32_t link = record->kind == CARRY_SITE_CALL ? LINK : 0;
    if (!read_branch(get_word(bytes), link, record->site, target))
        return SITE_FOREIGN;
    return *target == record->aux ? SITE_ORIGINAL : SITE_DIRECT;
}

static bool read_jump(const uint8_t *bytes, uint64_t address, uint64_t *target) {
    return read_branch(get_word(bytes), 0, address, target);
}

static bool put_body(uint64_t site, const struct record *body, const uint8_t *from, size_t size,
                     uint8_t *bytes) {
    (void)site;
    (void)body;
    put_word(bytes, size ? get_word(from) : NOP);
    return true;
}

static void put_state(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text) {
    const size_t size = from->sizes[replaced];
    const uint8_t *bytes = from->bytes[replaced];
    uint64_t target;
    memcpy(text, bytes, size);
    for (size_t at = size; at < record->length; at += INSTRUCTION_BYTES)
        put_word(text + at, NOP);
    const uint32_t first = get_word(text);
    if (size && read_branch(first, first & LINK, from->address[replaced], &target))
        put_word(text, (first & ~OFFSET_MASK) |
                           ((uint32_t)((target - record->site) / INSTRUCTION_BYTES) & OFFSET_MASK));
}

/* --- Stubs --- */

/* Returns whether a word is ADRP or ADR, and sets its register and the address that it computes. */
static bool makes_address(uint32_t word, uint64_t at, uint32_t *reg, uint64_t *made) {
    struct instruction instruction;
    uint8_t bytes[INSTRUCTION_BYTES];
    put_word(bytes, word);
    *reg = word & 31;
    if ((word & 0x1f000000) != 0x10000000 ||
        !disassemble_aarch64(bytes, sizeof bytes, at, &instruction))
        return false;
    *made = instruction.target;
    return true;
}

/* Returns whether a word is ADD of an immediate to a register, and sets the immediate. */
static bool read_add(uint32_t word, uint32_t reg, uint64_t *added) {
    *added = word >> 10 & 0xfff;
    return (word & 0xffc00000) == 0x91000000 && (word >> 5 & 31) == reg;
}

/*
 * Returns whether two instructions compute a key, and sets its address: ADRP and ADD from
 * compilers; NOP and ADR, or ADR and ADD, from linkers.
 */
static bool makes_key(const uint8_t *bytes, uint64_t at, uint64_t *key) {
    const uint32_t first = get_word(bytes), second = get_word(bytes + INSTRUCTION_BYTES);
    uint32_t reg;
    uint64_t added;
    if (first == NOP)
        return makes_address(second, at + INSTRUCTION_BYTES, &reg, key) && reg == KEY_REGISTER;
    if (!makes_address(first, at, &reg, key) || reg != KEY_REGISTER ||
        !read_add(second, reg, &added) || (second & 31) != reg)
        return false;
    *key += added;
    return true;
}

/*
 * Reads a stub: the key, then ldar x16, [x16]. A call has br x16. A branch has cbz or cbnz over the
 * jump to its target, then the jump back.
 */
static bool read_stub(const uint8_t *bytes, uint8_t kind, uint64_t at, struct stub *stub) {
    if (!makes_key(bytes, at, &stub->key) || get_word(bytes + 8) != 0xc8dffe10)
        return false;
    const uint32_t test = get_word(bytes + 12);
    if (kind != CARRY_SITE_BRANCH)
        return test == 0xd61f0200;
    stub->jumps_if_on = test == 0xb4000050;
    return (stub->jumps_if_on || test == 0xb5000050) &&
           read_branch(get_word(bytes + 16), 0, at + 16, &stub->target) &&
           read_branch(get_word(bytes + 20), 0, at + 20, &stub->back);
}

/* Returns whether the word is BTI c, j or jc, PACIASP, PACIBSP (Arm ARM, "Branch Target
 * Identification"), or BRK. */
static bool is_landing_pad(const uint8_t bytes[MACHINE_LANDING_BYTES]) {
    static const uint32_t pads[] = {0xd503245f, 0xd503249f, 0xd50324df, 0xd503233f, 0xd503237f};
    const uint32_t word = get_word(bytes);
    bool found = (word & 0xffe0001f) == 0xd4200000;
    for (size_t i = 0; i < sizeof pads / sizeof *pads; i++)
        found = found || word == pads[i];
    return found;
}

/* --- Traces --- */

/* Finds branches, as a site of AArch64 branches to its stub. */
static bool trace_site(const uint8_t *bytes, uint64_t address, struct trace *trace) {
    const uint32_t link = get_word(bytes) & LINK;
    *trace = (struct trace){.site = address, .kind = link ? CARRY_SITE_CALL : CARRY_SITE_JUMP};
    return read_branch(get_word(bytes), link, address, &trace->stub);
}

/* Returns whether ADR, or ADRP with an ADD soon after, computes the address `made`. */
static bool computes_address(const uint8_t *bytes, uint64_t address, bool is_fixed, uint64_t made) {
    uint32_t reg;
    uint64_t start, added;
    (void)is_fixed;
    if (!makes_address(get_word(bytes), address, &reg, &start))
        return false;
    bool found = start == made;
    for (size_t at = INSTRUCTION_BYTES; at < MACHINE_SCAN_BYTES; at += INSTRUCTION_BYTES)
        found = found || (read_add(get_word(bytes + at), reg, &added) && start + added == made);
    return found;
}

const struct machine machine_aarch64 = {
    .elf = EM_AARCH64,
    .name = "AArch64",
    .arch = "aarch64",
    .reach = "128 MiB",
    .relative = R_AARCH64_RELATIVE,
    .absolute = R_AARCH64_ABS64,
    .has_marks = true,
    .unit = INSTRUCTION_BYTES,
    .call_bytes = INSTRUCTION_BYTES,
    .branch_bytes = INSTRUCTION_BYTES,
    .call_stub_bytes = CALL_STUB_BYTES,
    .branch_stub_bytes = BRANCH_STUB_BYTES,
    .body_at = INSTRUCTION_BYTES,
    .pair_at = INSTRUCTION_BYTES,
    .disassemble = disassemble_aarch64,
    .text = disassemble_aarch64_text,
    .reaches = reaches,
    .is_nop = is_nop,
    .call = call_state,
    .jump = read_jump,
    .put_body = put_body,
    .put_state = put_state,
    .stub = read_stub,
    .lands = is_landing_pad,
    .trace = trace_site,
    .makes = computes_address,
};
