/* SPDX-License-Identifier: MIT */
#include "vectors.h"

#include "kernel.h"
#include "xstate/xstate_internal.h"

#include <carry/image.h>

#include <string.h>

#define BIT(name)      CARRY_XSTATE_BIT(name)
#define VECTORS        (BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM))
#define FTW            4  /* offset in the image: which x87 registers are in use */
#define REGISTERS      32 /* offset of the x87 registers */
#define REGISTER_BYTES 10 /* used bytes of each x87 register, out of 16 */

struct image {
    uint8_t bytes[VECTORS_AREA_BYTES];
} __attribute__((aligned(CARRY_XSTATE_ALIGN)));

/* An image for each CPU and each level: thread, interrupt, NMI. */
static struct image images[CPUS][3];

static struct image *own_image(void) {
    const struct cpu *cpu = cpu_here();
    return &images[cpu->index][cpu->in_nmi ? 2 : cpu->in_interrupt];
}

static uint64_t next_of_seed(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 27;
}

static void fill_from_state(uint8_t *bytes, size_t size, uint64_t *state) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_of_seed(state) >> 13);
}

/* Returns a control word that raises no exception, with a rounding mode from `seed`. */
static uint16_t control_of(uint64_t seed) {
    return (uint16_t)(CARRY_FCW_INITIAL | (seed & 3) << 10);
}

static uint32_t mxcsr_of(uint64_t seed) {
    return (uint32_t)(CARRY_MXCSR_INITIAL | (seed & 3) << 13);
}

static void fill_legacy(uint8_t *image, uint64_t seed, uint64_t *state) {
    uint16_t control = control_of(seed);
    uint32_t mxcsr = mxcsr_of(seed);
    memcpy(image + CARRY_AREA_FCW, &control, sizeof control);
    memcpy(image + CARRY_AREA_MXCSR, &mxcsr, sizeof mxcsr);
    image[FTW] = 0xff;
    for (unsigned i = 0; i < 8; i++)
        fill_from_state(image + REGISTERS + 16 * i, REGISTER_BYTES, state);
    fill_from_state(image + CARRY_AREA_XMM, 256, state);
}

/* Fills `image` in the standard form: every CPU can load it. */
static void make_vectors_image(uint8_t *image, uint64_t seed) {
    struct carry_xstate_layout layout;
    uint64_t mask = carry_xstate_default() & (VECTORS | BIT(X87));
    uint64_t state = seed;
    carry_xstate_layout(&layout);
    memset(image, 0, VECTORS_AREA_BYTES);
    memcpy(image + CARRY_AREA_XSTATE_BV, &mask, sizeof mask);
    fill_legacy(image, seed, &state);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        size_t offset = carry_xstate_offset(&layout, mask, CARRY_XSTATE_STANDARD, i);
        if (offset)
            fill_from_state(image + offset, layout.parts[i].size, &state);
    }
}

/*
 * Executes a vector instruction, to raise #NM if CR0.TS is set. Must be called before XSAVE and
 * XRSTOR, because QEMU (seen in 7.2) does not raise #NM for these two. Interrupts must remain off
 * in between.
 */
static void touch_vectors(void) {
    __asm__ volatile("movaps %%xmm0, %%xmm0" : : : "memory");
}

void vectors_fill(uint64_t seed) {
    uint8_t *image = own_image()->bytes;
    make_vectors_image(image, seed);
    uint64_t flags = cpu_interrupts_off();
    touch_vectors();
    carry_xstate_load(image, VECTORS | BIT(X87));
    cpu_interrupts_restore(flags);
}

static bool is_legacy_right(const uint8_t *saved, const uint8_t *right) {
    bool same = !memcmp(saved + CARRY_AREA_FCW, right + CARRY_AREA_FCW, 2) &&
                !memcmp(saved + CARRY_AREA_MXCSR, right + CARRY_AREA_MXCSR, 4) &&
                !memcmp(saved + CARRY_AREA_XMM, right + CARRY_AREA_XMM, 256);
    for (unsigned i = 0; i < 8; i++)
        same =
            same && !memcmp(saved + REGISTERS + 16 * i, right + REGISTERS + 16 * i, REGISTER_BYTES);
    return same;
}

bool vectors_hold(uint64_t seed) {
    static struct image saved_images[CPUS][3];
    uint8_t *right = own_image()->bytes;
    uint8_t *saved = saved_images[cpu_here()->index][own_image() - images[cpu_here()->index]].bytes;
    struct carry_xstate_layout layout;
    uint64_t flags = cpu_interrupts_off();
    touch_vectors();
    uint64_t mask = carry_xstate_save(saved, VECTORS | BIT(X87));
    cpu_interrupts_restore(flags);
    carry_xstate_layout(&layout);
    make_vectors_image(right, seed);
    bool same = is_legacy_right(saved, right);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        size_t offset = carry_xstate_offset(&layout, carry_xstate_default() & VECTORS,
                                            CARRY_XSTATE_STANDARD, i);
        size_t size;
        const void *part = carry_xstate_image_part(&layout, saved, i, &size);
        if (offset)
            same = same && mask >> i & 1 && part && !memcmp(part, right + offset, size);
    }
    return same;
}

bool vectors_control_is_initial(void) {
    uint32_t mxcsr;
    uint16_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return mxcsr == CARRY_MXCSR_INITIAL && control == CARRY_FCW_INITIAL;
}
