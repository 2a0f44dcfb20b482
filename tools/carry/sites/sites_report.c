/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sites/sites_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "sites/sites_machine.h"

/* --- Parts of reports --- */

static const char *reason_text(const struct site *site, char range[PLACE_SIZE]) {
    const enum carry_patch_reason reason = site->reason;
    static const char *const texts[CARRY_PATCH_REASONS] = {
        [CARRY_PATCH_NOT_ASKED] = "no commit has changed its key",
        [CARRY_PATCH_QUIESCENCE] = "several instructions, which only a quiet program may change",
        [CARRY_PATCH_PERMISSION] = "the system does not allow text to be written",
        [CARRY_PATCH_NO_SYNC] = "the system cannot synchronise the cores that run threads",
    };
    if (reason == CARRY_PATCH_RANGE) {
        snprintf(range, PLACE_SIZE, "out of range: a direct call reaches %s",
                 site->object->machine->reach);
        return range;
    }
    return (unsigned)reason < CARRY_PATCH_REASONS && texts[reason] ? texts[reason] : "unknown";
}

/* Writes the name of a site's target; returns false if it has no target, or an unknown one. */
static bool target_name(const struct sites_report *report, const struct site *site,
                        char text[PLACE_SIZE]) {
    if (site->has_target)
        program_place(report->program, site->target, text);
    else if (site->import && site->state == SITE_ORIGINAL)
        snprintf(text, PLACE_SIZE, "%.100s", site->import);
    else
        return false;
    return true;
}

static const struct object_symbol *symbol_of(const struct site *site) {
    return object_symbol_around(site->object, site->record->site);
}

/* Writes the instruction after the first `done` bytes of a site, with the name of its target.
 * Returns its length. */
static size_t write_instruction(const struct sites_report *report, const struct site *site,
                                size_t done, char text[INSTRUCTION_TEXT]) {
    struct instruction instruction;
    char place[PLACE_SIZE];
    const struct machine *machine = site->object->machine;
    uint64_t start =
        site->state == SITE_BODY ? site->record->aux + machine->body_at : site->record->site;
    const uint8_t *bytes = site->bytes + done;
    size_t rest = site->size - done;
    machine->text(bytes, rest, start + done, text);
    if (!machine->disassemble(bytes, rest, start + done, &instruction))
        return rest;
    if (instruction.relative)
        disassemble_name_target(text, program_place(report->program, instruction.target, place));
    return instruction.length;
}

void sites_report_count(struct sites_report *report, const struct site *site) {
    if (site->object != report->object)
        report->objects++;
    report->object = site->object;
    report->states[site->state]++;
    report->sites += site->state != SITE_BODY;
}

/* --- As text --- */

#define ADDRESS_WIDTH 10
#define LIVE_WIDTH    14
#define OFFSET_WIDTH  7
#define KIND_WIDTH    11
#define NAME_COLUMNS  17
#define BYTES_WIDTH   (KIND_WIDTH + 1 + NAME_COLUMNS)

static int indent_columns(const struct sites_report *report) {
    return 2 + (report->program->pid ? LIVE_WIDTH : ADDRESS_WIDTH) + 1 + OFFSET_WIDTH + 1;
}

static enum colour state_colour(const struct sites_report *report, enum site_state state) {
    switch (state) {
    case SITE_DIRECT:
    case SITE_INLINE:
    case SITE_NOP:
    case SITE_JUMPS:
    case SITE_REPLACEMENT:
        return COLOUR_GREEN;
    case SITE_ORIGINAL:
        return report->program->pid ? COLOUR_YELLOW : COLOUR_NONE;
    case SITE_BODY:
        return COLOUR_NONE;
    default:
        return COLOUR_RED;
    }
}

