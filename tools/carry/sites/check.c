/* SPDX-License-Identifier: MIT */
#include "sites/check.h"

#include <inttypes.h>
#include <string.h>

#include <carry/cpu.h>

#include "sites/disassemble.h"

#define RECORD_BYTES     16
#define PAGE_BYTES       4096
#define CACHE_LINE_BYTES 64
#define STUB_BYTES       18
#define STUB_BACK        14 /* where the stub of a branch keeps the offset back to its site */
#define KEY_VALUE_BYTES  8

/* The parts of a finding about a site that stay the same. */
struct checked {
    struct sites_report *report;
    const struct object *object;
    const struct record *record;
};

#define FINDING(checked, kind, ...)                                                                \
    sites_report_finding((checked)->report, kind, (checked)->object, (checked)->record->site,      \
                         (checked)->record, __VA_ARGS__)

/* --- Instructions --- */

/* An instruction may count from where it stands only as a call or jump at the start, which the
   library moves. What stays within its own text moves with it. */
static void check_relative(const struct checked *checked, const struct alternative *alternative,
                           int replaced) {
    static const char *const names[] = {"default", "replacement"};
    const uint8_t *bytes = alternative->bytes[replaced];
    size_t size = alternative->sizes[replaced];
    uint64_t start = alternative->address[replaced];
    struct instruction instruction;
    for (size_t done = 0; done < size; done += instruction.length) {
        if (!disassemble(bytes + done, size - done, start + done, &instruction)) {
            FINDING(checked, FINDING_INSTRUCTIONS, "byte %zu of its %s is not an instruction", done,
                    names[replaced]);
            return;
        }
        bool moved = done == 0 && (bytes[0] == 0xe8 || bytes[0] == 0xe9);
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
    if (!site_alternative(checked->report->program, checked->record, &alternative)) {
        FINDING(checked, FINDING_RECORD, "its instructions are not at the address in the record");
        return;
    }
    for (int i = 0; i < 2; i++) {
        check_relative(checked, &alternative, i);
        if (checked->record->flags & CARRY_SITE_SINGLE &&
            disassemble_count(alternative.text[i], checked->record->length) != 1)
            FINDING(checked, FINDING_INSTRUCTIONS,
                    "the record claims one instruction in each state; its %s is not one", names[i]);
    }
}

static void check_feature(const struct checked *checked) {
    char name[SITE_NAME_SIZE];
    if (!(checked->record->flags & CARRY_SITE_BY_FEATURE))
        return;
    struct carry_cpu_feature feature;
    bool knows_names = strcmp(carry_cpu_arch(), "x86_64") == 0;
    if (!site_feature(checked->report->program, checked->record, name)) {
        FINDING(checked, FINDING_RECORD,
                "the name of its feature is not at the address in the record");
        return;
    }
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (strcmp(feature.name, name) == 0)
            return;
    if (knows_names)
        FINDING(checked, FINDING_FEATURE, "no feature has this name, so the site never changes");
}

/* Who stops all CPUs looks where they are, not where they will return to. */
static void check_several(const struct checked *checked, const uint8_t *bytes, size_t size) {
    struct instruction instruction;
    for (size_t done = 0; done < size; done += instruction.length) {
        if (!disassemble(bytes + done, size - done, 0, &instruction)) {
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
    if (!site_body(checked->report->program, checked->record, bytes, &size)) {
        FINDING(checked, FINDING_RECORD, "its instruction is not at the address in the record");
        return;
    }
    if (size > SITE_CALL_BYTES)
        FINDING(checked, FINDING_BODY, "its %zu bytes are more than the %d of a call", size,
                SITE_CALL_BYTES);
    if (!size)
        return;
    if (checked->record->flags & CARRY_SITE_SEVERAL) {
        check_several(checked, bytes, size);
        return;
    }
    if (!disassemble(bytes, size, 0, &instruction) || instruction.length != size) {
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
    uint8_t stub[STUB_BYTES];
    uint64_t at = checked->record->aux;
    bool readable = program_read(checked->report->program, at, stub, sizeof stub);
    if (!readable || stub[0] != 0x80 || stub[1] != 0x3d || stub[7] != 0x0f ||
        (stub[8] & 0xfe) != 0x84 || stub[13] != 0xe9 ||
        object_relative(stub + 2, at + 7) != checked->record->key ||
        object_relative(stub + STUB_BACK, at + STUB_BYTES) !=
            checked->record->site + SITE_BRANCH_BYTES)
        FINDING(checked, FINDING_RECORD, "at 0x%" PRIx64 " is not the stub that tests its key", at);
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
    /* Several instructions change while one thread runs, without a guard. */
    if (checked->record->kind == CARRY_SITE_BODY || site_wants_quiet(checked->record))
        return;
    if (site % CACHE_LINE_BYTES == CACHE_LINE_BYTES - 1)
        FINDING(checked, NOTE_TRAP,
                "its first two bytes are on two cache lines, so that commits hold threads with a "
                "trap, not with a jump");
    if (site % PAGE_BYTES + checked->record->length > PAGE_BYTES)
        FINDING(checked, NOTE_PAGES, "it is on two pages");
}

static void check_overlap(const struct checked *checked, const struct record *before) {
    if (before && before->kind != CARRY_SITE_BODY &&
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
    if (site_calls(site->record) && site->value_known && site->value &&
        !site_reaches(site->record->site, site->value))
        FINDING(checked, FINDING_RANGE,
                "%s is beyond the 2 GiB that a direct call reaches, so it stays indirect",
                program_place(checked->report->program, site->value, place));
}

static void check_unknown(const struct checked *checked) {
    const struct record *record = checked->record;
    if (record->version == CARRY_SITE_VERSION && record->kind >= CARRY_SITE_CALL &&
        record->kind <= CARRY_SITE_ENTRY)
        FINDING(checked, FINDING_RECORD, "a site of its kind cannot have %u bytes", record->length);
    else
        FINDING(checked, FINDING_RECORD,
                "version %u, kind %u: for a newer library, or not a record", record->version,
                record->kind);
}

static void check_record(const struct checked *checked, const struct record *before) {
    struct site site;
    site_look(checked->report->program, checked->object, checked->record, &site);
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
    if (checked->record->kind == CARRY_SITE_BRANCH)
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
