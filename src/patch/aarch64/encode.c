/* SPDX-License-Identifier: MIT */
/*
 * The states of a site on AArch64 (Arm ARM, C6.2; the table is in <carry/patch/aarch64.h>). Every
 * site except an alternative is one instruction of four bytes, in little-endian order.
 */
#include "patch/patch_internal.h"

enum {
    INSTRUCTION_BYTES = 4,
    STUB_BRANCH = 16, /* in the stub of a branch on a key: where the branch to the target is */
};

#define NOP         UINT32_C(0xd503201f)
#define BRANCH      UINT32_C(0x14000000) /* b */
#define LINK        UINT32_C(0x80000000) /* BRANCH | LINK: bl */
#define OFFSET_MASK UINT32_C(0x03ffffff) /* of a branch, in instructions */
#define OFFSET_BITS 26

/* Converts an instruction between the byte order of data and little-endian order. */
static uint32_t to_little_endian(uint32_t instruction) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(instruction);
#else
    return instruction;
#endif
}

static uint32_t get_insn(const uint8_t *bytes) {
    uint32_t instruction;
    __builtin_memcpy(&instruction, bytes, sizeof instruction);
    return to_little_endian(instruction);
}

static void put_insn(uint8_t *bytes, uint32_t instruction) {
    instruction = to_little_endian(instruction);
    __builtin_memcpy(bytes, &instruction, sizeof instruction);
}

static bool insn_is_branch(uint32_t instruction) {
    return (instruction & ~(OFFSET_MASK | LINK)) == BRANCH;
}

static bool insn_is_call(uint32_t instruction) {
    return (instruction & ~OFFSET_MASK) == (BRANCH | LINK);
}

/* Writes a branch. Returns false if the target is farther than 128 MiB, or not aligned. */
static bool put_branch(uint8_t *bytes, uint32_t opcode, uintptr_t from, uintptr_t target) {
    const intptr_t reach = (intptr_t)1 << (OFFSET_BITS + 1);
    intptr_t distance = (intptr_t)(target - from);
    put_insn(bytes, opcode | ((uint32_t)(distance / INSTRUCTION_BYTES) & OFFSET_MASK));
    return distance >= -reach && distance < reach && distance % INSTRUCTION_BYTES == 0;
}

static uintptr_t branch_target(const uint8_t *place) {
    int32_t offset = (int32_t)(get_insn(place) << (32 - OFFSET_BITS)) >> (32 - OFFSET_BITS);
    return (uintptr_t)place + (uintptr_t)(INSTRUCTION_BYTES * (intptr_t)offset);
}

static const uint8_t *aux_bytes(const struct carry_site *site) {
    return (const uint8_t *)carry_site_target(&site->aux);
}

/* --- Calls and jumps --- */

static uint32_t branch_opcode(const struct carry_site *site) {
    return site->kind == CARRY_SITE_CALL ? BRANCH | LINK : BRANCH;
}

static void put_nops(uint8_t *bytes, size_t length) {
    for (size_t at = 0; at < length; at += INSTRUCTION_BYTES)
        put_insn(bytes + at, NOP);
}

static bool put_call(const struct carry_site *site, uintptr_t function,
                     const struct carry_site *body, uint8_t *bytes) {
    bool in_place = body && site->kind == CARRY_SITE_CALL;
    size_t size = in_place ? aux_bytes(body)[0] : SIZE_MAX;
    if (size > INSTRUCTION_BYTES)
        return put_branch(bytes, branch_opcode(site), carry_site_address(site), function);
    put_insn(bytes, size ? get_insn(aux_bytes(body) + INSTRUCTION_BYTES) : NOP);
    return true;
}

/* --- Branches --- */

static bool put_key_branch(const struct carry_site *site, bool on, uint8_t *bytes) {
    bool jumps_if_on = (site->flags & CARRY_SITE_JUMPS_IF_ON) != 0;
    if (on == jumps_if_on)
        return put_branch(bytes, BRANCH, carry_site_address(site),
                          branch_target(aux_bytes(site) + STUB_BRANCH));
    put_insn(bytes, NOP);
    return true;
}

/* --- Entries --- */

static bool put_entry(const struct carry_site *site, bool on, uint8_t *bytes) {
    if (on)
        return put_branch(bytes, BRANCH, carry_site_address(site), (uintptr_t)aux_bytes(site));
    put_insn(bytes, NOP);
    return true;
}