static void print_heads(struct sites_report *report, const struct site *site, bool new_object) {
    const struct object_symbol *symbol = symbol_of(site);
    if (new_object && report->program->pid) {
        printf("%s%s", report->objects > 1 ? "\n" : "", text_colour(COLOUR_BOLD));
        text_print_name(stdout, site->object->path);
        printf("%s\n", text_colour(COLOUR_NONE));
    }
    if (new_object || symbol != report->symbol) {
        fputs(text_colour(COLOUR_BOLD), stdout);
        text_print_clean(stdout, symbol ? symbol->name : "(no symbol)");
        printf("%s\n", text_colour(COLOUR_NONE));
    }
    report->symbol = symbol;
}

/* Moves to `column` of a line that has `used` columns, or past one space, or to the next line, so
 * that text of `width` columns fits. */
static void move_to_column(int used, int column, int width) {
    if (used < column && column + width <= text_columns())
        printf("%*s", column - used, "");
    else if (used + 1 + width <= text_columns())
        putchar(' ');
    else
        printf("\n%*s", text_columns() - column < width ? 4 : column, "");
}

static void print_instruction(const struct sites_report *report, const uint8_t *bytes, size_t size,
                              const char *text) {
    int used = printf("%*s", indent_columns(report), "");
    for (size_t i = 0; i < size; i++) {
        if (used + 3 > text_columns())
            used = printf("\n%*s", indent_columns(report), "") - 1;
        used += printf("%s%02x", i ? " " : "", bytes[i]);
    }
    move_to_column(used, indent_columns(report) + BYTES_WIDTH + 1, (int)strlen(text));
    text_print_clean(stdout, text);
    putchar('\n');
}

static void print_instructions(const struct sites_report *report, const struct site *site) {
    char text[INSTRUCTION_TEXT];
    for (size_t done = 0; done < site->size;) {
        size_t size = write_instruction(report, site, done, text);
        print_instruction(report, site->bytes + done, size, text);
        done += size;
    }
}

static void print_state(const struct sites_report *report, const struct site *site, int used) {
    char target[PLACE_SIZE];
    const char *state = site_state_name(site->state);
    bool named = target_name(report, site, target);
    int width = (int)strlen(state) + (named ? 3 + (int)strlen(target) : 0);
    move_to_column(used, indent_columns(report) + BYTES_WIDTH + 1, width);
    printf("%s%s%s", text_colour(state_colour(report, site->state)), state,
           text_colour(COLOUR_NONE));
    if (named) {
        printf(" %s ", text_arrow());
        text_print_clean(stdout, target);
    }
    putchar('\n');
}

static void print_site(struct sites_report *report, const struct site *site, bool new_object) {
    char address[TEXT_SIZE], offset[TEXT_SIZE] = "", kind[SITE_NAME_SIZE], name[SITE_NAME_SIZE];
    print_heads(report, site, new_object);
    site_kind_name(site->record, kind);
    site_name(report->program, site->object, site->record, name);
    snprintf(address, sizeof address, "0x%" PRIx64, site->record->site);
    if (report->symbol)
        snprintf(offset, sizeof offset, "+0x%" PRIx64,
                 site->record->site - report->symbol->address);
    int used = printf("  %-*s %-*s %-*s ", report->program->pid ? LIVE_WIDTH : ADDRESS_WIDTH,
                      address, OFFSET_WIDTH, offset, KIND_WIDTH, kind);
    text_print_clean(stdout, name);
    print_state(report, site, used + (int)strlen(name));
    print_instructions(report, site);
    char range[PLACE_SIZE];
    if (site->reason_known)
        text_wrap(stdout, (unsigned)indent_columns(report), reason_text(site, range));
}

/* --- As JSON --- */

static json_t *hex_json(const struct site *site) {
    char text[2 * SITE_BYTES_MAX + 1] = "";
    for (size_t i = 0; i < site->size; i++)
        snprintf(text + 2 * i, 3, "%02x", site->bytes[i]);
    return json_string(text);
}

static json_t *instructions_json(const struct sites_report *report, const struct site *site) {
    json_t *list = json_array();
    char text[INSTRUCTION_TEXT];
    for (size_t done = 0; done < site->size;) {
        done += write_instruction(report, site, done, text);
        json_array_append_new(list, json_name(text));
    }
    return list;
}

