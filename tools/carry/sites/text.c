/* SPDX-License-Identifier: MIT */
/*
 * What an object's text tells of its sites. Every position is looked at, as what stands between
 * functions keeps a disassembler from finding its step: the six bytes of a call through an
 * operation hold that operation's address, so hardly anything else looks like one. What does is
 * found by disassembling its function up to there.
 */
#include <stdlib.h>
#include <string.h>

#include "sites/check.h"
#include "sites/disassemble.h"

#define CHUNK_BYTES 65536
#define STUB_BYTES  18 /* the longest that is looked for */

struct scan {
    struct sites_report *report;
    const struct object *object;
    uint64_t *keys; /* that records name, in order */
    size_t keys_count;
    const struct object_symbol *function; /* which was disassembled up to `step` */
    uint64_t step;
    uint64_t steps_left; /* symbols that overlap must not make it long */
    bool registered;
};

/* --- Keys --- */

static int in_order(const void *a, const void *b) {
    uint64_t key_a = *(const uint64_t *)a, key_b = *(const uint64_t *)b;
    return (key_a > key_b) - (key_a < key_b);
}

static void collect_keys(struct scan *scan) {
    const struct object *object = scan->object;
    scan->keys = calloc(object->records_count + 1, sizeof *scan->keys);
    for (size_t i = 0; scan->keys && i < object->records_count; i++)
        if (site_calls(&object->records[i]) || object->records[i].kind == CARRY_SITE_BRANCH)
            scan->keys[scan->keys_count++] = object->records[i].key;
    if (scan->keys)
        qsort(scan->keys, scan->keys_count, sizeof *scan->keys, in_order);
}

/* A key by its symbol, or because records name it. */
static bool is_key(const struct scan *scan, uint64_t address, const char *prefix) {
    char text[SITE_NAME_SIZE];
    return object_symbol_at(scan->object, address, prefix) ||
           site_key_of_cxx(scan->object, address, text) ||
           (scan->keys_count &&
            bsearch(&address, scan->keys, scan->keys_count, sizeof *scan->keys, in_order));
}

/* --- Lost records --- */

static bool has_record(const struct object *object, uint64_t site) {
    size_t i = object_record_from(object, site);
    return i < object->records_count && object->records[i].site == site &&
           object->records[i].kind != CARRY_SITE_BODY;
}

/* Does an instruction begin here? Only where a symbol tells where instructions begin at all. */
static bool is_instruction(struct scan *scan, uint64_t address) {
    const struct object_symbol *function = object_symbol_around(scan->object, address);
    if (!function || !scan->steps_left)
        return true;
    if (function != scan->function || address < scan->step) {
        scan->function = function;
        scan->step = function->address;
    }
    for (; scan->step < address && scan->steps_left; scan->steps_left--) {
        uint8_t bytes[16];
        struct instruction instruction;
        uint64_t rest = function->address + function->size - scan->step;
        size_t size = rest && rest < sizeof bytes ? (size_t)rest : sizeof bytes;
        if (!program_read(scan->report->program, scan->step, bytes, size) ||
            !disassemble(bytes, size, scan->step, &instruction))
            scan->step++;
        else
            scan->step += instruction.length;
    }
    return scan->step == address || !scan->steps_left;
}

static void report_lost(struct scan *scan, uint64_t site, uint64_t key, uint8_t kind) {
    struct record record = {.site = site, .key = key, .kind = kind, .version = CARRY_SITE_VERSION};
    sites_report_finding(scan->report, FINDING_LOST, scan->object, site, &record,
                         "it has no record, so it is never patched: the linker or strip may have "
                         "dropped the record");
}

static void look_for_call(struct scan *scan, uint64_t address, const uint8_t *bytes) {
    if (bytes[0] != 0xff || (bytes[1] != 0x15 && bytes[1] != 0x25))
        return;
    uint64_t key = object_relative(bytes + 2, address + SITE_CALL_BYTES);
    if (is_key(scan, key, "carry_op_") && !has_record(scan->object, address) &&
        is_instruction(scan, address))
        report_lost(scan, address, key, bytes[1] == 0x15 ? CARRY_SITE_CALL : CARRY_SITE_JUMP);
}

/* The stub of a branch leads back to behind its site. */
static void look_for_branch(struct scan *scan, uint64_t address, const uint8_t *bytes) {
    uint8_t jump[SITE_BRANCH_BYTES];
    if (bytes[0] != 0x80 || bytes[1] != 0x3d || bytes[6] || bytes[7] != 0x0f ||
        (bytes[8] & 0xfe) != 0x84 || bytes[13] != 0xe9)
        return;
    uint64_t key = object_relative(bytes + 2, address + 7);
    uint64_t site = object_relative(bytes + 14, address + STUB_BYTES) - SITE_BRANCH_BYTES;
    if (is_key(scan, key, "carry_key_") && !has_record(scan->object, site) &&
        program_read(scan->report->program, site, jump, sizeof jump) && jump[0] == 0xe9 &&
        object_relative(jump + 1, site + sizeof jump) == address)
        report_lost(scan, site, key, CARRY_SITE_BRANCH);
}

/* --- Registration --- */

/*
 * Is this the address of the section: as an operand, or as a word in data or in what the loader
 * puts there? Program headers are loaded too, and hold such words of their own.
 */
static bool refers(const struct scan *scan, const struct object_load *load, uint64_t address,
                   const uint8_t *bytes) {
    uint64_t section = scan->object->section;
    bool is_header = load->offset + (address - load->address) < scan->object->headers_end;
    if (address % 8 == 0 && !is_header && object_little(bytes, 8) == section)
        return true;
    return load->executable && (object_relative(bytes, address + 4) == section ||
                                (scan->object->is_fixed && object_little(bytes, 4) == section));
}

/* --- The scan --- */

static void scan_chunk(struct scan *scan, const struct object_load *load, uint64_t address,
                       const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        scan->registered = scan->registered || refers(scan, load, address + i, bytes + i);
        if (load->executable) {
            look_for_call(scan, address + i, bytes + i);
            look_for_branch(scan, address + i, bytes + i);
        }
    }
}

static void scan_load(struct scan *scan, const struct object_load *load) {
    uint8_t bytes[CHUNK_BYTES + 2 * STUB_BYTES];
    const size_t most = CHUNK_BYTES + STUB_BYTES; /* what begins in a chunk may end behind it */
    for (uint64_t done = 0; done < load->file_bytes;) {
        uint64_t rest = load->file_bytes - done;
        size_t size = rest < most ? (size_t)rest : most;
        size_t step = size < most ? size : CHUNK_BYTES;
        if (!program_read(scan->report->program, load->address + done, bytes, size))
            return;
        memset(bytes + size, 0, sizeof bytes - size);
        scan_chunk(scan, load, load->address + done, bytes, step);
        done += step;
    }
}

void sites_check_text(struct sites_report *report, const struct object *object) {
    struct scan scan = {.report = report, .object = object, .steps_left = 4 * object->size};
    collect_keys(&scan);
    for (size_t i = 0; i < object->loads_count; i++)
        scan_load(&scan, &object->loads[i]);
    if (object->records_count && !scan.registered)
        sites_report_finding(report, FINDING_REGISTRATION, object, 0, NULL,
                             "it does not register its sites: it has no CARRY_OP_DEFINE, "
                             "CARRY_KEY_DEFINE, CARRY_PATCH_OBJECT or use of __start_carry_sites");
    free(scan.keys);
}
