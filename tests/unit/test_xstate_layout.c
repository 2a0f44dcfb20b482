/* SPDX-License-Identifier: MIT */
/* Tests `xstate`: sizes and offsets, compared with the values that machines reported. */
#include <carry/xstate.h>

#include <string.h>

#include "harness/machines.h"
#include "harness/tap.h"

#define ALL UINT64_MAX

static bool mask_has(uint64_t mask, unsigned component) {
    return mask >> component & 1;
}

static void test_totals(const struct machine *machine) {
    const struct carry_xstate_layout *layout = &machine->layout;
    size_t standard = carry_xstate_size(layout, ALL, CARRY_XSTATE_STANDARD);
    size_t compact = carry_xstate_size(layout, layout->user, CARRY_XSTATE_COMPACT);
    tap_ok(TAP_EQ(standard, layout->user ? layout->standard_size : CARRY_XSTATE_LEGACY),
           "%s: the standard form has %zu bytes", machine->name, standard);
    if (machine->compact_size)
        tap_ok(TAP_EQ(compact, machine->compact_size), "%s: the compact form has %zu bytes",
               machine->name, compact);
}

/*
 * Checks that components follow the header in the order of their bits, aligned where required.
 */
static bool is_packed(const struct carry_xstate_layout *layout, uint64_t mask) {
    size_t end = CARRY_XSTATE_EXTENDED;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        size_t offset = carry_xstate_offset(layout, mask, CARRY_XSTATE_COMPACT, i);
        if (!mask_has(mask, i) && offset)
            return false;
        if (!mask_has(mask, i))
            continue;
        while (layout->parts[i].aligned && end % 64)
            end++;
        if (offset != end)
            return false;
        end += layout->parts[i].size;
    }
    return end == carry_xstate_size(layout, mask, CARRY_XSTATE_COMPACT);
}

/*
 * Tests all components, all components but one, and each component alone, including supervisor
 * components, which kernels save.
 */
static void test_compact_offsets(const struct machine *machine) {
    const struct carry_xstate_layout *layout = &machine->layout;
    uint64_t all = layout->user | layout->supervisor;
    bool ok = is_packed(layout, all);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        ok &= is_packed(layout, all & ~(UINT64_C(1) << i)) &&
              is_packed(layout, all & UINT64_C(1) << i);
    tap_ok(ok, "%s: the compact form has gaps only for alignment", machine->name);
}

static void test_standard_offsets(const struct machine *machine) {
    const struct carry_xstate_layout *layout = &machine->layout;
    bool ok = true;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS + 44; i++) {
        bool is_there = i < CARRY_XSTATE_COMPONENTS && mask_has(layout->user, i);
        size_t offset = carry_xstate_offset(layout, ALL, CARRY_XSTATE_STANDARD, i);
        size_t end = carry_xstate_size(layout, UINT64_C(1) << i, CARRY_XSTATE_STANDARD);
        ok &= offset == (is_there ? layout->parts[i].offset : 0);
        ok &= !is_there || end == offset + layout->parts[i].size;
    }
    ok &= carry_xstate_offset(layout, 0, CARRY_XSTATE_STANDARD, CARRY_XSTATE_SSE) == 160;
    tap_ok(ok, "%s: the standard form has the offsets of CPUID", machine->name);
}

static void test_names(void) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        ok &= *carry_xstate_name(i) && *carry_xstate_description(i);
    tap_ok(ok, "every component has a name and a description");
    tap_ok(TAP_STREQ(carry_xstate_name(CARRY_XSTATE_COMPONENTS), "unknown") &&
               TAP_STREQ(carry_xstate_description(CARRY_XSTATE_COMPONENTS), "unknown"),
           "other numbers have no name and description");
}

int main(void) {
    test_names();
    const struct machine *machine;
    for (size_t i = 0; (machine = machine_at(i)); i++) {
        test_totals(machine);
        if (machine->compact_size)
            test_compact_offsets(machine);
        test_standard_offsets(machine);
    }
    return tap_done();
}
