/* SPDX-License-Identifier: MIT */
/* Implements carry cpu: shows the features of this CPU, the kernels, and which are chosen and
   why. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/cpu.h>
#include <jansson.h>

#include "common/command.h"
#include "common/json.h"
#include "common/kernel_table.h"
#include "common/options.h"
#include "common/text.h"
#include "cpu/claims.h"

#define MODEL_BYTES 64

static const char usage[] =
    "Usage: carry cpu [OPTION]...\n"
    "\n"
    "Shows the features of this CPU that the library knows, the kernels of the\n"
    "library, and which kernel it chose and why.\n"
    "\n"
    "  --measure     instead, measure for ten seconds whether the preferences, which\n"
    "                a table of CPU models decides, are right on this machine; print\n"
    "                the mask that makes them so\n"
    "  --quick       with --measure: only one second, so less is decided\n"
    "  -J, --json    print a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "The environment variable CARRY_CPU_MASK removes features in every program that\n"
    "uses the library: names separated by commas, or 'all'. A feature is removed with\n"
    "all features that build on it. '+' before a preference, as in '+prefer512',\n"
    "switches it on.\n"
    "\n"
    "Exit status: 0; 3 wrong usage, or an invalid mask. With --measure: 1 the table\n"
    "is wrong here; 4 noise leaves a preference undecided, and none is wrong.\n"
    "\n"
    "Examples:\n"
    "  carry cpu\n"
    "  carry cpu --measure\n"
    "  CARRY_CPU_MASK=avx512bw carry cpu     the choice without AVX-512\n"
    "  CARRY_CPU_MASK=prefer512 carry cpu    with AVX-512, but no 512-bit sums\n"
    "  CARRY_CPU_MASK=all carry cpu          without any feature\n";

static const char *cpu_mask(void) {
    const char *text = getenv("CARRY_CPU_MASK");
    return text ? text : "";
}

/* Returns why the mask is not in force; NULL if it is. */
static const char *mask_error(void) {
    switch (carry_cpu_host_mask_error()) {
    case CARRY_OK:
        return NULL;
    case CARRY_ERROR_INVALID:
        return "'+' must precede a preference; nothing is masked";
    default:
        return "it holds an unknown name; nothing is masked";
    }
}

static const char *const state_names[] = {
    [CARRY_CPU_ABSENT] = "absent",
    [CARRY_CPU_MASKED] = "masked",
    [CARRY_CPU_PRESENT] = "present",
};

static enum carry_cpu_state feature_state(const char *name) {
    struct carry_cpu_feature feature;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (strcmp(name, feature.name) == 0)
            return feature.state;
    return CARRY_CPU_ABSENT;
}

static bool any_not_preferred(const struct kernel_table *table) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; table->kernel(i, &kernel); i++)
        if (!kernel.missing && kernel.against)
            return true;
    return false;
}

#define WHY_BYTES       256
#define EVIDENCE_COLUMN 31

static char *why_chosen(char *why, const struct kernel_table *table) {
    size_t chosen = kernel_table_chosen(table);
    size_t used = (size_t)snprintf(why, WHY_BYTES, "the last in the table that this CPU can run%s",
                                   any_not_preferred(table) ? " and prefers" : "");
    const char *need;
    for (size_t i = 0; (need = table->need(chosen, i)) && used < WHY_BYTES; i++)
        used += (size_t)snprintf(why + used, WHY_BYTES - used, "%s %s", i ? " and" : "; it needs",
                                 need);
    return why;
}

/* --- As text --- */

static void print_feature(const struct carry_cpu_feature *feature) {
    static const enum colour colours[] = {
        [CARRY_CPU_ABSENT] = COLOUR_FAINT,
        [CARRY_CPU_MASKED] = COLOUR_YELLOW,
        [CARRY_CPU_PRESENT] = COLOUR_GREEN,
    };
    printf("  %-18s %s%-9s%s %s\n", feature->name, text_colour(colours[feature->state]),
           state_names[feature->state], text_colour(COLOUR_NONE), feature->description);
    if (feature->evidence)
        text_wrap(stdout, EVIDENCE_COLUMN, feature->evidence);
}

static void print_cpu_features(const char *title, bool preferences) {
    struct carry_cpu_feature feature;
    text_print_title(title);
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (feature.is_preference == preferences)
            print_feature(&feature);
}

