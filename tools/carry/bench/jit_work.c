/* SPDX-License-Identifier: MIT */
/* Times sums, packets, and making the functions for them, for `carry bench jit`. */
#include <stdlib.h>
#include <string.h>

#include <carry/jit.h>

#include "bench/bench_jit.h"
#include "bench/kernels.h"
#include "common/command.h"

#define SAMPLE_NS       100e3
#define SUM_BYTES_MAX   1500
#define FRAME_BYTES_MAX 1500

/* --- Packets --- */

enum { IP_AT = 14, TCP_AT = 34 };

/* Time to live, addresses, ports and sequence number: an address translator writes these fields. */
static const struct carry_jit_field fields[] = {{22, 1}, {26, 8}, {34, 8}};
#define FIELD_COUNT (sizeof fields / sizeof *fields)
#define VALUES_SIZE 17

/*
 * A packet of TCP over IPv4, its sums, and two sets of values that are written into it alternately.
 * Each cell is one page: a load waits for an earlier store with the same offset in another page, so
 * that times would depend on where the linker puts the sums.
 */
struct packet_cell {
    _Alignas(4096) unsigned char bytes[FRAME_BYTES_MAX];
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    unsigned char values[2][VALUES_SIZE];
    struct carry_frame frame;
};

static void make_tcp_packet(struct packet_cell *cell, size_t size) {
    unsigned char *ip = cell->bytes + IP_AT;
    for (size_t i = 0; i < size; i++)
        cell->bytes[i] = (unsigned char)(i * 7);
    cell->bytes[12] = 0x08;
    cell->bytes[13] = 0;
    ip[0] = 0x45;
    ip[2] = (unsigned char)((size - IP_AT) >> 8);
    ip[3] = (unsigned char)(size - IP_AT);
    ip[6] = ip[7] = 0;
    ip[9] = 6;
    cell->frame = (struct carry_frame){
        .data = cell->bytes, .captured = (uint32_t)size, .wire = (uint32_t)size, .linktype = 1};
    carry_packet_fill(&cell->frame, NULL, NULL, 0);
    memset(cell->values[0], 0x55, VALUES_SIZE);
    memset(cell->values[1], 0xa7, VALUES_SIZE);
}

static bool is_packet_good(const struct packet_cell *cell, carry_jit_packet_fn *check) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    int count = check(&cell->frame, sums, CARRY_PACKET_SUMS_MAX);
    return count == 2 && sums[0].verdict == CARRY_VERDICT_GOOD &&
           sums[1].verdict == CARRY_VERDICT_GOOD;
}

/* --- Compiled functions --- */

static int check_compiled(const struct carry_frame *frame, struct carry_packet_sum *sums,
                          size_t capacity) {
    return (int)carry_packet_check(frame, NULL, sums, capacity);
}

/* Writes the fields of the template. This code, written by hand, is only for the headers of the
 * template. */
static void write_compiled(void *packet, const void *from) {
    uint16_t ip_check, tcp_check, old_ttl, new_ttl;
    unsigned char *ip = (unsigned char *)packet + IP_AT, *tcp = (unsigned char *)packet + TCP_AT;
    const unsigned char *values = from;
    memcpy(&ip_check, ip + 10, 2);
    memcpy(&tcp_check, tcp + 16, 2);
    memcpy(&old_ttl, ip + 8, 2);
    ip[8] = values[0];
    memcpy(&new_ttl, ip + 8, 2);
    ip_check = carry_sum_update16(ip_check, old_ttl, new_ttl);
    ip_check = carry_sum_update(ip_check, ip + 12, values + 1, 8);
    tcp_check = carry_sum_update(tcp_check, ip + 12, values + 1, 16);
    memcpy(ip + 12, values + 1, 16);
    memcpy(ip + 10, &ip_check, 2);
    memcpy(tcp + 16, &tcp_check, 2);
}

/* --- Functions made at run time --- */

