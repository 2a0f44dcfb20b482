/* SPDX-License-Identifier: MIT */
#include "harness/replay.h"

#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include <carry/cpu.h>
#include <carry/xstate.h>

#include "harness/decode_x86_64.h"
#include "harness/fault.h"
#include "harness/machines.h"
#include "harness/rng.h"

#define BIT(name) CARRY_XSTATE_BIT(name)
#define UPPERS    (BIT(AVX) | BIT(ZMM_HI256))

#define FLAG_TRAP UINT64_C(0x100)

/* Offsets in areas (SDM vol. 1, 13.4), and in the signal frames of Linux. */
#define MXCSR     24
#define ST        32
#define XMM       160
#define XMM_END   416
#define SOFTWARE  464
#define XSTATE_BV 512
#define XCOMP_BV  520
#define COMPACT   (UINT64_C(1) << 63)
#define MAGIC     0x46505853
#define PART_MAX  8192

#define INITIAL_FCW   0x37f
#define INITIAL_MXCSR 0x1f80

/* --- The machines --- */

/* How a CPU tracks use, and the components that other software puts in use under KVM. */
static const struct maker {
    const char *machine; /* of harness/machines.c */
    const char *vendor;  /* EBX, EDX, ECX of CPUID leaf 0 */
    uint32_t signature;  /* EAX of leaf 1 */
    bool counts_writes;  /* false: it compares values */
    uint64_t by_others;
} makers[] = {
    {"Skylake-X", "GenuineIntel", 0x50657, true, BIT(PKRU)}, /* the values of Cascade Lake */
    {"Zen 5", "AuthenticAMD", 0xb40f40, false, BIT(SSE)},
};

static struct carry_xstate_layout real; /* the layout of this CPU */
static const struct maker *maker;       /* NULL: nothing is replayed */
static const struct machine *machine;
static volatile sig_atomic_t is_stepping;
static bool is_paused;
static unsigned long steps;
static struct replay_counts counts;

/* State of the model, in addition to the registers of this CPU. */
static uint64_t in_use;
static uint8_t parts[CARRY_XSTATE_COMPONENTS][PART_MAX];
static uint64_t others = 1; /* random, but independent of the numbers that tests repeat */

/* --- The registers, in the frame of a signal --- */

static uint64_t get_bytes(const uint8_t *at, size_t size) {
    uint64_t value = 0;
    memcpy(&value, at, size);
    return value;
}

static void put_bytes(uint8_t *at, uint64_t value, size_t size) {
    memcpy(at, &value, size);
}

static uint8_t *part_of(uint8_t *frame, unsigned component) {
    return real.user >> component & 1 ? frame + real.parts[component].offset : parts[component];
}

/* Returns the signal frame. Gives initial values to components that are not in use, because the
   frame holds no bytes of them. */
static uint8_t *frame_of(const ucontext_t *context) {
    uint8_t *frame = (uint8_t *)context->uc_mcontext.fpregs;
    const uint64_t there = get_bytes(frame + XSTATE_BV, 8);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (real.user >> i & 1 && !(there >> i & 1))
            memset(frame + real.parts[i].offset, 0, real.parts[i].size);
    put_bytes(frame + XSTATE_BV, there | (real.user & machine->layout.user), 8);
    return frame;
}

static bool is_zero(const uint8_t *bytes, size_t size) {
    return !size || (!*bytes && !memcmp(bytes, bytes + 1, size - 1));
}

static bool is_initial_x87(const uint8_t *frame) {
    return get_bytes(frame, 2) == INITIAL_FCW && is_zero(frame + 2, 3) &&
           is_zero(frame + ST, XMM - ST);
}

/* Returns the components whose registers are not initial: they are in use on any CPU. */
static uint64_t differing_components(uint8_t *frame) {
    uint64_t found = 0;
    if (!is_initial_x87(frame))
        found |= BIT(X87);
    if (!is_zero(frame + XMM, XMM_END - XMM))
        found |= BIT(SSE);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (machine->layout.user >> i & 1 &&
            !is_zero(part_of(frame, i), machine->layout.parts[i].size))
            found |= UINT64_C(1) << i;
    return found;
}

