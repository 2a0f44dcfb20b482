/* SPDX-License-Identifier: MIT */
/*
 * A test kernel: two CPUs, one address space, no user code. What its files share, also with
 * assembly. It links the core of the library, built for kernels, and supplies the hosts that the
 * core asks for (host.c).
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

/* --- Traps: trap.c, and of the architecture trap.S and trap.c --- */

/* Handles a trap; false if it is not its own, and then the kernel ends. */
typedef bool trap_handler(struct trap_frame *frame);

/* Sets the handler of a vector and returns the one before. Interrupts are acknowledged for it. */
trap_handler *trap_set(enum trap_vector vector, trap_handler *handler);

/* The table of copies that survive faults: puts a row off by one, prints which were used. */
void trap_break_row(size_t index);
void trap_note_rows(void);

/* Faults that rows of the table have survived. */
extern uint64_t trap_fixed;

/* Called by trap.S, with interrupts off. */
void trap(struct trap_frame *frame);

/* Of the architecture: lets a CPU trap. */
void trap_load(unsigned cpu);

/* Of the architecture: was an address not to be reached? The address then, or CARRY_NO_ADDRESS. */
bool trap_is_fault(const struct trap_frame *frame);
uintptr_t trap_address(const struct trap_frame *frame);

/* Of the architecture: who unwinds to a frame had no leave to reach user pages there. */
void trap_forbid_user(struct trap_frame *frame);

/* --- CPUs: cpu.c, and of the architecture cpu.c --- */

/* What a trap has interrupted, and what that had. */
struct interrupted {
    struct trap_frame *frame;
    const struct interrupted *outer;
};

struct cpu {
    struct cpu *self;
    unsigned index;
    unsigned id;             /* for interrupts from the other one */
    unsigned preemption_off; /* how often */
    bool in_interrupt;
    bool in_nmi;
    struct carry_section_thread *thread; /* that runs; NULL: it has no vector state */
    bool is_lazy;                        /* vector state is loaded where it is first used */
    bool load_due;                       /* it has yet to be */
    struct carry_fault_frame *frames;    /* of the thread, or interrupt, that runs */
    const struct interrupted *interrupted;
};

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

void cpu_send_nmi_to_self(void);

static inline void cpu_interrupts_restore(uint64_t flags) {
    if (cpu_is_on(flags))
        cpu_interrupts_on();
}

/* Of the architecture: cpu_here() is that one from now on, with all that it can do. */
void cpu_enable(struct cpu *cpu);

/* Of the architecture: the second CPU, if there is one, runs kernel_second_main(). Waits for it. */
void cpu_boot_second(void);
void kernel_second_main(void);

/* Of the architecture: has a CPU take TRAP_CALL; ends an interrupt, whose handler has run. */
void cpu_interrupt(const struct cpu *cpu);
void cpu_acknowledge(const struct trap_frame *frame);

/* Of the architecture: runs what was written before as text, from the next instruction on. */
void cpu_serialise(void);

/* Of the architecture: do vector instructions trap (TRAP_NO_FPU)? */
void cpu_vectors_allow(void);
void cpu_vectors_forbid(void);

/* --- Sections of vector code: section_host.c --- */

void section_prepare(void);

/* Is the vector unit of this CPU in use by a section? */
bool section_is_open(void);

/* Interrupts are over, or a section of the thread itself: what is due is loaded when it is used. */
void section_return(void);

/* This CPU runs a new thread with vector state, and then none. */
void section_become_thread(void);
void section_leave_thread(void);

/* --- Kernel threads: of the architecture, switch.S and thread.c --- */

void thread_switch(void **from, void *to);

/* What thread_switch() takes for a thread that is to begin with run(argument), and never returns
 * from it. `end` is the end of its stack. */
void *thread_begin(void *end, void (*run)(void *), void *argument);

/* --- Memory: page.c, and of the architecture page.c --- */

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

/* Of the architecture: leave to reach user pages, and its end, where the CPU protects them from
 * this kernel (SMAP, PAN). */
bool page_protects_user(void);
bool page_has_leave(void);
void page_allow_user(void);
void page_forbid_user(void);

/* Of the architecture, whose tables are of four levels of 512 entries: the first of them, and what
 * an entry says that leads to the next, or to a page. */
uint64_t *page_root(void);
uint64_t page_table_entry(const void *table);
uint64_t page_entry(const void *memory, unsigned flags);

/* Of the architecture: this CPU looks an address up again. */
void page_forget(void *address);

/* Of the architecture: writes text, which other CPUs do not run meanwhile. */
void text_write(uintptr_t address, const void *bytes, size_t size);

/* --- The hosts of the core: host.c --- */

void host_prepare(void);

/* Writes of text that was written before, without all CPUs synchronised in between. */
extern unsigned host_races;

/* How often all CPUs stood still, but one of them inside of a site. */
extern unsigned host_stops_refused;

/* --- Output: print.c, and of the architecture serial.c --- */

void print_prepare(void);
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of the architecture: one character to the serial port. */
void print_char(char c);

/* Of the architecture: ends the emulator. Does not return. */
void kernel_exit(int status) __attribute__((noreturn));
#define PANIC(...) (print("Bail out! " __VA_ARGS__), print("\n"), kernel_exit(0x7f))

/* Is `name` on the command line? What number follows it there? "break=sync break=row:3" */
bool kernel_option(const char *name);
const char *kernel_option_text(const char *name); /* or NULL */
size_t kernel_option_number(const char *name, size_t otherwise);

/* Of the architecture: words with blanks between them; and whether it did something else than tests
 * that stands there. */
const char *kernel_command_line(void);
bool kernel_ran_instead(void);

/* Are copies and sums of this name to be tested? Emulators that are slow leave some out. */
bool kernel_is_tested(const char *name);

#endif
#endif
