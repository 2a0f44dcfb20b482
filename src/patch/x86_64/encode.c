/* SPDX-License-Identifier: MIT */
/*
 * The states of a site on x86-64 (Intel SDM vol. 2; the table is in <carry/patch/x86_64.h>).
 * Prefixes or one NOP fill a site up to its length, so that each state that threads may run is one
 * instruction.
 */
#include "patch/patch_internal.h"

enum {
    CALL_BYTES = 6,
    BRANCH_BYTES = 5,
    ENTRY_BYTES = 5,
    REL32_BYTES = 4,
    STUB_TARGET = 9, /* in the stub of a branch on a key: where the offset to the target is */
    STUB_AFTER = 13, /* in that stub: the place to which the offset is relative */
};

#define CS_PREFIX   0x2e /* has no effect in 64-bit mode */
#define CALL_REL32  0xe8
#define JUMP_REL32  0xe9
#define JUMP_REL8   0xeb
#define TO_ITSELF   0xfe
#define TRAP        0xcc
#define INDIRECT    0xff
#define CALL_MEMORY 0x15 /* the byte after INDIRECT, for an operand relative to rip */
#define JUMP_MEMORY 0x25

/*
 * A store within ATOMIC_BYTES aligned bytes is atomic on every processor (AMD64 APM vol. 2, "Access
 * Atomicity"). Intel guarantees it for a whole cache line (SDM vol. 3, "Guaranteed Atomic
 * Operations").
 */
#define ATOMIC_BYTES 8

static const uint8_t *aux_bytes(const struct carry_site *site) {
    return (const uint8_t *)carry_site_target(&site->aux);
}

/* Writes target - end as 32 bits. Returns false if it does not fit. */
static bool put_rel32(uint8_t *bytes, uintptr_t end, uintptr_t target) {
    intptr_t distance = (intptr_t)(target - end);
    int32_t rel32 = (int32_t)distance;
    __builtin_memcpy(bytes, &rel32, REL32_BYTES);
    return rel32 == distance;
}

/*
 * Writes `opcode`, of one or two bytes, and target - end. Uses one store of eight bytes, because
 * several stores would delay the code that compares or copies the state next. Returns false if the
 * distance does not fit.
 */
static bool put_relative(uint8_t *bytes, unsigned opcode, size_t size, uintptr_t end,
                         uintptr_t target) {
    intptr_t distance = (intptr_t)(target - end);
    uint64_t word = opcode | (uint64_t)(uint32_t)distance << 8 * size;
    __builtin_memcpy(bytes, &word, sizeof word);
    return (int32_t)distance == distance;
}

static uintptr_t rel32_target(const uint8_t *offset, uintptr_t end) {
    int32_t rel32;
    __builtin_memcpy(&rel32, offset, REL32_BYTES);
    return end + (uintptr_t)(intptr_t)rel32;
}

/* Writes the instruction at `from` with enough prefixes to make it `length` bytes long. Returns
 * false if it is longer. */
static bool put_instruction(uint8_t *bytes, size_t length, const uint8_t *from, size_t size) {
    if (size > length)
        return false;
    for (size_t i = 0; i < length - size; i++)
        bytes[i] = CS_PREFIX;
    __builtin_memcpy(bytes + length - size, from, size);
    return true;
}

#define NOP_BYTES_MAX 9

