/* SPDX-License-Identifier: MIT */
#include "common/machine.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include <carry/carry.h>

#include "common/text.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* contains "Clang" already */
#else
#define COMPILER "gcc " __VERSION__
#endif

void bench_machine(struct bench_machine *machine) {
    *machine = (struct bench_machine){.compiler = COMPILER, .flags = CARRY_BUILD_FLAGS};
    carry_cpu_model(machine->cpu, sizeof machine->cpu);
    if (!machine->cpu[0])
        snprintf(machine->cpu, sizeof machine->cpu, "unknown CPU");
    snprintf(machine->version, sizeof machine->version, "%s", carry_version_text());

    struct utsname system;
    if (uname(&system) == 0)
        snprintf(machine->system, sizeof machine->system, "%s %s", system.sysname, system.release);

    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(machine->date, sizeof machine->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void bench_machine_print(void) {
    struct bench_machine machine;
    struct text_block block;
    bench_machine(&machine);
    text_block_begin(&block, stdout);
    fprintf(block.out, "%s%s%s\n", text_colour(COLOUR_BOLD), machine.cpu, text_colour(COLOUR_NONE));
    fprintf(block.out, "%s, %s, %s\n", carry_cpu_arch(), machine.system, machine.date);
    fprintf(block.out, "libcarry %s, %s, %s\n", machine.version, machine.compiler, machine.flags);
    text_block_end(&block, 0);
}

static json_t *machine_features_json(void) {
    json_t *names = json_array();
    struct carry_cpu_feature feature;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (feature.state == CARRY_CPU_PRESENT)
            json_array_append_new(names, json_string(feature.name));
    return names;
}

json_t *bench_machine_json(void) {
    struct bench_machine machine;
    bench_machine(&machine);
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s}", "cpu", machine.cpu, "arch",
                     carry_cpu_arch(), "features", machine_features_json(), "system",
                     machine.system, "libcarry", machine.version, "compiler", machine.compiler,
                     "flags", machine.flags, "date", machine.date);
}