static void print_site_json(const struct sites_report *report, const struct site *site) {
    char name[SITE_NAME_SIZE], target[PLACE_SIZE];
    const struct object_symbol *symbol = symbol_of(site);
    json_t *object = json_object();
    bool named = target_name(report, site, target);
    json_object_set_new(object, "type", json_string("site"));
    json_set_name(object, "object", site->object->path);
    json_object_set_new(object, "address", json_number(site->record->site));
    json_object_set_new(object, "symbol", json_name(symbol ? symbol->name : NULL));
    json_object_set_new(object, "offset",
                        symbol ? json_number(site->record->site - symbol->address) : json_null());
    json_object_set_new(object, "kind", json_string(site_kind_name(site->record, name)));
    json_object_set_new(object, "name",
                        json_name(site_name(report->program, site->object, site->record, name)));
    json_object_set_new(object, "state", json_string(site_state_name(site->state)));
    json_object_set_new(object, "target",
                        site->has_target ? json_number(site->target) : json_null());
    json_object_set_new(object, "target_name", json_name(named ? target : NULL));
    json_object_set_new(object, "reason",
                        site->reason_known ? json_string(carry_patch_reason_name(site->reason))
                                           : json_null());
    json_object_set_new(object, "bytes", hex_json(site));
    json_object_set_new(object, "instructions", instructions_json(report, site));
    json_print(stdout, object);
}

void sites_report_site(struct sites_report *report, const struct site *site) {
    bool new_object = site->object != report->object;
    sites_report_count(report, site);
    if (report->json)
        print_site_json(report, site);
    else
        print_site(report, site, new_object);
}

/* --- Findings --- */

static const char *const finding_names[FINDING_KINDS] = {
    [FINDING_LOST] = "lost",
    [FINDING_BYTES] = "bytes",
    [FINDING_RANGE] = "range",
    [FINDING_INSTRUCTIONS] = "instructions",
    [FINDING_BODY] = "body",
    [FINDING_RELATIVE] = "relative",
    [FINDING_RECORD] = "record",
    [FINDING_SECTION] = "section",
    [FINDING_REGISTRATION] = "registration",
    [FINDING_OVERLAP] = "overlap",
    [FINDING_FEATURE] = "feature",
    [FINDING_KEY] = "key",
    [FINDING_LANDING] = "landing",
    [NOTE_TRAP] = "trap",
    [NOTE_PAGES] = "pages",
};

/* Prints a finding, wrapped, without characters that could control a terminal. */
static void print_finding(const struct sites_report *report, bool is_note,
                          const struct object *object, const char *place, const char *subject,
                          const char *sentence) {
    char *text = NULL, *clean = NULL;
    size_t size = 0;
    FILE *out = NULL;
    if (asprintf(&text, "%s%s%s%s%s: %s", report->program->pid ? object->path : "",
                 report->program->pid && *place ? ", " : "", place, *subject && *place ? ", " : "",
                 subject, sentence) > 0)
        out = open_memstream(&clean, &size);
    if (out) {
        text_print_clean(out, text);
        fclose(out);
        printf("%s%s%s\n", text_colour(is_note ? COLOUR_YELLOW : COLOUR_RED),
               is_note ? "note" : "wrong", text_colour(COLOUR_NONE));
        text_wrap(stdout, 2, clean);
    }
    free(clean);
    free(text);
}

static void print_finding_json(const struct sites_report *report, enum finding_kind kind,
                               const struct object *object, uint64_t address,
                               const struct record *record, const char *sentence) {
    char name[SITE_NAME_SIZE];
    const struct object_symbol *symbol = address ? object_symbol_around(object, address) : NULL;
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string(kind >= NOTE_TRAP ? "note" : "finding"));
    json_object_set_new(json, "what", json_string(finding_names[kind]));
    json_set_name(json, "object", object->path);
    json_object_set_new(json, "address", address ? json_number(address) : json_null());
    json_object_set_new(json, "symbol", json_name(symbol ? symbol->name : NULL));
    json_object_set_new(json, "offset",
                        symbol ? json_number(address - symbol->address) : json_null());
    json_object_set_new(json, "kind",
                        record ? json_string(site_kind_name(record, name)) : json_null());
    json_object_set_new(
        json, "name", json_name(record ? site_name(report->program, object, record, name) : NULL));
    json_object_set_new(json, "text", json_name(sentence));
    json_print(stdout, json);
}

