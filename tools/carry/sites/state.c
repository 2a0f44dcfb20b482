/* SPDX-License-Identifier: MIT */
/*
 * The states of sites on x86-64, by the table in <carry/patch/x86_64.h>. The library makes them,
 * this reads them, and shares no code with it: so each is a check of the other.
 */
#include "sites/state.h"

#include <ctype.h>
#include <string.h>

#include <carry/cpu.h>

#include "common/nops.h"
#include "sites/disassemble.h"

#define CS_PREFIX   0x2e
#define CALL_REL32  0xe8
#define JUMP_REL32  0xe9
#define KEY_BYTES   8
#define REL32_BYTES 4
#define STUB_BYTES  18
#define STUB_TARGET 9  /* where its offset to the branch's target stands, */
#define STUB_AFTER  13 /* which counts from here */

static void put_relative(uint8_t *bytes, uint64_t end, uint64_t target) {
    for (size_t i = 0; i < REL32_BYTES; i++)
        bytes[i] = (uint8_t)((target - end) >> 8 * i);
}

/* --- Names --- */

char *site_kind_name(const struct record *record, char text[SITE_NAME_SIZE]) {
    static const char *const names[] = {
        [CARRY_SITE_CALL] = "call",     [CARRY_SITE_JUMP] = "jump",
        [CARRY_SITE_BRANCH] = "branch", [CARRY_SITE_ALTERNATIVE] = "alternative",
        [CARRY_SITE_BODY] = "body",     [CARRY_SITE_ENTRY] = "entry",
    };
    if (record->version != CARRY_SITE_VERSION)
        snprintf(text, SITE_NAME_SIZE, "version %u", record->version);
    else if (record->kind && record->kind < sizeof names / sizeof *names)
        snprintf(text, SITE_NAME_SIZE, "%s", names[record->kind]);
    else
        snprintf(text, SITE_NAME_SIZE, "kind %u", record->kind);
    return text;
}

bool site_feature(const struct program *program, const struct record *record,
                  char text[SITE_NAME_SIZE]) {
    for (size_t i = 0; i < SITE_NAME_SIZE; i++) {
        if (!program_read(program, record->key + i, &text[i], 1))
            return false;
        if (!text[i])
            return i > 0;
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
            return false;
    }
    return false;
}

static bool is_by_feature(const struct record *record) {
    return record->kind == CARRY_SITE_ALTERNATIVE && record->flags & CARRY_SITE_BY_FEATURE;
}

static const char *const prefixes[] = {"carry_op_", "carry_key_"};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