/* Writes one NOP that the SDM recommends, with more prefixes if the longest one is too short. */
static void put_nop(uint8_t *bytes, size_t length) {
    static const uint8_t nops[NOP_BYTES_MAX][NOP_BYTES_MAX] = {
        {0x90},
        {0x66, 0x90},
        {0x0f, 0x1f, 0x00},
        {0x0f, 0x1f, 0x40, 0x00},
        {0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
        {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    };
    size_t size = length < NOP_BYTES_MAX ? length : NOP_BYTES_MAX;
    put_instruction(bytes, length, nops[size - 1], size);
}

/* Writes NOPs, the longest first. */
static void put_nops(uint8_t *bytes, size_t length) {
    for (size_t size; length; bytes += size, length -= size) {
        size = length < NOP_BYTES_MAX ? length : NOP_BYTES_MAX;
        put_nop(bytes, size);
    }
}

/* --- Calls and jumps --- */

static void put_indirect_call(const struct carry_site *site, uint8_t *bytes) {
    unsigned operand = site->kind == CARRY_SITE_CALL ? CALL_MEMORY : JUMP_MEMORY;
    put_relative(bytes, INDIRECT | operand << 8, 2, carry_site_address(site) + CALL_BYTES,
                 carry_site_key(site));
}

/* Writes a direct call or jump; a jump to the next instruction, which would cost a cycle, becomes a
 * NOP. Returns false if the function is out of reach. */
static bool put_direct_call(const struct carry_site *site, uintptr_t function, uint8_t *bytes) {
    const uintptr_t next = carry_site_address(site) + CALL_BYTES;
    unsigned opcode = site->kind == CARRY_SITE_CALL ? CALL_REL32 : JUMP_REL32;
    if (site->kind == CARRY_SITE_JUMP && function == next) {
        put_nop(bytes, CALL_BYTES);
        return true;
    }
    return put_relative(bytes, CS_PREFIX | opcode << 8, 2, next, function);
}

static bool put_inline_body(const struct carry_site *site, const struct carry_site *body,
                            uint8_t *bytes) {
    const uint8_t *from = aux_bytes(body) + 1;
    size_t size = from[-1];
    if (!size) {
        put_nop(bytes, CALL_BYTES);
        return true;
    }
    if (!put_instruction(bytes, CALL_BYTES, from, size))
        return false;
    if (!(body->flags & CARRY_SITE_RELATIVE))
        return true;
    if (size < REL32_BYTES)
        return false;
    uintptr_t target = rel32_target(from + size - REL32_BYTES, (uintptr_t)from + size);
    return put_rel32(bytes + CALL_BYTES - REL32_BYTES, carry_site_address(site) + CALL_BYTES,
                     target);
}

static bool put_call(const struct carry_site *site, uintptr_t function,
                     const struct carry_site *body, uint8_t *bytes) {
    if (body && site->kind == CARRY_SITE_CALL && put_inline_body(site, body, bytes))
        return true;
    return put_direct_call(site, function, bytes);
}

/* --- Branches --- */

static void put_jump(uintptr_t from, uintptr_t target, uint8_t *bytes) {
    put_relative(bytes, JUMP_REL32, 1, from + BRANCH_BYTES, target);
}

static void put_key_branch(const struct carry_site *site, bool on, uint8_t *bytes) {
    bool jumps_if_on = (site->flags & CARRY_SITE_JUMPS_IF_ON) != 0;
    const uint8_t *stub = aux_bytes(site);
    if (on == jumps_if_on)
        put_jump(carry_site_address(site),
                 rel32_target(stub + STUB_TARGET, (uintptr_t)stub + STUB_AFTER), bytes);
    else
        put_nop(bytes, BRANCH_BYTES);
}

/* --- Entries --- */

/* Writes the NOPs of the compiler: five by GCC, or one by Clang. Clang's NOP costs no more than the
 * library's. */
static void put_compilers_nops(const struct carry_site *site, uint8_t *bytes) {
    static const uint8_t one[ENTRY_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x08};
    if (site->flags & CARRY_SITE_SINGLE)
        __builtin_memcpy(bytes, one, sizeof one);
    else
        __builtin_memset(bytes, 0x90, ENTRY_BYTES);
}

static bool put_entry(const struct carry_site *site, bool on, uint8_t *bytes) {
    if (!on && site->flags & CARRY_SITE_SINGLE)
        put_compilers_nops(site, bytes);
    else if (!on)
        put_nop(bytes, ENTRY_BYTES);
    if (!on)
        return true;
    return put_relative(bytes, JUMP_REL32, 1, carry_site_address(site) + ENTRY_BYTES,
                        carry_site_target(&site->aux));
}

/* --- Alternatives --- */

/* Writes the default or the replacement. `aux` holds two sizes, then the bytes of both. Returns
 * false if they do not fit, or a branch cannot reach its target. */
static bool put_alternative(const struct carry_site *site, bool replaced, uint8_t *bytes) {
    const uint8_t *aux = aux_bytes(site);
    size_t size = aux[replaced];
    const uint8_t *from = aux + 2 + (replaced ? aux[0] : 0);
    size_t start = 0;
    if (site->flags & CARRY_SITE_SINGLE && !size) {
        put_nop(bytes, site->length); /* prefixes alone would belong to the next instruction */
    } else if (site->flags & CARRY_SITE_SINGLE) {
        if (!put_instruction(bytes, site->length, from, size))
            return false;
        start = site->length - size;
    } else {
        __builtin_memcpy(bytes, from, size);
        /* The assembler filled up the default with one-byte NOPs. */
        if (replaced)
            put_nops(bytes + size, site->length - size);
        else
            __builtin_memset(bytes + size, 0x90, site->length - size);
    }
    bool relative = size > REL32_BYTES && (from[0] == CALL_REL32 || from[0] == JUMP_REL32);
    return !relative ||
           put_rel32(bytes + start + 1, carry_site_address(site) + start + 1 + REL32_BYTES,
                     rel32_target(from + 1, (uintptr_t)from + 1 + REL32_BYTES));
}

static bool alternative_fits(const struct carry_site *site) {
    const uint8_t *aux = aux_bytes(site);
    return site->length && site->length <= CARRY_SITE_BYTES_MAX && aux[0] <= site->length &&
           aux[1] <= site->length;
}

/* --- The interface of patch_internal.h --- */

bool carry_encode_supports(const struct carry_site *site) {
    if (site->version != CARRY_SITE_VERSION)
        return false;
    switch (site->kind) {
    case CARRY_SITE_CALL:
    case CARRY_SITE_JUMP:
        return site->length == CALL_BYTES;
    case CARRY_SITE_BRANCH:
        return site->length == BRANCH_BYTES;
    case CARRY_SITE_ALTERNATIVE:
        return alternative_fits(site);
    case CARRY_SITE_ENTRY:
        return site->length == ENTRY_BYTES;
    default:
        return false;
    }
}

size_t carry_encode_aux_bytes(const struct carry_site *record, bool seen) {
    const uint8_t *aux = aux_bytes(record);
    switch (record->kind) {
    case CARRY_SITE_BRANCH:
        return STUB_AFTER;
    case CARRY_SITE_ALTERNATIVE:
        return 2u + (seen ? aux[0] + aux[1] : 0);
    case CARRY_SITE_BODY:
        return 1u + (seen ? aux[0] : 0);
    default:
        return 0;
    }
}

void carry_encode_original(const struct carry_site *site, uint8_t *bytes) {
    if (site->kind == CARRY_SITE_BRANCH)
        put_jump(carry_site_address(site), carry_site_target(&site->aux), bytes);
    else if (site->kind == CARRY_SITE_ALTERNATIVE)
        put_alternative(site, false, bytes);
    else if (site->kind == CARRY_SITE_ENTRY)
        put_compilers_nops(site, bytes);
    else
        put_indirect_call(site, bytes);
}

bool carry_encode(const struct carry_site *site, uintptr_t value, const struct carry_site *body,
                  uint8_t *bytes) {
    if (site->kind == CARRY_SITE_ALTERNATIVE)
        return put_alternative(site, value != 0, bytes);
    if (site->kind == CARRY_SITE_ENTRY)
        return put_entry(site, value != 0, bytes);
    if (site->kind != CARRY_SITE_BRANCH)
        return put_call(site, value, body, bytes);
    put_key_branch(site, value != 0, bytes);
    return true;
}

bool carry_encode_is_inline(const struct carry_site *site, const uint8_t *bytes) {
    return site->kind == CARRY_SITE_CALL && !(bytes[0] == CS_PREFIX && bytes[1] == CALL_REL32);
}

bool carry_encode_swaps(const uint8_t *from, const uint8_t *to, size_t length) {
    (void)from;
    (void)to;
    (void)length;
    return false;
}

enum carry_guard carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs) {
    bool at_once = site % ATOMIC_BYTES != ATOMIC_BYTES - 1;
    return writes_pairs && at_once && length > 1 ? CARRY_GUARD_JUMP : CARRY_GUARD_TRAP;
}

size_t carry_encode_guard_bytes(enum carry_guard guard, uint8_t *bytes) {
    if (guard == CARRY_GUARD_JUMP) {
        bytes[0] = JUMP_REL8;
        bytes[1] = TO_ITSELF;
        return 2;
    }
    bytes[0] = TRAP;
    return 1;
}