/* --- Use --- */

#define NOTHING     0
#define VECTOR      (UINT64_C(1) << 62)
#define ANY         0
#define SHORT       16
#define MEMORY      32
#define GROUP(text) (MEMORY | 16 | (text))

#define XINUSE(...) {__VA_ARGS__},
static const struct rule {
    enum encoding encoding;
    unsigned map;
    uint8_t first, last;
    unsigned prefixes;
    unsigned operand;
    uint64_t puts, frees;
} rules[] = {
#include "harness/xinuse.def"
};
#undef XINUSE

static bool rule_fits(const struct rule *rule, const struct instruction *next) {
    const unsigned prefixes = rule->prefixes & ~(unsigned)SHORT;
    return rule->encoding == next->encoding && rule->map == next->map &&
           next->opcode >= rule->first && next->opcode <= rule->last &&
           (!prefixes || prefixes & next->prefix) && (!(rule->prefixes & SHORT) || !next->length) &&
           (!(rule->operand & MEMORY) || next->is_memory) &&
           (!(rule->operand & 16) || (rule->operand & 7) == next->digit);
}

/* Returns the components that contain the instruction's vector register. */
static uint64_t vector_components(const struct instruction *next) {
    if (next->reg >= 16)
        return BIT(HI16_ZMM);
    return BIT(SSE) | (next->length ? BIT(AVX) : 0) | (next->length > 1 ? BIT(ZMM_HI256) : 0);
}

static void count_use(const struct instruction *next) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rule_fits(&rules[i], next))
            continue;
        in_use |= rules[i].puts == VECTOR ? vector_components(next) : rules[i].puts;
        in_use &= ~rules[i].frees;
        if (rules[i].frees & BIT(ZMM_HI256)) /* a component that this CPU may lack */
            memset(parts[CARRY_XSTATE_ZMM_HI256], 0, PART_MAX);
        return;
    }
}

/*
 * Returns the components in use as the CPU reports them. Some calls add the components that other
 * software would have put in use.
 */
static uint64_t told_in_use(uint8_t *frame) {
    others = others * UINT64_C(6364136223846793005) + 1442695040888963407;
    in_use = (maker->counts_writes ? in_use : 0) | differing_components(frame);
    if (others >> 61 == 0)
        in_use |= maker->by_others;
    return in_use &= machine->layout.user;
}

/* --- Instructions --- */

static uint64_t operand_mask(const greg_t *registers) {
    return ((uint32_t)registers[REG_RAX] | (uint64_t)(uint32_t)registers[REG_RDX] << 32) &
           machine->layout.user;
}

static void answer_with(greg_t *registers, uint64_t value) {
    registers[REG_RAX] = (greg_t)(uint32_t)value;
    registers[REG_RDX] = (greg_t)(value >> 32);
}

static void save_part(uint8_t *area, uint8_t *frame, uint64_t mask, unsigned component,
                      enum carry_xstate_form form) {
    if (component == CARRY_XSTATE_X87) {
        memcpy(area, frame, MXCSR);
        memcpy(area + ST, frame + ST, XMM - ST);
    } else if (component == CARRY_XSTATE_SSE) {
        memcpy(area + XMM, frame + XMM, XMM_END - XMM);
    } else {
        memcpy(area + carry_xstate_offset(&machine->layout, mask, form, component),
               part_of(frame, component), machine->layout.parts[component].size);
    }
}

static void save_parts(uint8_t *area, uint8_t *frame, uint64_t mask, uint64_t saved,
                       enum carry_xstate_form form) {
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (saved >> i & 1)
            save_part(area, frame, mask, i, form);
}

static void put_mxcsr(uint8_t *area, const uint8_t *frame) {
    memcpy(area + MXCSR, frame + MXCSR, 8); /* MXCSR and MXCSR_MASK */
}

