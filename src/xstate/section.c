/* SPDX-License-Identifier: MIT */
/*
 * Sections: which thread or section owns the vector registers of a CPU.
 *
 * All changes are made while the CPU's word `section` is not NULL, by the code that set it. Code
 * that interrupts that code, at any instruction, either changes nothing, or saves all registers and
 * restores them. The interrupting code reads no other word. So no thread sees a state that is half
 * saved or half loaded.
 */
#include "base/general_begin.h"

#include <carry/section.h>

#include "base/section_host.h"
#include "xstate/xstate_internal.h"

/* --- The word `section` --- */

/*
 * Sets the word. No other code uses it except interrupts of this CPU, so only the compiler must
 * preserve the order.
 */
static void set_section(struct carry_section_cpu *cpu, struct carry_section *section) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&cpu->section, section, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Starts a section on this CPU. Returns 0 or an error. Preemption must be off. An interrupt between
 * load and store has ended its own sections before the store.
 */
static int claim_cpu(struct carry_section *section, void *area) {
    struct carry_section_cpu *cpu = carry_host_section_cpu();
    if (!cpu)
        return CARRY_ERROR_UNSUPPORTED;
    struct carry_section *outer = __atomic_load_n(&cpu->section, __ATOMIC_RELAXED);
    if (outer && !area)
        return CARRY_ERROR_BUSY;
    *section = (struct carry_section){.outer = outer, .cpu = cpu, .area = area};
    set_section(cpu, section);
    carry_host_vectors_allow();
    return CARRY_OK;
}

static void release_cpu(struct carry_section *section) {
    set_section(section->cpu, section->outer);
}

/* Returns why no section may begin: registers that cannot be saved, or an NMI. */
static int section_refusal(void) {
    if (!carry_vectors_known())
        return CARRY_ERROR_UNSUPPORTED;
    return carry_host_in_nmi() ? CARRY_ERROR_CONTEXT : CARRY_OK;
}

/* --- Owners, on a claimed CPU --- */

static void save_owner(struct carry_section_cpu *cpu) {
    if (cpu->owner)
        carry_vectors_save(cpu->owner->area, cpu->owner->mask);
}

/* Saves the owner's state, and removes the owner. Its state also remains in the registers. */
static void disown_cpu(struct carry_section_cpu *cpu) {
    if (!cpu->owner)
        return;
    save_owner(cpu);
    cpu->kept = cpu->owner;
    cpu->owner = NULL;
}

/*
 * Checks whether the registers still hold the thread's state. The words `kept` and `cpu` must both
 * match: a new thread may have the address of a thread that ended, and this thread may have run on
 * another CPU in between.
 */
static bool keeps_state(const struct carry_section_cpu *cpu,
                        const struct carry_section_thread *thread) {
    return cpu->kept == thread && thread->cpu == cpu;
}

static void own_cpu(struct carry_section_cpu *cpu, struct carry_section_thread *thread) {
    if (!keeps_state(cpu, thread))
        carry_vectors_load(thread->area, thread->mask);
    thread->cpu = cpu;
    cpu->kept = NULL;
    cpu->owner = thread;
}

static void own_cpu_later(struct carry_section_cpu *cpu, struct carry_section_thread *thread) {
    if (keeps_state(cpu, thread) || !carry_host_section_defer(thread))
        own_cpu(cpu, thread);
}

/* --- Sections --- */

int carry_section_begin(struct carry_section *section, void *area, unsigned flags) {
    int error = section_refusal();
    if (error)
        return error;
    carry_host_preempt_off();
    error = claim_cpu(section, area);
    if (error) {
        carry_host_preempt_on();
        return error;
    }
    if (section->outer) {
        carry_vectors_save(area, carry_vectors_mask());
    } else {
        section->thread = section->cpu->owner;
        disown_cpu(section->cpu);
        section->cpu->kept = NULL;
    }
    carry_vectors_start(flags & CARRY_SECTION_X87);
    return CARRY_OK;
}

void carry_section_end(struct carry_section *section) {
    if (section->outer)
        carry_vectors_load(section->area, carry_vectors_mask());
    else if (section->thread)
        own_cpu_later(section->cpu, section->thread);
    release_cpu(section);
    carry_host_preempt_on();
}

/* --- Threads --- */

/* Claims the CPU for the duration of one of the functions below. Returns 0 or an error. */
static int claim_if_allowed(struct carry_section *section) {
    int error = section_refusal();
    return error ? error : claim_cpu(section, NULL);
}

int carry_section_switch(struct carry_section_thread *next) {
    struct carry_section section;
    int error = claim_if_allowed(&section);
    if (error)
        return error;
    if (section.cpu->owner != next) {
        disown_cpu(section.cpu);
        if (next)
            own_cpu_later(section.cpu, next);
    }
    release_cpu(&section);
    return CARRY_OK;
}

int carry_section_reload(struct carry_section_thread *thread) {
    struct carry_section section;
    int error = claim_if_allowed(&section);
    if (error)
        return error;
    if (section.cpu->owner != thread) {
        disown_cpu(section.cpu);
        own_cpu(section.cpu, thread);
    }
    release_cpu(&section);
    return CARRY_OK;
}

int carry_section_sync(struct carry_section_thread *thread) {
    struct carry_section section;
    int error = claim_if_allowed(&section);
    if (error)
        return error;
    if (section.cpu->owner == thread)
        save_owner(section.cpu);
    release_cpu(&section);
    return CARRY_OK;
}

void carry_section_forget(struct carry_section_thread *thread) {
    struct carry_section_cpu *cpu = carry_host_section_cpu();
    if (cpu && cpu->owner == thread)
        cpu->owner = NULL;
    thread->cpu = NULL;
}

void carry_section_create(struct carry_section_thread *thread, void *area, uint64_t mask) {
    carry_vectors_create(area, mask);
    *thread = (struct carry_section_thread){.area = area, .mask = mask};
}

#include "base/general_end.h"
