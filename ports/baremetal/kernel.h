/* SPDX-License-Identifier: MIT */
/*
 * A test kernel with two CPUs, one address space and no user code. This header is shared by its C
 * and assembly files. The kernel links the core of the library, built for kernels, and implements
 * the hosts that the core needs (host.c).
 */
#ifndef BAREMETAL_KERNEL_H
#define BAREMETAL_KERNEL_H

#include "machine.h" /* from the architecture's folder */

#define BOOT_STACK_BYTES 65536

#define CPUS 2

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carry_fault_frame;
struct carry_section_thread;

/* --- Traps: trap.c, and trap.S and trap.c of the architecture --- */

/* A handler of a trap. It returns false if the trap is not its own: then the kernel ends. */
typedef bool trap_handler(struct trap_frame *frame);

/*
 * Sets the handler of a vector and returns the previous one. Handlers need not acknowledge
 * interrupts: trap() does.
 */
trap_handler *trap_set(enum trap_vector vector, trap_handler *handler);

/*
 * Functions for the fault table of copies that survive faults: trap_break_row() shifts row `index`
 * by one byte, and trap_note_rows() prints the rows that were reached.
 */
void trap_break_row(size_t index);
void trap_note_rows(void);

/* The number of faults from which copies have recovered by a row of the table. */
extern uint64_t trap_fixed;

/* Handles a trap: trap.S calls it with interrupts off. */
void trap(struct trap_frame *frame);

/* Loads the CPU's trap tables. Each architecture defines it. */
void trap_load(unsigned cpu);

/*
 * trap_is_fault() returns whether the trap is an access to an unreachable address; trap_address()
 * returns that address, or CARRY_NO_ADDRESS. Each architecture defines them.
 */
bool trap_is_fault(const struct trap_frame *frame);
uintptr_t trap_address(const struct trap_frame *frame);

/*
 * Removes the permission to access user pages from the state to which a frame is unwound. Each
 * architecture defines it.
 */
void trap_forbid_user(struct trap_frame *frame);

/* --- CPUs: cpu.c, and cpu.c of the architecture --- */

/* The code that a trap has interrupted; `outer` is the code that this code had interrupted. */
struct interrupted {
    struct trap_frame *frame;
    const struct interrupted *outer;
};

struct cpu {
    struct cpu *self;
    unsigned index;
    unsigned id;             /* the target of interrupts from the other CPU */
    unsigned preemption_off; /* the depth of nesting: preemption is on at 0 */
    bool in_interrupt;
    bool in_nmi;
    struct carry_section_thread *thread; /* the running thread; NULL: it has no vector state */
    bool is_lazy;                        /* vector state is loaded at its first use */
    bool load_due;                       /* vector state must still be loaded */
    struct carry_fault_frame *frames;    /* frames of the running thread or interrupt */
    const struct interrupted *interrupted;
};

struct cpu *cpu_of(unsigned index);
void cpu_prepare(unsigned index);
unsigned cpu_count(void);
void cpu_start_second(void);

/* Runs `function` on the other CPU, in its interrupt handler, and waits until it has returned. Does
 * nothing if there is no other CPU. */
void cpu_call_other(void (*function)(void *), void *argument);

/* Stops the other CPU in its interrupt handler, and releases it. */
void cpu_hold_other(void);
void cpu_release_other(void);

/*
 * Runs the call that the other CPU requests. Needed in loops with interrupts off, during which the
 * other CPU may wait.
 */
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

/*
 * Enables all features of this CPU; cpu_here() returns `cpu` from then on. Each architecture
 * defines it.
 */
void cpu_enable(struct cpu *cpu);

/*
 * Starts the second CPU, if there is one, in kernel_second_main(), and waits for it. Each
 * architecture defines it.
 */
void cpu_boot_second(void);
void kernel_second_main(void);

/*
 * cpu_interrupt() sends TRAP_CALL to a CPU; cpu_acknowledge() ends an interrupt after its handler
 * has run. Each architecture defines them.
 */
void cpu_interrupt(const struct cpu *cpu);
void cpu_acknowledge(const struct trap_frame *frame);

