/* SPDX-License-Identifier: MIT */
/*
 * Truncates and extends a file, as a peer may do, while threads copy from a mapping of it: the
 * bytes of their targets after the copied bytes must be unchanged.
 */
#include <carry/carry.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../linkers/expect.h"

#define SIZE    65536
#define THREADS 3
#define COPIES  20000
#define UNSEEN  0xee

static unsigned char *mapping;
static _Atomic int running = THREADS;
static _Atomic long partial, touched[2];

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static bool is_untouched(const unsigned char *bytes, size_t size) {
    return bytes[0] == UNSEEN && !memcmp(bytes, bytes + 1, size - 1);
}

static void copy_once(unsigned char *target, uint64_t random) {
    size_t from = (random >> 8) % SIZE, size = (random >> 24) % (SIZE - from + 1);
    bool sums = random >> 60 & 1;
    uint32_t sum = 0;
    memset(target, UNSEEN, size + 64);
    size_t left = sums ? carry_sum_copy_try(target, mapping + from, size, &sum)
                       : carry_copy_try(target, mapping + from, size);
    partial += left != 0;
    touched[sums] += !is_untouched(target + size - left, left + 64);
}

static void *copy_out(void *number) {
    uint64_t seed = UINT64_C(88172645463325252) + 77 * *(int *)number;
    unsigned char *target = malloc(SIZE + 64);
    for (int i = 0; i < COPIES; i++)
        copy_once(target, next(&seed));
    free(target);
    running--;
    return NULL;
}

static void truncate_while_they_run(int file) {
    static unsigned char full[SIZE];
    uint64_t seed = UINT64_C(88172645463325252);
    memset(full, 0x5a, sizeof full);
    while (running && !ftruncate(file, (off_t)((next(&seed) >> 8) % SIZE))) {
        usleep(50);
        if (ftruncate(file, SIZE) || pwrite(file, full, SIZE, 0) != SIZE)
            return;
        usleep(20);
    }
}

int main(void) {
    int numbers[THREADS], file = memfd_create("truncated", 0);
    pthread_t threads[THREADS];
    alarm(60);
    EXPECT(ftruncate(file, SIZE), 0);
    mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT(carry_fault_acquire(), CARRY_OK);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, copy_out, &numbers[i]);
    }
    truncate_while_they_run(file);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT(partial > 0, true);
    EXPECT(touched[0], 0);
    EXPECT(touched[1], 0);
    return result();
}
