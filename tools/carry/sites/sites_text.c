/* SPDX-License-Identifier: MIT */
/*
 * Scans the text of an object for sites. It examines every position, as bytes between functions
 * mislead a disassembler. Sites contain their key, so hardly any other bytes look like a site. To
 * exclude such bytes, the function around a position is disassembled up to the position.
 */
#include <stdlib.h>
#include <string.h>

#include "sites/sites_check.h"
#include "sites/sites_machine.h"

#define CHUNK_BYTES 65536
#define SCAN_BYTES  MACHINE_SCAN_BYTES

struct scan {
    struct sites_report *report;
    const struct object *object;
    uint64_t *keys; /* of all records, sorted */
    size_t keys_count;
    const struct object_symbol *function; /* last disassembled, up to `step` */
    uint64_t step;
    uint64_t steps_left; /* bounds the time that overlapping symbols cost */
    bool registered;
};

/* --- Keys --- */

static int compare_keys(const void *a, const void *b) {
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
        qsort(scan->keys, scan->keys_count, sizeof *scan->keys, compare_keys);
}

/* Returns whether a key lies at an address, by its symbol or by a record. */
static bool is_key(const struct scan *scan, uint64_t address, const char *prefix) {
    char text[SITE_NAME_SIZE];
    return object_symbol_at(scan->object, address, prefix) ||
           site_key_of_cxx(scan->object, address, text) ||
           (scan->keys_count &&
            bsearch(&address, scan->keys, scan->keys_count, sizeof *scan->keys, compare_keys));
}

/* --- Lost records --- */

static bool has_record(const struct object *object, uint64_t site) {
    size_t i = object_record_from(object, site);
    return i < object->records_count && object->records[i].site == site &&
           object->records[i].kind != CARRY_SITE_BODY;
}

/* Returns whether an instruction begins at an address; true if no symbol contains the address, or
 * if no steps are left. */
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
            !scan->object->machine->disassemble(bytes, size, scan->step, &instruction))
            scan->step++;
        else
            scan->step += instruction.length;
    }
    return scan->step == address || !scan->steps_left;
}

static void report_lost(struct scan *scan, const struct trace *trace) {
    const struct record record = {
        .site = trace->site, .key = trace->key, .kind = trace->kind, .version = CARRY_SITE_VERSION};
    sites_report_finding(scan->report, FINDING_LOST, scan->object, trace->site, &record,
                         "it has no record, so it is never patched: the linker or strip may have "
                         "dropped the record");
}

/* Returns whether a branch jumps to its stub. */
static bool leads_to_stub(const struct scan *scan, const struct trace *trace) {
    const struct machine *machine = scan->object->machine;
    uint8_t bytes[SCAN_BYTES];
    uint64_t target;
    return program_read(scan->report->program, trace->site, bytes, machine->branch_bytes) &&
           machine->jump(bytes, trace->site, &target) && target == trace->stub;
}

/* Reads the key of a trace from its stub. Returns false if the trace is not a site. */
static bool follow_stub(const struct scan *scan, struct trace *trace) {
    const struct program *program = scan->report->program;
    const struct machine *machine = scan->object->machine;
    struct stub stub;
    if (!trace->stub)
        return true;
    if (!site_stub(program, machine, trace->kind, trace->stub, &stub)) {
        if (trace->kind != CARRY_SITE_JUMP ||
            !site_stub(program, machine, CARRY_SITE_BRANCH, trace->stub, &stub))
            return false;
        trace->kind = CARRY_SITE_BRANCH;
    }
    trace->key = stub.key;
    return trace->kind != CARRY_SITE_BRANCH ||
           (stub.back == trace->site + machine->branch_bytes && leads_to_stub(scan, trace));
}

static void look_for_site(struct scan *scan, uint64_t address, const uint8_t *bytes) {
    struct trace trace;
    if (!scan->object->machine->trace(bytes, address, &trace) || !follow_stub(scan, &trace))
        return;
    const bool branches = trace.kind == CARRY_SITE_BRANCH;
    if (is_key(scan, trace.key, branches ? "carry_key_" : "carry_op_") &&
        !has_record(scan->object, trace.site) && (branches || is_instruction(scan, address)))
        report_lost(scan, &trace);
}

/* --- Registration --- */

/*
 * Returns whether the bytes contain the address of the section, as an operand or as a word.
 * Program headers do not count: they are loaded too, and contain such words.
 */
static bool refers_to_section(const struct scan *scan, const struct object_load *load,
                              uint64_t address, const uint8_t *bytes) {
    uint64_t section = scan->object->section;
    bool is_header = load->offset + (address - load->address) < scan->object->headers_end;
    if (address % 8 == 0 && !is_header && object_little(bytes, 8) == section)
        return true;
    return load->executable &&
           scan->object->machine->makes(bytes, address, scan->object->is_fixed, section);
}

/* --- The scan --- */

static void scan_chunk(struct scan *scan, const struct object_load *load, uint64_t address,
                       const uint8_t *bytes, size_t size) {
    const size_t unit = scan->object->machine->unit;
    for (size_t i = (unit - address % unit) % unit; i < size; i += unit) {
        scan->registered =
            scan->registered || refers_to_section(scan, load, address + i, bytes + i);
        if (load->executable)
            look_for_site(scan, address + i, bytes + i);
    }
}

static void scan_load(struct scan *scan, const struct object_load *load) {
    uint8_t bytes[CHUNK_BYTES + 2 * SCAN_BYTES];
    /* A site may end after its chunk. */
    const size_t most = CHUNK_BYTES + SCAN_BYTES;
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
