/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xstate/prof_functions.h"

#include <stdlib.h>
#include <string.h>

#include "xstate/prof_symbols.h"

/* --- Hits: each becomes a function --- */

static bool add_hit(struct functions *functions, const struct samples *samples,
                    const struct samples_hit *hit, const struct symbols *symbols) {
    struct function *row = &functions->rows[functions->count];
    struct symbols_function found = {.address = hit->offset};
    *row = (struct function){.object = &samples->objects[hit->object], .counts = hit->counts};
    if (symbols)
        symbols_find(symbols, hit->offset, &found);
    row->address = found.address;
    row->name = found.name ? strndup(found.name, strcspn(found.name, "@")) : NULL; /* no version */
    functions->count++;
    return !found.name || row->name;
}

static bool add_object_hits(struct functions *functions, const struct samples *samples,
                            uint32_t number) {
    const struct samples_object *object = &samples->objects[number];
    struct symbols *symbols = object->file < 0 ? NULL : symbols_open(object->path, object->file);
    bool ok = true;
    for (size_t i = 0; ok && i < samples->hits_capacity; i++)
        if (samples->hits[i].counts.all && samples->hits[i].object == number)
            ok = add_hit(functions, samples, &samples->hits[i], symbols);
    symbols_close(symbols);
    return ok;
}

/* --- Merging of equal functions --- */

static int by_place(const void *left, const void *right) {
    const struct function *a = left, *b = right;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static int by_dirt(const void *left, const void *right) {
    const struct samples_counts *a = &((const struct function *)left)->counts;
    const struct samples_counts *b = &((const struct function *)right)->counts;
    if (a->dirty != b->dirty)
        return a->dirty < b->dirty ? 1 : -1;
    if (a->all != b->all)
        return a->all < b->all ? 1 : -1;
    return by_place(left, right);
}

static void add_counts(struct samples_counts *sum, const struct samples_counts *counts) {
    sum->all += counts->all;
    sum->dirty += counts->dirty;
    sum->ymm += counts->ymm;
    sum->zmm += counts->zmm;
}

static void merge_functions(struct functions *functions) {
    size_t kept = 0;
    for (size_t i = 0; i < functions->count; i++) {
        struct function *row = &functions->rows[i], *last = &functions->rows[kept - !!kept];
        if (kept && by_place(last, row) == 0) {
            add_counts(&last->counts, &row->counts);
            free(row->name);
        } else {
            functions->rows[kept++] = *row;
        }
    }
    functions->count = kept;
}

bool functions_collect(struct functions *functions, const struct samples *samples) {
    bool ok = true;
    *functions =
        (struct functions){.rows = calloc(samples->hits_count + 1, sizeof(struct function))};
    if (!functions->rows)
        return false;
    for (size_t i = 0; ok && i < samples->objects_count; i++)
        ok = add_object_hits(functions, samples, (uint32_t)i);
    qsort(functions->rows, functions->count, sizeof *functions->rows, by_place);
    merge_functions(functions);
    qsort(functions->rows, functions->count, sizeof *functions->rows, by_dirt);
    return ok;
}

void functions_free(struct functions *functions) {
    for (size_t i = 0; i < functions->count; i++)
        free(functions->rows[i].name);
    free(functions->rows);
}
