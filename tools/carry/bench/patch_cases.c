/* SPDX-License-Identifier: MIT */
/* The cases of `carry bench patch`, and the results of each. */
#include "bench/bench_patch.h"

const struct patch_cell patch_cells[PATCH_CELLS] = {
    [CELL_ONE] = {"one", "1 site", {.sites = 1}},
    [CELL_MANY] = {"many", "64 sites", {.sites = 64}},
    [CELL_EIGHT] = {"eight", "8 instr.", {.sites = 1, .eight = true}},
    [CELL_COLD] = {"cold", "cold", {.spread = true, .separate = true}},
};

const struct patch_form_text patch_forms[FORM_COUNT] = {
    [FORM_INLINED] = {"inlined", "inlined", true},
    [FORM_DIRECT] = {"direct", "direct", true},
    [FORM_POINTER] = {"pointer", "pointer in memory", true},
    [FORM_PLT] = {"plt", "PLT or ifunc", true},
    [FORM_RETPOLINE] = {"retpoline", "retpoline", true},
    [FORM_PATCHED_CALL] = {"patched-call", "patched call", true},
    [FORM_PATCHED_INLINE] = {"patched-inline", "patched inline", false},
    [FORM_PATCHED_NOP] = {"patched-nop", "patched NOP", false},
    [FORM_FLAG] = {"flag", "flag, off", false},
    [FORM_BRANCH_OFF] = {"branch-off", "patched, off", false},
    [FORM_BRANCH_ON] = {"branch-on", "patched, on", false},
};

int patch_case(const struct patch_bench *bench, enum patch_form form, size_t cell) {
    for (size_t i = 0; i < bench->case_count; i++)
        if (bench->texts[i].shape.form == form && bench->cell_of[i] == cell)
            return (int)i;
    return -1;
}

static const double *samples_of(const struct patch_bench *bench, int number) {
    return bench_samples(&bench->plan, bench->samples, 0, (size_t)number);
}

struct bench_stats patch_stats(const struct patch_bench *bench, int number) {
    return bench_stats_part(bench_stats(samples_of(bench, number), bench->plan.rounds),
                            (double)bench->texts[number].shape.sites);
}

double patch_ratio(const struct patch_bench *bench, int number, int base) {
    return bench_ratio(samples_of(bench, number), samples_of(bench, base), bench->plan.rounds);
}
