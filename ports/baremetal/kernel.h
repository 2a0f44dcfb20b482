/* SPDX-License-Identifier: MIT */
/*
 * A test kernel with two CPUs, one address space and no user code. This header is shared by its C
 * and assembly files. The kernel links the core of the library, built for kernels, and implements
 * the hosts that the core needs (host.c).
 */
#ifndef BAREMETAL_KERNEL_H
#define BAREMETAL_KERNEL_H

#include "machine.h" /* of the architecture */

#define BOOT_STACK_BYTES 65536

#define CPUS 2

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carry_fault_frame;
struct carry_section_thread;

/* --- Traps: trap.c, and trap.S and trap.c of the architecture --- */

/* Handles a trap. Returns false if the trap is not the handler's: then the kernel ends. */
typedef bool trap_handler(struct trap_frame *frame);

/*
 * Sets the handler of a vector and returns the previous one. trap() acknowledges interrupts for it.
 */
trap_handler *trap_set(enum trap_vector vector, trap_handler *handler);

/*
 * The table of copies that survive faults: the first function shifts row `index` by one byte, the
 * second prints the rows that were reached.
 */
void trap_break_row(size_t index);
void trap_note_rows(void);

/* The number of faults that rows of the table have survived. */
extern uint64_t trap_fixed;

/* Called by trap.S, with interrupts off. */
void trap(struct trap_frame *frame);

/* Architecture: loads the CPU's trap tables. */
void trap_load(unsigned cpu);

/*
 * Architecture: trap_is_fault() returns whether the trap is an access to an unreachable address;
 * trap_address() returns that address, or CARRY_NO_ADDRESS.
 */
bool trap_is_fault(const struct trap_frame *frame);
uintptr_t trap_address(const struct trap_frame *frame);

/* Architecture: removes the permission to access user pages from the frame that is unwound to. */
void trap_forbid_user(struct trap_frame *frame);

/* --- CPUs: cpu.c, and cpu.c of the architecture --- */

/* The code that a trap has interrupted, and the one that this had interrupted. */
struct interrupted {
    struct trap_frame *frame;
    const struct interrupted *outer;
};

struct cpu {
    struct cpu *self;
    unsigned index;
    unsigned id;             /* for interrupts from the other CPU */
    unsigned preemption_off; /* nesting depth */
    bool in_interrupt;
    bool in_nmi;
    struct carry_section_thread *thread; /* the running thread; NULL: it has no vector state */
    bool is_lazy;                        /* vector state is loaded at its first use */
    bool load_due;                       /* vector state must still be loaded */
    struct carry_fault_frame *frames;    /* of the running thread or interrupt */
    const struct interrupted *interrupted;
};

struct cpu *cpu_of(unsigned index);
void cpu_prepare(unsigned index);
unsigned cpu_count(void);
void cpu_start_second(void);

/* Runs `function` on the other CPU, in its interrupt handler, and waits until it has returned. */
void cpu_call_other(void (*function)(void *), void *argument);

/* Stops the other CPU in its interrupt handler, and releases it. */
void cpu_hold_other(void);
void cpu_release_other(void);

/* Runs what the other CPU requests. Needed in loops with interrupts off for which it may wait. */
void cpu_poll(void);

/* Runs `function` on the other CPU as its main program; cpu_join_other() waits until it returns. */
void cpu_run_other(void (*function)(void *), void *argument);
void cpu_join_other(void);

/* Lets the timer of this CPU fire once, after `ticks` of its bus, or never (0). */
void cpu_timer(uint32_t ticks);

void cpu_send_nmi_to_self(void);

static inline void cpu_interrupts_restore(uint64_t flags) {
    if (cpu_is_on(flags))
        cpu_interrupts_on();
}

/* Architecture: enables all features of this CPU; cpu_here() returns `cpu` from then on. */
void cpu_enable(struct cpu *cpu);

/*
 * Architecture: starts the second CPU, if there is one, in kernel_second_main(), and waits for it.
 */
void cpu_boot_second(void);
void kernel_second_main(void);

/*
 * Architecture: cpu_interrupt() sends TRAP_CALL to a CPU; cpu_acknowledge() ends an interrupt after
 * its handler has run.
 */
