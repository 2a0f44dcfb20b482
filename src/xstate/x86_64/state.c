/* SPDX-License-Identifier: MIT */
/* The registers of this CPU: what is in use, saved, loaded, cleaned (SDM vol. 1, 13.6 to 13.10). */
#include "base/general_begin.h"

#include "base/cpuid.h"
#include "cpu/cpu_internal.h"
#include "xstate/xstate_internal.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

/* Vector registers, masks and tiles: calls may change them. */
#define VECTOR_STATE                                                                               \
    (BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM) | BIT(TILECFG) |           \
     BIT(TILEDATA))

/* Registers in which the compiler may hold values, unless it is limited to general registers. */
#ifdef __SSE__
#define VECTOR_REGISTERS                                                                           \
    , "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",     \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#else
#define VECTOR_REGISTERS
#endif

struct legacy {
    uint16_t fcw;
    uint8_t x87_control[22];
    uint32_t mxcsr;
    uint32_t mxcsr_mask;
    uint8_t x87_registers[128];
    uint8_t xmm[256];
    uint8_t available[96];
};

/* An area without extended components. */
struct area {
    struct legacy legacy;
    uint64_t xstate_bv;
    uint64_t xcomp_bv;
    uint64_t reserved[6];
} __attribute__((aligned(CARRY_XSTATE_ALIGN)));

_Static_assert(sizeof(struct legacy) == CARRY_XSTATE_LEGACY, "as FXSAVE writes it");
_Static_assert(sizeof(struct area) == CARRY_XSTATE_EXTENDED, "legacy area and header");

static bool uses_feature(uint32_t feature) {
    return carry_cpu_bits() & feature;
}

uint64_t carry_xstate_enabled(void) {
    return uses_feature(CARRY_CPU_BIT(xsave)) ? carry_xstate_user() : CARRY_LEGACY_STATE;
}

uint64_t carry_xstate_default(void) {
    return carry_xstate_enabled() & ~(BIT(PKRU) | BIT(TILEDATA));
}

uint64_t carry_xstate_in_use(void) {
    return carry_xstate_enabled() &
           (uses_feature(CARRY_CPU_BIT(xgetbv1)) ? carry_xgetbv(1) : ~UINT64_C(0));
}

size_t carry_xstate_area_size(uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    enum carry_xstate_form form =
        uses_feature(CARRY_CPU_BIT(xsavec)) ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD;
    size_t size = carry_xstate_size(&layout, mask & carry_xstate_enabled(), form);
    size = size < sizeof(struct area) ? sizeof(struct area) : size;
    return (size + CARRY_XSTATE_ALIGN - 1) & ~(size_t)(CARRY_XSTATE_ALIGN - 1);
}

/* --- Saving --- */

/*
 * Clears the header and sets MXCSR. XSAVE and XSAVEC do not write parts of the header, nor MXCSR if
 * the mask has no vectors; but XRSTOR may load these. `area` is volatile, because compilers would
 * otherwise clear it with a vector register, which must be saved first.
 */
static void clear_header(volatile struct area *area) {
    area->legacy.mxcsr = CARRY_MXCSR_INITIAL;
    area->xstate_bv = 0;
    area->xcomp_bv = 0;
    for (size_t i = 0; i < sizeof area->reserved / sizeof area->reserved[0]; i++)
        area->reserved[i] = 0;
}

uint64_t carry_xstate_save(void *to, uint64_t mask) {
    struct area *area = to;
    mask &= carry_xstate_enabled();
    clear_header(area);
    if (!uses_feature(CARRY_CPU_BIT(xsave))) {
        __asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
        area->xstate_bv = mask;
    } else if (uses_feature(CARRY_CPU_BIT(xsavec))) {
        __asm__ volatile("xsavec64 (%0)"
                         :
                         : "r"(area), "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
                         : "memory");
    } else {
        __asm__ volatile("xsave64 (%0)"
                         :
                         : "r"(area), "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
                         : "memory");
    }
    return area->xstate_bv;
}

