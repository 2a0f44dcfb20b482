/* SPDX-License-Identifier: MIT */
/* `carry bench ring0`: counts the instructions of operations in an operating-system kernel. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/benches.h"
#include "bench/ring0_run.h"
#include "common/command.h"
#include "common/json.h"
#include "common/options.h"
#include "common/own_file.h"
#include "common/text.h"

#define KERNEL   "carry-ring0.elf"
#define EMULATOR "qemu-system-x86_64"

static const char usage[] =
    "Usage: carry bench ring0 [OPTION]...\n"
    "\n"
    "Boots a kernel that contains the library (ports/baremetal) in an emulator, and\n"
    "counts the instructions of operations: of switching interrupts, of saving and\n"
    "restoring their flag, and of calls. Each operation has four forms: compiled in,\n"
    "through a table of pointers, at a site as linked, and at a patched site. The\n"
    "table is the native one, or that of a hypervisor. Takes a second.\n"
    "\n"
    "  --kernel FILE     boot this kernel (default: " KERNEL ", which is beside\n"
    "                    the tool if it was built with -Dkernel=true); make -C\n"
    "                    ports/baremetal builds one, too\n"
    "  --emulator FILE   use this emulator (" EMULATOR ")\n"
    "  -J, --json        print everything counted as a JSON object\n"
    "  -h, --help        print this help\n"
    "\n"
    "Exit status: 0 counted; 1 the kernel did not report all counts; 3 wrong usage,\n"
    "or no kernel or emulator found.\n"
    "\n"
    "Examples:\n"
    "  carry bench ring0\n"
    "  carry bench ring0 --json --kernel build-test/baremetal/kernel.elf\n";

static const char caveat[] =
    "These are instructions, not times. An indirect call counts as one instruction, as a direct "
    "call does, but takes longer if it was not predicted or goes through a thunk; cli, sti and "
    "popf take longer than other instructions. `carry bench patch` times calls on this CPU.\n"
    "A call of restore has one instruction more than the compiled-in form: it loads the "
    "argument.\n";

struct options {
    const char *kernel;
    const char *emulator;
    bool json;
};

/* --- Reports --- */

static void print_count(int64_t count) {
    if (count == RING0_NONE)
        printf("%11s", "-");
    else
        printf("%11lld", (long long)count);
}

static void print_count_table(const struct ring0_result *result, const char *table) {
    printf("\n%s%-12s", text_colour(COLOUR_BOLD), table);
    for (size_t form = 0; form < RING0_FORMS; form++)
        printf("%11s", ring0_forms[form]);
    printf("%s\n", text_colour(COLOUR_NONE));
    for (size_t i = 0; i < result->count; i++) {
        const struct ring0_row *row = &result->rows[i];
        if (strcmp(row->table, table) != 0)
            continue;
        printf("  %-10s", row->operation);
        for (size_t form = 0; form < RING0_FORMS; form++)
            print_count(row->counts[form]);
        putchar('\n');
    }
}

static void print_ring0_text(const struct ring0_result *result) {
    printf("Instructions of each operation in ring 0, counted by\n%s\n", result->emulator);
    for (size_t i = 0; i < result->count; i++)
        if (!i || strcmp(result->rows[i].table, result->rows[i - 1].table) != 0)
            print_count_table(result, result->rows[i].table);
    putchar('\n');
    text_wrap(stdout, 0, caveat);
}

static void print_ring0_json(const struct ring0_result *result) {
    json_t *rows = json_array();
    for (size_t i = 0; i < result->count; i++) {
        const struct ring0_row *row = &result->rows[i];
        json_t *one = json_pack("{s:s, s:s}", "operation", row->operation, "table", row->table);
        for (size_t form = 0; form < RING0_FORMS; form++)
            json_object_set_new(one, ring0_forms[form],
                                row->counts[form] == RING0_NONE ? json_null()
                                                                : json_integer(row->counts[form]));
        json_array_append_new(rows, one);
    }
    json_print_report(json_pack("{s:s, s:s, s:s, s:o, s:s}", "bench", "ring0", "emulator",
                                result->emulator, "unit", "instructions", "operations", rows,
                                "caveat", caveat));
}

static const char *find_test_kernel(const struct options *options, char path[PATH_MAX]) {
    if (!options->kernel)
        return own_file_find(KERNEL, path) ? path : NULL;
    return access(options->kernel, R_OK) == 0 ? options->kernel : NULL;
}

int bench_ring0(int argc, char **argv) {
    struct options options = {.emulator = EMULATOR};
    struct ring0_result result;
    char path[PATH_MAX];
    const struct option_row rows[] = {
        {"kernel", .text = &options.kernel},
        {"emulator", .text = &options.emulator},
        {"json", 'J', .flag = &options.json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    const char *kernel = find_test_kernel(&options, path);
    if (!kernel && options.kernel)
        return command_error("cannot read the kernel '%s'", options.kernel);
    if (!kernel)
        return command_error("no kernel was built with this tool (-Dkernel=true); run make -C "
                             "ports/baremetal, and pass its kernel.elf to --kernel");
    status = ring0_run(options.emulator, kernel, &result);
    if (status != STATUS_CLEAN)
        return status;
    if (options.json)
        print_ring0_json(&result);
    else
        print_ring0_text(&result);
    return STATUS_CLEAN;
}
