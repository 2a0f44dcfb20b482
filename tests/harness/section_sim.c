/* SPDX-License-Identifier: MIT */
/* Built for general registers only, as a kernel is. */
#include "harness/section_sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <carry/section.h>

#include "base/host.h"
#include "base/section_host.h"
#include "harness/rng.h"
#include "mutants/section.h"
#include "xstate/xstate_internal.h"

#define CPUS        3
#define THREADS     6
#define IMAGE_BYTES 4096
#define POOL_BYTES  65536
#define DEPTH_MAX   3
#define BIT(name)   CARRY_XSTATE_BIT(name)

struct image {
    uint8_t bytes[IMAGE_BYTES];
} __attribute__((aligned(CARRY_XSTATE_ALIGN)));

struct thread {
    struct carry_section_thread section;
    struct image area;
    struct image state; /* what the thread's registers must contain */
    bool due;           /* `state` must be loaded on the return to user mode */
    bool runs;
    int last_cpu;
};

struct cpu {
    struct carry_section_cpu words;
    struct image registers; /* while the CPU does not run */
    struct image nested[DEPTH_MAX];
    struct thread *current;
    int preempt;
    int depth; /* nesting depth of interrupts */
    bool in_nmi;
    bool irqs_off;
    bool acts;
    bool switches;
};

struct sim sim;
static struct cpu cpus[CPUS];
static struct thread threads[THREADS];
static struct cpu *self = &cpus[0]; /* the CPU that runs */
static struct carry_xstate_layout layout;
static uint64_t state_mask; /* the compared components, which the library and the CPU have */
static uint64_t machine_mask;
static uint8_t pool[POOL_BYTES];        /* random bytes */
static volatile sig_atomic_t in_kernel; /* 1: the real registers hold the registers of `self` */

static const uint64_t known =
    BIT(X87) | BIT(SSE) | BIT(AVX) | BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM);

const char *carry_host_cpu_mask(void) {
    return getenv("CARRY_CPU_MASK");
}

/* Replace functions of the C library, because those use vector registers, and compilers emit calls
   to them. */
void *memcpy(void *to, const void *from, size_t size) {
    void *start = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
    return start;
}

void *memset(void *to, int value, size_t size) {
    void *start = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
    return start;
}

static void require_in_sim(bool ok, const char *what) {
    if (!ok && sim.verdict.ok)
        verdict_fail(&sim.verdict, "%s, at step %zu", what, sim.steps);
}

/* --- Registers --- */

static void save_registers(struct image *image) {
    if (!machine_mask)
        __asm__ volatile("fxsave64 %0" : "+m"(*image));
    else
        __asm__ volatile("xsave64 %0"
                         : "+m"(*image)
                         : "a"((uint32_t)machine_mask), "d"((uint32_t)(machine_mask >> 32)));
}

static void load_registers(const struct image *image) {
    if (!machine_mask)
        __asm__ volatile("fxrstor64 %0" : : "m"(*image));
    else
        __asm__ volatile("xrstor64 %0"
                         :
                         : "m"(*image), "a"((uint32_t)machine_mask),
                           "d"((uint32_t)(machine_mask >> 32)));
}

/* Switch from C code to the library's code, and back. */
static void enter_kernel(void) {
    load_registers(&self->registers);
    in_kernel = 1;
}

static void leave_kernel(void) {
    in_kernel = 0;
    save_registers(&self->registers);
}

static size_t offset_of(unsigned component) {
    return layout.user ? layout.parts[component].offset : 0;
}

static void make_initial(struct image *image) {
    static const uint16_t fcw = CARRY_FCW_INITIAL;
    static const uint32_t mxcsr = CARRY_MXCSR_INITIAL;
    memset(image, 0, sizeof *image);
    memcpy(image->bytes + CARRY_AREA_FCW, &fcw, sizeof fcw);
    memcpy(image->bytes + CARRY_AREA_MXCSR, &mxcsr, sizeof mxcsr);
}

static void put_noise(struct image *image, size_t offset, size_t size) {
    memcpy(image->bytes + offset, pool + rng_below(POOL_BYTES - IMAGE_BYTES), size);
}

static void make_x87(struct image *image) {
    uint16_t fcw = (uint16_t)(CARRY_FCW_INITIAL & ~0xc00u) | (uint16_t)(rng_below(4) << 10);
    uint16_t fsw = (uint16_t)(rng_below(8) << 11);
    memcpy(image->bytes, &fcw, sizeof fcw);
    memcpy(image->bytes + 2, &fsw, sizeof fsw);
    image->bytes[4] = (uint8_t)rng_next();
    for (size_t i = 0; i < 8; i++)
        put_noise(image, 32 + 16 * i, 10);
}