struct jit_work {
    struct jit_bench *bench;
    const struct carry_jit *functions[JIT_FUNCTIONS];
    struct cell cells[JIT_MODES * JIT_SIZES];
    carry_sum_fn *compiled[JIT_EXACT];
    struct packet_cell packets[JIT_PACKETS];
    size_t made[JIT_FUNCTIONS], made_count; /* the functions that can be made */
    size_t rows[JIT_PACKETS], row_count;    /* the rows of jit_packets whose function can be made */
};

static int make_sum(size_t least, size_t most, const struct carry_jit **jit) {
    const struct carry_jit_sum_spec spec = {.min_size = least, .max_size = most};
    return carry_jit_sum(&spec, jit);
}

static int make_check(const struct carry_jit **jit) {
    const struct carry_jit_packet_spec spec = {
        .linktype = 1,
        .count = 3,
        .layers = {CARRY_PROTOCOL_ETHERNET, CARRY_PROTOCOL_IP, CARRY_PROTOCOL_TCP},
    };
    return carry_jit_packet(&spec, jit);
}

static int make_write(const struct jit_work *work, const struct carry_jit **jit) {
    const struct carry_jit_template_spec spec = {
        .frame = work->packets[JIT_PACKETS - 1].frame, .fields = fields, .count = FIELD_COUNT};
    return carry_jit_template(&spec, jit);
}

static int make_function(const struct jit_work *work, size_t function,
                         const struct carry_jit **jit) {
    switch (function) {
    case JIT_FOR_RANGE:
        return make_sum(jit_sizes[0], jit_sizes[JIT_SIZES - 1], jit);
    case JIT_CHECK:
        return make_check(jit);
    case JIT_WRITE:
        return make_write(work, jit);
    default:
        return make_sum(jit_sizes[function], jit_sizes[function], jit);
    }
}

static void release_functions(struct jit_work *work) {
    for (size_t i = 0; i < JIT_FUNCTIONS; i++)
        carry_jit_release(work->functions[i]);
    memset(work->functions, 0, sizeof work->functions);
}

/* Makes all functions that have a generator. Returns an exit status. */
static int make_all(struct jit_work *work) {
    work->made_count = 0;
    for (size_t i = 0; i < JIT_FUNCTIONS; i++) {
        int error = make_function(work, i, &work->functions[i]);
        if (error && error != CARRY_ERROR_UNSUPPORTED)
            return command_error("cannot generate a function: %s", carry_error_text(error));
        if (error)
            continue;
        work->made[work->made_count++] = i;
        work->bench->text_sizes[i] = work->functions[i]->text_size;
    }
    return STATUS_CLEAN;
}

/* Records which functions can be made, and keeps none. Returns an exit status. */
static int try_all(struct jit_work *work) {
    int status = make_all(work);
    for (size_t i = 0; i < JIT_PACKETS; i++)
        if (work->functions[jit_packets[i].function])
            work->rows[work->row_count++] = i;
    work->bench->supported = work->functions[JIT_FOR_RANGE] != NULL;
    release_functions(work);
    return status;
}

/* --- Verification --- */

static bool is_right_sum(const struct jit_work *work, size_t size, const struct carry_jit *jit) {
    const unsigned char *data = work->cells[0].data;
    uint16_t right = carry_sum_fold(work->compiled[JIT_C](data, jit_sizes[size], 1));
    return carry_sum_fold(jit->sum(data, jit_sizes[size], 1)) == right;
}

/* Returns whether a made function is right. After a function that writes, the packet must be good,
 * and remain good after the compiled function writes. */
static bool is_right_packet(struct jit_work *work, size_t row) {
    struct packet_cell *cell = &work->packets[row];
    const struct carry_jit *jit = work->functions[jit_packets[row].function];
    if (jit_packets[row].function == JIT_CHECK)
        return is_packet_good(cell, jit->packet);
    jit->write(cell->bytes, cell->values[0]);
    bool right = is_packet_good(cell, check_compiled);
    write_compiled(cell->bytes, cell->values[1]);
    return right && is_packet_good(cell, check_compiled);
}

