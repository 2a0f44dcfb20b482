/* SPDX-License-Identifier: MIT */
/* Reads sites of x86-64 by the table in <carry/patch/x86_64.h>. */
#include <elf.h>
#include <string.h>

#include "common/nops.h"
#include "sites/sites_machine.h"

#define CS_PREFIX    0x2e
#define CALL_REL32   0xe8
#define JUMP_REL32   0xe9
#define REL32_BYTES  4
#define CALL_BYTES   6
#define BRANCH_BYTES 5
#define ENTRY_BYTES  5

/* The stub of a branch: cmpb $0, key; jne or je target; jmp back */
#define STUB_BYTES 18
/* The places of the three offsets in the stub, and the ends of its first two instructions. The
 * first two offsets are relative to these ends. */
#define STUB_KEY    2
#define STUB_TARGET 9
#define STUB_BACK   14
#define STUB_TESTED 7
#define STUB_AFTER  13

static void put_relative(uint8_t *bytes, uint64_t end, uint64_t target) {
    for (size_t i = 0; i < REL32_BYTES; i++)
        bytes[i] = (uint8_t)((target - end) >> 8 * i);
}

/* Returns whether a 32-bit offset reaches `target` from the end of a call. */
static bool reaches(uint64_t site, uint64_t target) {
    const int64_t distance = (int64_t)(target - site - CALL_BYTES);
    return distance == (int32_t)distance;
}

static enum site_state call_state(const struct record *record, const uint8_t *bytes,
                                  uint64_t *target) {
    const bool calls = record->kind == CARRY_SITE_CALL;
    *target = object_relative(bytes + 2, record->site + CALL_BYTES);
    if (bytes[0] == 0xff && bytes[1] == (calls ? 0x15 : 0x25) && *target == record->key)
        return SITE_ORIGINAL;
    if (!calls && nops_is_one(bytes, CALL_BYTES)) {
        *target = record->site + CALL_BYTES; /* a jump to what follows */
        return SITE_DIRECT;
    }
    return bytes[0] == CS_PREFIX && bytes[1] == (calls ? CALL_REL32 : JUMP_REL32) ? SITE_DIRECT
                                                                                  : SITE_FOREIGN;
}

static bool read_jump(const uint8_t *bytes, uint64_t address, uint64_t *target) {
    *target = object_relative(bytes + 1, address + BRANCH_BYTES);
    return bytes[0] == JUMP_REL32;
}

/* Returns the state of an entry: NOPs of the compiler, the library's NOP, or a jump to the stub. */
static enum site_state entry_state(const struct record *record, const uint8_t *bytes) {
    static const uint8_t five[ENTRY_BYTES] = {0x90, 0x90, 0x90, 0x90, 0x90};
    static const uint8_t one[ENTRY_BYTES] = {0x0f, 0x1f, 0x44, 0, 8};
    const bool single = (record->flags & CARRY_SITE_SINGLE) != 0;
    uint64_t target;
    if (memcmp(bytes, single ? one : five, ENTRY_BYTES) == 0)
        return single ? SITE_NOP : SITE_ORIGINAL;
    if (!single && nops_is_one(bytes, ENTRY_BYTES))
        return SITE_NOP;
    return read_jump(bytes, record->site, &target) && target == record->aux ? SITE_JUMPS
                                                                            : SITE_FOREIGN;
}

static bool is_guard_text(const uint8_t *bytes, size_t size) {
    return bytes[0] == 0xcc || (size > 1 && bytes[0] == 0xeb && bytes[1] == 0xfe);
}

static bool put_body(uint64_t site, const struct record *body, const uint8_t *from, size_t size,
                     uint8_t *bytes) {
    memset(bytes, CS_PREFIX, CALL_BYTES);
    memcpy(bytes + CALL_BYTES - size, from, size);
    if (!size)
        nops_fill(bytes, CALL_BYTES);
    if (!size || !(body->flags & CARRY_SITE_RELATIVE))
        return true;
    if (size < REL32_BYTES)
        return false;
    const uint64_t target = object_relative(from + size - REL32_BYTES, body->aux + 1 + size);
    put_relative(bytes + CALL_BYTES - REL32_BYTES, site + CALL_BYTES, target);
    return reaches(site, target);
}