void sites_report_finding(struct sites_report *report, enum finding_kind kind,
                          const struct object *object, uint64_t address,
                          const struct record *record, const char *format, ...) {
    char sentence[512], symbol[PLACE_SIZE], place[PLACE_SIZE + TEXT_SIZE] = "";
    char subject[3 * SITE_NAME_SIZE] = "", kind_name[SITE_NAME_SIZE], name[SITE_NAME_SIZE];
    va_list arguments;
    if (report->program->pid && !program_holds(report->program, object)) {
        report->gone = object;
        return;
    }
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    report->findings += kind < NOTE_TRAP;
    report->notes += kind >= NOTE_TRAP;
    if (report->json) {
        print_finding_json(report, kind, object, address, record, sentence);
        return;
    }
    if (address)
        snprintf(place, sizeof place, "0x%" PRIx64 " %s", address,
                 program_place(report->program, address, symbol));
    if (record)
        snprintf(subject, sizeof subject, "%s of %s", site_kind_name(record, kind_name),
                 site_name(report->program, object, record, name));
    print_finding(report, kind >= NOTE_TRAP, object, place, subject, sentence);
}

/* --- The end --- */

static json_t *states_json(const struct sites_report *report) {
    json_t *states = json_object();
    for (int i = 0; i < SITE_STATES; i++)
        json_object_set_new(states, site_state_name((enum site_state)i),
                            json_number(report->states[i]));
    return states;
}

static void print_summary_json(const struct sites_report *report, bool checked) {
    const struct program *program = report->program;
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string("summary"));
    json_set_name(json, "file", program->pid ? NULL : program->name);
    json_object_set_new(json, "pid", program->pid ? json_integer(program->pid) : json_null());
    json_object_set_new(json, "objects", json_number(report->objects));
    json_object_set_new(json, "sites", json_number(report->sites));
    json_object_set_new(json, "states", states_json(report));
    json_object_set_new(json, "findings", checked ? json_number(report->findings) : json_null());
    json_object_set_new(json, "notes", checked ? json_number(report->notes) : json_null());
    json_print(stdout, json);
}

static void print_counts(const struct sites_report *report, FILE *out) {
    char count[TEXT_SIZE];
    const char *between = ": ";
    fprintf(out, "%s site%s", text_count(count, report->sites), text_plural(report->sites));
    if (report->objects > 1)
        fprintf(out, " in %s objects", text_count(count, report->objects));
    for (int i = 0; i < SITE_STATES; i++) {
        if (!report->states[i] || i == SITE_BODY)
            continue;
        fprintf(out, "%s%s %s", between, text_count(count, report->states[i]),
                site_state_name((enum site_state)i));
        between = ", ";
    }
    if (report->states[SITE_BODY])
        fprintf(out, "; %s bod%s", text_count(count, report->states[SITE_BODY]),
                report->states[SITE_BODY] == 1 ? "y" : "ies");
}

static void print_summary(const struct sites_report *report, bool checked) {
    char *text = NULL, count[TEXT_SIZE];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    text_print_name(out, report->program->name);
    fputs(": ", out);
    if (report->sites || report->states[SITE_BODY])
        print_counts(report, out);
    else
        fputs("no records of sites", out);
    if (checked) {
        fprintf(out, "\n%s wrong", text_count(count, report->findings));
        if (report->notes)
            fprintf(out, ", %s note%s", text_count(count, report->notes),
                    text_plural(report->notes));
    }
    fclose(out);
    if (report->states[SITE_BODY] || report->sites || report->findings)
        if (!checked || report->findings || report->notes)
            putchar('\n');
    text_wrap(stdout, 0, text);
    free(text);
}

void sites_report_summary(struct sites_report *report, bool checked) {
    if (report->json)
        print_summary_json(report, checked);
    else
        print_summary(report, checked);
}
