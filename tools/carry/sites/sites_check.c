/* SPDX-License-Identifier: MIT */
#include "sites/sites_check.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <carry/features.def>

#include "sites/sites_machine.h"

#define RECORD_BYTES    16
#define PAGE_BYTES      4096
#define ATOMIC_BYTES    8 /* a store within an aligned block of this size is atomic */
#define KEY_VALUE_BYTES 8
#define SITE_LOOKS_MAX  100 /* one per millisecond */

/* The site that is checked, for FINDING(). */
struct checked {
    struct sites_report *report;
    const struct object *object;
    const struct record *record;
};

#define FINDING(checked, kind, ...)                                                                \
    sites_report_finding((checked)->report, kind, (checked)->object, (checked)->record->site,      \
                         (checked)->record, __VA_ARGS__)

static const struct machine *machine_of_site(const struct checked *checked) {
    return checked->object->machine;
}

/* --- Instructions --- */

/* Reports bytes of an alternative that are not instructions, and relative instructions, with two
   exceptions: a call or jump at its start, which the library moves, and an instruction whose target
   lies within the alternative. */
static void check_relative(const struct checked *checked, const struct alternative *alternative,
                           int replaced) {
    static const char *const names[] = {"default", "replacement"};
    const uint8_t *bytes = alternative->bytes[replaced];
    size_t size = alternative->sizes[replaced];
    uint64_t start = alternative->address[replaced];
    struct instruction instruction;
    for (size_t done = 0; done < size; done += instruction.length) {
        if (!machine_of_site(checked)->disassemble(bytes + done, size - done, start + done,
                                                   &instruction)) {
            FINDING(checked, FINDING_INSTRUCTIONS, "byte %zu of its %s is not an instruction", done,
                    names[replaced]);
            return;
        }
        bool moved = done == 0 && instruction.moves;
        if (instruction.relative && !moved && instruction.target - start > size)
            FINDING(checked, FINDING_RELATIVE,
                    "its %s holds a relative instruction at byte %zu: only a call or jump at its "
                    "start may be relative",
                    names[replaced], done);
    }
}

static void check_alternative(const struct checked *checked) {
    static const char *const names[] = {"default", "replacement"};
    struct alternative alternative;
    if (!site_alternative(checked->report->program, machine_of_site(checked), checked->record,
                          &alternative)) {
        FINDING(checked, FINDING_RECORD, "its instructions are not at the address in the record");
        return;
    }
    for (int i = 0; i < 2; i++) {
        check_relative(checked, &alternative, i);
        if (checked->record->flags & CARRY_SITE_SINGLE &&
            disassemble_count(machine_of_site(checked)->disassemble, alternative.text[i],
                              checked->record->length) != 1)
            FINDING(checked, FINDING_INSTRUCTIONS,
                    "the record claims one instruction in each state; its %s is not one", names[i]);
    }
}

#define KNOWN(arch, name, ...) {#arch, #name},
static const struct { const char *arch, *name; } features[] = {CARRY_CPU_FEATURES(KNOWN)};

static bool is_feature(const char *arch, const char *name) {
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (strcmp(features[i].arch, arch) == 0 && strcmp(features[i].name, name) == 0)
            return true;
    return false;
}

static void check_feature(const struct checked *checked) {
    char name[SITE_NAME_SIZE];
    if (!(checked->record->flags & CARRY_SITE_BY_FEATURE))
        return;
    if (!site_feature(checked->report->program, checked->record, name))
        FINDING(checked, FINDING_RECORD,
                "the name of its feature is not at the address in the record");
    else if (!is_feature(machine_of_site(checked)->arch, name))
        FINDING(checked, FINDING_FEATURE, "no feature has this name, so the site never changes");
}

/* Checks a body of several instructions. A call in it is a finding: a host that stops all CPUs
 * examines their instruction pointers, not their return addresses. */
static void check_several(const struct checked *checked, const uint8_t *bytes, size_t size) {
    struct instruction instruction;
    for (size_t done = 0; done < size; done += instruction.length) {
        if (!machine_of_site(checked)->disassemble(bytes + done, size - done, 0, &instruction)) {
            FINDING(checked, FINDING_BODY, "not whole instructions");
            return;
        }
        if (instruction.calls)
            FINDING(checked, FINDING_BODY, "a call among several instructions");
        if (instruction.relative)
            FINDING(checked, FINDING_RELATIVE,
                    "one of several instructions is relative to its address");
    }
}

