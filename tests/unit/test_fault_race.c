/* SPDX-License-Identifier: MIT */
/*
 * Tests copies that survive faults while other threads remove pages and return them: bytes after
 * the copied ones must be unchanged. check_copies_races() removes pages between two instructions;
 * here, pages also disappear during an instruction. The registers of `rep movsb` may then not count
 * the last byte that it has stored, so copies that survive faults must not contain it.
 */
#include <carry/fault.h>
#include <carry/sum.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "copy/copy_fault.h"
#include "harness/effort.h"
#include "harness/tap.h"

#define PAGE_BYTES ((size_t)4096)
#define PAGES      ((size_t)16)
#define AREA_BYTES (PAGES * PAGE_BYTES)
#define MARGIN     ((size_t)64)
#define UNTOUCHED  0xa5
#define PEERS      2 /* a single peer would cause such races much more rarely */

/* --- Instructions that may fault --- */

extern const struct carry_fault_row __start_carry_faults[]
    __attribute__((weak, visibility("hidden")));
extern const struct carry_fault_row __stop_carry_faults[]
    __attribute__((weak, visibility("hidden")));

static const unsigned char *instruction_of(const struct carry_fault_row *row) {
    return (const unsigned char *)&row->instruction + row->instruction;
}

/* Returns whether the code is a repeated MOVS or STOS, with or without REX. */
static bool is_repeated_string(const unsigned char *code) {
    if (*code != 0xf2 && *code != 0xf3)
        return false;
    code += (code[1] & 0xf0) == 0x40 ? 2 : 1;
    return *code == 0xa4 || *code == 0xa5 || *code == 0xaa || *code == 0xab;
}

static size_t count_rows(bool (*is_counted)(const unsigned char *code)) {
    size_t count = 0;
    for (const struct carry_fault_row *row = __start_carry_faults; row < __stop_carry_faults; row++)
        count += is_counted(instruction_of(row));
    return count;
}

static bool is_any(const unsigned char *code) {
    (void)code;
    return true;
}

static void test_instructions(void) {
#ifdef __x86_64__
    tap_ok(TAP_GT(count_rows(is_any), 100) && TAP_EQ(count_rows(is_repeated_string), 0),
           "no copy that survives faults repeats a string instruction");
#else
    (void)is_repeated_string, (void)is_any, (void)count_rows;
#endif
}

/* --- Races --- */

struct race {
    const char *name;
    void (*take_and_return)(size_t page);
};

static struct {
    const struct race *race;
    bool stops;
} peers;

static struct {
    int source_file, target_file;
    unsigned char *source, *target;
    unsigned char *target_alias; /* another mapping of the target's pages; it is never removed */
} areas;

static void check_call(bool done) {
    if (!done)
        abort();
}

static void truncate_source(size_t page) {
    check_call(!ftruncate(areas.source_file, (off_t)(page * PAGE_BYTES)));
    check_call(!ftruncate(areas.source_file, AREA_BYTES));
}

/* Removes a page and maps it again. The address remains reserved meanwhile, because another mapping
   could get it otherwise. */
