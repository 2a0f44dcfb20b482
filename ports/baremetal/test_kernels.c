/* SPDX-License-Identifier: MIT */
/*
 * Tests every kernel of every table in sections, at all sizes up to a limit and some larger ones,
 * at all alignments, in a thread and in interrupts of the timer. The thread has numbers in all
 * vector registers, which each section must preserve.
 */
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/tap.h"
#include "kernel.h"
#include "vectors.h"

#include <carry/copy.h>
#include <carry/crc.h>
#include <carry/fault.h>
#include <carry/section.h>
#include <carry/sum.h>

#include <string.h>

#define LARGEST 2048
#define STARTS  64 /* number of alignments */
#define SEED    0x12345678
#define BESIDE  0xee

static uint8_t data[STARTS + LARGEST] __attribute__((aligned(64)));
static uint8_t target[2 * STARTS + LARGEST + 1] __attribute__((aligned(64)));

/* The limit up to which every size is tested, as in `sizes=2048`; above it, see next_size(). */
static size_t sizes;

static size_t next_size(size_t size) {
    static const size_t ends[] = {1023, 1024, 1025, 1500, 2047, 2048, LARGEST + 1};
    size_t i = 0;
    if (size < sizes)
        return size + 1;
    while (ends[i] <= size)
        i++;
    return ends[i];
}

/* Returns a target of random alignment, whose first `size` + 1 bytes hold BESIDE. */
static uint8_t *prepare_target(size_t size) {
    uint8_t *to = target + rng_below(STARTS);
    memset(to, BESIDE, size + 1);
    return to;
}

static bool has_arrived(const uint8_t *to, const uint8_t *from, size_t size) {
    return !memcmp(to, from, size) && to[size] == BESIDE;
}

/* --- The tables: functions that count the wrong results at one alignment --- */

static bool is_sum(uint32_t sum, const struct oracle *oracle) {
    return carry_sum_fold(sum) == oracle_value(oracle);
}

static bool sum_copies(const uint8_t *from, size_t size, const struct oracle *oracle) {
    uint8_t *to = prepare_target(size);
    return is_sum(carry_sum_copy(to, from, size, SEED), oracle) && has_arrived(to, from, size);
}

static bool sum_survives(const uint8_t *from, size_t size, const struct oracle *oracle) {
    uint8_t *to = prepare_target(size);
    uint32_t sum = SEED;
    return !carry_sum_copy_try(to, from, size, &sum) && is_sum(sum, oracle) &&
           has_arrived(to, from, size);
}

static size_t wrong_sums(const uint8_t *from) {
    struct oracle oracle = oracle_start(SEED);
    size_t wrong = 0;
    size_t done = 0;
    for (size_t size = 0; size <= LARGEST; size = next_size(size)) {
        while (done < size)
            oracle_byte(&oracle, from[done++]);
        wrong += !is_sum(carry_sum_call(from, size, SEED), &oracle);
        wrong += !sum_copies(from, size, &oracle);
        wrong += !sum_survives(from, size, &oracle);
    }
    return wrong;
}

static bool copy_is_right(const uint8_t *from, size_t size) {
    uint8_t *to = prepare_target(size);
    carry_copy(to, from, size);
    return has_arrived(to, from, size);
}

static bool copy_survives(const uint8_t *from, size_t size) {
    uint8_t *to = prepare_target(size);
    return !carry_copy_try(to, from, size) && has_arrived(to, from, size);
}

static bool move_is_right(const uint8_t *from, size_t size) {
    uint8_t *to = prepare_target(size);
    uint8_t *before = target + rng_below(2 * STARTS);
    memcpy(before, from, size);
    uint8_t beside = to[size];
    carry_copy_move(to, before, size);
    return !memcmp(to, from, size) && to[size] == beside;
}

static size_t wrong_copies(const uint8_t *from) {
    size_t wrong = 0;
    for (size_t size = 0; size <= LARGEST; size = next_size(size))
        wrong +=
            !copy_is_right(from, size) + !copy_survives(from, size) + !move_is_right(from, size);
    return wrong;
}