static void execute_xsave(uint8_t *area, uint8_t *frame, uint64_t mask) {
    const uint64_t before = get_bytes(area + XSTATE_BV, 8);
    save_parts(area, frame, machine->layout.user, mask, CARRY_XSTATE_STANDARD);
    if (mask & (BIT(SSE) | BIT(AVX)))
        put_mxcsr(area, frame);
    put_bytes(area + XSTATE_BV, (before & ~mask) | (mask & told_in_use(frame)), 8);
}

/* Executes XSAVEC. An MXCSR that is not initial counts as SSE in use (13.10). */
static void execute_xsavec(uint8_t *area, uint8_t *frame, uint64_t mask) {
    uint64_t saved = told_in_use(frame);
    if (get_bytes(frame + MXCSR, 4) != INITIAL_MXCSR)
        saved |= BIT(SSE);
    saved &= mask;
    save_parts(area, frame, mask, saved, CARRY_XSTATE_COMPACT);
    if (saved & BIT(SSE))
        put_mxcsr(area, frame);
    put_bytes(area + XSTATE_BV, saved, 8);
    put_bytes(area + XCOMP_BV, COMPACT | mask, 8);
}

static void load_part(const uint8_t *area, uint8_t *frame, uint64_t mask, unsigned component,
                      enum carry_xstate_form form) {
    if (component == CARRY_XSTATE_X87) {
        memcpy(frame, area, MXCSR);
        memcpy(frame + ST, area + ST, XMM - ST);
    } else if (component == CARRY_XSTATE_SSE) {
        memcpy(frame + XMM, area + XMM, XMM_END - XMM);
    } else {
        memcpy(part_of(frame, component),
               area + carry_xstate_offset(&machine->layout, mask, form, component),
               machine->layout.parts[component].size);
    }
}

static void clear_part(uint8_t *frame, unsigned component) {
    if (component == CARRY_XSTATE_X87) {
        memset(frame, 0, MXCSR);
        put_bytes(frame, INITIAL_FCW, 2);
        memset(frame + ST, 0, XMM - ST);
    } else if (component == CARRY_XSTATE_SSE) {
        memset(frame + XMM, 0, XMM_END - XMM);
    } else {
        memset(part_of(frame, component), 0, machine->layout.parts[component].size);
    }
}

/* Loads MXCSR. In the standard form, a mask with SSE or AVX loads it, whatever XSTATE_BV is
   (13.8). */
static void load_mxcsr(const uint8_t *area, uint8_t *frame, uint64_t mask, bool is_compact) {
    const bool there = !is_compact || get_bytes(area + XSTATE_BV, 8) & BIT(SSE);
    if (mask & (is_compact ? BIT(SSE) : BIT(SSE) | BIT(AVX)))
        put_bytes(frame + MXCSR, there ? get_bytes(area + MXCSR, 4) : INITIAL_MXCSR, 4);
}

/* Reads the last byte of each component that is in the area and in the mask: a CPU may read these
   components (13.13). */
static void touch_area(const uint8_t *area, uint64_t held, uint64_t mask,
                       enum carry_xstate_form form) {
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (held & mask & UINT64_C(1) << i)
            (void)*(const volatile uint8_t *)(area +
                                              carry_xstate_offset(&machine->layout, held, form, i) +
                                              machine->layout.parts[i].size - 1);
}

static void execute_xrstor(const uint8_t *area, uint8_t *frame, uint64_t mask) {
    const uint64_t xcomp_bv = get_bytes(area + XCOMP_BV, 8),
                   loaded = mask & get_bytes(area + XSTATE_BV, 8);
    const bool is_compact = xcomp_bv & COMPACT;
    const uint64_t held = is_compact ? xcomp_bv & ~COMPACT : machine->layout.user;
    touch_area(area, held, mask, is_compact ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (loaded >> i & 1)
            load_part(area, frame, held, i,
                      is_compact ? CARRY_XSTATE_COMPACT : CARRY_XSTATE_STANDARD);
        else if (mask >> i & 1)
            clear_part(frame, i);
    }
    load_mxcsr(area, frame, mask, is_compact);
    in_use = (in_use & ~mask) | loaded;
    if (mask & (BIT(SSE) | BIT(AVX)) && get_bytes(frame + MXCSR, 4) != INITIAL_MXCSR)
        in_use |= BIT(SSE);
}