static bool are_functions_right(struct jit_work *work) {
    bool right = true;
    for (size_t i = 0; i < JIT_SIZES; i++)
        right = right && is_right_sum(work, i, work->functions[i]) &&
                is_right_sum(work, i, work->functions[JIT_FOR_RANGE]);
    for (size_t i = 0; i < work->row_count; i++)
        right = right && is_right_packet(work, work->rows[i]);
    return right;
}

/* --- The loops that are timed --- */

static uint32_t run_jit_sums(const void *context, size_t cell, size_t subject, size_t first,
                             size_t calls) {
    const struct jit_work *work = context;
    carry_sum_fn *const sums[JIT_SUMS] = {
        [JIT_C] = work->compiled[JIT_C],
        [JIT_BEST] = work->compiled[JIT_BEST],
        [JIT_EXACT] = work->functions[cell % JIT_SIZES]->sum,
        [JIT_RANGE] = work->functions[JIT_FOR_RANGE]->sum,
    };
    return kernels_run_cell(&work->cells[cell], sums[subject], first, calls);
}

static uint32_t run_packet_check(struct packet_cell *cell, carry_jit_packet_fn *check,
                                 size_t calls) {
    uint32_t total = 0;
    for (; calls; calls--)
        total += (uint32_t)check(&cell->frame, cell->sums, CARRY_PACKET_SUMS_MAX);
    return total;
}

static uint32_t run_write(struct packet_cell *cell, carry_jit_write_fn *write, size_t calls) {
    for (; calls; calls--)
        write(cell->bytes, cell->values[calls & 1]);
    return cell->bytes[IP_AT + 10];
}

static uint32_t run_packets(const void *context, size_t cell, size_t subject, size_t first,
                            size_t calls) {
    struct jit_work *work = *(struct jit_work *const *)context;
    struct packet_cell *packet = &work->packets[work->rows[cell]];
    const struct carry_jit *made = work->functions[jit_packets[work->rows[cell]].function];
    (void)first;
    if (jit_packets[work->rows[cell]].function == JIT_WRITE)
        return run_write(packet, subject == JIT_MADE ? made->write : write_compiled, calls);
    return run_packet_check(packet, subject == JIT_MADE ? made->packet : check_compiled, calls);
}

/* Makes and releases functions. The caller must hold no such function: the library would return the
 * same one instead of making another. */
static uint32_t run_making(const void *context, size_t cell, size_t subject, size_t first,
                           size_t calls) {
    const struct jit_work *work = context;
    const struct carry_jit *jit = NULL;
    size_t total = 0;
    (void)subject, (void)first;
    for (; calls; calls--) {
        if (make_function(work, work->made[cell], &jit) != CARRY_OK)
            return 0;
        total += jit->text_size;
        carry_jit_release(jit);
    }
    return (uint32_t)total;
}

/* --- Measuring --- */

static size_t as_many_as_fit(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 0;
}

static void no_progress(size_t done, size_t total) {
    (void)done, (void)total;
}

static struct bench_stats cell_stats(const struct bench_plan *plan, const double *all, size_t cell,
                                     size_t subject) {
    return bench_stats(bench_samples(plan, all, cell, subject), plan->rounds);
}

/* Returns the speed of a subject as a multiple of the speed of `base`. */
static double cell_speedup(const struct bench_plan *plan, const double *all, size_t cell,
                           size_t base, size_t subject) {
    return bench_ratio(bench_samples(plan, all, cell, base),
                       bench_samples(plan, all, cell, subject), plan->rounds);
}

