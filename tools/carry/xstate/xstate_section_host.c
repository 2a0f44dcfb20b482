/* SPDX-License-Identifier: MIT */
/*
 * Provides what an operating-system kernel provides for sections: one thread, and one CPU with the
 * registers of this process. Access to variables costs the same as in a kernel; CR0.TS is never
 * set.
 */
#include "base/section_host.h"

#include <stdlib.h>
#include <string.h>

#include <carry/section.h>

#include "xstate/registers.h"
#include "xstate/xstate_section_host.h"

static struct {
    struct carry_section_cpu words;
    struct carry_section_thread thread;
    void *nested; /* the area of a section that interrupts another */
    unsigned preempt_depth;
    bool in_nmi;
    bool load_is_due;
} self;

void carry_host_preempt_off(void) {
    self.preempt_depth++;
}

void carry_host_preempt_on(void) {
    self.preempt_depth--;
}

bool carry_host_in_nmi(void) {
    return self.in_nmi;
}

struct carry_section_cpu *carry_host_section_cpu(void) {
    return &self.words;
}

void carry_host_vectors_allow(void) {
}

bool carry_host_section_defer(struct carry_section_thread *thread) {
    (void)thread;
    self.load_is_due = true;
    return true;
}

bool xstate_section_open(void) {
    const uint64_t mask = carry_xstate_default();
    const size_t bytes = carry_xstate_area_size(mask);
    memset(&self, 0, sizeof self);
    void *area = aligned_alloc(CARRY_XSTATE_ALIGN, bytes);
    self.nested = aligned_alloc(CARRY_XSTATE_ALIGN, bytes);
    if (!area || !self.nested) {
        free(area);
        free(self.nested);
        return false;
    }
    memset(self.nested, 0, bytes);
    carry_section_create(&self.thread, area, mask);
    return true;
}

void xstate_section_close(void) {
    carry_section_forget(&self.thread);
    free(self.thread.area);
    free(self.nested);
}

/* Loads the thread's state if a load is due, as a kernel does with interrupts off. */
static void return_to_user(void) {
    if (!self.load_is_due)
        return;
    self.load_is_due = false;
    carry_section_reload(&self.thread);
}

static void enter_user(uint64_t in_use) {
    carry_section_switch(&self.thread);
    return_to_user();
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    xstate_dirty(in_use);
}

/* Runs sections that interrupt another section, in which the components of `in_use` are in use. */
static void run_nested(uint64_t in_use, size_t calls) {
    struct carry_section outer, section;
    carry_section_begin(&outer, NULL, 0);
    xstate_dirty(in_use);
    for (; calls; calls--) {
        carry_section_begin(&section, self.nested, 0);
        carry_section_end(&section);
    }
    carry_section_end(&outer);
}

static void run_sections(enum xstate_section kind, size_t calls) {
    struct carry_section section;
    const unsigned flags = kind == XSTATE_X87 ? CARRY_SECTION_X87 : 0;
    for (; calls; calls--) {
        carry_section_begin(&section, NULL, flags);
        carry_section_end(&section);
        if (kind == XSTATE_WHOLE)
            return_to_user();
    }
}

uint64_t xstate_section_loop(enum xstate_section kind, uint64_t in_use, size_t calls) {
    uint64_t saved;
    enter_user(in_use);
    if (kind == XSTATE_NESTED)
        run_nested(in_use, calls);
    else
        run_sections(kind, calls);
    return_to_user();
    carry_section_sync(&self.thread);
    memcpy(&saved, (char *)self.thread.area + CARRY_XSTATE_LEGACY, sizeof saved);
    carry_section_switch(NULL);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return saved;
}
