/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of operations (`bench` on the command line), in each form in which a kernel may
 * call them, with the time-stamp counter. In an emulator that counts instructions (qemu -icount
 * shift=0), this counter counts instructions. Prints "bench OPERATION TABLE FORM TICKS" for each.
 */
#include "instead.h"
#include "interrupts.h"

#define FEW   16
#define MANY  64
#define COUNT (MANY - FEW)

#define FOUR_TIMES(statement) statement statement statement statement

/*
 * Subtracts a short run from a long one, which cancels the cost of reading the counter. Rounding
 * hides an instruction that the compiler moves out of one of the two runs.
 */
#define TICKS(result, statement)                                                                   \
    do {                                                                                           \
        uint64_t start = time_stamp();                                                             \
        FOUR_TIMES(FOUR_TIMES(statement))                                                          \
        uint64_t few = time_stamp() - start;                                                       \
        start = time_stamp();                                                                      \
        FOUR_TIMES(FOUR_TIMES(FOUR_TIMES(statement)))                                              \
        (result) = (time_stamp() - start - few + COUNT / 2) / COUNT;                               \
    } while (0)

static inline uint64_t time_stamp(void) {
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return low | (uint64_t)high << 32;
}

enum operation { OFF, ON, SAVE, RESTORE, CALL, NOTHING, OPERATIONS };

static const char *const names[OPERATIONS] = {"cli", "sti", "save", "restore", "call", "nothing"};

/* --- An ordinary operation --- */

CARRY_OP(void, work);

static __attribute__((noinline)) void work_once(void) {
    __asm__ volatile("");
}

CARRY_OP_DEFINE(work, work_once);

static int set_work(carry_fn_work *function) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, work, function);
    return carry_patch_commit(&patch);
}

/* --- Forms --- */

static struct interrupts in_use; /* a table of function pointers, as in kernels that do not patch */
static carry_fn_work *pointer;

/* Returns the ticks of the instructions themselves, compiled in. */
static uint64_t ticks_compiled(enum operation operation) {
    uint64_t ticks = 0;
    uintptr_t flags = cpu_flags();
    if (operation == OFF)
        TICKS(ticks, __asm__ volatile("cli" : : : "memory"););
    else if (operation == ON)
        TICKS(ticks, __asm__ volatile("sti" : : : "memory"););
    else if (operation == SAVE)
        TICKS(ticks, cpu_flags(););
    else if (operation == RESTORE)
        TICKS(ticks, __asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc"););
    else if (operation == CALL)
        TICKS(ticks, work_once(););
    cpu_interrupts_off();
    return ticks;
}

static uint64_t ticks_of_pointer(enum operation operation) {
    uint64_t ticks = 0;
    uintptr_t flags = cpu_flags();
    if (operation == OFF)
        TICKS(ticks, in_use.off(););
    else if (operation == ON)
        TICKS(ticks, in_use.on(););
    else if (operation == SAVE)
        TICKS(ticks, in_use.save(););
    else if (operation == RESTORE)
        TICKS(ticks, in_use.restore(flags););
    else
        TICKS(ticks, pointer(););
    cpu_interrupts_off();
    return ticks;
}

static uint64_t ticks_of_site(enum operation operation) {
    uint64_t ticks = 0;
    uintptr_t flags = cpu_flags();
    if (operation == OFF)
        TICKS(ticks, carry_call(interrupts_off)(););
    else if (operation == ON)
        TICKS(ticks, carry_call(interrupts_on)(););
    else if (operation == SAVE)
        TICKS(ticks, carry_call(interrupts_save)(););
    else if (operation == RESTORE)
        TICKS(ticks, carry_call(interrupts_restore)(flags););
    else
        TICKS(ticks, carry_call(work)(););
    cpu_interrupts_off();
    return ticks;
}

/* --- Tables --- */

static const struct {
    const char *name;
    const struct interrupts *interrupts;
    enum operation operations; /* the number of operations measured, from the first on */
} tables[] = {
    {"native", &interrupts_native, OPERATIONS},
    {"hypervisor", &interrupts_hypervisor, CALL},
};
#define TABLES (sizeof tables / sizeof *tables)

static void show_table(size_t table, const char *form,
                       uint64_t (*ticks)(enum operation operation)) {
    in_use = *tables[table].interrupts;
    if (interrupts_use(tables[table].interrupts))
        PANIC("the table %s cannot be used", tables[table].name);
    for (enum operation i = 0; i < tables[table].operations; i++) {
        pointer = i == NOTHING ? CARRY_OP_NOTHING(work) : work_once;
        if (set_work(pointer))
            PANIC("operation %s cannot be used", names[i]);
        /* Compilers must not know the targets of these pointers. */
        __asm__ volatile("" : "+m"(in_use), "+m"(pointer));
        print("bench %s %s %s %lu\n", names[i], tables[table].name, form, ticks(i));
    }
}

/* Runs the benchmark. Patches the sites only before the last form: until then, they keep their
   linked state. */
void bench_run(void) {
    show_table(0, "compiled", ticks_compiled);
    for (size_t i = 0; i < TABLES; i++) {
        show_table(i, "pointer", ticks_of_pointer);
        show_table(i, "unpatched", ticks_of_site);
    }
    if (carry_patch_apply(0))
        PANIC("sites cannot be patched");
    for (size_t i = 0; i < TABLES; i++)
        show_table(i, "patched", ticks_of_site);
    print("bench done\n");
}