static double *measure_jit_plan(struct bench_plan *plan, const struct jit_work *work) {
    const size_t rounds = work->bench->rounds;
    plan->rounds = rounds;
    plan->sample_ns = SAMPLE_NS;
    plan->seconds = work->bench->seconds;
    plan->fixed_calls = as_many_as_fit;
    plan->progress = no_progress;
    double *all = bench_measure(plan);
    if (all)
        bench_noise_add_plan(&work->bench->noise, plan, rounds, all);
    return all;
}

static bool measure_sums(const struct jit_work *work) {
    struct jit_bench *bench = work->bench;
    struct bench_plan plan = {
        .cells = JIT_MODES * JIT_SIZES, .subjects = JIT_SUMS, .run = run_jit_sums, .context = work};
    double *all = measure_jit_plan(&plan, work);
    for (size_t cell = 0; all && cell < plan.cells; cell++)
        for (size_t sum = 0; sum < JIT_SUMS; sum++) {
            size_t mode = cell / JIT_SIZES, size = cell % JIT_SIZES;
            bench->sums[mode][size][sum] = cell_stats(&plan, all, cell, sum);
            bench->sum_speedups[mode][size][sum] = cell_speedup(&plan, all, cell, JIT_BEST, sum);
        }
    free(all);
    return all != NULL;
}

static bool measure_packets(struct jit_work *work) {
    struct jit_bench *bench = work->bench;
    struct bench_plan plan = {
        .cells = work->row_count, .subjects = JIT_WAYS, .run = run_packets, .context = &work};
    double *all = measure_jit_plan(&plan, work);
    for (size_t cell = 0; all && cell < plan.cells; cell++) {
        size_t row = work->rows[cell];
        for (size_t way = 0; way < JIT_WAYS; way++)
            bench->packets[row][way] = cell_stats(&plan, all, cell, way);
        bench->packet_speedups[row] = cell_speedup(&plan, all, cell, JIT_COMPILED, JIT_MADE);
    }
    free(all);
    return all != NULL;
}

static bool measure_making(const struct jit_work *work) {
    struct bench_plan plan = {
        .cells = work->made_count, .subjects = 1, .run = run_making, .context = work};
    double *all = measure_jit_plan(&plan, work);
    for (size_t cell = 0; all && cell < plan.cells; cell++)
        work->bench->making[work->made[cell]] = cell_stats(&plan, all, cell, 0);
    free(all);
    return all != NULL;
}

static void prepare_packets(struct jit_work *work) {
    static _Alignas(4096) unsigned char data[SUM_BYTES_MAX];
    struct carry_sum_kernel generic;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * i >> 3);
    for (size_t i = 0; i < JIT_MODES * JIT_SIZES; i++)
        work->cells[i] = (struct cell){
            .mode = &modes[i / JIT_SIZES], .size = jit_sizes[i % JIT_SIZES], .data = data};
    for (size_t i = 0; i < JIT_PACKETS; i++)
        make_tcp_packet(&work->packets[i], jit_packets[i].size);
    carry_sum_kernel(0, &generic);
    work->compiled[JIT_C] = generic.sum;
    work->compiled[JIT_BEST] = carry_sum_call;
    work->bench->best = kernel_table_chosen_name(&kernel_tables[KERNEL_TABLE_SUM]);
}

static int measure_all(struct jit_work *work) {
    if (!measure_making(work))
        return command_error("out of memory");
    int status = make_all(work);
    if (status == STATUS_CLEAN && !are_functions_right(work)) {
        command_error("a generated function is wrong, and was not timed");
        status = STATUS_BAD;
    } else if (status == STATUS_CLEAN && !(measure_sums(work) && measure_packets(work))) {
        status = command_error("out of memory");
    }
    release_functions(work);
    return status;
}

int bench_jit_measure(struct jit_bench *bench) {
    static struct jit_work work;
    work.bench = bench;
    prepare_packets(&work);
    int status = try_all(&work);
    return status == STATUS_CLEAN && bench->supported ? measure_all(&work) : status;
}
