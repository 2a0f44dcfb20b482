/* SPDX-License-Identifier: MIT */
/* Runs the peers in C: answers questions as ../../CONTRACT.md describes. */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "common/beside.h"
#include "peer.h"

#define MIX_CALLS       ((size_t)1 << 17)
#define MIXES_MAX       16
#define HUGE_PAGE_BYTES ((size_t)1 << 21)
#define PAGE_BYTES      4096
#define LINE_BYTES      4096
#define MARGIN          64 /* bytes before and after a copy; these must not change */
#define CANARY_TURNS    2000
#define LOOP_CALLS      1000 /* to verify a loop */
#define HEADER_BYTES    54   /* the first slice of a chain: Ethernet, IPv4 and TCP */
#define SLICE_BYTES     64   /* the other slices */
#define ODD_SLICE_BYTES 723  /* 1,500 bytes are a header and two; the last has an odd offset */
#define ALIGNMENTS      64   /* of slices */

struct call {
    uint32_t offset, to, size;
};

struct mix {
    char name[64];
    struct call *calls;
};

/* A question about a time. */
struct question {
    const struct peer_function *function;
    bool dependent;
    bool beside;              /* other work lies between the calls */
    const struct call *calls; /* the calls of a mix, or NULL: each call is `one` */
    struct call one;
    size_t first, count;
};

static const char *work_folder;
static unsigned char *source, *target, *chained;
static size_t source_size;
static struct mix mixes[MIXES_MAX];

extern struct peer_function __start_peer_functions[], __stop_peer_functions[];
extern const struct peer_note __start_peer_notes[], __stop_peer_notes[];

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* --- Files of the driver --- */

static FILE *open_work(const char *name, const char *mode) {
    char path[LINE_BYTES];
    snprintf(path, sizeof path, "%s/%s", work_folder, name);
    return fopen(path, mode);
}

static unsigned char *get_memory(size_t size) {
    size = (size + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    unsigned char *memory = aligned_alloc(HUGE_PAGE_BYTES, size);
    if (!memory)
        fail("no memory for %zu bytes", size);
    madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 0, size);
    return memory;
}

