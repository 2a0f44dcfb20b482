/* SPDX-License-Identifier: MIT */
/* The two CPUs: their set-up, their local APICs (Intel SDM vol. 3, chapter 11), calls between them.
 */
#include "base/cpuid.h"
#include "io.h"
#include "kernel.h"

enum apic_register {
    APIC_ID = 0x20,
    APIC_EOI = 0xb0,
    APIC_SPURIOUS = 0xf0,
    APIC_COMMAND = 0x300,
    APIC_TARGET = 0x310,
    APIC_TIMER = 0x320,
    APIC_INITIAL = 0x380,
    APIC_DIVIDE = 0x3e0,
};

#define COMMAND_NMI     0x00000400
#define COMMAND_INIT    0x00000500
#define COMMAND_START   0x00000600
#define COMMAND_ASSERT  0x00004000
#define COMMAND_PENDING 0x00001000
#define COMMAND_SELF    0x00040000

struct call {
    void (*function)(void *);
    void *argument;
};

static struct cpu cpus[CPUS];
static unsigned running = 1;
static struct call interrupting[CPUS]; /* of the other CPU; a function of NULL is done */
static struct call main_program;       /* of the second CPU */

extern const uint8_t boot_second[], boot_second_end[];

static volatile uint32_t *apic(enum apic_register index) {
    return (volatile uint32_t *)(uintptr_t)(0xfee00000 + index);
}

void cpu_acknowledge(void) {
    *apic(APIC_EOI) = 0;
}

static void command(unsigned target, uint32_t value) {
    uint64_t flags = cpu_interrupts_off();
    *apic(APIC_TARGET) = target << 24;
    *apic(APIC_COMMAND) = value;
    while (*apic(APIC_COMMAND) & COMMAND_PENDING)
        cpu_pause();
    cpu_interrupts_restore(flags);
}

void cpu_send_nmi_to_self(void) {
    command(cpu_here()->apic, COMMAND_NMI | COMMAND_ASSERT);
}

void cpu_timer(uint32_t ticks) {
    *apic(APIC_DIVIDE) = 0xb; /* by 1 */
    *apic(APIC_TIMER) = TRAP_TIMER;
    *apic(APIC_INITIAL) = ticks;
}

/* SSE, all of XSAVE, SMAP, the local APIC. */
static void enable(void) {
    uint64_t cr4 = io_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT;
    bool has_xsave = carry_cpuid(1, 0).reg[2] >> 26 & 1;
    bool has_smap = carry_cpuid_has_leaf(7) && (carry_cpuid(7, 0).reg[1] >> 20 & 1);
    io_set_cr4(cr4 | (has_xsave ? CR4_OSXSAVE : 0) | (has_smap ? CR4_SMAP : 0));
    if (has_xsave) {
        struct carry_cpuid found = carry_cpuid(13, 0);
        io_set_xcr0(found.reg[0] | (uint64_t)found.reg[3] << 32);
    }
    io_out(0x21, 0xff); /* the old interrupt controllers: nothing */
    io_out(0xa1, 0xff);
    *apic(APIC_SPURIOUS) = 0x100 | TRAP_SPURIOUS;
}

struct cpu *cpu_of(unsigned index) {
    return &cpus[index];
}

void cpu_prepare(unsigned index) {
    struct cpu *cpu = &cpus[index];
    cpu->self = cpu;
    cpu->index = index;
    trap_load(index);
    io_set_msr(MSR_GS_BASE, (uint64_t)cpu);
    enable();
    cpu->apic = *apic(APIC_ID) >> 24;
}

unsigned cpu_count(void) {
    return __atomic_load_n(&running, __ATOMIC_ACQUIRE);
}

/* --- Calls --- */

static void order(struct call *call, void (*function)(void *), void *argument) {
    call->argument = argument;
    __atomic_store_n(&call->function, function, __ATOMIC_RELEASE);
}

