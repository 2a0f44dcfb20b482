/* SPDX-License-Identifier: MIT */
#include "harness/machines.h"

/* Define components that have the same size on every CPU, but different offsets. */
#define AVX(at)       [CARRY_XSTATE_AVX] = {.size = 256, .offset = (at)}
#define BNDREGS(at)   [CARRY_XSTATE_BNDREGS] = {.size = 64, .offset = (at)}
#define BNDCSR(at)    [CARRY_XSTATE_BNDCSR] = {.size = 64, .offset = (at)}
#define OPMASK(at)    [CARRY_XSTATE_OPMASK] = {.size = 64, .offset = (at)}
#define ZMM_HI256(at) [CARRY_XSTATE_ZMM_HI256] = {.size = 512, .offset = (at)}
#define HI16_ZMM(at)  [CARRY_XSTATE_HI16_ZMM] = {.size = 1024, .offset = (at)}
#define PKRU(at)      [CARRY_XSTATE_PKRU] = {.size = 8, .offset = (at)}
#define TILECFG(at)   [CARRY_XSTATE_TILECFG] = {.size = 64, .offset = (at), .aligned = true}
#define TILEDATA(at)                                                                               \
    [CARRY_XSTATE_TILEDATA] = {.size = 8192, .offset = (at), .aligned = true, .lazy = true}
#define APX(at) [CARRY_XSTATE_APX] = {.size = 128, .offset = (at)}

#define PT    [CARRY_XSTATE_PT] = {.size = 128, .supervisor = true}
#define CET_U [CARRY_XSTATE_CET_U] = {.size = 16, .supervisor = true}
#define CET_S [CARRY_XSTATE_CET_S] = {.size = 24, .supervisor = true}
#define LBR   [CARRY_XSTATE_LBR] = {.size = 808, .supervisor = true}

/* Features of generations of CPUs, in addition to XSAVE. */
#define SINCE_SANDY_BRIDGE .xsaveopt = true
#define SINCE_SKYLAKE      SINCE_SANDY_BRIDGE, .xsavec = true, .xgetbv1 = true, .xsaves = true
#define SINCE_SAPPHIRE     SINCE_SKYLAKE, .xfd = true

#define INTEL .mxcsr_mask = 0xffff
#define AMD   .mxcsr_mask = 0x2ffff

#define INTEL_AVX512 AVX(576), OPMASK(1088), ZMM_HI256(1152), HI16_ZMM(1664), PKRU(2688)
#define AMD_AVX512   AVX(576), OPMASK(832), ZMM_HI256(896), HI16_ZMM(1408), PKRU(2432)

static const struct machine machines[MACHINES] = {
    {"Nehalem", {INTEL}, 0},
    {"Haswell",
     {.user = 0x7, .standard_size = 832, INTEL, SINCE_SANDY_BRIDGE, .parts = {AVX(576)}},
     0},
    {"Coffee Lake",
     {.user = 0x1f,
      .supervisor = 0x100,
      .standard_size = 1088,
      INTEL,
      SINCE_SKYLAKE,
      .parts = {AVX(576), BNDREGS(960), BNDCSR(1024), PT}},
     960},
    {"Skylake-X",
     {.user = 0x2ff,
      .supervisor = 0x100,
      .standard_size = 2696,
      INTEL,
      SINCE_SKYLAKE,
      .parts = {INTEL_AVX512, BNDREGS(960), BNDCSR(1024), PT}},
     2568},
    {"Ice Lake",
     {.user = 0x2e7,
      .supervisor = 0x100,
      .standard_size = 2696,
      INTEL,
      SINCE_SKYLAKE,
      .parts = {INTEL_AVX512, PT}},
     2440},
    {"Alder Lake",
     {.user = 0x207,
      .supervisor = 0x9900,
      .standard_size = 2696,
      INTEL,
      SINCE_SKYLAKE,
      .parts = {AVX(576), PKRU(2688), PT, CET_U, CET_S, LBR}},
     840},
    {"Sapphire Rapids",
     {.user = 0x602e7,
      .supervisor = 0x9900,
      .standard_size = 11008,
      INTEL,
      SINCE_SAPPHIRE,
      .parts = {INTEL_AVX512, TILECFG(2752), TILEDATA(2816), PT, CET_U, CET_S, LBR}},
     10752},
    {"Diamond Rapids", /* from the manual of APX, whose registers are in the place of BNDREGS and
                          BNDCSR */
     {.user = 0xe02e7,
      .supervisor = 0x9900,
      .standard_size = 11008,
      INTEL,
      SINCE_SAPPHIRE,
      .parts = {INTEL_AVX512, TILECFG(2752), TILEDATA(2816), APX(960), PT, CET_U, CET_S, LBR}},
     10880},
    {"Zen 2", {.user = 0x7, .standard_size = 832, AMD, SINCE_SKYLAKE, .parts = {AVX(576)}}, 832},
    {"Zen 3",
     {.user = 0x207,
      .supervisor = 0x1800,
      .standard_size = 840,
      AMD,
      SINCE_SKYLAKE,
      .parts = {AVX(576), PKRU(832), CET_U, CET_S}},
     840},
    {"Zen 5",
     {.user = 0x2e7,
      .supervisor = 0x1800,
      .standard_size = 2440,
      AMD,
      SINCE_SKYLAKE,
      .parts = {AMD_AVX512, CET_U, CET_S}},
     2440},
};

const struct machine *machine_at(size_t index) {
    return index < MACHINES ? &machines[index] : NULL;
}

/* --- CPUID --- */

static struct machine_cpuid total_sizes(const struct carry_xstate_layout *layout) {
    return (struct machine_cpuid){{(uint32_t)layout->user, layout->standard_size,
                                   layout->standard_size, (uint32_t)(layout->user >> 32)}};
}

static struct machine_cpuid option_bits(const struct carry_xstate_layout *layout) {
    uint32_t bits = layout->xsaveopt | (uint32_t)layout->xsavec << 1 |
                    (uint32_t)layout->xgetbv1 << 2 | (uint32_t)layout->xsaves << 3 |
                    (uint32_t)layout->xfd << 4;
    return (struct machine_cpuid){
        {bits, 0, (uint32_t)layout->supervisor, (uint32_t)(layout->supervisor >> 32)}};
}

/* Returns the size, offset and flags of a component. Components that the library does not name also
   have a size. */
static struct machine_cpuid part_of(const struct carry_xstate_layout *layout, uint32_t component) {
    if (component >= CARRY_XSTATE_COMPONENTS)
        return (struct machine_cpuid){{128, 832, 0, 0}};
    const struct carry_xstate_part *part = &layout->parts[component];
    uint32_t flags = part->supervisor | (uint32_t)part->aligned << 1 | (uint32_t)part->lazy << 2;
    return (struct machine_cpuid){{part->size, part->offset, flags, 0}};
}

struct machine_cpuid machine_xsave_leaf(const struct carry_xstate_layout *layout,
                                        uint32_t subleaf) {
    if (subleaf == 0)
        return total_sizes(layout);
    return subleaf == 1 ? option_bits(layout) : part_of(layout, subleaf);
}