static void check_body(const struct checked *checked) {
    uint8_t bytes[SITE_BYTES_MAX];
    struct instruction instruction;
    size_t size;
    const struct machine *machine = machine_of_site(checked);
    if (!site_body(checked->report->program, machine, checked->record, bytes, &size)) {
        FINDING(checked, FINDING_RECORD, "its instruction is not at the address in the record");
        return;
    }
    if (size > machine->call_bytes)
        FINDING(checked, FINDING_BODY, "its %zu bytes are more than the %d of a call", size,
                machine->call_bytes);
    if (!size)
        return;
    if (checked->record->flags & CARRY_SITE_SEVERAL) {
        check_several(checked, bytes, size);
        return;
    }
    if (!machine->disassemble(bytes, size, 0, &instruction) || instruction.length != size) {
        FINDING(checked, FINDING_BODY, "not one instruction");
        return;
    }
    bool says_relative = checked->record->flags & CARRY_SITE_RELATIVE;
    if (instruction.relative && !says_relative)
        FINDING(checked, FINDING_RELATIVE,
                "it is relative to its address, but the record does not say so: define it with "
                "CARRY_BODY_RELATIVE");
    if (says_relative && !instruction.ends_in_relative)
        FINDING(checked, FINDING_RELATIVE,
                "its last four bytes are not an offset, although the record says so");
}

static void check_stub(const struct checked *checked) {
    const struct record *record = checked->record;
    const struct machine *machine = machine_of_site(checked);
    const bool branches = record->kind == CARRY_SITE_BRANCH;
    const bool jumps_if_on = record->flags & CARRY_SITE_JUMPS_IF_ON;
    struct stub stub;
    if (!site_stub_bytes(machine, record->kind))
        return;
    if (!site_stub(checked->report->program, machine, record->kind, record->aux, &stub) ||
        stub.key != record->key ||
        (branches &&
         (stub.back != record->site + record->length || stub.jumps_if_on != jumps_if_on)))
        FINDING(checked, FINDING_RECORD, "at 0x%" PRIx64 " is not the stub that %s its key",
                record->aux, branches ? "tests" : "reads");
}

/* --- Places --- */

static void check_key(const struct checked *checked) {
    uint8_t bytes[KEY_VALUE_BYTES];
    bool by_feature = checked->record->kind == CARRY_SITE_ALTERNATIVE &&
                      checked->record->flags & CARRY_SITE_BY_FEATURE;
    if (!by_feature && !program_read(checked->report->program, checked->record->key, bytes, 8))
        FINDING(checked, FINDING_RECORD, "its key is outside of the loaded segments");
}

static void check_place(const struct checked *checked) {
    uint64_t site = checked->record->site;
    const struct object_load *load = object_load_of(checked->object, site);
    if (!load || !load->executable) {
        FINDING(checked, FINDING_RECORD, "it is outside of the text");
        return;
    }
    /* Sites of several instructions change only while one thread runs, without a guard. */
    if (checked->record->kind == CARRY_SITE_BODY || site_wants_quiet(checked->record))
        return;
    if (site % ATOMIC_BYTES == ATOMIC_BYTES - 1)
        FINDING(checked, NOTE_TRAP,
                "its first two bytes are on both sides of a multiple of eight, so that commits "
                "which do not exchange its page hold threads with a trap, not with a jump");
    if (site % PAGE_BYTES + checked->record->length > PAGE_BYTES)
        FINDING(checked, NOTE_PAGES, "it is on two pages");
}

/* Returns whether two records are equal: linkers that fold functions may keep the records of
 * both. */
static bool is_twice(const struct record *record, const struct record *before) {
    return record->site == before->site && record->key == before->key &&
           record->kind == before->kind && record->length == before->length &&
           record->flags == before->flags;
}

static void check_overlap(const struct checked *checked, const struct record *before) {
    if (before && !is_twice(checked->record, before) &&
        checked->record->site - before->site < before->length)
        FINDING(checked, FINDING_OVERLAP, "it overlaps the site at 0x%" PRIx64, before->site);
}

/* --- States --- */

static void check_state(const struct checked *checked, const struct site *site) {
    char place[PLACE_SIZE];
    if (site->state == SITE_UNREADABLE && site->record->kind != CARRY_SITE_BODY)
        FINDING(checked, FINDING_BYTES, "its bytes cannot be read");
    if (site->state == SITE_FOREIGN)
        FINDING(checked, FINDING_BYTES, "its bytes are those of no state that it may have");
    if (site->state == SITE_DIRECT && site->value_known && site->target != site->value)
        FINDING(checked, FINDING_KEY, "its target is not %s, which its key holds",
                program_place(checked->report->program, site->value, place));
    if (site_is_far(site))
        FINDING(checked, FINDING_RANGE,
                "%s is beyond the %s that a direct call reaches, so it stays indirect",
                program_place(checked->report->program, site->value, place),
                machine_of_site(checked)->reach);
}