static size_t wrong_crcs(const uint8_t *from) {
    struct oracle oracle = oracle_crc32c_start(SEED);
    size_t wrong = 0;
    size_t done = 0;
    for (size_t size = 0; size <= LARGEST; size = next_size(size)) {
        while (done < size)
            oracle_crc32c_byte(&oracle, from[done++]);
        wrong += carry_crc32c(from, size, SEED) != oracle_crc32c.value(&oracle);
    }
    return wrong;
}

struct row {
    const char *name;
    const char *missing;
};

static bool sum_row(size_t index, struct row *row) {
    struct carry_sum_kernel kernel;
    bool found = carry_sum_kernel(index, &kernel);
    *row = (struct row){kernel.name, kernel.missing};
    return found;
}

static bool copy_row(size_t index, struct row *row) {
    struct carry_copy_kernel kernel;
    bool found = carry_copy_kernel(index, &kernel);
    *row = (struct row){kernel.name, kernel.missing};
    return found;
}

static bool crc_row(size_t index, struct row *row) {
    struct carry_sum_kernel kernel;
    bool found = carry_crc32c_kernel(index, &kernel);
    *row = (struct row){kernel.name, kernel.missing};
    return found;
}

static const struct table {
    const char *name;
    bool (*row)(size_t index, struct row *row);
    int (*select)(const char *name);
    size_t (*wrong)(const uint8_t *from);
} tables[] = {
    {"sum", sum_row, carry_sum_select, wrong_sums},
    {"copy", copy_row, carry_copy_select, wrong_copies},
    {"crc32c", crc_row, carry_crc32c_select, wrong_crcs},
};

/* --- Contexts --- */

static struct {
    const struct table *table;
    size_t start;
    size_t wrong;
    unsigned sections; /* number of sections in interrupts */
} work;

static void work_in_section(void) {
    struct carry_section section;
    if (carry_section_begin(&section, NULL, 0)) {
        work.wrong++;
        return;
    }
    work.wrong += work.table->wrong(data + work.start);
    carry_section_end(&section);
}

static void work_in_thread(void) {
    work_in_section();
    section_return();
}

static bool work_in_interrupt(struct trap_frame *frame) {
    (void)frame;
    work_in_section();
    __atomic_fetch_add(&work.sections, 1, __ATOMIC_RELAXED);
    return true;
}

static void wait_for_interrupt(void) {
    unsigned before = work.sections;
    cpu_timer(1 + (uint32_t)rng_below(2000));
    while (__atomic_load_n(&work.sections, __ATOMIC_RELAXED) == before)
        cpu_pause();
}

static void test_kernel(const struct table *table, const char *name, const char *where,
                        void (*run)(void)) {
    memset(&work, 0, sizeof work);
    size_t lost = 0;
    work.table = table;
    section_become_thread();
    for (work.start = 0; work.start < STARTS; work.start++) {
        vectors_fill(work.start);
        run();
        lost += !vectors_hold(work.start);
    }
    section_leave_thread();
    tap_ok(TAP_EQ(work.wrong, 0) && TAP_EQ(lost, 0),
           "%s %s: sections in %s, 0 to %zu bytes, %u alignments: %zu results are wrong, "
           "the thread lost registers %zu times",
           table->name, name, where, sizes, STARTS, work.wrong, lost);
}

static void test_table(const struct table *table) {
    struct row row;
    for (size_t i = 0; table->row(i, &row); i++) {
        if (!kernel_is_tested(row.name))
            continue;
        if (table->select(row.name)) {
            tap_skip(row.name, "this CPU lacks %s", row.missing ? row.missing : "nothing");
            continue;
        }
        test_kernel(table, row.name, "a thread", work_in_thread);
        test_kernel(table, row.name, "interrupts of one", wait_for_interrupt);
    }
    table->select(NULL);
}

void test_kernels(void);
void test_kernels(void) {
    trap_handler *before = trap_set(TRAP_TIMER, work_in_interrupt);
    rng_fill(data, sizeof data);
    sizes = kernel_option_number("sizes=", 512);
    sizes = sizes < LARGEST ? sizes : LARGEST;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        test_table(&tables[i]);
    trap_set(TRAP_TIMER, before);
}
