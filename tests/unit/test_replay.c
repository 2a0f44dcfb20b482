/* SPDX-License-Identifier: MIT */
/* Tests that the replay of other CPUs tracks components in use as measured on these CPUs. */
#include <string.h>

#include <carry/cpu.h>
#include <carry/xstate.h>

#include "harness/replay.h"
#include "harness/tap.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

/* Lists the components that other software puts in use at random. */
#define BY_OTHERS(counts_writes) ((counts_writes) ? BIT(PKRU) : BIT(SSE))

static struct image {
    uint16_t fcw;
    uint8_t control[22];
    uint32_t mxcsr, mxcsr_mask;
    uint8_t registers[480];
    uint64_t xstate_bv, xcomp_bv, reserved[6];
    uint8_t parts[8192];
} __attribute__((aligned(64))) initial = {.fcw = 0x37f, .mxcsr = 0x1f80};

static struct image named = {.fcw = 0x37f, .mxcsr = 0x1f80};
static struct image spare;

static const uint16_t fcw = 0x37f;
static const uint32_t mxcsr = 0x1f80;
static uint32_t word;

static void load_image(const void *image, uint64_t mask) {
    __asm__ volatile("xrstor64 (%0)"
                     :
                     : "r"(image), "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
                     : "memory");
}

static uint64_t replayed_in_use(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low | (uint64_t)high << 32;
}

static void save_area(uint64_t mask) {
    __asm__ volatile("xsavec64 (%0)"
                     :
                     : "r"(&spare), "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
                     : "memory");
}

static bool counts_writes;

static void judge_use(const char *name, uint64_t found, uint64_t by_writes, uint64_t by_values) {
    const uint64_t wanted = counts_writes ? by_writes : by_values;
    tap_ok(TAP_EQ((found ^ wanted) & ~BY_OTHERS(counts_writes), 0),
           "%s: in use 0x%llx, reported 0x%llx", name, (unsigned long long)wanted,
           (unsigned long long)found);
}

/* Checks the components in use after `code`, which finds all registers initial and no component in
   use. */
#define AFTER(name, by_writes, by_values, code)                                                    \
    do {                                                                                           \
        replay_start();                                                                            \
        load_image(&initial, ~UINT64_C(0));                                                        \
        code;                                                                                      \
        const uint64_t found = replayed_in_use();                                                  \
        load_image(&initial, ~UINT64_C(0));                                                        \
        replay_stop();                                                                             \
        judge_use(name, found, by_writes, by_values);                                              \
    } while (0)

#define X87    BIT(X87)
#define SSE    BIT(SSE)
#define AVX    BIT(AVX)
#define OPMASK BIT(OPMASK)

#define DO(text) __asm__ volatile(text)

static void test_x87(void) {
    AFTER("nothing", 0, 0, );
    AFTER("fnstcw", 0, 0, __asm__ volatile("fnstcw %0" : "=m"(word)));
    AFTER("fxsave", 0, 0, __asm__ volatile("fxsave64 %0" : "=m"(spare)));
    AFTER("fninit", X87, 0, DO("fninit"));
    AFTER("fldcw of 0x37f", X87, 0, __asm__ volatile("fldcw %0" : : "m"(fcw)));
    AFTER("fnclex", X87, 0, DO("fnclex"));
    AFTER("emms", X87, 0, DO("emms"));
    AFTER("fwait", X87, 0, DO("fwait"));
    AFTER("fnop", X87, 0, DO("fnop"));
    AFTER("fld1", X87, X87, DO("fld1"));
    AFTER("fld1, xrstor", 0, 0, DO("fld1"); load_image(&initial, X87));
    AFTER("fxrstor of initial values", X87 | SSE, 0,
          __asm__ volatile("fxrstor64 %0"
                           :
                           : "m"(initial)));
}

