/* SPDX-License-Identifier: MIT */
/* Runs the tests in tests.def in order, and ends the emulator with the result. */
#include "harness/rng.h"
#include "harness/tap.h"
#include "kernel.h"

#include <carry/cpu.h>

#include <string.h>

#define TEST(name) void test_##name(void);
#include "tests.def"
#undef TEST

#define TEST(name) {#name, test_##name},
static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#include "tests.def"
};
#undef TEST

/*
 * Returns the text after `name` in the first word of the command line that begins with it, or NULL.
 */
const char *kernel_option_text(const char *name) {
    size_t size = strlen(name);
    for (const char *word = kernel_command_line(); *word; word++) {
        bool starts = word == kernel_command_line() || word[-1] == ' ';
        if (starts && !strncmp(word, name, size))
            return word + size;
    }
    return NULL;
}

bool kernel_option(const char *name) {
    const char *rest = kernel_option_text(name);
    return rest && (*rest == ' ' || !*rest);
}

size_t kernel_option_number(const char *name, size_t otherwise) {
    const char *digits = kernel_option_text(name);
    size_t number = 0;
    if (!digits)
        return otherwise;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        number = number * 10 + (size_t)(*digits - '0');
    return number;
}

/* Returns a seed, the same in every run. */
uint64_t rng_seed(void) {
    return RNG_DEFAULT_SEED;
}

static void describe_machine(void) {
    char model[64];
    struct carry_cpu_feature feature;
    carry_cpu_model(model, sizeof model);
    print("TAP version 13\n# %s, %u CPUs:", *model ? model : "unknown CPU", cpu_count());
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (feature.state == CARRY_CPU_PRESENT)
            print(" %s", feature.name);
    print("\n");
}

/* Returns whether to run the test `name`: `only=copy` runs only the test of copies. */
static bool is_wanted(const char *name) {
    const char *only = kernel_option_text("only=");
    size_t size = strlen(name);
    return !only || (!strncmp(only, name, size) && (only[size] == ' ' || !only[size]));
}

/* Compares `name` with the command line: `kernels=avx512` tests kernels that begin with avx512. */
bool kernel_is_tested(const char *name) {
    const char *start = kernel_option_text("kernels=");
    for (; start && *start && *start != ' '; start++, name++)
        if (*start != *name)
            return false;
    return true;
}

void kernel_main(void);
void kernel_main(void) {
    print_prepare();
    cpu_prepare(0);
    host_prepare();
    section_prepare();
    trap_break_row(kernel_option_number("break=row:", SIZE_MAX));
    if (kernel_ran_instead())
        kernel_exit(0);
    cpu_start_second();
    describe_machine();
    cpu_interrupts_on();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (!is_wanted(tests[i].name))
            continue;
        rng_restart();
        tap_note("%s", tests[i].name);
        tests[i].run();
    }
    trap_note_rows();
    kernel_exit(tap_done());
}
