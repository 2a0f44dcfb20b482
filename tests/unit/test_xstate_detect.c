/* SPDX-License-Identifier: MIT */
/*
 * Tests `xstate`: the layout derived from CPUID, on this CPU and on other CPUs, whose CPUID is
 * simulated.
 */
#include <string.h>

#include <carry/xstate.h>

#include "harness/machines.h"
#include "harness/tap.h"

/* Replaces base/cpuid.h. */
#define CARRY_BASE_CPUID_H

struct carry_cpuid {
    uint32_t reg[4];
};

/* The simulated CPU. */
static struct {
    struct carry_xstate_layout layout;
    uint64_t xcr0;
    bool no_leaf;
    bool real;
} cpu;

static struct carry_cpuid real_cpuid(uint32_t leaf, uint32_t subleaf) {
    struct carry_cpuid r;
    __asm__ volatile("cpuid"
                     : "=a"(r.reg[0]), "=b"(r.reg[1]), "=c"(r.reg[2]), "=d"(r.reg[3])
                     : "0"(leaf), "2"(subleaf));
    return r;
}

static uint64_t real_xcr0(void) {
    uint32_t low, high;
    if (!(real_cpuid(1, 0).reg[2] >> 27 & 1))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | (uint64_t)high << 32;
}

static struct carry_cpuid carry_cpuid(uint32_t leaf, uint32_t subleaf) {
    if (cpu.real)
        return real_cpuid(leaf, subleaf);
    if (cpu.no_leaf)
        return (struct carry_cpuid){{0x16, 0x16, 0x16, 0x16}}; /* the answer of the last leaf */
    struct machine_cpuid given = machine_xsave_leaf(&cpu.layout, subleaf);
    return (struct carry_cpuid){{given.reg[0], given.reg[1], given.reg[2], given.reg[3]}};
}

static bool carry_cpuid_has_leaf(uint32_t leaf) {
    return cpu.real ? real_cpuid(0, 0).reg[0] >= leaf : !cpu.no_leaf;
}

static uint64_t carry_xcr0(void) {
    return cpu.real ? real_xcr0() : cpu.xcr0;
}

#define carry_xstate_detect detect_given
#include "xstate/x86_64/detect.c"

static struct carry_xstate_layout detect_layout(void) {
    struct carry_xstate_layout layout;
    memset(&layout, 0, sizeof layout);
    detect_given(&layout);
    return layout;
}

static bool same_part(const struct carry_xstate_part *a, const struct carry_xstate_part *b) {
    return a->size == b->size && a->offset == b->offset && a->supervisor == b->supervisor &&
           a->aligned == b->aligned && a->lazy == b->lazy;
}

/* Compares everything except mxcsr_mask, which CPUID does not report. */
static bool same_layout(const struct carry_xstate_layout *a, const struct carry_xstate_layout *b) {
    bool same = a->user == b->user && a->supervisor == b->supervisor &&
                a->standard_size == b->standard_size && a->xsaveopt == b->xsaveopt &&
                a->xsavec == b->xsavec && a->xgetbv1 == b->xgetbv1 && a->xsaves == b->xsaves &&
                a->xfd == b->xfd;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        same &= same_part(&a->parts[i], &b->parts[i]);
    return same;
}

static void use_machine(const struct machine *machine) {
    memset(&cpu, 0, sizeof cpu);
    cpu.layout = machine->layout;
    cpu.xcr0 = machine->layout.user;
}

static void test_machines(void) {
    const struct machine *machine;
    for (size_t i = 0; (machine = machine_at(i)); i++) {
        use_machine(machine);
        struct carry_xstate_layout layout = detect_layout();
        tap_ok(same_layout(&layout, &machine->layout), "the layout of %s is derived from its CPUID",
               machine->name);
    }
}

/* Tests that components without a name are not enabled: areas have no room for them, so XSAVE would
 * write after an area. */
static void test_nameless(const struct machine *machine) {
    use_machine(machine);
    cpu.xcr0 |= UINT64_C(1) << 62 | UINT64_C(1) << CARRY_XSTATE_COMPONENTS;
    cpu.layout.supervisor |= UINT64_C(1) << 40;
    struct carry_xstate_layout layout = detect_layout();
    tap_ok(TAP_EQ(layout.user, machine->layout.user), "components without a name are not enabled");
    tap_ok(TAP_EQ(layout.supervisor, machine->layout.supervisor),
           "unnamed components of supervisor state are not enabled");
}

static void test_no_size(const struct machine *machine) {
    use_machine(machine);
    cpu.layout.parts[CARRY_XSTATE_AVX].size = 0;
    tap_ok(TAP_EQ(detect_layout().user, machine->layout.user & ~CARRY_XSTATE_BIT(AVX)),
           "components without a size are not enabled");
}

static void test_no_leaf(const struct machine *machine) {
    use_machine(machine);
    cpu.no_leaf = true;
    struct carry_xstate_layout layout = detect_layout();
    tap_ok(TAP_EQ(layout.user, 3) && TAP_EQ(layout.standard_size, CARRY_XSTATE_EXTENDED) &&
               TAP_TRUE(!layout.xsavec),
           "where leaf 0DH is hidden, x87 and SSE are enabled");
    tap_ok(TAP_EQ(layout.supervisor, 0) && TAP_TRUE(!layout.parts[CARRY_XSTATE_AVX].size),
           "where leaf 0DH is hidden, nothing else is enabled");
}

/*
 * Returns whether `total` is a possible value of CPUID.0DH.1:EBX. With XSAVES, that is the size for
 * XCR0 | IA32_XSS, but only kernels can read IA32_XSS, so any supervisor components may be
 * included.
 */
static bool is_total(const struct carry_xstate_layout *layout, size_t total) {
    uint64_t supervisor = layout->xsaves ? layout->supervisor : 0, some = supervisor;
    for (;; some = (some - 1) & supervisor) {
        if (carry_xstate_size(layout, layout->user | some, CARRY_XSTATE_COMPACT) == total)
            return true;
        if (!some)
            return false;
    }
}

static void test_this_cpu(void) {
    memset(&cpu, 0, sizeof cpu);
    cpu.real = true;
    struct carry_xstate_layout layout = detect_layout(), told;
    carry_xstate_layout(&told);
    tap_ok(TAP_TRUE(same_layout(&layout, &told)) && TAP_EQ(layout.mxcsr_mask, told.mxcsr_mask),
           "carry_xstate_layout() returns the same");
    if (!layout.user) {
        tap_skip("totals", "this CPU has no XSAVE");
        return;
    }
    tap_ok(TAP_EQ(layout.user, real_xcr0()), "every component of XCR0 is known");
    tap_ok(TAP_EQ(carry_xstate_size(&layout, ~UINT64_C(0), CARRY_XSTATE_STANDARD),
                  layout.standard_size),
           "the standard form has %u bytes, as CPUID reports", layout.standard_size);
    if (layout.xsavec)
        tap_ok(is_total(&layout, real_cpuid(0xd, 1).reg[1]),
               "the compact form has %u bytes with supervisor state, as CPUID reports",
               real_cpuid(0xd, 1).reg[1]);
    else
        tap_skip("the compact form", "this CPU has none");
}

int main(void) {
    const struct machine *machine = machine_at(3);
    test_machines();
    test_nameless(machine);
    test_no_size(machine);
    test_no_leaf(machine);
    test_this_cpu();
    return tap_done();
}
