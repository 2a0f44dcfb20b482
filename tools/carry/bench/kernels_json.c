/* SPDX-License-Identifier: MIT */
/* Prints the reports of the benchmarks of kernels as JSON. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bench/kernels.h"
#include "bench/noise.h"
#include "common/json.h"
#include "common/machine.h"

static json_t *wrong_json(const struct kernels_bench *bench) {
    json_t *list = json_array();
    for (size_t i = 0; i < bench->wrong_count; i++) {
        const struct wrong *wrong = &bench->wrong[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "kernel", wrong->kernel,
                                              "size", (json_int_t)wrong->size, "align",
                                              (json_int_t)wrong->align, "is", (json_int_t)wrong->is,
                                              "should", (json_int_t)wrong->should));
    }
    return list;
}

static json_t *call_json(const struct call *call) {
    return json_pack("{s:I, s:I}", "size", (json_int_t)call->size, "align",
                     (json_int_t)call->offset);
}

static json_t *pair_json(const struct cell *cell) {
    return cell->mode->interleaved
               ? json_pack("[o, o]", call_json(&cell->pair[0]), call_json(&cell->pair[1]))
               : NULL;
}

static void add_cell_counts(json_t *object, const struct kernels_bench *bench, size_t cell,
                            size_t subject) {
    if (!bench->counts)
        return;
    const struct kernels_counted *counted = &bench->counts[cell * bench->subject_count + subject];
    if (isnan(counted->instructions))
        return;
    json_object_set_new(object, "instructions", json_real(counted->instructions));
    json_object_set_new(object, "branches", json_real(counted->branches));
}

/* Returns a cell; size and alignment of a mix are null. */
static json_t *kernel_cell_json(const struct kernels_bench *bench, size_t index, size_t subject) {
    const struct cell *cell = &bench->cells[index];
    bool mix = is_mix(cell->mode);
    struct bench_stats ns = kernels_stats(bench, index, subject);
    json_t *size = mix ? json_null() : json_integer((json_int_t)cell->size);
    json_t *align = mix ? json_null() : json_integer((json_int_t)cell->align);
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o*, s:f, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "mode", cell->mode->name,
        "size", size, "align", align, "pair", pair_json(cell), "mean_size", cell->bytes, "kernel",
        bench->subjects[subject].name, "ns", ns.median, "q1", ns.q1, "q3", ns.q3, "above_floor",
        kernels_added(bench, index, subject), "bytes_per_ns", cell->bytes / ns.median, "speedup",
        kernels_ratio(bench, index, bench->base, subject));
    add_cell_counts(object, bench, index, subject);
    return object;
}

static json_t *cells_json(const struct kernels_bench *bench) {
    json_t *list = json_array();
    for (size_t cell = 0; cell < bench->cell_count; cell++)
        for (size_t subject = 0; subject < bench->subject_count; subject++)
            json_array_append_new(list, kernel_cell_json(bench, cell, subject));
    return list;
}

bool kernels_print_json(const struct kernels_bench *bench) {
    json_t *object = json_pack(
        "{s:s, s:o, s:I, s:f, s:o, s:i, s:s, s:s, s:o, s:o, s:o, s:s?}", "bench", bench->work->name,
        "machine", bench_machine_json(), "rounds", (json_int_t)bench->plan.rounds, "sample_ns",
        bench->plan.sample_ns, "noise", bench_noise_json(&bench->noise), "load_bits",
        (int)bench->load_bits, "focus", bench->subjects[bench->focus].name, "base",
        bench->subjects[bench->base].name, "kernels", kernel_table_json(bench->work->table),
        "wrong", wrong_json(bench), "cells", cells_json(bench), "counted_by", bench->counted_by);
    if (!object)
        return false;
    json_print_report(object);
    return true;
}
