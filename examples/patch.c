/* SPDX-License-Identifier: MIT */
/*
 * A router's inner loop with three kinds of sites, rewritten while threads run it: an operation
 * (how to route a packet), a key (whether to count packets), and an alternative (how to shift a
 * word, which depends on the features of the CPU).
 *
 * usage: patch [SECONDS]
 */
#include <carry/carry.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

CARRY_OP(uint64_t, route, uint64_t);
CARRY_KEY(counting);

#ifdef __aarch64__
#define SUCCESSOR "add x0, x0, 1"
#else
#define SUCCESSOR "lea 1(%%rdi), %%rax"
#endif

static uint64_t route_low(uint64_t address) {
    CARRY_BODY(route_low, SUCCESSOR); /* short enough to replace the call */
    return address + 1;
}

static uint64_t route_high(uint64_t address) {
    return (address >> 32) + 1;
}

CARRY_OP_DEFINE(route, route_high);
CARRY_KEY_DEFINE(counting, false);

static uint64_t shift(uint64_t word, uint64_t bits) {
#ifdef __x86_64__
    /* Shifts by two instructions, or with BMI2 by one, which takes the count in any register and
       keeps the flags. */
    __asm__(CARRY_ALT("mov %k1, %%ecx\n\tshl %%cl, %0", bmi2, "shlx %1, %0, %0")
            : "+r"(word)
            : "r"(bits)
            : "ecx", "cc");
    return word;
#else
    return word << bits;
#endif
}

struct worker {
    pthread_t thread;
    uint64_t packets;
    uint64_t counted;
    uint64_t wrong;
};

static bool stop;

static void *route_packets(void *argument) {
    struct worker *worker = argument;
    for (uint64_t address = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); address += 0x100000001) {
        uint64_t next = carry_call(route)(address);
        if (next != address + 1 && next != (address >> 32) + 1)
            worker->wrong++;
        if (carry_unlikely(counting))
            worker->counted += shift(1, next % 2) - next % 2;
        worker->packets++;
    }
    return NULL;
}

static int flip(bool low) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, route, low ? route_low : route_high);
    if (low)
        carry_enable(&patch, counting);
    else
        carry_disable(&patch, counting);
    return carry_patch_commit(&patch);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    struct worker workers[2] = {0};
    int error = carry_patch_apply(0);
    if (error)
        printf("sites stay as they were: %s\n", carry_error_text(error));
    for (size_t i = 0; i < 2; i++)
        if (pthread_create(&workers[i].thread, NULL, route_packets, &workers[i]))
            return 1;

    uint64_t flips = 0;
    for (double end = now() + seconds; now() < end && !error; flips++)
        error = flip(flips % 2 == 0);

    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    struct worker all = {0};
    for (size_t i = 0; i < 2; i++) {
        pthread_join(workers[i].thread, NULL);
        all.packets += workers[i].packets;
        all.counted += workers[i].counted;
        all.wrong += workers[i].wrong;
    }
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    printf("%" PRIu64 " flips under %" PRIu64 " packets, %" PRIu64 " counted, %" PRIu64 " wrong\n",
           flips, all.packets, all.counted, all.wrong);
    printf("%zu sites: %zu direct, %zu inlined, %zu branches, %zu alternatives; text by %s\n",
           stats.sites, stats.direct, stats.inlined, stats.branches, stats.alternatives,
           stats.backend);
    return error || all.wrong ? 1 : 0;
}