static void read_data(void) {
    FILE *file = open_work("data", "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status))
        fail("%s has no file of data", work_folder);
    source_size = (size_t)status.st_size;
    source = get_memory(source_size);
    target = get_memory(source_size);
    if (fread(source, 1, source_size, file) != source_size)
        fail("%s has data that cannot be read", work_folder);
    fclose(file);
}

static const struct call *find_mix(const char *name) {
    struct mix *mix = mixes;
    for (; mix < mixes + MIXES_MAX && mix->calls; mix++)
        if (!strcmp(mix->name, name))
            return mix->calls;
    char file_name[LINE_BYTES];
    snprintf(file_name, sizeof file_name, "mix-%s", name);
    FILE *file = mix < mixes + MIXES_MAX ? open_work(file_name, "rb") : NULL;
    if (!file)
        return NULL;
    struct call *calls = calloc(MIX_CALLS, sizeof *calls);
    if (calls && fread(calls, sizeof *calls, MIX_CALLS, file) == MIX_CALLS) {
        snprintf(mix->name, sizeof mix->name, "%s", name);
        mix->calls = calls;
    }
    fclose(file);
    return mix->calls;
}

/* --- Chains --- */

static const void *linked; /* the current chain, in the form of the peer */

/* Returns the distance between the starts of slices: there are unused bytes after each slice, for
 * each alignment. */
static size_t slice_distance(size_t slice_bytes) {
    return (slice_bytes + 3 * ALIGNMENTS - 1) / ALIGNMENTS * ALIGNMENTS;
}

static size_t count_slices(size_t slice_bytes, size_t size) {
    size_t rest = size > HEADER_BYTES ? size - HEADER_BYTES : 0;
    return 1 + (rest + slice_bytes - 1) / slice_bytes;
}

static void make_chain_memory(void) {
    chained = get_memory(PEER_SLICES * slice_distance(ODD_SLICE_BYTES));
}

/* Copies the bytes of a call to the slices of a chain. Returns whether there are enough slices. */
static bool make_chain(const struct peer_function *function, size_t offset, size_t size) {
    static struct iovec slices[PEER_SLICES];
    static struct peer_chain chain = {.slices = slices};
    bool is_odd = !strcmp(function->work, "sum_odd_chain");
    size_t slice_bytes = is_odd ? ODD_SLICE_BYTES : SLICE_BYTES;
    size_t distance = slice_distance(slice_bytes);
    chain.count = count_slices(slice_bytes, size);
    if (chain.count > PEER_SLICES)
        return false;
    memset(chained, 0x5a, chain.count * distance);
    for (size_t i = 0, done = 0; i < chain.count; i++) {
        size_t most = i ? slice_bytes : HEADER_BYTES;
        size_t part = size - done < most ? size - done : most;
        slices[i].iov_base = chained + i * distance + offset % ALIGNMENTS;
        slices[i].iov_len = part;
        memcpy(slices[i].iov_base, source + offset + done, part);
        done += part;
    }
    linked = function->chain.link ? function->chain.link(&chain) : &chain;
    return true;
}

/* --- Calls --- */

static inline __attribute__((always_inline)) uint32_t call_sum(const struct peer_function *function,
                                                               enum peer_form form, size_t offset,
                                                               size_t to, size_t size,
                                                               uint32_t seed) {
    switch (form) {
    case PEER_SUM:
        return function->sum(source + offset, size, seed);
    case PEER_SUM_COPY:
        return function->sum_copy(target + to, source + offset, size, seed);
    case PEER_SUM_COPY_FROM:
        return function->sum_copy_from(source + offset, target + to, size);
    case PEER_COPY:
        function->copy(target + to, source + offset, size);
        return 0;
    case PEER_SUM_CHAIN:
        return function->chain.sum((const char *)linked + offset, size, seed);
    case PEER_LOOP:
        break;
    }
    return 0;
}

static inline __attribute__((always_inline)) uint32_t run_one(const struct question *question,
                                                              enum peer_form form, size_t count) {
    const struct peer_function function = *question->function;
    const struct call one = question->one;
    uint32_t total = 0;
    for (; count; count--)
        total += call_sum(&function, form, one.offset, one.to, one.size, 0);
    return total;
}

/* Makes each call wait for the previous one: the mask is 0, but the compiler must not assume
 * that. */
static inline __attribute__((always_inline)) uint32_t
run_latency(const struct question *question, enum peer_form form, size_t count) {
    const struct peer_function function = *question->function;
    const struct call one = question->one;
    size_t mask = 0;
    uint32_t last = 0;
    __asm__("" : "+r"(mask));
    for (; count; count--)
        last = call_sum(&function, form, one.offset + (last & mask), one.to, one.size, 0);
    return last;
}

static inline __attribute__((always_inline)) uint32_t
run_mix(const struct question *question, enum peer_form form, size_t first, size_t count) {
    const struct peer_function function = *question->function;
    uint32_t total = 0;
    for (size_t i = first; i < first + count; i++) {
        const struct call *call = &question->calls[i % MIX_CALLS];
        total += call_sum(&function, form, call->offset, call->to, call->size, 0);
    }
    return total;
}

static inline __attribute__((always_inline)) uint32_t
run_beside(const struct question *question, enum peer_form form, size_t first, size_t count) {
    const struct peer_function function = *question->function;
    uint32_t total = 0;
    uint64_t work = 1;
    for (size_t i = first; i < first + count; i++) {
        const struct call *call =
            question->calls ? &question->calls[i % MIX_CALLS] : &question->one;
        total += call_sum(&function, form, call->offset, call->to, call->size, 0);
        work = bench_beside(work);
    }
    return total + (uint32_t)work;
}

static inline __attribute__((always_inline)) uint32_t
run_form(const struct question *question, enum peer_form form, size_t first, size_t count) {
    if (question->beside)
        return run_beside(question, form, first, count);
    if (question->calls)
        return run_mix(question, form, first, count);
    return question->dependent ? run_latency(question, form, count)
                               : run_one(question, form, count);
}

static uint32_t run_question(const struct question *question, size_t first, size_t count) {
    switch (question->function->form) {
    case PEER_SUM:
        return run_form(question, PEER_SUM, first, count);
    case PEER_SUM_COPY:
        return run_form(question, PEER_SUM_COPY, first, count);
    case PEER_SUM_COPY_FROM:
        return run_form(question, PEER_SUM_COPY_FROM, first, count);
    case PEER_COPY:
        return run_form(question, PEER_COPY, first, count);
    case PEER_SUM_CHAIN:
        return run_form(question, PEER_SUM_CHAIN, first, count);
    case PEER_LOOP:
        return (uint32_t)question->function->loop(count);
    }
    return 0;
}

/* --- list --- */

static const struct peer_function *find_function(const char *name) {
    for (const struct peer_function *f = __start_peer_functions; f < __stop_peer_functions; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

static bool has_flag(const struct peer_function *function, const char *flag) {
    return strstr(function->flags, flag) != NULL;
}

static void answer_list(void) {
    for (const struct peer_function *f = __start_peer_functions; f < __stop_peer_functions; f++)
        printf("function %s %s%s%s\n", f->name, f->work, *f->flags ? " " : "", f->flags);
    for (const struct peer_note *note = __start_peer_notes; note < __stop_peer_notes; note++)
        printf("note %s %s\n", note->key, note->text);
    printf("note beside %d multiplications\n", BENCH_BESIDE_TURNS);
    puts("end");
}

/* --- verify --- */

static uint16_t fold(uint32_t sum) {
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)(sum + (sum >> 16));
}

static bool is_same_sum(uint32_t is, uint32_t should) {
    return fold(is) % 0xffff == should % 0xffff;
}

static bool is_untouched(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0x5a)
            return false;
    return true;
}

struct vector {
    size_t offset, to, size;
    uint32_t seed, sum;
};

/* Calls a function with a vector. Returns a text about its error, or NULL if it is right. */
static const char *judge_vector(const struct peer_function *function, const struct vector *vector) {
    const bool copies = function->form != PEER_SUM;
    unsigned char *to = target + vector->to;
    size_t before = vector->to < MARGIN ? vector->to : MARGIN;
    if (copies)
        memset(to - before, 0x5a, before + vector->size + MARGIN);
    uint32_t sum =
        call_sum(function, function->form, vector->offset, vector->to, vector->size, vector->seed);
    if (function->form != PEER_COPY && !is_same_sum(sum, vector->sum))
        return "wrong sum";
    if (!copies)
        return NULL;
    if (memcmp(to, source + vector->offset, vector->size))
        return "wrong copy";
    if (!is_untouched(to - before, before) || !is_untouched(to + vector->size, MARGIN))
        return "writes outside";
    return NULL;
}

/* Does the same for a function that sums chains. Skips the vector if it has too many slices. */
static const char *judge_chain(const struct peer_function *function, const struct vector *vector) {
    if (!make_chain(function, vector->offset, vector->size))
        return NULL;
    uint32_t sum = function->chain.sum(linked, vector->size, vector->seed);
    return is_same_sum(sum, vector->sum) ? NULL : "wrong sum";
}

static void verify_vectors(const struct peer_function *function) {
    const char *(*judge)(const struct peer_function *, const struct vector *) =
        function->form == PEER_SUM_CHAIN ? judge_chain : judge_vector;
    FILE *file = open_work("vectors", "r");
    if (!file)
        fail("%s has no vectors", work_folder);
    struct vector vector;
    const char *wrong = NULL;
    const bool seedless = has_flag(function, "seedless");
    while (!wrong && fscanf(file, "%zu %zu %zu %u %u", &vector.offset, &vector.to, &vector.size,
                            &vector.seed, &vector.sum) == 5)
        wrong = seedless && vector.seed ? NULL : judge(function, &vector);
    fclose(file);
    if (wrong)
        printf("wrong %zu %s at offset %zu, to %zu, seed %u\n", vector.size, wrong, vector.offset,
               vector.to, vector.seed);
    else
        puts("right");
}

static void answer_verify(const struct peer_function *function) {
    if (function->form != PEER_LOOP)
        verify_vectors(function);
    else if (function->loop(LOOP_CALLS) == LOOP_CALLS)
        puts("right");
    else
        puts("wrong 0 calls got lost");
}

/* --- time --- */

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t canary(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4;
    uint64_t start = now_ns();
    for (unsigned i = 0; i < CANARY_TURNS; i++) {
        a = a * 0x9e3779b97f4a7c15u + 1;
        b = b * 0xbf58476d1ce4e5b9u + 3;
        c = c * 0x94d049bb133111ebu + 5;
        d = d * 0xd6e8feb86659fd93u + 7;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    return now_ns() - start;
}

/*
 * Times a question. Each call stores its return address, and loads from the same offset of another
 * page may wait for that store. Data begins at the start of a page, so the stack is moved to the
 * end of a page.
 */
static void take_time(const struct question *question) {
    void *moved = alloca((uintptr_t)__builtin_frame_address(0) % PAGE_BYTES);
    __asm__ volatile("" : : "r"(moved) : "memory");
    size_t warm_up = question->count / 4;
    size_t first = question->first + MIX_CALLS;
    volatile uint32_t kept = run_question(question, first - warm_up, warm_up);
    uint64_t before = canary();
    uint64_t start = now_ns();
    kept = run_question(question, first, question->count);
    uint64_t took = now_ns() - start;
    (void)kept;
    printf("%llu %llu %llu\n", (unsigned long long)took, (unsigned long long)before,
           (unsigned long long)canary());
}

static bool is_inside(const struct call *call) {
    return (size_t)call->offset + call->size <= source_size &&
           (size_t)call->to + call->size <= source_size;
}

/* Makes the chain of a question, if it has one, and sets its offset to 0: the start of the chain.
 * Returns false if a chain has too many slices. */
static bool begin_chain(struct question *question) {
    if (question->function->form != PEER_SUM_CHAIN)
        return true;
    const struct call one = question->one;
    question->one.offset = 0;
    return make_chain(question->function, one.offset, one.size);
}

/* Returns the mode after "beside-", "hot" for "beside", or NULL for other modes. */
static const char *behind_beside(const char *mode) {
    const size_t length = strlen("beside");
    if (strncmp(mode, "beside", length) || (mode[length] && mode[length] != '-'))
        return NULL;
    return mode[length] ? mode + length + 1 : "hot";
}

static void answer_time(const struct peer_function *function, const char *mode,
                        struct question *question) {
    const char *inner = behind_beside(mode);
    question->function = function;
    question->beside = inner != NULL;
    mode = inner ? inner : mode;
    question->dependent = !inner && !strcmp(mode, "latency");
    question->first %= MIX_CALLS;
    if (strcmp(mode, "hot") && !question->dependent) {
        question->calls = function->form == PEER_SUM_CHAIN ? NULL : find_mix(mode);
        if (!question->calls) {
            printf("error no mode %s\n", mode);
            return;
        }
    }
    if (!is_inside(&question->one) || !begin_chain(question))
        puts("error outside the data");
    else
        take_time(question);
}

/* --- Questions --- */

static void answer(char *line) {
    char verb[16] = "", name[64] = "", mode[64] = "";
    struct question question = {0};
    int words =
        sscanf(line, "%15s %63s %63s %u %u %u %zu %zu", verb, name, mode, &question.one.offset,
               &question.one.to, &question.one.size, &question.first, &question.count);
    const struct peer_function *function = find_function(name);
    if (words == 1 && !strcmp(verb, "list"))
        answer_list();
    else if (words > 1 && !function)
        printf("error no function %s\n", name);
    else if (words == 2 && !strcmp(verb, "verify"))
        answer_verify(function);
    else if (words == 8 && !strcmp(verb, "time"))
        answer_time(function, mode, &question);
    else
        puts("error what?");
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 2)
        fail("usage: run WORK");
    work_folder = argv[1];
    read_data();
    make_chain_memory();
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, stdin))
        answer(line);
    return 0;
}