/* Checks that the target of a stub has a landing pad if pages demand it: stubs branch by
 * register. */
static void check_landing(const struct checked *checked, const struct site *site) {
    const struct program *program = checked->report->program;
    const struct object *object = site_calls(site->record) && site->value_known
                                      ? program_object_of(program, site->value)
                                      : NULL;
    uint8_t bytes[MACHINE_LANDING_BYTES];
    char place[PLACE_SIZE];
    if (object && object->is_guarded &&
        (!program_read(program, site->value, bytes, sizeof bytes) ||
         !object->machine->lands(bytes)))
        FINDING(checked, FINDING_LANDING,
                "%s does not begin with a landing pad (BTI), which its pages demand: the call ends "
                "the program while it is indirect",
                program_place(program, site->value, place));
}

static void check_unknown(const struct checked *checked) {
    const struct record *record = checked->record;
    const struct machine *machine = machine_of_site(checked);
    if (record->version == CARRY_SITE_VERSION && record->kind != CARRY_SITE_BODY &&
        record->site % machine->unit)
        FINDING(checked, FINDING_RECORD, "its address is not a multiple of %u", machine->unit);
    else if (record->version == CARRY_SITE_VERSION && record->kind == CARRY_SITE_ENTRY &&
             !machine->entry)
        FINDING(checked, FINDING_RECORD, "%s has no sites of its kind", machine->name);
    else if (record->version == CARRY_SITE_VERSION && record->kind >= CARRY_SITE_CALL &&
             record->kind <= CARRY_SITE_ENTRY)
        FINDING(checked, FINDING_RECORD, "a site of its kind cannot have %u bytes", record->length);
    else
        FINDING(checked, FINDING_RECORD,
                "version %u, kind %u: for a newer library, or not a record", record->version,
                record->kind);
}

/* --- Processes that commit during the check --- */

/* Checks whether the key was relocated. A process that is starting may not have done that yet. */
static bool is_relocated(const struct program *program, const struct site *site) {
    return !site_is_far(site) || program_object_of(program, site->value);
}

/* Returns false if the state of a site would be a finding if it lasted. A commit changes text
 * before the key. */
static bool is_sound(const struct program *program, const struct site *site) {
    bool other_target = site->state == SITE_DIRECT && site->value_known;
    return site->state != SITE_FOREIGN && site->state != SITE_UNREADABLE &&
           !(other_target && site->target != site->value) && is_relocated(program, site);
}

/* Reads a site. In a process, reads the site again while it is not sound, at most SITE_LOOKS_MAX
 * times, and while the report has looks left: a fault lasts longer than a commit. */
static void look_at_site(const struct checked *checked, struct site *site) {
    static const struct timespec pause = {0, 1000000};
    const struct program *program = checked->report->program;
    unsigned looks = SITE_LOOKS_MAX;
    site_look(program, checked->object, checked->record, site);
    while (program->pid && !is_sound(program, site) && looks-- && checked->report->looks_left) {
        checked->report->looks_left--;
        nanosleep(&pause, NULL);
        site_look(program, checked->object, checked->record, site);
    }
}

static void check_record(const struct checked *checked, const struct record *before) {
    struct site site;
    look_at_site(checked, &site);
    sites_report_count(checked->report, &site);
    check_place(checked);
    if (site.state == SITE_UNKNOWN) {
        check_unknown(checked);
        return;
    }
    if (checked->record->kind == CARRY_SITE_BODY) {
        check_body(checked);
        return;
    }
    check_key(checked);
    check_overlap(checked, before);
    check_state(checked, &site);
    check_landing(checked, &site);
    check_stub(checked);
    if (checked->record->kind == CARRY_SITE_ALTERNATIVE) {
        check_alternative(checked);
        check_feature(checked);
    }
}

void sites_check_records(struct sites_report *report, const struct object *object) {
    const struct record *before = NULL;
    if (object->section_bytes % RECORD_BYTES)
        sites_report_finding(report, FINDING_SECTION, object, 0, NULL,
                             "section carry_sites has %" PRIu64
                             " bytes, not a multiple of the %d bytes of a record",
                             object->section_bytes, RECORD_BYTES);
    for (size_t i = 0; i < object->records_count; i++) {
        const struct checked checked = {report, object, &object->records[i]};
        check_record(&checked, before);
        if (object->records[i].kind != CARRY_SITE_BODY)
            before = &object->records[i];
    }
}