/* Puts some components in use, with random bytes; the others are initial. Exceptions remain
   masked. */
static void make_random(struct image *image) {
    make_initial(image);
    uint64_t used = machine_mask ? state_mask & rng_next() : state_mask;
    uint32_t mxcsr = CARRY_MXCSR_INITIAL | ((uint32_t)rng_next() & layout.mxcsr_mask & 0xffff);
    if (used & BIT(X87))
        make_x87(image);
    if (used & BIT(SSE)) {
        put_noise(image, CARRY_AREA_XMM, 256);
        memcpy(image->bytes + CARRY_AREA_MXCSR, &mxcsr, sizeof mxcsr);
    }
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (used >> i & 1)
            put_noise(image, offset_of(i), layout.parts[i].size);
    memcpy(image->bytes + CARRY_AREA_XSTATE_BV, &used, sizeof used);
}

static bool same_x87(const uint8_t *a, const uint8_t *b) {
    bool same = !memcmp(a, b, 5); /* not all CPUs preserve the pointers after these */
    for (size_t i = 0; i < 8; i++)
        same = same && !memcmp(a + 32 + 16 * i, b + 32 + 16 * i, 10);
    return same;
}

/* Returns the first component that differs; CARRY_XSTATE_COMPONENTS if none does. */
static unsigned first_difference(const struct image *image, const struct image *other) {
    const uint8_t *a = image->bytes;
    const uint8_t *b = other->bytes;
    if (!same_x87(a, b))
        return CARRY_XSTATE_X87;
    if (memcmp(a + CARRY_AREA_MXCSR, b + CARRY_AREA_MXCSR, 4) ||
        memcmp(a + CARRY_AREA_XMM, b + CARRY_AREA_XMM, 256))
        return CARRY_XSTATE_SSE;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (state_mask >> i & 1 && memcmp(a + offset_of(i), b + offset_of(i), layout.parts[i].size))
            return i;
    return CARRY_XSTATE_COMPONENTS;
}

static void require_registers(const struct image *expected, const char *whose) {
    unsigned component = first_difference(&self->registers, expected);
    if (component < CARRY_XSTATE_COMPONENTS && sim.verdict.ok)
        verdict_fail(&sim.verdict, "%s lost %s, at step %zu", whose, carry_xstate_name(component),
                     sim.steps);
}

static void fill_registers(struct image *state) {
    make_random(state);
    self->registers = *state;
}

/* --- Invariants --- */

static size_t owned_by(const struct thread *thread) {
    size_t count = 0;
    for (size_t i = 0; i < CPUS; i++)
        count += cpus[i].words.owner == &thread->section;
    return count;
}

static void check_invariants(void) {
    for (size_t i = 0; i < THREADS; i++)
        require_in_sim(owned_by(&threads[i]) <= 1, "a thread owns the registers of two CPUs");
    for (size_t i = 0; i < CPUS; i++) {
        const struct cpu *cpu = &cpus[i];
        bool is_current = cpu->current && cpu->words.owner == &cpu->current->section;
        require_in_sim(!cpu->words.owner || is_current || cpu->switches,
                       "a stranger owns registers");
        require_in_sim(cpu->acts || !cpu->words.section, "a CPU is in use after its sections");
        require_in_sim(cpu->acts || !cpu->preempt, "preemption stays off");
    }
}

/* --- The host's functions --- */

void carry_host_preempt_off(void) {
    sim_point();
    self->preempt++;
}

void carry_host_preempt_on(void) {
    sim_point();
    self->preempt--;
}

bool carry_host_in_nmi(void) {
    return self->in_nmi;
}

struct carry_section_cpu *carry_host_section_cpu(void) {
    return &self->words;
}

void carry_host_vectors_allow(void) {
    sim_point();
}

bool carry_host_section_defer(struct carry_section_thread *section) {
    sim_point();
    if (sim.loads_early)
        return false;
    for (size_t i = 0; i < THREADS; i++)
        if (section == &threads[i].section)
            threads[i].due = true;
    return true;
}

/* --- Sections, interrupts, NMIs --- */

static int begin_as_kernel(struct carry_section *section, void *area, unsigned flags) {
    enter_kernel();
    int answer = carry_section_begin(section, area, flags);
    leave_kernel();
    return answer;
}

static void end_as_kernel(struct carry_section *section) {
    enter_kernel();
    carry_section_end(section);
    leave_kernel();
}