/* The end of what a symbol of a key begins with, or NULL. */
static const char *behind_prefix(const char *name) {
    for (size_t i = 0; i < PREFIXES; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return NULL;
}

/*
 * One of the names that a symbol of C++ consists of: its length in decimal, then itself (Itanium
 * C++ ABI, 5.1.2); what is static has an L before. NULL if there is none, or not whole.
 */
static const char *next_part(const char *symbol, size_t *length) {
    *length = 0;
    symbol += *symbol == 'L';
    for (; isdigit((unsigned char)*symbol) && *length < SITE_NAME_SIZE; symbol++)
        *length = 10 * *length + (size_t)(*symbol - '0');
    return *length && strlen(symbol) >= *length ? symbol : NULL;
}

/* The name of a key of C++, behind those of its namespaces; false if the symbol is something else.
 */
static bool name_in_namespaces(const char *symbol, char text[SITE_NAME_SIZE]) {
    size_t done = 0, length;
    for (symbol += strlen("_Z") + (symbol[2] == 'N'); (symbol = next_part(symbol, &length));) {
        const char *name = behind_prefix(symbol);
        const char *end = symbol + length;
        const char *from = name ? name : symbol;
        const int size = snprintf(text + done, SITE_NAME_SIZE - done, "%.*s%s", (int)(end - from),
                                  from, name ? "" : "::");
        done += (size_t)size;
        if (name || done >= SITE_NAME_SIZE)
            return name;
        symbol = end;
    }
    return false;
}

bool site_key_of_cxx(const struct object *object, uint64_t key, char text[SITE_NAME_SIZE]) {
    const struct object_symbol *symbol = object_symbol_at(object, key, "_Z");
    return symbol && name_in_namespaces(symbol->name, text);
}

char *site_name(const struct program *program, const struct object *object,
                const struct record *record, char text[SITE_NAME_SIZE]) {
    char place[PLACE_SIZE];
    if (record->version == CARRY_SITE_VERSION && is_by_feature(record) &&
        site_feature(program, record, text))
        return text;
    if (site_key_of_cxx(object, record->key, text))
        return text;
    for (size_t i = 0; i < PREFIXES; i++) {
        const struct object_symbol *symbol = object_symbol_at(object, record->key, prefixes[i]);
        if (symbol) {
            snprintf(text, SITE_NAME_SIZE, "%.60s", symbol->name + strlen(prefixes[i]));
            return text;
        }
    }
    snprintf(text, SITE_NAME_SIZE, "%.60s", program_place(program, record->key, place));
    return text;
}

const char *site_state_name(enum site_state state) {
    static const char *const names[SITE_STATES] = {
        [SITE_ORIGINAL] = "original",
        [SITE_DIRECT] = "direct",
        [SITE_INLINE] = "inline",
        [SITE_NOP] = "nop",
        [SITE_JUMPS] = "jump",
        [SITE_REPLACEMENT] = "replacement",
        [SITE_GUARD] = "guard",
        [SITE_BODY] = "body",
        [SITE_UNKNOWN] = "unknown kind",
        [SITE_FOREIGN] = "unknown bytes",
        [SITE_UNREADABLE] = "not readable",
    };
    return names[state];
}

/* --- What records allow --- */

bool site_is_known(const struct record *record) {
    if (record->version != CARRY_SITE_VERSION)
        return false;
    switch (record->kind) {
    case CARRY_SITE_CALL:
    case CARRY_SITE_JUMP:
        return record->length == SITE_CALL_BYTES;
    case CARRY_SITE_BRANCH:
        return record->length == SITE_BRANCH_BYTES;
    case CARRY_SITE_ALTERNATIVE:
        return record->length && record->length <= SITE_BYTES_MAX;
    case CARRY_SITE_BODY:
        return record->length == 0;
    case CARRY_SITE_ENTRY:
        return record->length == SITE_ENTRY_BYTES;
    default:
        return false;
    }
}

bool site_body(const struct program *program, const struct record *body,
               uint8_t bytes[SITE_BYTES_MAX], size_t *size) {
    uint8_t stored;
    if (!program_read(program, body->aux, &stored, 1) || stored > SITE_BYTES_MAX)
        return false;
    *size = stored;
    return !stored || program_read(program, body->aux + 1, bytes, stored);
}

bool site_inline(const struct program *program, uint64_t site, const struct record *body,
                 uint8_t bytes[SITE_CALL_BYTES]) {
    uint8_t from[SITE_BYTES_MAX];
    size_t size;
    if (!site_body(program, body, from, &size) || size > SITE_CALL_BYTES)
        return false;
    memset(bytes, CS_PREFIX, SITE_CALL_BYTES);
    memcpy(bytes + SITE_CALL_BYTES - size, from, size);
    if (!size)
        nops_fill(bytes, SITE_CALL_BYTES);
    if (size < REL32_BYTES || !(body->flags & CARRY_SITE_RELATIVE))
        return true;
    uint64_t target = object_relative(from + size - REL32_BYTES, body->aux + 1 + size);
    put_relative(bytes + SITE_CALL_BYTES - REL32_BYTES, site + SITE_CALL_BYTES, target);
    return site_reaches(site, target);
}

static void put_state(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text) {
    size_t size = from->sizes[replaced];
    const uint8_t *bytes = from->bytes[replaced];
    bool single = record->flags & CARRY_SITE_SINGLE;
    size_t most = size ? size : NOP_BYTES_MAX; /* of nothing one NOP is made */
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

bool site_alternative(const struct program *program, const struct record *record,
                      struct alternative *alternative) {
    uint8_t *sizes = alternative->sizes;
    if (!program_read(program, record->aux, sizes, 2) || sizes[0] > record->length ||
        sizes[1] > record->length || record->length > SITE_BYTES_MAX)
        return false;
    alternative->address[0] = record->aux + 2;
    alternative->address[1] = record->aux + 2 + sizes[0];
    for (int i = 0; i < 2; i++) {
        if (sizes[i] &&
            !program_read(program, alternative->address[i], alternative->bytes[i], sizes[i]))
            return false;
        put_state(record, alternative, i, alternative->text[i]);
    }
    return true;
}

/* --- What the key holds --- */

static void read_value(const struct program *program, struct site *site) {
    uint8_t bytes[KEY_BYTES];
    const struct object_relocation *relocation =
        program->pid ? NULL : object_relocation_at(site->object, site->record->key);
    if (relocation && relocation->import) {
        site->import = relocation->import;
    } else if (relocation) {
        site->value = relocation->value;
        site->value_known = true;
    } else if (program_read(program, site->record->key, bytes, sizeof bytes)) {
        site->value = object_little(bytes, sizeof bytes);
        site->value_known = true;
    }
}

/* --- How sites stand --- */

static void set_target(struct site *site, enum site_state state, uint64_t target) {
    site->state = state;
    site->target = target;
    site->has_target = true;
}

static bool is_inline(const struct program *program, const struct site *site) {
    const struct record *const *bodies;
    uint8_t bytes[SITE_CALL_BYTES];
    size_t count = program_bodies(program, site->value, &bodies);
    for (size_t i = 0; i < count; i++)
        if (site_inline(program, site->record->site, bodies[i], bytes) &&
            memcmp(site->bytes, bytes, sizeof bytes) == 0)
            return true;
    return false;
}

static void look_at_call(const struct program *program, struct site *site) {
    const uint8_t *bytes = site->bytes;
    bool calls = site->record->kind == CARRY_SITE_CALL;
    uint64_t pointed = object_relative(bytes + 2, site->record->site + SITE_CALL_BYTES);
    read_value(program, site);
    if (bytes[0] == 0xff && bytes[1] == (calls ? 0x15 : 0x25) && pointed == site->record->key) {
        set_target(site, SITE_ORIGINAL, site->value);
        site->has_target = site->value_known && site->value;
    } else if (bytes[0] == CS_PREFIX && bytes[1] == (calls ? CALL_REL32 : JUMP_REL32)) {
        set_target(site, SITE_DIRECT, pointed);
    } else if (calls && site->value_known && is_inline(program, site)) {
        bool nothing = nops_is_one(bytes, SITE_CALL_BYTES);
        set_target(site, nothing ? SITE_NOP : SITE_INLINE, site->value);
    }
}

static void look_at_branch(const struct program *program, struct site *site) {
    uint8_t stub[STUB_BYTES];
    uint64_t after = site->record->site + SITE_BRANCH_BYTES;
    read_value(program, site);
    if (nops_is_one(site->bytes, SITE_BRANCH_BYTES)) {
        site->state = SITE_NOP;
        return;
    }
    if (site->bytes[0] != JUMP_REL32)
        return;
    uint64_t target = object_relative(site->bytes + 1, after);
    if (target == site->record->aux)
        site->state = SITE_ORIGINAL;
    else if (program_read(program, site->record->aux, stub, sizeof stub) &&
             target == object_relative(stub + STUB_TARGET, site->record->aux + STUB_AFTER))
        set_target(site, SITE_JUMPS, target);
}

/* The compiler's five NOPs, or one of its own; ours; or a jump to its stub. */
static void look_at_entry(const struct program *program, struct site *site) {
    static const uint8_t five[SITE_ENTRY_BYTES] = {0x90, 0x90, 0x90, 0x90, 0x90};
    static const uint8_t one[SITE_ENTRY_BYTES] = {0x0f, 0x1f, 0x44, 0, 8};
    const bool single = (site->record->flags & CARRY_SITE_SINGLE) != 0;
    const uint64_t target = object_relative(site->bytes + 1, site->record->site + SITE_ENTRY_BYTES);
    read_value(program, site);
    if (memcmp(site->bytes, single ? one : five, SITE_ENTRY_BYTES) == 0)
        site->state = single ? SITE_NOP : SITE_ORIGINAL;
    else if (!single && nops_is_one(site->bytes, SITE_ENTRY_BYTES))
        site->state = SITE_NOP;
    else if (site->bytes[0] == JUMP_REL32 && target == site->record->aux)
        set_target(site, SITE_JUMPS, target);
}

static void look_at_alternative(const struct program *program, struct site *site) {
    struct alternative alternative;
    char feature[SITE_NAME_SIZE];
    if (!is_by_feature(site->record)) {
        read_value(program, site);
    } else if (site_feature(program, site->record, feature)) {
        site->value = carry_cpu_has(feature);
        site->value_known = true;
    }
    if (!site_alternative(program, site->record, &alternative))
        return;
    if (memcmp(site->bytes, alternative.text[0], site->size) == 0)
        site->state = SITE_ORIGINAL;
    else if (memcmp(site->bytes, alternative.text[1], site->size) == 0)
        site->state = SITE_REPLACEMENT;
}

/* Guards stand for moments, in processes. */
static bool is_guard(const struct program *program, const struct site *site) {
    return program->pid && (site->bytes[0] == 0xcc ||
                            (site->size > 1 && site->bytes[0] == 0xeb && site->bytes[1] == 0xfe));
}

/* As carry_patch_stats() finds it; a file was never asked to be patched. */
static void find_reason(const struct program *program, struct site *site) {
    bool out_of_reach = site_calls(site->record) && site->value_known && site->value &&
                        !site_reaches(site->record->site, site->value);
    bool rightly =
        site->record->kind == CARRY_SITE_ALTERNATIVE && site->value_known && !site->value;
    site->reason_known = out_of_reach || (program->state_known && !rightly);
    if (out_of_reach)
        site->reason = CARRY_PATCH_RANGE;
    else if (program->refusal)
        site->reason = (enum carry_patch_reason)program->refusal;
    else if ((site_wants_quiet(site->record) || site->record->kind == CARRY_SITE_ENTRY) &&
             program->applied)
        site->reason = CARRY_PATCH_QUIESCENCE;
}

static void look_at_bytes(const struct program *program, struct site *site) {
    site->state = SITE_FOREIGN;
    if (site_calls(site->record))
        look_at_call(program, site);
    else if (site->record->kind == CARRY_SITE_BRANCH)
        look_at_branch(program, site);
    else if (site->record->kind == CARRY_SITE_ENTRY)
        look_at_entry(program, site);
    else
        look_at_alternative(program, site);
    if (site->state == SITE_FOREIGN && is_guard(program, site))
        site->state = SITE_GUARD;
    if (site->state == SITE_ORIGINAL)
        find_reason(program, site);
}

void site_look(const struct program *program, const struct object *object,
               const struct record *record, struct site *site) {
    *site = (struct site){.object = object, .record = record, .state = SITE_UNKNOWN};
    if (!site_is_known(record))
        return;
    if (record->kind == CARRY_SITE_BODY) {
        site->state =
            site_body(program, record, site->bytes, &site->size) ? SITE_BODY : SITE_UNREADABLE;
        return;
    }
    site->size = record->length;
    site->state = SITE_UNREADABLE;
    if (program_read(program, record->site, site->bytes, site->size))
        look_at_bytes(program, site);
    else
        site->size = 0;
}