static void put_state(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text) {
    size_t size = from->sizes[replaced];
    const uint8_t *bytes = from->bytes[replaced];
    bool single = record->flags & CARRY_SITE_SINGLE;
    size_t most = size ? size : NOP_BYTES_MAX; /* without instructions, there is one NOP */
    size_t start = single && record->length > most ? record->length - most : 0;
    memset(text, CS_PREFIX, start);
    memcpy(text + start, bytes, size);
    if (replaced)
        nops_fill(text + start + size, record->length - start - size);
    else
        memset(text + start + size, 0x90, record->length - start - size);
    if (size > REL32_BYTES && (bytes[0] == CALL_REL32 || bytes[0] == JUMP_REL32))
        put_relative(text + start + 1, record->site + start + 1 + REL32_BYTES,
                     object_relative(bytes + 1, from->address[replaced] + 1 + REL32_BYTES));
}

/* --- Stubs --- */

static bool read_stub(const uint8_t *bytes, uint8_t kind, uint64_t at, struct stub *stub) {
    (void)kind;
    *stub = (struct stub){
        .key = object_relative(bytes + STUB_KEY, at + STUB_TESTED),
        .target = object_relative(bytes + STUB_TARGET, at + STUB_AFTER),
        .back = object_relative(bytes + STUB_BACK, at + STUB_BYTES),
        .jumps_if_on = bytes[8] & 1,
    };
    return bytes[0] == 0x80 && bytes[1] == 0x3d && !bytes[6] && bytes[7] == 0x0f &&
           (bytes[8] & 0xfe) == 0x84 && bytes[13] == JUMP_REL32;
}

/* --- Traces --- */

/*
 * Finds calls, jumps and branches. The six bytes of a call or jump refer to its operation. The stub
 * of a branch jumps back to the end of its site.
 */
static bool trace_site(const uint8_t *bytes, uint64_t address, struct trace *trace) {
    struct stub read;
    if (bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25)) {
        *trace = (struct trace){.site = address,
                                .key = object_relative(bytes + 2, address + CALL_BYTES),
                                .kind = bytes[1] == 0x15 ? CARRY_SITE_CALL : CARRY_SITE_JUMP};
        return true;
    }
    if (!read_stub(bytes, CARRY_SITE_BRANCH, address, &read))
        return false;
    *trace = (struct trace){
        .site = read.back - BRANCH_BYTES, .stub = address, .kind = CARRY_SITE_BRANCH};
    return true;
}

/* Returns whether the address `made` is an operand at `bytes`; its instruction begins earlier. */
static bool computes_address(const uint8_t *bytes, uint64_t address, bool is_fixed, uint64_t made) {
    return object_relative(bytes, address + REL32_BYTES) == made ||
           (is_fixed && object_little(bytes, REL32_BYTES) == made);
}

const struct machine machine_x86_64 = {
    .elf = EM_X86_64,
    .name = "x86-64",
    .arch = "x86_64",
    .reach = "2 GiB",
    .relative = R_X86_64_RELATIVE,
    .absolute = R_X86_64_64,
    .unit = 1,
    .call_bytes = CALL_BYTES,
    .branch_bytes = BRANCH_BYTES,
    .entry_bytes = ENTRY_BYTES,
    .branch_stub_bytes = STUB_BYTES,
    .body_at = 1,
    .pair_at = 2,
    .disassemble = disassemble_x86_64,
    .text = disassemble_x86_64_text,
    .reaches = reaches,
    .is_nop = nops_is_one,
    .call = call_state,
    .jump = read_jump,
    .entry = entry_state,
    .guards = is_guard_text,
    .put_body = put_body,
    .put_state = put_state,
    .stub = read_stub,
    .trace = trace_site,
    .makes = computes_address,
};