static void check_start(bool x87) {
    static const uint32_t initial = CARRY_MXCSR_INITIAL;
    static const uint16_t fcw = CARRY_FCW_INITIAL;
    const uint8_t *bytes = self->registers.bytes;
    require_in_sim(!memcmp(bytes + CARRY_AREA_MXCSR, &initial, 4), "MXCSR is not as a CPU starts");
    require_in_sim(!x87 || (!memcmp(bytes, &fcw, 2) && !bytes[4]), "x87 is not as a CPU starts");
}

/* Acts like a section: uses all registers, and checks that they are unchanged. */
static void use_registers(void) {
    struct image state;
    fill_registers(&state);
    enter_kernel();
    sim_point();
    leave_kernel();
    require_registers(&state, "a section");
}

/* Runs a whole section. Returns the result of its begin_as_kernel(). */
static int section_of(void *area) {
    struct carry_section section;
    bool x87 = rng_below(2);
    int answer = begin_as_kernel(&section, area, x87 ? CARRY_SECTION_X87 : 0);
    if (answer)
        return answer;
    sim.sections++;
    sim.nested += section.outer != NULL;
    check_start(x87);
    use_registers();
    end_as_kernel(&section);
    return answer;
}

static void interrupt_with(bool with_area) {
    bool in_use = self->words.section != NULL;
    size_t area = broken_section == BROKEN_SECTION_ONE_AREA ? 0 : (size_t)self->depth;
    self->depth++;
    int answer = section_of(with_area ? &self->nested[area] : NULL);
    self->depth--;
    sim.busy += answer == CARRY_ERROR_BUSY;
    require_in_sim(answer == (in_use && !with_area ? CARRY_ERROR_BUSY : CARRY_OK),
                   "an interrupt gets another answer");
}

/* Checks that the functions for threads refuse calls from an NMI. */
static void call_of_threads(struct carry_section_thread *thread) {
    enter_kernel();
    int answers[] = {carry_section_switch(NULL), carry_section_reload(thread),
                     carry_section_sync(thread)};
    leave_kernel();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        require_in_sim(answers[i] == CARRY_ERROR_CONTEXT, "an NMI acts for a thread");
}

static void enter_nmi(void) {
    struct image before = self->registers;
    self->in_nmi = true;
    sim.nmis++;
    if (broken_section != BROKEN_SECTION_NMI)
        call_of_threads(&threads[0].section);
    int answer = section_of(rng_below(2) ? &self->nested[DEPTH_MAX - 1] : NULL);
    require_in_sim(answer == CARRY_ERROR_CONTEXT || broken_section == BROKEN_SECTION_NMI,
                   "an NMI is not refused");
    self->in_nmi = false;
    if (answer)
        require_registers(&before, "what an NMI interrupts");
}

static void act_on(struct cpu *cpu);

static void other_cpu(void) {
    struct cpu *here = self;
    struct cpu *other = &cpus[rng_below(CPUS)];
    if (!other->acts)
        act_on(other);
    self = here;
}

static void come_in(void) {
    size_t what = rng_below(64);
    if (what < 6 && !self->irqs_off && !self->in_nmi && self->depth < DEPTH_MAX - 1)
        interrupt_with(what & 1);
    else if (what < 9 && !self->in_nmi)
        enter_nmi();
    else if (what < 12)
        other_cpu();
}

void sim_point(void) {
    if (!sim.injects)
        return;
    leave_kernel();
    sim.steps++;
    check_invariants();
    come_in();
    enter_kernel();
}

/* --- Threads --- */

static void call_reload(struct thread *thread) {
    enter_kernel();
    int error = carry_section_reload(&thread->section);
    leave_kernel();
    require_in_sim(!error, "a load is refused");
}

/* Ends an entry to the kernel: loads the thread's registers and checks them. */
static void return_to_user(void) {
    struct thread *thread = self->current;
    self->irqs_off = true;
    while (thread && thread->due) {
        thread->due = false;
        call_reload(thread);
    }
    if (sim.injects && rng_below(8) == 0)
        enter_nmi();
    self->irqs_off = false;
    if (!thread)
        return;
    require_in_sim(self->words.owner == &thread->section, "a thread does not own its registers");
    require_registers(&thread->state, "a thread");
}

static void run_thread(void) {
    if (self->current)
        fill_registers(&self->current->state);
}

static struct thread *waiting_thread(void) {
    struct thread *thread = &threads[rng_below(THREADS)];
    return thread->runs ? NULL : thread;
}