static void test_vectors(void) {
    AFTER("stmxcsr", 0, 0, __asm__ volatile("stmxcsr %0" : "=m"(word)));
    AFTER("ldmxcsr of 0x1f80", SSE, 0, __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr)));
    AFTER("pxor to zero", SSE, 0, DO("pxor %xmm0, %xmm0"));
    AFTER("vxorps ymm to zero", SSE | AVX, 0, DO("vxorps %ymm0, %ymm0, %ymm0"));
    AFTER("vxorps xmm", SSE, 0, DO("vxorps %xmm0, %xmm0, %xmm0"));
    AFTER("a store of ymm", 0, 0, __asm__ volatile("vmovups %%ymm0, %0" : "=m"(spare)));
    AFTER("ymm of ones", SSE | AVX, SSE | AVX, DO("vcmptrueps %ymm6, %ymm6, %ymm6"));
    AFTER("ymm of ones, vzeroupper", SSE, SSE, DO("vcmptrueps %ymm6, %ymm6, %ymm6\n\tvzeroupper"));
    AFTER("ymm of ones, vzeroall", 0, 0, DO("vcmptrueps %ymm6, %ymm6, %ymm6\n\tvzeroall"));
    AFTER("ymm of ones, xrstor", 0, 0, DO("vcmptrueps %ymm6, %ymm6, %ymm6");
          load_image(&initial, SSE | AVX));
}

/* Tests loads of each component alone, even of components that this CPU lacks; then instructions
   that write mask registers. */
static void test_images(uint64_t components) {
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!(components >> i & 1))
            continue;
        named.xstate_bv = UINT64_C(1) << i;
        AFTER(carry_xstate_name(i), named.xstate_bv, 0, load_image(&named, ~UINT64_C(0)));
    }
    AFTER("kxorw to zero", OPMASK, 0, DO("kxorw %k1, %k1, %k1"));
    AFTER("kxnorw", OPMASK, OPMASK, DO("kxnorw %k1, %k1, %k1"));
    AFTER("kxnorw, kxorw", OPMASK, 0, DO("kxnorw %k1, %k1, %k1\n\tkxorw %k1, %k1, %k1"));
    AFTER("kxnorw, vzeroall", OPMASK, OPMASK, DO("kxnorw %k1, %k1, %k1\n\tvzeroall"));
}

/* Tests where XSAVEC puts k1: after AVX, which starts at offset 576, or 128 bytes later if MPX lies
   between them. */
static void test_places(size_t offset) {
    uint64_t saved;
    memset(&spare, 0, sizeof spare);
    replay_start();
    load_image(&initial, ~UINT64_C(0));
    DO("kxnorw %k1, %k1, %k1");
    save_area(~UINT64_C(0));
    load_image(&initial, ~UINT64_C(0));
    replay_stop();
    memcpy(&saved, spare.parts + offset - 576 + 8, sizeof saved);
    tap_ok(TAP_EQ(saved, 0xffff), "k1 is saved at %zu", offset + 8);
}

static void test_counts(void) {
    replay_start();
    load_image(&initial, ~UINT64_C(0));
    replay_start();
    __asm__ volatile("fldcw %1\n\tfnstcw %0\n\tfninit" : "=m"(word) : "m"(fcw));
    save_area(X87);
    load_image(&initial, ~UINT64_C(0));
    replay_stop();
    const struct replay_counts counts = replay_counts();
    tap_ok(TAP_EQ(counts.fldcw, 1) && TAP_EQ(counts.areas, 2),
           "FLDCW was executed %u times, areas %u", counts.fldcw, counts.areas);
}

static void test_features(void) {
    tap_ok(TAP_EQ(carry_cpu_has("fast_xgetbv1"), counts_writes),
           "the library reads what is in use where that CPU does this fast");
}

int main(int argc, char **argv) {
    const char *reason = argc > 1 ? replay_choose(argv[1]) : "names no machine";
    if (reason)
        return tap_skip_all(reason);
    counts_writes = !strcmp(argv[1], "Skylake-X");
    test_features();
    test_x87();
    test_vectors();
    test_images(carry_xstate_enabled());
    test_places(counts_writes ? 960 : 832);
    test_counts();
    return tap_done();
}
