/* SPDX-License-Identifier: MIT */
/* `carry xstate layout`: prints the components of this CPU's extended state, and where XSAVE stores
 * them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>
#include <carry/xstate.h>
#include <jansson.h>

#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/text.h"
#include "xstate/names.h"
#include "xstate/parts.h"

/* The xmm registers in the legacy area. They follow the registers of x87. */
#define XMM_BYTES 16
#define XMM_COUNT 16

static const char usage[] =
    "Usage: carry xstate layout [OPTION]...\n"
    "\n"
    "Shows the components of this CPU's extended state (XSAVE): the content and size\n"
    "of each, its offset in the standard and compact forms of an image of all user\n"
    "components, whether the system enables it, and whether the library saves it.\n"
    "\n"
    "  -J, --json    print a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0; 3 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  carry xstate layout\n"
    "  CARRY_CPU_MASK=xsavec carry xstate layout    without XSAVEC\n";

static bool mask_has(uint64_t mask, unsigned component) {
    return mask >> component & 1;
}

static uint64_t all_of(const struct carry_xstate_layout *layout) {
    return layout->user | layout->supervisor | carry_xstate_enabled();
}

static size_t component_size(const struct carry_xstate_layout *layout, unsigned component) {
    if (component == CARRY_XSTATE_X87)
        return carry_xstate_offset(layout, 0, CARRY_XSTATE_STANDARD, CARRY_XSTATE_SSE);
    return component == CARRY_XSTATE_SSE ? XMM_BYTES * XMM_COUNT : layout->parts[component].size;
}

/* Finds the offset of a component; returns false if an image of this form does not contain it. */
static bool find_offset(const struct carry_xstate_layout *layout, enum carry_xstate_form form,
                        unsigned component, size_t *offset) {
    *offset = carry_xstate_offset(layout, layout->user, form, component);
    return *offset || component == CARRY_XSTATE_X87;
}

static const struct feature {
    const char *name;
    size_t flag;
    const char *summary;
} features[] = {
    {"xsaveopt", offsetof(struct carry_xstate_layout, xsaveopt), "skips what has not changed"},
    {"xsavec", offsetof(struct carry_xstate_layout, xsavec), "saves what is in use, compact"},
    {"xgetbv1", offsetof(struct carry_xstate_layout, xgetbv1), "reports what is in use"},
    {"xsaves", offsetof(struct carry_xstate_layout, xsaves), "saves the kernel's components too"},
    {"xfd", offsetof(struct carry_xstate_layout, xfd),
     "withholds components until their first use"},
};
#define FEATURES (sizeof features / sizeof *features)

static bool has_feature(const struct carry_xstate_layout *layout, const struct feature *feature) {
    bool flag;
    memcpy(&flag, (const char *)layout + feature->flag, sizeof flag);
    return flag;
}

/* Returns the name of the instruction that carry_xstate_save() executes. */
static const char *save_instruction(void) {
    if (!carry_cpu_has("xsave"))
        return "FXSAVE";
    return carry_cpu_has("xsavec") ? "XSAVEC" : "XSAVE";
}

/* --- As text --- */

static void print_mask(const char *label, uint64_t mask) {
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "0x%" PRIx64, mask);
    text_print_field(label, text);
}

static void print_offset(const struct carry_xstate_layout *layout, enum carry_xstate_form form,
                         unsigned component, int columns) {
    char text[TEXT_SIZE];
    size_t offset;
    bool found = find_offset(layout, form, component, &offset);
    printf("%*s", columns, found ? text_count(text, offset) : "-");
}

static void print_component(const struct carry_xstate_layout *layout, unsigned component) {
    char text[TEXT_SIZE];
    const struct carry_xstate_part *part = &layout->parts[component];
    printf("  %3u  %-9s  %6s", component, carry_xstate_name(component),
           text_count(text, component_size(layout, component)));
    print_offset(layout, CARRY_XSTATE_STANDARD, component, 10);
    print_offset(layout, CARRY_XSTATE_COMPACT, component, 9);
    printf("  %s%s%s\n", carry_xstate_description(component), part->aligned ? ", aligned" : "",
           part->lazy ? ", lazy" : "");
}

static void print_components(const struct carry_xstate_layout *layout, uint64_t mask,
                             const char *title) {
    if (!mask)
        return;
    text_print_title(title);
    printf("%s  bit  name         size  standard  compact  holds%s\n", text_colour(COLOUR_FAINT),
           text_colour(COLOUR_NONE));
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask_has(mask, i))
            print_component(layout, i);
}

static void print_features(const struct carry_xstate_layout *layout) {
    text_print_title("Features");
    for (size_t i = 0; i < FEATURES; i++) {
        bool present = has_feature(layout, &features[i]);
        printf("  %-9s  %s%-7s%s  %s\n", features[i].name,
               text_colour(present ? COLOUR_GREEN : COLOUR_FAINT), present ? "present" : "absent",
               text_colour(COLOUR_NONE), features[i].summary);
    }
}

