/* SPDX-License-Identifier: MIT */
/*
 * Writes the data that peers use, and the sums by the oracle: the files `data` and `vectors` that
 * CONTRACT.md describes.
 *
 * usage: vectors FOLDER MIB < CELLS
 *
 * The first MIB mebibytes of `data` are random. Each line of CELLS is "OFFSET TO SIZE" of a cell
 * that will be timed on random bytes. The bytes after the random ones are only for vectors: all
 * ones, all zeros, and words whose sums often carry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/oracle.h"

#define PATTERN_BYTES ((size_t)1 << 18)
#define MARGIN        4096 /* the bytes after a copy must not change */
#define SMALL         256  /* every smaller size is tested */
#define LARGEST       65536

struct vector {
    size_t offset, to, size;
    uint32_t seed;
};

static unsigned char *data;
static size_t random_size, data_size;
static struct vector *vectors;
static size_t vector_count, vector_room;

/* The state of xorshift64*, a generator of the same numbers in every run. */
static uint64_t state = 1;

static uint32_t next_random(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(state * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

static size_t random_below(size_t limit) {
    return next_random() % limit;
}

static void fill_data(void) {
    unsigned char *ones = data + random_size, *zeros = ones + PATTERN_BYTES;
    unsigned char *carries = zeros + PATTERN_BYTES;
    static const uint16_t words[] = {0x0000, 0x0001, 0x00ff, 0x0100,
                                     0xff00, 0xffff, 0xffff, 0xffff};
    for (size_t i = 0; i < random_size; i += 4) {
        uint32_t word = next_random();
        memcpy(data + i, &word, 4);
    }
    memset(ones, 0xff, PATTERN_BYTES);
    memset(zeros, 0, PATTERN_BYTES);
    for (size_t i = 0; i < PATTERN_BYTES; i += 2)
        memcpy(carries + i, &words[random_below(sizeof words / sizeof *words)], 2);
}

static void add_vector(size_t offset, size_t to, size_t size, uint32_t seed) {
    if (vector_count == vector_room) {
        vector_room = vector_room ? 2 * vector_room : 1024;
        vectors = realloc(vectors, vector_room * sizeof *vectors);
        if (!vectors)
            exit(1);
    }
    vectors[vector_count++] = (struct vector){offset, to, size, seed};
}

/* Adds vectors of a size on each pattern, at random alignments, with and without a seed. */
static void add_size(size_t size) {
    for (size_t pattern = 0; pattern < 4; pattern++) {
        size_t offset = pattern ? random_size + (pattern - 1) * PATTERN_BYTES : 0;
        add_vector(offset + random_below(64), random_below(64), size, 0);
        add_vector(offset + random_below(64), random_below(64), size,
                   pattern == 1 ? UINT32_MAX : next_random());
    }
}

static void add_cells(void) {
    struct vector cell;
    while (scanf("%zu %zu %zu", &cell.offset, &cell.to, &cell.size) == 3)
        if (cell.offset + cell.size <= random_size)
            add_vector(cell.offset, cell.to, cell.size, 0);
}

static int compare_sizes(const void *a, const void *b) {
    const struct vector *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

static FILE *create_file(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        perror(path);
    return file;
}

static bool write_all(const char *folder) {
    FILE *file = create_file(folder, "data");
    bool good = file && fwrite(data, 1, data_size, file) == data_size;
    good = file && !fclose(file) && good;
    file = create_file(folder, "vectors");
    for (size_t i = 0; file && i < vector_count; i++) {
        const struct vector *v = &vectors[i];
        const unsigned sum = oracle_sum(data + v->offset, v->size, v->seed);
        fprintf(file, "%zu %zu %zu %u %u\n", v->offset, v->to, v->size, v->seed, sum);
    }
    return file && !fclose(file) && good;
}

int main(int argc, char **argv) {
    size_t mebibytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (!mebibytes) {
        fputs("usage: vectors FOLDER MIB < CELLS\n", stderr);
        return 2;
    }
    random_size = mebibytes << 20;
    data_size = random_size + 3 * PATTERN_BYTES + MARGIN;
    data = malloc(data_size);
    if (!data)
        return 1;
    memset(data, 0, data_size);
    fill_data();
    for (size_t size = 0; size < SMALL; size++)
        add_size(size);
    for (size_t size = SMALL; size < LARGEST; size += 1 + random_below(size / 16))
        add_size(size);
    add_size(LARGEST - 1);
    add_size(2 * LARGEST + 1);
    add_cells();
    qsort(vectors, vector_count, sizeof *vectors, compare_sizes);
    bool good = write_all(argv[1]);
    free(vectors);
    free(data);
    return good ? 0 : 1;
}