/* --- Alternatives --- */

/* Writes the default or the replacement. `aux` holds their sizes and, from offset 4 on, their
 * instructions. Returns false if a branch cannot reach its target. */
static bool put_alternative(const struct carry_site *site, bool replaced, uint8_t *bytes) {
    const uint8_t *aux = aux_bytes(site);
    const uint8_t *from = aux + INSTRUCTION_BYTES + (replaced ? aux[0] : 0);
    size_t size = aux[replaced];
    __builtin_memcpy(bytes, from, size);
    put_nops(bytes + size, site->length - size);
    if (!size || !insn_is_branch(get_insn(from)))
        return true;
    return put_branch(bytes, get_insn(from) & ~OFFSET_MASK, carry_site_address(site),
                      branch_target(from));
}

static bool alternative_fits(const struct carry_site *site) {
    const uint8_t *aux = aux_bytes(site);
    return site->length && site->length <= CARRY_SITE_BYTES_MAX &&
           (site->length | aux[0] | aux[1]) % INSTRUCTION_BYTES == 0 && aux[0] <= site->length &&
           aux[1] <= site->length;
}

/* --- The interface of patch_internal.h --- */

bool carry_encode_supports(const struct carry_site *site) {
    if (site->version != CARRY_SITE_VERSION || carry_site_address(site) % INSTRUCTION_BYTES)
        return false;
    switch (site->kind) {
    case CARRY_SITE_CALL:
    case CARRY_SITE_JUMP:
    case CARRY_SITE_BRANCH:
    case CARRY_SITE_ENTRY:
        return site->length == INSTRUCTION_BYTES;
    case CARRY_SITE_ALTERNATIVE:
        return alternative_fits(site);
    default:
        return false;
    }
}

size_t carry_encode_aux_bytes(const struct carry_site *record, bool seen) {
    const uint8_t *aux = aux_bytes(record);
    switch (record->kind) {
    case CARRY_SITE_BRANCH:
        return STUB_BRANCH + INSTRUCTION_BYTES;
    case CARRY_SITE_ALTERNATIVE:
        return (size_t)INSTRUCTION_BYTES + (seen ? aux[0] + aux[1] : 0);
    case CARRY_SITE_BODY:
        return (size_t)INSTRUCTION_BYTES + (seen ? aux[0] : 0);
    default:
        return 0;
    }
}

void carry_encode_original(const struct carry_site *site, uint8_t *bytes) {
    if (site->kind == CARRY_SITE_ALTERNATIVE)
        put_alternative(site, false, bytes);
    else if (site->kind == CARRY_SITE_ENTRY)
        put_entry(site, false, bytes);
    else
        put_branch(bytes, branch_opcode(site), carry_site_address(site),
                   (uintptr_t)aux_bytes(site));
}

bool carry_encode(const struct carry_site *site, uintptr_t value, const struct carry_site *body,
                  uint8_t *bytes) {
    switch (site->kind) {
    case CARRY_SITE_ALTERNATIVE:
        return put_alternative(site, value != 0, bytes);
    case CARRY_SITE_BRANCH:
        return put_key_branch(site, value != 0, bytes);
    case CARRY_SITE_ENTRY:
        return put_entry(site, value != 0, bytes);
    default:
        return put_call(site, value, body, bytes);
    }
}

bool carry_encode_is_inline(const struct carry_site *site, const uint8_t *bytes) {
    return site->kind == CARRY_SITE_CALL && !insn_is_call(get_insn(bytes));
}

/* Checks for the instructions of sites that the Arm ARM allows to replace each other (B2.2.5). */
static bool insn_is_exchangeable(uint32_t instruction) {
    return insn_is_branch(instruction) || instruction == NOP;
}

bool carry_encode_swaps(const uint8_t *from, const uint8_t *to, size_t length) {
    return length == INSTRUCTION_BYTES && insn_is_exchangeable(get_insn(from)) &&
           insn_is_exchangeable(get_insn(to));
}

/* Returns MISSING: an instruction outside the list of the Arm ARM may not even replace a guard. */
enum carry_guard carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs) {
    (void)site;
    (void)length;
    (void)writes_pairs;
    return CARRY_GUARD_MISSING;
}

size_t carry_encode_guard_bytes(enum carry_guard guard, uint8_t *bytes) {
    (void)guard;
    (void)bytes;
    return 0;
}