void cpu_interrupt(const struct cpu *cpu);
void cpu_acknowledge(const struct trap_frame *frame);

/* Architecture: makes this CPU execute newly written text from the next instruction on. */
void cpu_serialise(void);

/* Architecture: vector instructions are allowed, or trap (TRAP_NO_FPU). */
void cpu_vectors_allow(void);
void cpu_vectors_forbid(void);

/* --- Sections of vector code: section_host.c --- */

void section_prepare(void);

/* Returns whether a section uses the vector unit of this CPU. */
bool section_is_open(void);

/*
 * Called when interrupts, or a section of the thread itself, have ended: state that is due is
 * loaded at its first use.
 */
void section_return(void);

/* Make this CPU run a new thread with vector state, and then a thread without. */
void section_become_thread(void);
void section_leave_thread(void);

/* --- Kernel threads: switch.S and thread.c of the architecture --- */

void thread_switch(void **from, void *to);

/*
 * Prepares a stack that ends at `end` and returns its pointer for thread_switch(). The new thread
 * begins with run(argument), which must never return.
 */
void *thread_begin(void *end, void (*run)(void *), void *argument);

/* --- Memory: page.c, and page.c of the architecture --- */

/* Each window has 2 MiB of addresses, mapped by pages; at first all are unmapped. */
#define PAGE_BYTES    4096
#define WINDOW_PAGES  512
#define WINDOW_KERNEL UINT64_C(0x0000010000000000)
#define WINDOW_USER   UINT64_C(0x0000008000000000)
#define WINDOW_HOLE   (WINDOW_KERNEL + (WINDOW_PAGES - 1) * PAGE_BYTES) /* never mapped */
#define USER_LIMIT    UINT64_C(0x0000010000000000) /* all user addresses are lower */

enum page_flag { PAGE_PRESENT = 1, PAGE_WRITABLE = 2, PAGE_USER = 4 };

/* Maps page `index` of a window to memory of its own, or changes its permissions. */
void page_map(uint64_t window, unsigned index, unsigned flags);
void page_unmap(uint64_t window, unsigned index);

/*
 * Architecture: query, give and remove the permission to access user pages, on CPUs that protect
 * them from this kernel (SMAP, PAN).
 */
bool page_protects_user(void);
bool page_has_leave(void);
void page_allow_user(void);
void page_forbid_user(void);

/*
 * Architecture, with page tables of four levels of 512 entries: the root table, an entry that
 * points to the next table, and an entry that maps a page.
 */
uint64_t *page_root(void);
uint64_t page_table_entry(const void *table);
uint64_t page_entry(const void *memory, unsigned flags);

/* Architecture: removes the translation of `address` from the TLB of this CPU. */
void page_forget(void *address);

/* Architecture: writes text that other CPUs do not execute during the call. */
void text_write(uintptr_t address, const void *bytes, size_t size);

/* --- The hosts of the core: host.c --- */

void host_prepare(void);

/*
 * Counts writes to text that was written before, without a synchronisation of all CPUs in between.
 */
extern unsigned host_races;

/* Counts the stops of all CPUs that were given up because a CPU was inside of a site. */
extern unsigned host_stops_refused;

/* --- Output: print.c, and serial.c of the architecture --- */

void print_prepare(void);
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Architecture: writes one character to the serial port. */
void print_char(char c);

/* Architecture: ends the emulator. Does not return. */
void kernel_exit(int status) __attribute__((noreturn));
#define PANIC(...) (print("Bail out! " __VA_ARGS__), print("\n"), kernel_exit(0x7f))

/*
 * Look up `name` on the command line, as in "break=sync break=row:3": whether it is there, the text
 * that follows it (NULL: none), and the number that follows it.
 */
bool kernel_option(const char *name);
const char *kernel_option_text(const char *name);
size_t kernel_option_number(const char *name, size_t otherwise);

/*
 * Architecture: the words of the command line, with blanks between them; and whether the kernel ran
 * what the command line demands instead of tests.
 */
const char *kernel_command_line(void);
bool kernel_ran_instead(void);

/*
 * Returns whether kernels of this name are tested. The command line excludes some on slow
 * emulators.
 */
bool kernel_is_tested(const char *name);

#endif
#endif
