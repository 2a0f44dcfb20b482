/* SPDX-License-Identifier: MIT */
/* Runs the tests of the table one after the other and ends the emulator with the result. */
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

extern uint64_t boot_info;

/* Words with blanks between them; hvm_start_info has their address at 24 (Xen's start_info.h). */
static const char *command_line(void) {
    uint64_t line = boot_info ? *(const uint64_t *)(boot_info + 24) : 0;
    return line ? (const char *)line : "";
}

bool kernel_option(const char *name) {
    size_t size = 0;
    while (name[size])
        size++;
    for (const char *word = command_line(); *word; word++) {
        bool starts = word == command_line() || word[-1] == ' ';
        if (starts && !memcmp(word, name, size) && (word[size] == ' ' || !word[size]))
            return true;
    }
    return false;
}

/* The same numbers in every run. */
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

void host_prepare(void);
void kernel_main(void);
void kernel_main(void) {
    cpu_prepare(0);
    host_prepare();
    cpu_start_second();
    describe_machine();
    __asm__ volatile("sti");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        rng_restart();
        tap_note("%s", tests[i].name);
        tests[i].run();
    }
    kernel_exit(tap_done());
}