static void print_kernel(const struct carry_sum_kernel *kernel) {
    enum colour colour = kernel->chosen ? COLOUR_GREEN : COLOUR_NONE;
    if (kernel->missing)
        colour = COLOUR_FAINT;
    struct text_block block;
    text_block_begin(&block, stdout);
    fprintf(block.out, "  %s%-17s %4u bits  ", text_colour(colour), kernel->name,
            kernel->vector_bits);
    if (kernel->missing)
        fprintf(block.out, "needs %s, which is %s", kernel->missing,
                state_names[feature_state(kernel->missing)]);
    else if (kernel->chosen)
        fprintf(block.out, "chosen");
    else if (kernel->against)
        fprintf(block.out, "available, but not preferred: %s is %s", kernel->against,
                state_names[feature_state(kernel->against)]);
    else
        fprintf(block.out, "available");
    fprintf(block.out, "%s\n", text_colour(COLOUR_NONE));
    text_block_end(&block, 0);
}

static void print_kernel_table(const struct kernel_table *table) {
    char title[TEXT_SIZE + WHY_BYTES], why[WHY_BYTES], sentence[WHY_BYTES + 64];
    snprintf(title, sizeof title, "Kernels of %s, from the most portable to the best",
             table->function);
    text_print_title(title);
    struct carry_sum_kernel kernel;
    for (size_t i = 0; table->kernel(i, &kernel); i++)
        print_kernel(&kernel);
    snprintf(sentence, sizeof sentence, "%s uses %s: %s.\n", table->function,
             kernel_table_chosen_name(table), why_chosen(why, table));
    putchar('\n');
    text_wrap(stdout, 0, sentence);
}

static void print_cpu_text(void) {
    char model[MODEL_BYTES];
    carry_cpu_model(model, sizeof model);
    text_print_field("CPU", model[0] ? model : "does not report its name");
    text_print_field("Architecture", carry_cpu_arch());
    text_print_field("Mask", cpu_mask()[0] ? cpu_mask() : "none");
    print_cpu_features("Features", false);
    print_cpu_features("Preferences, from the table of CPUs", true);
    for (size_t i = 0; i < KERNEL_TABLE_COUNT; i++)
        print_kernel_table(&kernel_tables[i]);
}

/* --- As JSON --- */

static json_t *cpu_features_json(void) {
    json_t *list = json_array();
    struct carry_cpu_feature feature;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:s?}", "name", feature.name,
                                              "description", feature.description, "state",
                                              state_names[feature.state], "preference",
                                              feature.is_preference, "evidence", feature.evidence));
    return list;
}

static json_t *table_json(const struct kernel_table *table) {
    char why[WHY_BYTES];
    return json_pack("{s:s, s:s, s:o}", "chosen", kernel_table_chosen_name(table), "why",
                     why_chosen(why, table), "kernels", kernel_table_json(table));
}

static void print_cpu_json(void) {
    char model[MODEL_BYTES];
    carry_cpu_model(model, sizeof model);
    char *mask_text = text_utf8(cpu_mask());
    json_t *object =
        json_pack("{s:s, s:s, s:s?, s:s?, s:o}", "model", model, "arch", carry_cpu_arch(), "mask",
                  mask_text, "mask_error", mask_error(), "features", cpu_features_json());
    free(mask_text);
    for (size_t i = 0; i < KERNEL_TABLE_COUNT; i++)
        json_object_set_new(object, kernel_tables[i].name, table_json(&kernel_tables[i]));
    json_print_report(object);
}

/* --- The command --- */

static int mask_status(void) {
    return mask_error() ? command_error("CARRY_CPU_MASK=%s: %s", cpu_mask(), mask_error())
                        : STATUS_CLEAN;
}

static int measure_preferences(double seconds, bool json) {
    struct claims claims = {.seconds = seconds};
    int status = mask_status();
    if (status != STATUS_CLEAN)
        return status;
    const bool measured = claims_measure(&claims);
    carry_cpu_set_mask(cpu_mask());
    if (measured)
        json ? claims_print_json(&claims) : claims_print_text(&claims);
    status = measured ? claims_status(&claims) : command_error("out of memory");
    claims_release(&claims);
    return status;
}

int command_cpu(int argc, char **argv) {
    bool json = false, measures = false, quick = false;
    const struct option_row rows[] = {{"measure", .flag = &measures},
                                      {"quick", .flag = &quick},
                                      {"json", 'J', .flag = &json},
                                      {0}};
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    if (quick && !measures)
        return command_usage(argv[0], "--quick needs --measure");
    if (measures)
        return measure_preferences(quick ? 1 : 10, json);
    if (json)
        print_cpu_json();
    else
        print_cpu_text();
    return mask_status();
}
