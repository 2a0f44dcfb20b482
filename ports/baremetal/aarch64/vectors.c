/* SPDX-License-Identifier: MIT */
#include "vectors.h"

#include "kernel.h"

#include <string.h>

#define ROUNDING_SHIFT 22   /* field of FPCR */
#define FLAGS          0x9f /* fields of FPSR: the exceptions since they were cleared */
#define SATURATED      UINT64_C(0x08000000)

struct image {
    uint8_t q[32][16];
    uint64_t fpcr;
    uint64_t fpsr;
};

/* Expands to one instruction for each pair of registers. */
#define PAIR(instruction, a, b) #instruction " q" #a ", q" #b ", [%0, #16 * " #a "]\n\t"
#define ALL(instruction)                                                                           \
    PAIR(instruction, 0, 1)                                                                        \
    PAIR(instruction, 2, 3)                                                                        \
    PAIR(instruction, 4, 5)                                                                        \
    PAIR(instruction, 6, 7)                                                                        \
    PAIR(instruction, 8, 9)                                                                        \
    PAIR(instruction, 10, 11)                                                                      \
    PAIR(instruction, 12, 13)                                                                      \
    PAIR(instruction, 14, 15)                                                                      \
    PAIR(instruction, 16, 17)                                                                      \
    PAIR(instruction, 18, 19)                                                                      \
    PAIR(instruction, 20, 21)                                                                      \
    PAIR(instruction, 22, 23)                                                                      \
    PAIR(instruction, 24, 25)                                                                      \
    PAIR(instruction, 26, 27)                                                                      \
    PAIR(instruction, 28, 29)                                                                      \
    PAIR(instruction, 30, 31)

static uint64_t next_of_seed(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 27;
}

/* Fills `image` from `seed`, including the rounding mode and the flags. */
static void make_vectors_image(struct image *image, uint64_t seed) {
    uint64_t state = seed;
    for (unsigned i = 0; i < sizeof image->q; i++)
        image->q[i / 16][i % 16] = (uint8_t)(next_of_seed(&state) >> 13);
    image->fpcr = (seed & 3) << ROUNDING_SHIFT;
    image->fpsr = (seed >> 2 & FLAGS) | SATURATED;
}

void vectors_fill(uint64_t seed) {
    struct image image;
    make_vectors_image(&image, seed);
    uint64_t flags = cpu_interrupts_off();
    __asm__ volatile(ALL(ldp) : : "r"(image.q) : "memory");
    CPU_WRITE("fpcr", image.fpcr);
    CPU_WRITE("fpsr", image.fpsr);
    cpu_interrupts_restore(flags);
}

static void save_image(struct image *image) {
    uint64_t flags = cpu_interrupts_off();
    __asm__ volatile(ALL(stp) : : "r"(image->q) : "memory");
    image->fpcr = CPU_READ("fpcr");
    image->fpsr = CPU_READ("fpsr");
    cpu_interrupts_restore(flags);
}

bool vectors_hold(uint64_t seed) {
    struct image saved, right;
    save_image(&saved);
    make_vectors_image(&right, seed);
    return !memcmp(&saved, &right, sizeof right);
}

bool vectors_are_zero(void) {
    static const struct image zero;
    struct image saved;
    save_image(&saved);
    return !memcmp(&saved, &zero, sizeof zero);
}

bool vectors_control_is_initial(void) {
    return !CPU_READ("fpcr") && !CPU_READ("fpsr");
}
