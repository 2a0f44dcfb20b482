/* SPDX-License-Identifier: MIT */
/*
 * A test kernel: two CPUs, one address space, no user code. What its files share, also with
 * assembly. It links the core of the library, built for kernels, and supplies the hosts that the
 * core asks for (host.c).
 */
#ifndef BAREMETAL_KERNEL_H
#define BAREMETAL_KERNEL_H

#define CODE64 0x08
#define DATA   0x10
#define CODE32 0x18
#define TSS    0x20

#define CR0_MP 0x00000002
#define CR0_EM 0x00000004
#define CR0_TS 0x00000008
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_PG 0x80000000

#define CR4_PAE        0x00000020
#define CR4_OSFXSR     0x00000200
#define CR4_OSXMMEXCPT 0x00000400
#define CR4_OSXSAVE    0x00040000
#define CR4_SMAP       0x00200000

#define EFLAGS_TF 0x00000100
#define EFLAGS_IF 0x00000200
#define EFLAGS_DF 0x00000400
#define EFLAGS_AC 0x00040000

#define MSR_APIC_BASE 0x1b
#define MSR_EFER      0xc0000080
#define MSR_GS_BASE   0xc0000101
#define EFER_LME      0x100
#define EFER_NXE      0x800

#define BOOT_STACK_BYTES 65536
#define SECOND_START     0x8000
#define TRAP_VECTORS     64

#define CPUS 2

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carry_fault_frame;
struct carry_section_thread;

/* --- Traps: trap.S, trap.c --- */

struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector;
    uint64_t error;
    uint64_t rip, cs, rflags, rsp, ss;
};

enum trap_vector {
    TRAP_DEBUG = 1,
    TRAP_NMI = 2,
    TRAP_BREAKPOINT = 3,
    TRAP_UNDEFINED = 6,
    TRAP_NO_FPU = 7,
    TRAP_PROTECTION = 13,
    TRAP_PAGE = 14,
    TRAP_TIMER = 32,
    TRAP_CALL = 33, /* IPI: runs a function on the other CPU */
    TRAP_SPURIOUS = 63,
};

/* Handles a trap; false if it is not its own, and then the kernel ends. */
typedef bool trap_handler(struct trap_frame *frame);

/* Sets the handler of a vector and returns the one before. Interrupts are acknowledged for it. */
trap_handler *trap_set(enum trap_vector vector, trap_handler *handler);
void trap_load(unsigned cpu); /* IDT, GDT and TSS of a CPU */

/* The table of copies that survive faults: puts a row off by one, prints which were used. */
void trap_break_row(size_t index);
void trap_note_rows(void);

/* Faults that rows of the table have survived. */
extern uint64_t trap_fixed;

/* --- CPUs: cpu.c --- */

/* What a trap has interrupted, and what that had. */
struct interrupted {
    const struct trap_frame *frame;
    const struct interrupted *outer;
};

struct cpu {
    struct cpu *self;
    unsigned index;
    unsigned apic;
    unsigned preemption_off; /* how often */
    bool in_interrupt;
    bool in_nmi;
    struct carry_section_thread *thread; /* that runs; NULL: it has no vector state */
    bool is_lazy;                        /* vector state is loaded where it is first used */
    bool load_due;                       /* it has yet to be */
    struct carry_fault_frame *frames;    /* of the thread, or interrupt, that runs */
    const struct interrupted *interrupted;
};

static inline struct cpu *cpu_here(void) {
    struct cpu *cpu;
    __asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
    return cpu;
}

struct cpu *cpu_of(unsigned index);
void cpu_prepare(unsigned index);
unsigned cpu_count(void);
void cpu_start_second(void);

/* Runs `function` on the other CPU, in its interrupt handler, and waits until it has. */
void cpu_call_other(void (*function)(void *), void *argument);

/* Has the other CPU stand still in its interrupt handler, and lets it go on. */
void cpu_hold_other(void);
void cpu_release_other(void);

/* Does what the other CPU asks for, where interrupts are off and it may be waited for. */
void cpu_poll(void);

/* Runs `function` on the other CPU as its main program, and waits for it to end. */
void cpu_run_other(void (*function)(void *), void *argument);
void cpu_join_other(void);

/* The timer of this CPU, once, in `ticks` of its bus, or never (0). */
void cpu_timer(uint32_t ticks);

void cpu_acknowledge(void);
void cpu_send_nmi_to_self(void);

static inline void cpu_pause(void) {
    __builtin_ia32_pause();
}

static inline uint64_t cpu_flags(void) {
    uint64_t flags;
    __asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
    return flags;
}

static inline uint64_t cpu_interrupts_off(void) {
    uint64_t flags;
    __asm__ volatile("pushfq; popq %0; cli" : "=r"(flags) : : "memory");
    return flags;
}

static inline void cpu_interrupts_restore(uint64_t flags) {
    if (flags & EFLAGS_IF)
        __asm__ volatile("sti" : : : "memory");
}

/* --- Sections of vector code: section_host.c --- */

void section_prepare(void);

/* Is the vector unit of this CPU in use by a section? */
bool section_is_open(void);

/* Interrupts are over, or a section of the thread itself: what is due is loaded when it is used. */
void section_return(void);

/* This CPU runs a new thread with vector state, and then none. */
void section_become_thread(void);
void section_leave_thread(void);

/* --- Kernel threads: switch.S --- */

void thread_switch(void **from, void *to);
void thread_start(void);

/* --- Memory: page.c --- */

/* 2 MiB of addresses each, page by page, at first unmapped. */
#define PAGE_BYTES    4096
#define WINDOW_PAGES  512
#define WINDOW_KERNEL UINT64_C(0x0000010000000000)
#define WINDOW_USER   UINT64_C(0x0000008000000000)
#define WINDOW_HOLE   (WINDOW_KERNEL + (WINDOW_PAGES - 1) * PAGE_BYTES) /* never mapped */
#define USER_LIMIT    UINT64_C(0x0000010000000000) /* no user address is as high */

enum page_flag { PAGE_PRESENT = 1, PAGE_WRITABLE = 2, PAGE_USER = 4 };

/* Maps page `index` of a window to a page of memory of its own, or changes its rights. */
void page_map(uint64_t window, unsigned index, unsigned flags);
void page_unmap(uint64_t window, unsigned index);

/* Leave to reach user pages, and its end, where the CPU protects them from this kernel (SMAP). */
bool page_has_smap(void);
void page_allow_user(void);
void page_forbid_user(void);

/* --- The hosts of the core: host.c --- */

void host_prepare(void);

/* Writes of text that was written before, without all CPUs synchronised in between. */
extern unsigned host_races;

/* How often all CPUs stood still, but one of them inside of a site. */
extern unsigned host_stops_refused;

/* --- What operations take: bench.c --- */

void bench_run(void);

/* --- Instructions by themselves: trials.c --- */

void trials_run(void);

/* --- Output: print.c --- */

void print_prepare(void);
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_char(char c);

/* Ends the emulator. Does not return. */
void kernel_exit(int status) __attribute__((noreturn));
#define PANIC(...) (print("Bail out! " __VA_ARGS__), print("\n"), kernel_exit(0x7f))

/* Is `name` on the command line? What number follows it there? "break=sync break=row:3" */
bool kernel_option(const char *name);
const char *kernel_option_text(const char *name); /* or NULL */
size_t kernel_option_number(const char *name, size_t otherwise);

/* Are copies and sums of this name to be tested? Emulators that are slow leave some out. */
bool kernel_is_tested(const char *name);

#endif
#endif