static void unmap_source(size_t page) {
    unsigned char *start = areas.source + page * PAGE_BYTES;
    check_call(mmap(start, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
               start);
    check_call(mmap(start, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    areas.source_file, (off_t)(page * PAGE_BYTES)) == start);
}

static void protect_pages(unsigned char *start, int protection) {
    check_call(!mprotect(start, PAGE_BYTES, protection));
    check_call(!mprotect(start, PAGE_BYTES, PROT_READ | PROT_WRITE));
}

static void protect_source(size_t page) {
    protect_pages(areas.source + page * PAGE_BYTES, PROT_NONE);
}

static void protect_target(size_t page) {
    protect_pages(areas.target + page * PAGE_BYTES, PROT_READ);
}

static const struct race races[] = {
    {"the source is truncated", truncate_source},
    {"pages of the source are unmapped", unmap_source},
    {"pages of the source are protected", protect_source},
    {"pages of the target are protected", protect_target},
};

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void *race_with_copies(void *number) {
    uint64_t seed = 7 + *(const unsigned *)number;
    while (!__atomic_load_n(&peers.stops, __ATOMIC_RELAXED))
        peers.race->take_and_return(next_random(&seed) % PAGES);
    return NULL;
}

/* --- Copies --- */

typedef size_t copy_fn(void *dst, const void *src, size_t size);

static size_t copy_and_sum(void *dst, const void *src, size_t size) {
    uint32_t sum = 0;
    return carry_sum_copy_try(dst, src, size, &sum);
}

static const struct {
    const char *name;
    copy_fn *copy;
} copiers[] = {
    {"copies", carry_copy_try},
    {"copies with their sum", copy_and_sum},
};

struct trial {
    copy_fn *copy;
    long partial, touched;
};

static bool is_untouched(const unsigned char *bytes, size_t size) {
    return bytes[0] == UNTOUCHED && !memcmp(bytes, bytes + 1, size - 1);
}

static void copy_once(struct trial *trial, uint64_t random) {
    const size_t from = (random >> 8) % AREA_BYTES;
    const size_t size = (random >> 24) % (AREA_BYTES - from) + 1;
    const size_t to = (random >> 40) % (AREA_BYTES - size + 1);
    memset(areas.target_alias + to, UNTOUCHED, size + MARGIN);
    const size_t left = trial->copy(areas.target + to, areas.source + from, size);
    trial->partial += left != 0;
    trial->touched +=
        left > size || !is_untouched(areas.target_alias + to + size - left, left + MARGIN);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void copy_for(struct trial *trial, double duration) {
    uint64_t seed = UINT64_C(88172645463325252);
    const double end = seconds_now() + duration;
    while (seconds_now() < end)
        copy_once(trial, next_random(&seed));
}

static struct trial try_race(const struct race *race, copy_fn *copy, double duration) {
    struct trial trial = {.copy = copy};
    pthread_t threads[PEERS];
    unsigned numbers[PEERS];
    peers.race = race;
    peers.stops = false;
    for (unsigned i = 0; i < PEERS; i++) {
        numbers[i] = i;
        check_call(!pthread_create(&threads[i], NULL, race_with_copies, &numbers[i]));
    }
    copy_for(&trial, duration);
    __atomic_store_n(&peers.stops, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < PEERS; i++)
        pthread_join(threads[i], NULL);
    return trial;
}

static unsigned char *map_area(int file) {
    unsigned char *start =
        mmap(NULL, AREA_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check_call(start != MAP_FAILED);
    return start;
}

static int open_file(const char *name) {
    int file = memfd_create(name, MFD_CLOEXEC);
    check_call(file >= 0 && !ftruncate(file, AREA_BYTES + PAGE_BYTES));
    return file;
}

static void open_areas(void) {
    areas.source_file = open_file("source");
    areas.target_file = open_file("target");
    areas.source = map_area(areas.source_file);
    areas.target = map_area(areas.target_file);
    areas.target_alias = map_area(areas.target_file);
}

static void test_races(const struct effort *effort) {
    const double duration = effort->all ? 10 : effort->rounds > effort_short.rounds ? 1 : 0.2;
    for (size_t i = 0; i < sizeof races / sizeof *races; i++)
        for (size_t j = 0; j < sizeof copiers / sizeof *copiers; j++) {
            const struct trial trial = try_race(&races[i], copiers[j].copy, duration);
            tap_note("%ld copies were cut short", trial.partial);
            tap_ok(TAP_EQ(trial.touched, 0), "%s, while %s", copiers[j].name, races[i].name);
        }
}

int main(void) {
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    test_instructions();
    open_areas();
    const int error = carry_fault_acquire();
    tap_ok(TAP_TRUE(error == CARRY_OK || error == CARRY_ERROR_UNSUPPORTED), "faults are survived");
    test_races(effort);
    return tap_done();
}