static void carry_out(struct call *call) {
    if (!__atomic_load_n(&call->function, __ATOMIC_ACQUIRE))
        return;
    call->function(call->argument);
    __atomic_store_n(&call->function, NULL, __ATOMIC_RELEASE);
}

/* The interrupt that asks for it may come meanwhile: not in between. */
void cpu_poll(void) {
    uint64_t flags = cpu_interrupts_off();
    carry_out(&interrupting[cpu_here()->index]);
    cpu_interrupts_restore(flags);
}

/* The other CPU may wait for this one meanwhile, whose interrupts may be off. */
static void wait_until_done(struct call *call) {
    while (__atomic_load_n(&call->function, __ATOMIC_ACQUIRE)) {
        cpu_poll();
        cpu_pause();
    }
}

/* What was polled for meanwhile is done. */
static bool handle_call(struct trap_frame *frame) {
    (void)frame;
    cpu_poll();
    return true;
}

static void interrupt_other(void (*function)(void *), void *argument) {
    unsigned index = !cpu_here()->index;
    order(&interrupting[index], function, argument);
    command(cpus[index].apic, COMMAND_ASSERT | TRAP_CALL);
}

void cpu_call_other(void (*function)(void *), void *argument) {
    if (cpu_count() < CPUS)
        return;
    interrupt_other(function, argument);
    wait_until_done(&interrupting[!cpu_here()->index]);
}

/* --- Standing still --- */

static enum { RUNS, STANDS } other;

static void stand_still(void *unused) {
    (void)unused;
    __atomic_store_n(&other, STANDS, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&other, __ATOMIC_SEQ_CST) == STANDS)
        cpu_pause();
    carry_cpuid(0, 0); /* fetches again what was written meanwhile (SDM vol. 3, 8.1.3) */
}

void cpu_hold_other(void) {
    if (cpu_count() < CPUS)
        return;
    interrupt_other(stand_still, NULL);
    while (__atomic_load_n(&other, __ATOMIC_SEQ_CST) != STANDS) {
        cpu_poll();
        cpu_pause();
    }
}

void cpu_release_other(void) {
    if (cpu_count() < CPUS)
        return;
    __atomic_store_n(&other, RUNS, __ATOMIC_SEQ_CST);
    wait_until_done(&interrupting[!cpu_here()->index]);
}

void cpu_run_other(void (*function)(void *), void *argument) {
    order(&main_program, function, argument);
    command(cpus[!cpu_here()->index].apic, COMMAND_ASSERT | TRAP_CALL); /* wakes it up */
}

void cpu_join_other(void) {
    wait_until_done(&main_program);
}

void kernel_second_main(void);
void kernel_second_main(void) {
    cpu_prepare(1);
    __atomic_store_n(&running, CPUS, __ATOMIC_RELEASE);
    for (;;) {
        carry_out(&main_program);
        __asm__ volatile("cli" : : : "memory");
        if (!__atomic_load_n(&main_program.function, __ATOMIC_ACQUIRE))
            __asm__ volatile("sti; hlt" : : : "memory"); /* nothing comes between the two */
        __asm__ volatile("sti" : : : "memory");
    }
}

/* A write to port 0x80 takes about a microsecond. */
static void wait_microseconds(unsigned count) {
    while (count--)
        io_out(0x80, 0);
}

void cpu_start_second(void) {
    uint8_t *start = (uint8_t *)SECOND_START;
    for (const uint8_t *from = boot_second; from < boot_second_end; from++)
        *start++ = *from;
    trap_set(TRAP_CALL, handle_call);
    command(1, COMMAND_INIT | COMMAND_ASSERT);
    wait_microseconds(10000);
    command(1, COMMAND_START | COMMAND_ASSERT | SECOND_START >> 12);
    for (unsigned i = 0; i < 1000000 && cpu_count() < CPUS; i++)
        wait_microseconds(1);
}
