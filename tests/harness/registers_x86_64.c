/* SPDX-License-Identifier: MIT */
#include "harness/registers.h"

#include <cpuid.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/replay.h"
#include "harness/rng.h"

_Static_assert(offsetof(struct registers, flags) == REGISTERS_FLAGS, "flags");
_Static_assert(offsetof(struct registers, words) == REGISTERS_WORDS, "words");
_Static_assert(offsetof(struct registers, area) == REGISTERS_AREA, "area");
_Static_assert(sizeof(struct registers) == REGISTERS_BYTES, "size");

struct registers registers_in, registers_out, registers_seen, registers_given, registers_garbage;

/* Read by assembly. */
uint64_t registers_mask;
bool registers_by_xsave;
const void *registers_function;

static bool tell_use;

static struct {
    uint32_t size, offset;
    bool aligned;
} parts[CARRY_XSTATE_COMPONENTS];

static uint8_t stack[65536] __attribute__((aligned(64)));
#define STACK_TOP (stack + sizeof stack - 4096)

/* Offsets of FXSAVE (Intel SDM vol. 1, 10.5.1), and of the header after it. */
#define FCW        0
#define FSW        2
#define FTW        4
#define MXCSR      24
#define ST         32
#define XMM        160
#define LEGACY     512
#define XSTATE_BV  512
#define XCOMP_BV   520
#define EXTENDED   576
#define COMPACT    (UINT64_C(1) << 63)
#define FIRST_PART 2

#define INITIAL_FCW   0x37f
#define INITIAL_MXCSR 0x1f80

#define RED_ZONE_BYTE 0x5a

#define FLAGS_ARITHMETIC 0x8d5
#define FLAGS_ALWAYS     0x202

#define XSAVE_BITS (1u << 26 | 1u << 27) /* CPUID.1:ECX: XSAVE, OSXSAVE */

/*
 * MPX is in Intel's CPUs from Skylake to Cascade Lake. The tests never load it, because emulators
 * keep the reserved bytes at its offsets; but it needs room in areas of the compact form.
 */
#define MPX (BIT(BNDREGS) | BIT(BNDCSR))

#define ARCH_REQ_XCOMP_PERM 0x1023

static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | (uint64_t)high << 32;
}

static void find_parts(uint64_t mask) {
    for (unsigned i = FIRST_PART; i < CARRY_XSTATE_COMPONENTS; i++) {
        unsigned size, offset, c, d;
        if (!(mask >> i & 1) || !__get_cpuid_count(0xd, i, &size, &offset, &c, &d))
            continue;
        parts[i].size = size;
        parts[i].offset = offset;
        parts[i].aligned = c & 2;
    }
}

/* Returns whether XSAVE reports no component as in use after XRSTOR has put all of them out of
   use. */
static bool tells_use(void) {
    memset(&registers_in, 0, sizeof registers_in);
    memset(&registers_out, 0, sizeof registers_out);
    registers_dirty(&registers_in, 0, true);
    registers_call(registers_target, 0);
    return (registers_in_use(&registers_seen) & ~BY_OTHERS(0)) == 0;
}

void registers_prepare(void) {
    unsigned a, b, c, d;
    replay_start();
    registers_by_xsave = __get_cpuid(1, &a, &b, &c, &d) && (c & XSAVE_BITS) == XSAVE_BITS;
    registers_mask = registers_by_xsave ? read_xcr0() & ~MPX : BIT(X87) | BIT(SSE);
    if ((registers_mask & BIT(TILEDATA)) &&
        syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, CARRY_XSTATE_TILEDATA) != 0)
        registers_mask &= ~BIT(TILEDATA);
    find_parts(registers_by_xsave ? read_xcr0() : registers_mask);
    replay_stop();
    registers_dirty(&registers_given, 0, true);
    tell_use = registers_by_xsave && tells_use();
}

uint64_t registers_components(void) {
    return registers_mask;
}

bool registers_tell_use(void) {
    return tell_use;
}

/* --- Parts --- */