static void switch_to(struct thread *next) {
    struct thread *previous = self->current;
    if (next) {
        next->runs = true;
        sim.migrations += next->last_cpu != (int)(self - cpus);
        next->last_cpu = (int)(self - cpus);
    }
    bool first = rng_below(2);
    self->switches = true;
    self->current = first ? next : previous;
    enter_kernel();
    int error = carry_section_switch(next ? &next->section : NULL);
    leave_kernel();
    require_in_sim(!error, "a switch is refused");
    self->current = next;
    self->switches = false;
    if (previous)
        previous->runs = false;
}

/* Creates a thread in `thread`, where another thread may have been before, so that addresses are
   used again. */
static void create_in_place(struct thread *thread) {
    carry_section_create(&thread->section, &thread->area, carry_xstate_default());
    make_initial(&thread->state);
    thread->due = false;
}

static void exit_thread(void) {
    struct thread *thread = self->current;
    if (!thread)
        return;
    carry_section_forget(&thread->section);
    switch_to(NULL);
    create_in_place(thread);
}

/* Acts like exec: the thread continues without its previous state. */
static void replace_state(void) {
    struct thread *thread = self->current;
    if (!thread)
        return;
    carry_section_forget(&thread->section);
    create_in_place(thread);
    if (sim.loads_early)
        call_reload(thread);
    else
        thread->due = true;
}

static void begin_in_thread(void) {
    require_in_sim(!section_of(NULL), "a thread is refused");
}

/* Replaces the state of a waiting thread: no other thread may lose registers. */
static void replace_waiting(void) {
    struct thread *thread = waiting_thread();
    if (!thread)
        return;
    carry_section_forget(&thread->section);
    create_in_place(thread);
}

/* Forks the current thread. An earlier section may have deferred loading the registers of that
   thread. */
static void fork_thread(void) {
    struct thread *parent = self->current;
    struct thread *child = waiting_thread();
    if (!parent || !child)
        return;
    child->runs = true; /* no other CPU may run it during the fork */
    if (rng_below(2))
        begin_in_thread();
    enter_kernel();
    int error = carry_section_sync(&parent->section);
    leave_kernel();
    require_in_sim(!error, "an area cannot be brought up to date");
    create_in_place(child);
    memcpy(&child->area, &parent->area, sizeof child->area);
    child->state = parent->state;
    child->runs = false;
}

static void interrupt_user(void) {
    interrupt_with(rng_below(2));
}

static void schedule_thread(void) {
    switch_to(rng_below(4) ? waiting_thread() : NULL);
}

static void (*const actions[])(void) = {
    run_thread,     run_thread,     begin_in_thread, begin_in_thread,
    interrupt_user, interrupt_user, schedule_thread, schedule_thread,
    fork_thread,    exit_thread,    replace_state,   replace_waiting,
};

static void act_on(struct cpu *cpu) {
    self = cpu;
    self->acts = true;
    sim.steps++;
    actions[rng_below(sizeof actions / sizeof *actions)]();
    return_to_user();
    self->acts = false;
    check_invariants();
}

void sim_act(void) {
    struct image own = {{0}};
    save_registers(&own);
    act_on(&cpus[rng_below(CPUS)]);
    load_registers(&own);
}

void sim_start(bool loads_early) {
    sim = (struct sim){.loads_early = loads_early, .verdict = {.ok = true}};
    carry_xstate_layout(&layout);
    machine_mask = layout.user & known;
    state_mask = carry_xstate_default() & known;
    memset(cpus, 0, sizeof cpus);
    memset(threads, 0, sizeof threads);
    rng_restart();
    rng_fill(pool, sizeof pool);
    for (size_t i = 0; i < CPUS; i++)
        make_initial(&cpus[i].registers);
    for (size_t i = 0; i < THREADS; i++)
        create_in_place(&threads[i]);
}

/* --- An interrupt at one instruction --- */

#define TRAP_FLAG 0x100

static struct {
    size_t target;
    size_t count;
    bool with_area;
    volatile sig_atomic_t on;
    bool hit;
} stepping;

#define FRAME_FEATURES 472 /* in the software bytes, 464 to 511 */
#define FRAME_MAGIC    0x46505853

/*
 * Returns the components that the system saves in the frame and loads from it; the registers of all
 * other components are live.
 */
static uint64_t frame_mask(const uint8_t *frame) {
    uint32_t magic;
    uint64_t features;
    memcpy(&magic, frame + 464, sizeof magic);
    memcpy(&features, frame + FRAME_FEATURES, sizeof features);
    return magic == FRAME_MAGIC ? features & known : BIT(X87) | BIT(SSE);
}