/*
 * Makes this CPU execute newly written text from the next instruction on. Each architecture defines
 * it.
 */
void cpu_serialise(void);

/* Allow vector instructions, or let them trap (TRAP_NO_FPU). Each architecture defines them. */
void cpu_vectors_allow(void);
void cpu_vectors_forbid(void);

/* --- Sections of vector code: section_host.c --- */

void section_prepare(void);

/* Returns whether a section uses the vector unit of this CPU. */
bool section_is_open(void);

/*
 * Makes the next vector instruction load vector state, if its loading is due. Called when an
 * interrupt, or a section of the thread itself, has ended.
 */
void section_return(void);

/*
 * section_become_thread() makes this CPU run a new thread with vector state; section_leave_thread()
 * makes it run a thread without vector state.
 */
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

/* Each window consists of 2 MiB of addresses, mapped by pages; at first, none is mapped. */
#define PAGE_BYTES    4096
#define WINDOW_PAGES  512
#define WINDOW_KERNEL UINT64_C(0x0000010000000000)
#define WINDOW_USER   UINT64_C(0x0000008000000000)
#define WINDOW_HOLE   (WINDOW_KERNEL + (WINDOW_PAGES - 1) * PAGE_BYTES) /* never mapped */
#define USER_LIMIT    UINT64_C(0x0000010000000000) /* all user addresses are lower */

enum page_flag { PAGE_PRESENT = 1, PAGE_WRITABLE = 2, PAGE_USER = 4 };

/* Maps page `index` of a window to page `index` % 64 of the window's memory, or changes its
   permissions. */
void page_map(uint64_t window, unsigned index, unsigned flags);
void page_unmap(uint64_t window, unsigned index);

/*
 * Query, give and remove the permission to access user pages, on CPUs that protect these from this
 * kernel (SMAP, PAN). Each architecture defines them.
 */
bool page_protects_user(void);
bool page_has_leave(void);
void page_allow_user(void);
void page_forbid_user(void);

/*
 * Return the root table, an entry that points to the next table, and an entry that maps a page.
 * Page tables have four levels of 512 entries. Each architecture defines the functions.
 */
uint64_t *page_root(void);
uint64_t page_table_entry(const void *table);
uint64_t page_entry(const void *memory, unsigned flags);

/* Removes the translation of `address` from the TLB of this CPU. Each architecture defines it. */
void page_forget(void *address);

/* Writes text that other CPUs do not execute during the call. Each architecture defines it. */
void text_write(uintptr_t address, const void *bytes, size_t size);

/* --- The hosts of the core: host.c --- */

void host_prepare(void);

/*
 * Counts writes to text that was written before, without a synchronisation of all CPUs in between.
 */
extern unsigned host_races;

/* Counts the tries to stop all CPUs that failed because a CPU was inside a site. */
extern unsigned host_stops_refused;

/* --- Output: print.c, and serial.c of the architecture --- */

void print_prepare(void);
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes one character to the serial port. Each architecture defines it. */
void print_char(char c);

/* Ends the emulator. Does not return. Each architecture defines it. */
void kernel_exit(int status) __attribute__((noreturn));
#define PANIC(...) (print("Bail out! " __VA_ARGS__), print("\n"), kernel_exit(0x7f))

/*
 * Look up `name` on the command line, as in "break=sync break=row:3", and return whether it is
 * there, the text that follows it, and the number that follows it. If `name` is not there, the
 * text is NULL, and the number is `otherwise`.
 */
bool kernel_option(const char *name);
const char *kernel_option_text(const char *name);
size_t kernel_option_number(const char *name, size_t otherwise);

/*
 * kernel_command_line() returns the words of the command line, separated by blanks.
 * kernel_ran_instead() runs the program that the command line demands instead of tests, and returns
 * whether there was one. Each architecture defines them.
 */
const char *kernel_command_line(void);
bool kernel_ran_instead(void);

/*
 * Returns whether kernels of this name are tested. On slow emulators, the command line excludes
 * some.
 */
bool kernel_is_tested(const char *name);

#endif
#endif