uint8_t *registers_part(const uint8_t *area, unsigned component, size_t *size) {
    size_t offset = parts[component].offset;
    *size = parts[component].size;
    if (component == CARRY_XSTATE_X87)
        offset = ST, *size = 8 * 16;
    else if (component == CARRY_XSTATE_SSE)
        offset = XMM, *size = 16 * 16;
    else if (component == CARRY_XSTATE_PKRU)
        *size = 4; /* the component has 8 bytes */
    return (uint8_t *)area + offset;
}

static uint64_t read_word(const uint8_t *area, size_t offset, size_t size) {
    uint64_t value = 0;
    memcpy(&value, area + offset, size);
    return value;
}

static void write_word(uint8_t *area, size_t offset, uint64_t value, size_t size) {
    memcpy(area + offset, &value, size);
}

const uint8_t *registers_saved_part(const uint8_t *area, unsigned component) {
    size_t size;
    const uint64_t compact = read_word(area, XCOMP_BV, 8);
    if (!(read_word(area, XSTATE_BV, 8) >> component & 1))
        return NULL;
    if (!(compact & COMPACT) || component < FIRST_PART)
        return registers_part(area, component, &size);
    size_t offset = EXTENDED;
    for (unsigned i = FIRST_PART; i <= component; i++) {
        if (!(compact >> i & 1))
            continue;
        if (parts[i].aligned)
            offset = (offset + 63) / 64 * 64;
        if (i < component)
            offset += parts[i].size;
    }
    return area + offset;
}

uint64_t registers_in_use(const struct registers *registers) {
    return registers_by_xsave ? read_word(registers->area, XSTATE_BV, 8) : registers_mask;
}

/* --- Making registers --- */

/* Fills the x87 state: all exceptions are masked, none is pending, and the rounding is random. */
static void dirty_x87(uint8_t *area, bool empty) {
    for (int i = 0; i < 8; i++)
        rng_fill(area + ST + 16 * i, 10);
    write_word(area, FCW, INITIAL_FCW ^ (rng_next() & 0xc00), 2);
    write_word(area, FSW, empty ? 0 : rng_next() & 0x3800, 2);
    write_word(area, FTW, empty ? 0 : rng_next() | 1, 1);
}

static void dirty_part(uint8_t *area, unsigned component) {
    size_t size;
    uint8_t *part = registers_part(area, component, &size);
    if (component == CARRY_XSTATE_PKRU) {
        write_word(part, 0, 0x55555550,
                   4); /* denies access to everything except this program's own memory */
    } else if (component == CARRY_XSTATE_TILECFG) {
        memset(part, 0, size);
        part[0] = 1; /* palette; then tile 0 has 16 rows of 64 bytes */
        part[16] = 64;
        part[48] = 16;
    } else {
        rng_fill(part, size);
    }
}

void registers_dirty(struct registers *registers, uint64_t in_use, bool empty) {
    uint8_t *area = registers->area;
    in_use &= registers_mask;
    rng_fill(registers->gpr, sizeof registers->gpr);
    rng_fill(registers->words, sizeof registers->words);
    registers->flags = FLAGS_ALWAYS | (rng_next() & FLAGS_ARITHMETIC);
    memset(area, 0, sizeof registers->area);
    write_word(area, FCW, INITIAL_FCW, 2);
    write_word(area, MXCSR, INITIAL_MXCSR, 4);
    write_word(area, XSTATE_BV, registers_by_xsave ? in_use : 0, 8);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (i != CARRY_XSTATE_X87 && (in_use >> i & 1))
            dirty_part(area, i);
    if (in_use & BIT(X87))
        dirty_x87(area, empty);
    if (in_use & BIT(SSE)) /* rounding, and flags of exceptions */
        write_word(area, MXCSR, INITIAL_MXCSR | (rng_next() & 0x603f), 4);
}