/* --- Loading --- */

#define INITIAL                                                                                    \
    { .fcw = CARRY_FCW_INITIAL, .mxcsr = CARRY_MXCSR_INITIAL }

static const struct legacy initial = INITIAL;

static void copy_legacy_x87(struct legacy *to, const struct legacy *from) {
    to->fcw = from->fcw;
    __builtin_memcpy(to->x87_control, from->x87_control, sizeof to->x87_control);
    __builtin_memcpy(to->x87_registers, from->x87_registers, sizeof to->x87_registers);
}

static void copy_legacy_sse(struct legacy *to, const struct legacy *from) {
    to->mxcsr = from->mxcsr;
    __builtin_memcpy(to->xmm, from->xmm, sizeof to->xmm);
}

/* Loads the components of `mask`. FXRSTOR has no mask, so the others are loaded with their present
 * values. */
static void load_legacy(const struct area *area, uint64_t mask) {
    struct legacy image __attribute__((aligned(16)));
    __asm__ volatile("fxsave64 %0" : "=m"(image));
    if (mask & BIT(X87))
        copy_legacy_x87(&image, area->xstate_bv & BIT(X87) ? &area->legacy : &initial);
    if (mask & BIT(SSE))
        copy_legacy_sse(&image, area->xstate_bv & BIT(SSE) ? &area->legacy : &initial);
    __asm__ volatile("fxrstor64 %0" : : "m"(image) : "memory" VECTOR_REGISTERS);
}

void carry_xstate_load(const void *from, uint64_t mask) {
    mask &= carry_xstate_enabled();
    if (!uses_feature(CARRY_CPU_BIT(xsave)))
        load_legacy(from, mask);
    else
        __asm__ volatile("xrstor64 (%0)"
                         :
                         : "r"(from), "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
                         : "memory" VECTOR_REGISTERS);
}

/* --- Cleaning --- */

/*
 * XRSTOR may read all of a component that its mask names, in use or not (SDM vol. 1, 13.13), and
 * Emerald Rapids does. The compact area below holds no component. The standard area below has room
 * for all components except tiles: these need 8 KiB, and TILERELEASE initialises them.
 */
#define TILES           (BIT(TILECFG) | BIT(TILEDATA))
#define STANDARD_OTHERS 2752 /* where tiles start */

static const struct area initial_compact = {.legacy = INITIAL, .xcomp_bv = CARRY_COMPACT_BIT};

static const struct {
    struct area area;
    uint8_t components[STANDARD_OTHERS - sizeof(struct area)];
} initial_standard = {.area = {.legacy = INITIAL}};

static void load_initial(uint64_t mask) {
    mask &= carry_xstate_enabled();
    if (!uses_feature(CARRY_CPU_BIT(xsave)) || uses_feature(CARRY_CPU_BIT(xsavec))) {
        carry_xstate_load(&initial_compact, mask);
        return;
    }
    if (mask & TILES)
        __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"); /* tilerelease */
    carry_xstate_load(&initial_standard, mask & ~TILES);
}

/* Loads MXCSR unless it is initial: a CPU may count the load as use. */
static void load_mxcsr(uint32_t mxcsr) {
    if (mxcsr != CARRY_MXCSR_INITIAL)
        __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

void carry_xstate_clean(enum carry_xstate_level level) {
    uint32_t mxcsr;
    if (level == CARRY_XSTATE_CLEAN_ALL) {
        load_initial(~BIT(PKRU));
    } else if (level == CARRY_XSTATE_CLEAN_VECTORS) {
        __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
        load_initial(VECTOR_STATE);
        load_mxcsr(mxcsr);
    } else if (level == CARRY_XSTATE_CLEAN_UPPERS && uses_feature(CARRY_CPU_BIT(avx))) {
        __asm__ volatile("vzeroupper" : : : "memory" VECTOR_REGISTERS);
    }
}

#include "base/general_end.h"
