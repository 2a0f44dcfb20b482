/* SPDX-License-Identifier: MIT */
/* Times AES-128-CBC in SSE instructions, with clean, dirty or just cleaned uppers before each call,
 * as in programs that call it between vector code. */
#include <string.h>

#include <carry/xstate.h>

#include "xstate/xstate_measure.h"

#define BLOCK_BYTES  16
#define ROUND_KEYS   11
#define VECTOR_BYTES 64 /* size of the test vector */

const size_t xstate_aes_sizes[AES_ROWS] = {16, 64, 256, 1024, 8192};

/* The columns, sorted by what they need: the columns that this CPU can run come first. */
static const struct column {
    const char *name;
    xstate_upper_fn *prepare;
    enum xstate_upper needs;
} columns[AES_COLUMNS] = {
    {"clean", xstate_upper_none, XSTATE_CLEAN},
    {"ymm", xstate_upper_ymm, XSTATE_YMM},
    {"ymm_vzeroupper", xstate_upper_ymm_clean, XSTATE_YMM},
    {"zmm", xstate_upper_zmm, XSTATE_ZMM},
    {"zmm_vzeroupper", xstate_upper_zmm_clean, XSTATE_ZMM},
};

struct work {
    uint8_t schedule[ROUND_KEYS * BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));
    uint8_t initial[BLOCK_BYTES];
    uint8_t in[8192], out[8192];
};

/* The test vector of SP 800-38A, F.2.1, with the key of FIPS 197, appendix A.1. */
static const uint8_t key[BLOCK_BYTES] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                         0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static const uint8_t initial[BLOCK_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t plain[VECTOR_BYTES] = {
    0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
    0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51,
    0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11, 0xe5, 0xfb, 0xc1, 0x19, 0x1a, 0x0a, 0x52, 0xef,
    0xf6, 0x9f, 0x24, 0x45, 0xdf, 0x4f, 0x9b, 0x17, 0xad, 0x2b, 0x41, 0x7b, 0xe6, 0x6c, 0x37, 0x10,
};
static const uint8_t encrypted[VECTOR_BYTES] = {
    0x76, 0x49, 0xab, 0xac, 0x81, 0x19, 0xb2, 0x46, 0xce, 0xe9, 0x8e, 0x9b, 0x12, 0xe9, 0x19, 0x7d,
    0x50, 0x86, 0xcb, 0x9b, 0x50, 0x72, 0x19, 0xee, 0x95, 0xdb, 0x11, 0x3a, 0x91, 0x76, 0x78, 0xb2,
    0x73, 0xbe, 0xd6, 0xb8, 0xe3, 0xc1, 0x74, 0x3b, 0x71, 0x16, 0xe6, 0x9e, 0x22, 0x22, 0x95, 0x16,
    0x3f, 0xf1, 0xca, 0xa1, 0x68, 0x1f, 0xac, 0x09, 0x12, 0x0e, 0xca, 0x30, 0x75, 0x86, 0xe1, 0xa7,
};

static void prepare_aes(struct work *work) {
    memset(work, 0, sizeof *work);
    xstate_aes_expand(key, work->schedule);
    memcpy(work->initial, initial, sizeof work->initial);
}

bool xstate_has_aes(void) {
    return __builtin_cpu_supports("aes");
}

bool xstate_aes_is_right(void) {
    struct work work;
    prepare_aes(&work);
    xstate_aes_cbc(work.schedule, work.initial, plain, work.out, VECTOR_BYTES / BLOCK_BYTES);
    return memcmp(work.out, encrypted, VECTOR_BYTES) == 0;
}

const char *xstate_aes_column(size_t column) {
    return columns[column].name;
}

static size_t aes_column_count(void) {
    size_t count = 0;
    while (count < AES_COLUMNS && columns[count].needs < xstate_uppers())
        count++;
    return count;
}

static uint32_t run_aes(const void *context, size_t cell, size_t subject, size_t first,
                        size_t calls) {
    struct work *work = (struct work *)context;
    xstate_upper_fn *before = columns[subject].prepare;
    const size_t blocks = xstate_aes_sizes[cell] / BLOCK_BYTES;
    uint32_t last;
    (void)first;
    for (size_t i = 0; i < calls; i++) {
        before();
        xstate_aes_cbc(work->schedule, work->initial, work->in, work->out, blocks);
    }
    carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);
    memcpy(&last, work->out, sizeof last);
    return last;
}

bool xstate_measure_aes(struct xstate_grid *grid, const struct xstate_effort *effort) {
    struct work work;
    prepare_aes(&work);
    struct bench_plan plan = {
        .cells = AES_ROWS, .subjects = aes_column_count(), .run = run_aes, .context = &work};
    return xstate_grid_measure(grid, &plan, effort);
}