static void execute_cpuid(greg_t *registers) {
    static const int order[4] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX};
    const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
    struct machine_cpuid found;
    __asm__ volatile("cpuid"
                     : "=a"(found.reg[0]), "=b"(found.reg[1]), "=c"(found.reg[2]),
                       "=d"(found.reg[3])
                     : "0"(leaf), "2"(subleaf));
    if (leaf == 0) {
        memcpy(&found.reg[1], maker->vendor, 4);
        memcpy(&found.reg[3], maker->vendor + 4, 4);
        memcpy(&found.reg[2], maker->vendor + 8, 4);
    } else if (leaf == 1) {
        found.reg[0] = maker->signature;
    } else if (leaf == 0xd) {
        found = machine_xsave_leaf(&machine->layout, subleaf);
    }
    for (size_t i = 0; i < 4; i++)
        registers[order[i]] = found.reg[i];
}

/* Pushes the flags without the trap flag, which the model uses. */
static void push_flags(greg_t *registers) {
    registers[REG_RSP] -= 8;
    *(uint64_t *)registers[REG_RSP] = (uint64_t)registers[REG_EFL] & ~FLAG_TRAP;
}

static void pop_flags(greg_t *registers) {
    registers[REG_EFL] = (greg_t)(*(uint64_t *)registers[REG_RSP] | FLAG_TRAP);
    registers[REG_RSP] += 8;
}

static bool execute_group(const struct instruction *next, greg_t *registers, uint8_t *frame) {
    uint8_t *area = (uint8_t *)next->address;
    const unsigned operation = (unsigned)next->opcode << 4 | next->digit;
    if (!next->is_memory)
        return false;
    if (operation == 0xae4)
        execute_xsave(area, frame, operand_mask(registers));
    else if (operation == 0xae5)
        execute_xrstor(area, frame, operand_mask(registers));
    else if (operation == 0xc74)
        execute_xsavec(area, frame, operand_mask(registers));
    else
        return false;
    counts.areas++;
    return true;
}

/* Executes KXNORW and KXORW of a register with itself, for CPUs without mask registers. */
static bool execute_mask(const struct instruction *next, uint8_t *frame) {
    if (next->encoding != VEX || next->map != 1 || (next->opcode | 1) != 0x47 ||
        real.user & BIT(OPMASK))
        return false;
    put_bytes(part_of(frame, CARRY_XSTATE_OPMASK) + (size_t)8 * next->digit,
              next->opcode == 0x46 ? 0xffff : 0, 8);
    count_use(next);
    return true;
}

static bool execute_legacy(const struct instruction *next, greg_t *registers, uint8_t *frame) {
    if (next->encoding != LEGACY)
        return false;
    if (next->map == 0 && next->opcode == 0x9c) {
        push_flags(registers);
    } else if (next->map == 0 && next->opcode == 0x9d) {
        pop_flags(registers);
    } else if (next->map == 1 && next->opcode == 0xa2) {
        execute_cpuid(registers);
    } else if (next->map == 1 && next->opcode == 0x01 && next->end[-1] == 0xd0) { /* XGETBV */
        answer_with(registers, registers[REG_RCX] & 1 ? told_in_use(frame) : machine->layout.user);
    } else {
        return next->map == 1 && execute_group(next, registers, frame);
    }
    return true;
}

/* Executes an instruction in the model. Returns false if the CPU must execute it. */
static bool execute_instruction(const struct instruction *next, greg_t *registers, uint8_t *frame) {
    if (!execute_legacy(next, registers, frame) && !execute_mask(next, frame))
        return false;
    registers[REG_RIP] = (greg_t)(uintptr_t)next->end;
    return true;
}