static void print_size(const char *what, size_t size) {
    char text[TEXT_SIZE];
    printf("  %-38s %7s\n", what, text_count(text, size));
}

static void print_sizes(const struct carry_xstate_layout *layout) {
    text_print_title("Images of all user components, bytes");
    print_size("standard form (XSAVE)",
               carry_xstate_size(layout, layout->user, CARRY_XSTATE_STANDARD));
    print_size("compact form (XSAVEC)",
               carry_xstate_size(layout, layout->user, CARRY_XSTATE_COMPACT));
    print_size("area of carry_xstate_default()", carry_xstate_area_size(carry_xstate_default()));
}

static void print_names(const char *label, uint64_t mask) {
    char names[XSTATE_NAMES_SIZE];
    printf("  %-13s %s\n", label, xstate_names(names, mask));
}

static void print_library(void) {
    text_print_title("What the library uses");
    printf("  %-13s %s\n", "saves with", save_instruction());
    print_names("default", carry_xstate_default());
    print_names("on request", carry_xstate_enabled() & ~carry_xstate_default());
}

static void print_layout_text(const struct carry_xstate_layout *layout) {
    struct bench_machine machine;
    bench_machine(&machine);
    text_print_field("CPU", machine.cpu);
    print_mask("XCR0", layout->user);
    print_mask("MXCSR mask", layout->mxcsr_mask);
    print_components(layout, all_of(layout) & ~layout->supervisor,
                     layout->user ? "User components, enabled in XCR0"
                                  : "Components (no XSAVE, only FXSAVE)");
    print_components(layout, layout->supervisor,
                     "Components of the kernel, which IA32_XSS may enable");
    print_sizes(layout);
    print_features(layout);
    print_library();
}

/* --- As JSON --- */

static json_t *offset_json(const struct carry_xstate_layout *layout, enum carry_xstate_form form,
                           unsigned component) {
    size_t offset;
    return find_offset(layout, form, component, &offset) ? json_integer((json_int_t)offset)
                                                         : json_null();
}

static json_t *component_json(const struct carry_xstate_layout *layout, unsigned component) {
    const struct carry_xstate_part *part = &layout->parts[component];
    return json_pack("{s:i, s:s, s:s, s:I, s:o, s:o, s:b, s:b, s:b, s:b, s:b}", "bit", component,
                     "name", carry_xstate_name(component), "description",
                     carry_xstate_description(component), "size",
                     (json_int_t)component_size(layout, component), "standard",
                     offset_json(layout, CARRY_XSTATE_STANDARD, component), "compact",
                     offset_json(layout, CARRY_XSTATE_COMPACT, component), "supervisor",
                     part->supervisor, "aligned", part->aligned, "lazy", part->lazy, "enabled",
                     mask_has(carry_xstate_enabled(), component), "default",
                     mask_has(carry_xstate_default(), component));
}

static json_t *components_json(const struct carry_xstate_layout *layout) {
    json_t *list = json_array();
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask_has(all_of(layout), i))
            json_array_append_new(list, component_json(layout, i));
    return list;
}

static json_t *features_json(const struct carry_xstate_layout *layout) {
    json_t *object = json_object();
    for (size_t i = 0; i < FEATURES; i++)
        json_object_set_new(object, features[i].name,
                            json_boolean(has_feature(layout, &features[i])));
    return object;
}

static void print_layout_json(const struct carry_xstate_layout *layout) {
    struct bench_machine machine;
    bench_machine(&machine);
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:s, s:I, s:I, s:o}", "cpu", machine.cpu, "xcr0",
        (json_int_t)layout->user, "supervisor", (json_int_t)layout->supervisor, "mxcsr_mask",
        (json_int_t)layout->mxcsr_mask, "features", features_json(layout), "standard_size",
        (json_int_t)carry_xstate_size(layout, layout->user, CARRY_XSTATE_STANDARD), "compact_size",
        (json_int_t)carry_xstate_size(layout, layout->user, CARRY_XSTATE_COMPACT), "area_size",
        (json_int_t)carry_xstate_area_size(carry_xstate_default()), "saves_by", save_instruction(),
        "enabled", (json_int_t)carry_xstate_enabled(), "default",
        (json_int_t)carry_xstate_default(), "components", components_json(layout));
    json_print_report(object);
}

/* --- The command --- */

int xstate_layout(int argc, char **argv) {
    bool json = false;
    const struct option_row rows[] = {{"json", 'J', .flag = &json}, {0}};
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    if (json)
        print_layout_json(&layout);
    else
        print_layout_text(&layout);
    return STATUS_CLEAN;
}