static void copy_component(uint8_t *to, const uint8_t *from, unsigned component) {
    memcpy(to + offset_of(component), from + offset_of(component), layout.parts[component].size);
}

static void copy_registers(uint8_t *to, const uint8_t *from, uint64_t mask) {
    memcpy(to, from, 416);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1)
            copy_component(to, from, i);
    if (mask & ~(BIT(X87) | BIT(SSE))) {
        uint64_t old, new;
        memcpy(&old, to + CARRY_AREA_XSTATE_BV, sizeof old);
        memcpy(&new, from + CARRY_AREA_XSTATE_BV, sizeof new);
        new = (old & ~mask) | (new &mask);
        memcpy(to + CARRY_AREA_XSTATE_BV, &new, sizeof new);
    }
}

/* Handles the trap before an instruction. Emulators call handlers with a stack that is not aligned
   as the ABI demands. */
__attribute__((force_align_arg_pointer)) static void step(int signal, siginfo_t *info,
                                                          void *context) {
    static struct image live; /* nothing may change registers before they are saved */
    ucontext_t *interrupted = context;
    uint8_t *frame = (uint8_t *)interrupted->uc_mcontext.fpregs;
    (void)signal;
    (void)info;
    if (!in_kernel || !stepping.on || stepping.count++ != stepping.target) {
        if (!stepping.on)
            interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG; /* no further stop */
    stepping.hit = true;
    in_kernel = 0;
    save_registers(&live);
    uint64_t mask = frame_mask(frame);
    copy_registers(live.bytes, frame, mask);
    self->registers = live;
    interrupt_with(stepping.with_area);
    copy_registers(frame, self->registers.bytes, mask);
    load_registers(&self->registers);
    in_kernel = 1;
}

static void set_trap_flag(void) {
    __asm__ volatile("subq $128, %%rsp\n\t"
                     "pushfq\n\t"
                     "orq %0, (%%rsp)\n\t"
                     "popfq\n\t"
                     "addq $128, %%rsp"
                     :
                     : "i"(TRAP_FLAG)
                     : "memory", "cc");
}

/* Steps through the code from here on, until stop_stepping(). */
static void start_stepping(void) {
    enter_kernel();
    stepping.on = 1;
    set_trap_flag();
}

static void stop_stepping(void) {
    stepping.on = 0;
    __asm__ volatile("nop");
    leave_kernel();
}

static void stepped_begin(struct carry_section *section) {
    start_stepping();
    int answer = carry_section_begin(section, NULL, CARRY_SECTION_X87);
    stop_stepping();
    require_in_sim(!answer, "a thread is refused");
    check_start(true);
}

static void stepped_end(struct carry_section *section) {
    start_stepping();
    carry_section_end(section);
    stop_stepping();
}

static void step_section(enum sim_stepped what) {
    struct carry_section section;
    if (what == SIM_BEGIN)
        stepped_begin(&section);
    else
        require_in_sim(!begin_as_kernel(&section, NULL, 0), "a thread is refused");
    use_registers();
    if (what == SIM_END)
        stepped_end(&section);
    else
        end_as_kernel(&section);
}

static void step_reload(void) {
    begin_in_thread();
    self->current->due = false;
    start_stepping();
    int error = carry_section_reload(&self->current->section);
    stop_stepping();
    require_in_sim(!error, "a load is refused");
}

static void step_switch(void) {
    struct thread *next = self->current == &threads[0] ? &threads[1] : &threads[0];
    self->switches = true;
    start_stepping();
    int error = carry_section_switch(&next->section);
    stop_stepping();
    require_in_sim(!error, "a switch is refused");
    self->current = next;
    self->switches = false;
}

bool sim_interrupt_at(enum sim_stepped what, size_t target, bool with_area) {
    struct image own = {{0}};
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO}, before;
    save_registers(&own);
    sigaction(SIGTRAP, &action, &before);
    stepping.target = target;
    stepping.count = 0;
    stepping.with_area = with_area;
    stepping.hit = false;
    self = &cpus[0];
    self->acts = true;
    if (!self->current)
        switch_to(&threads[0]);
    return_to_user();
    run_thread();
    if (what == SIM_RELOAD)
        step_reload();
    else if (what == SIM_SWITCH)
        step_switch();
    else
        step_section(what);
    return_to_user();
    self->acts = false;
    check_invariants();
    sigaction(SIGTRAP, &before, NULL);
    load_registers(&own);
    return stepping.hit;
}