static bool is_fldcw(const struct instruction *next) {
    return next->encoding == LEGACY && next->map == 0 && next->opcode == 0xd9 && next->is_memory &&
           next->digit == 5;
}

/* Executes instructions in the model until the CPU must execute one. Emulators call handlers with a
   stack that is less aligned than the ABI demands. */
__attribute__((force_align_arg_pointer)) static void on_trap(int number, siginfo_t *info,
                                                             void *argument) {
    ucontext_t *context = argument;
    greg_t *registers = context->uc_mcontext.gregs;
    (void)number, (void)info;
    steps++;
    if (!is_stepping) {
        registers[REG_EFL] &= ~(greg_t)FLAG_TRAP;
        return;
    }
    uint8_t *frame = frame_of(context);
    struct instruction next = decode(registers);
    in_use |= differing_components(frame);
    while (execute_instruction(&next, registers, frame))
        next = decode(registers);
    count_use(&next);
    counts.fldcw += is_fldcw(&next);
}

/* --- Interface --- */

/* Sets the trap flag. The first trap arrives after one more instruction. */
static void set_trap_flag(void) {
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | FLAG_TRAP);
    __asm__ volatile("nop" : : : "memory");
}

static bool steps_here(void) {
    is_stepping = false;
    set_trap_flag();
    return steps;
}

/* Returns whether XSAVEC and XGETBV(1) exist: tests execute them outside the replay too. */
static bool has_compact_areas(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 6) == 6;
}

static const char *replay_obstacle(void) {
    static uint8_t stack[1 << 16] __attribute__((aligned(64)));
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (fault_under_valgrind() || fault_under_asan())
        return "the checker's own code would be replayed too";
    if (!__builtin_cpu_supports("avx"))
        return "this CPU has no AVX";
    if (!has_compact_areas())
        return "this CPU has no XSAVEC or no XGETBV(1)";
    if (sigaltstack(&own, NULL) || sigaction(SIGTRAP, &action, NULL))
        return "no handler";
    return steps_here() ? NULL : "no trap flag";
}

/*
 * Reads the layout of this CPU without the library, because the library must use the layout of
 * another CPU. Frames contain no tiles unless the process requested them, and no machine here has
 * tiles.
 */
static void find_real(void) {
    uint32_t a, b, c, d;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    real.user = (a | (uint64_t)d << 32) & ~BIT(TILEDATA);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(0xd), "2"(i));
        real.parts[i].size = a;
        real.parts[i].offset = b;
    }
}

const char *replay_choose(const char *name) {
    struct carry_xstate_layout layout;
    const char *reason = name ? replay_obstacle() : NULL;
    if (!name || reason)
        return reason;
    find_real();
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (!strcmp(makers[i].machine, name))
            maker = &makers[i];
    for (size_t i = 0; maker && (machine = machine_at(i)) && strcmp(machine->name, name); i++)
        ;
    if (!maker || !machine)
        return "no such machine";
    replay_start();
    carry_cpu_has("xsave"); /* this detects all features */
    carry_xstate_layout(&layout);
    replay_stop();
    return layout.user == machine->layout.user ? NULL : "the library knows this CPU already";
}

bool replay_is_on(void) {
    return maker;
}

void replay_start(void) {
    if (!maker)
        return;
    counts = (struct replay_counts){0};
    is_stepping = true;
    set_trap_flag();
}

void replay_stop(void) {
    is_stepping = false;
}

void replay_pause(void) {
    is_paused = is_stepping;
    is_stepping = false;
}

void replay_resume(void) {
    if (!is_paused)
        return;
    is_paused = false;
    is_stepping = true;
    set_trap_flag();
}

struct replay_counts replay_counts(void) {
    return counts;
}

bool replay_leaves_out(size_t share) {
    return maker && rng_below(share);
}