void registers_call(const void *function, size_t skip) {
    registers_function = function;
    for (size_t i = 0; i < STACK_WORDS; i++)
        memcpy(STACK_TOP + 8 * i, &registers_in.words[i], 8);
    memset(STACK_TOP - RED_ZONE, RED_ZONE_BYTE, RED_ZONE);
    registers_in.gpr[RSP] = (uint64_t)(uintptr_t)(STACK_TOP - skip);
    memset(registers_out.area, 0, sizeof registers_out.area);
    memset(registers_seen.area, 0, sizeof registers_seen.area);
    replay_start();
    registers_run();
    replay_stop();
    memcpy(registers_out.words, STACK_TOP, sizeof registers_out.words);
}

/* --- Comparing registers --- */

bool registers_red_zone_kept(void) {
    for (size_t i = 1; i <= RED_ZONE; i++)
        if (*(STACK_TOP - i) != RED_ZONE_BYTE)
            return false;
    return true;
}

static bool compare_bytes(const uint8_t *a, const uint8_t *b, size_t size, unsigned component,
                          struct verdict *verdict) {
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            return verdict_fail(verdict, "%s differs at byte %zu: %02x, not %02x; ",
                                carry_xstate_name(component), i, b[i], a[i]);
    return true;
}

static const uint8_t *component_value(const struct registers *registers, unsigned component,
                                      size_t *size) {
    static const uint8_t initial[8192];
    const uint8_t *part = registers_part(registers->area, component, size);
    return registers_in_use(registers) >> component & 1 ? part : initial;
}

static bool compare_part(const struct registers *a, const struct registers *b, unsigned component,
                         struct verdict *verdict) {
    size_t size;
    const uint8_t *left = component_value(a, component, &size),
                  *right = component_value(b, component, &size);
    if (component != CARRY_XSTATE_X87)
        return compare_bytes(left, right, size, component, verdict);
    for (size_t i = 0; i < size; i += 16)
        if (!compare_bytes(left + i, right + i, 10, component, verdict))
            return false;
    return true;
}

static bool compare_control(const struct registers *a, const struct registers *b, const char *name,
                            size_t offset, size_t size, uint64_t initial, unsigned component,
                            struct verdict *verdict) {
    bool always = component == CARRY_XSTATE_SSE; /* XSAVE always writes MXCSR */
    uint64_t left = always || (registers_in_use(a) >> component & 1)
                        ? read_word(a->area, offset, size)
                        : initial;
    uint64_t right = always || (registers_in_use(b) >> component & 1)
                         ? read_word(b->area, offset, size)
                         : initial;
    return left == right || verdict_fail(verdict, "%s is %#llx, not %#llx; ", name,
                                         (unsigned long long)right, (unsigned long long)left);
}

bool registers_compare(const struct registers *a, const struct registers *b, uint64_t mask,
                       struct verdict *verdict) {
    bool ok = true;
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS && ok; i++)
        if (mask & registers_mask & UINT64_C(1) << i)
            ok = compare_part(a, b, i, verdict);
    if (ok && (mask & BIT(X87)))
        ok = compare_control(a, b, "FCW", FCW, 2, INITIAL_FCW, CARRY_XSTATE_X87, verdict) &&
             compare_control(a, b, "FSW", FSW, 2, 0, CARRY_XSTATE_X87, verdict) &&
             compare_control(a, b, "FTW", FTW, 1, 0, CARRY_XSTATE_X87, verdict);
    if (ok && (mask & BIT(SSE)))
        ok = compare_control(a, b, "MXCSR", MXCSR, 4, INITIAL_MXCSR, CARRY_XSTATE_SSE, verdict);
    return ok;
}

bool registers_compare_gpr(const struct registers *a, const struct registers *b, unsigned set,
                           struct verdict *verdict) {
    static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    for (unsigned i = 0; i < 16; i++)
        if ((set >> i & 1) && a->gpr[i] != b->gpr[i])
            return verdict_fail(verdict, "%s is %#llx, not %#llx; ", names[i],
                                (unsigned long long)b->gpr[i], (unsigned long long)a->gpr[i]);
    return true;
}
