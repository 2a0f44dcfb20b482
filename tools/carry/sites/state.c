/* SPDX-License-Identifier: MIT */
#include "sites/state.h"

#include <ctype.h>
#include <string.h>

#include <carry/cpu.h>

#include "sites/sites_machine.h"

#define KEY_BYTES 8

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

/* Returns the part of a name after the prefix of a key's symbol; NULL if there is no such
 * prefix. */
static const char *behind_prefix(const char *name) {
    for (size_t i = 0; i < PREFIXES; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return NULL;
}

/*
 * Returns the next name in a symbol of C++, and its length. The length precedes the name in decimal
 * (Itanium C++ ABI, 5.1.2); in static names, an L precedes the length. Returns NULL if there is no
 * name, or if it is truncated.
 */
static const char *next_part(const char *symbol, size_t *length) {
    *length = 0;
    symbol += *symbol == 'L';
    for (; isdigit((unsigned char)*symbol) && *length < SITE_NAME_SIZE; symbol++)
        *length = 10 * *length + (size_t)(*symbol - '0');
    return *length && strlen(symbol) >= *length ? symbol : NULL;
}

/* Writes the name of a key of C++ after its namespaces; returns false if the symbol is not
 * a key. */
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

/* --- Records --- */

bool site_is_known(const struct machine *machine, const struct record *record) {
    if (record->version != CARRY_SITE_VERSION)
        return false;
    if (record->kind != CARRY_SITE_BODY && record->site % machine->unit)
        return false;
    switch (record->kind) {
    case CARRY_SITE_CALL:
    case CARRY_SITE_JUMP:
        return record->length == machine->call_bytes;
    case CARRY_SITE_BRANCH:
        return record->length == machine->branch_bytes;
    case CARRY_SITE_ALTERNATIVE:
        return record->length && record->length <= SITE_BYTES_MAX &&
               record->length % machine->unit == 0;
    case CARRY_SITE_BODY:
        return record->length == 0;
    case CARRY_SITE_ENTRY:
        return machine->entry && record->length == machine->entry_bytes;
    default:
        return false;
    }
}

bool site_body(const struct program *program, const struct machine *machine,
               const struct record *body, uint8_t bytes[SITE_BYTES_MAX], size_t *size) {
    uint8_t stored;
    if (!program_read(program, body->aux, &stored, 1) || stored > SITE_BYTES_MAX)
        return false;
    *size = stored;
    return !stored || program_read(program, body->aux + machine->body_at, bytes, stored);
}

size_t site_stub_bytes(const struct machine *machine, uint8_t kind) {
    if (kind == CARRY_SITE_BRANCH)
        return machine->branch_stub_bytes;
    return kind == CARRY_SITE_CALL || kind == CARRY_SITE_JUMP ? machine->call_stub_bytes : 0;
}

bool site_stub(const struct program *program, const struct machine *machine, uint8_t kind,
               uint64_t at, struct stub *stub) {
    uint8_t bytes[MACHINE_STUB_BYTES];
    const size_t size = site_stub_bytes(machine, kind);
    return size && program_read(program, at, bytes, size) && machine->stub(bytes, kind, at, stub);
}

bool site_alternative(const struct program *program, const struct machine *machine,
                      const struct record *record, struct alternative *alternative) {
    uint8_t *sizes = alternative->sizes;
    if (!program_read(program, record->aux, sizes, 2) || sizes[0] > record->length ||
        sizes[1] > record->length || record->length > SITE_BYTES_MAX ||
        (sizes[0] | sizes[1]) % machine->unit)
        return false;
    alternative->address[0] = record->aux + machine->pair_at;
    alternative->address[1] = alternative->address[0] + sizes[0];
    for (int i = 0; i < 2; i++) {
        if (sizes[i] &&
            !program_read(program, alternative->address[i], alternative->bytes[i], sizes[i]))
            return false;
        machine->put_state(record, alternative, i, alternative->text[i]);
    }
    return true;
}

/* --- Values of keys --- */

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

/* --- States --- */

static void set_target(struct site *site, enum site_state state, uint64_t target) {
    site->state = state;
    site->target = target;
    site->has_target = true;
}

static bool is_body(const struct program *program, const struct site *site,
                    const struct record *body) {
    const struct machine *machine = site->object->machine;
    uint8_t from[SITE_BYTES_MAX], bytes[SITE_BYTES_MAX];
    size_t size;
    return site_body(program, machine, body, from, &size) && size <= machine->call_bytes &&
           machine->put_body(site->record->site, body, from, size, bytes) &&
           memcmp(site->bytes, bytes, machine->call_bytes) == 0;
}

static bool is_inline(const struct program *program, const struct site *site) {
    const struct record *const *bodies;
    size_t count = program_bodies(program, site->value, &bodies);
    for (size_t i = 0; i < count; i++)
        if (is_body(program, site, bodies[i]))
            return true;
    return false;
}

static void look_at_call(const struct program *program, struct site *site) {
    const struct machine *machine = site->object->machine;
    uint64_t target;
    read_value(program, site);
    const enum site_state state = machine->call(site->record, site->bytes, &target);
    if (state == SITE_ORIGINAL) {
        set_target(site, state, site->value);
        site->has_target = site->value_known && site->value;
    } else if (state == SITE_DIRECT) {
        set_target(site, state, target);
    } else if (site->record->kind == CARRY_SITE_CALL && site->value_known &&
               is_inline(program, site)) {
        bool nothing = machine->is_nop(site->bytes, site->size);
        set_target(site, nothing ? SITE_NOP : SITE_INLINE, site->value);
    }
}

static void look_at_branch(const struct program *program, struct site *site) {
    const struct machine *machine = site->object->machine;
    const struct record *record = site->record;
    struct stub stub;
    uint64_t target;
    read_value(program, site);
    if (machine->is_nop(site->bytes, site->size)) {
        site->state = SITE_NOP;
        return;
    }
    if (!machine->jump(site->bytes, record->site, &target))
        return;
    if (target == record->aux)
        site->state = SITE_ORIGINAL;
    else if (site_stub(program, machine, record->kind, record->aux, &stub) && target == stub.target)
        set_target(site, SITE_JUMPS, target);
}

static void look_at_entry(const struct program *program, struct site *site) {
    read_value(program, site);
    site->state = site->object->machine->entry(site->record, site->bytes);
    if (site->state == SITE_JUMPS)
        set_target(site, site->state, site->record->aux);
}

/* Returns whether a site is for this CPU's architecture, so that the CPU's features apply to it. */
static bool may_ask_cpu(const struct site *site) {
    return strcmp(site->object->machine->arch, carry_cpu_arch()) == 0;
}

static void look_at_alternative(const struct program *program, struct site *site) {
    struct alternative alternative;
    char feature[SITE_NAME_SIZE];
    if (!is_by_feature(site->record)) {
        read_value(program, site);
    } else if (may_ask_cpu(site) && site_feature(program, site->record, feature)) {
        site->value = carry_cpu_has(feature);
        site->value_known = true;
    }
    if (!site_alternative(program, site->object->machine, site->record, &alternative))
        return;
    if (memcmp(site->bytes, alternative.text[0], site->size) == 0)
        site->state = SITE_ORIGINAL;
    else if (memcmp(site->bytes, alternative.text[1], site->size) == 0)
        site->state = SITE_REPLACEMENT;
}

/* Returns whether a site holds a guard, which occurs only in processes, for a moment. */
static bool is_guard(const struct program *program, const struct site *site) {
    const struct machine *machine = site->object->machine;
    return program->pid && machine->guards && machine->guards(site->bytes, site->size);
}

bool site_is_far(const struct site *site) {
    return site_calls(site->record) && site->value_known && site->value &&
           !site->object->machine->reaches(site->record->site, site->value);
}

/* Sets the reason why a site is original, like carry_patch_stats(). In a file, only
 * CARRY_PATCH_RANGE is known. */
static void find_reason(const struct program *program, struct site *site) {
    bool out_of_reach = site_is_far(site);
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
    if (!site_is_known(object->machine, record))
        return;
    if (record->kind == CARRY_SITE_BODY) {
        bool readable = site_body(program, object->machine, record, site->bytes, &site->size);
        site->state = readable ? SITE_BODY : SITE_UNREADABLE;
        return;
    }
    site->size = record->length;
    site->state = SITE_UNREADABLE;
    if (program_read(program, record->site, site->bytes, site->size))
        look_at_bytes(program, site);
    else
        site->size = 0;
}
