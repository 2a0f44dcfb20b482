/* SPDX-License-Identifier: MIT */
/* Contexts of x86-64: their first frame, and their exchange under an interrupt. */
#include "base/general_begin.h"

#include "base/fiber_host.h"
#include "cpu/cpu_internal.h"
#include "xstate/image_internal.h"
#include "xstate/switch.h"

_Static_assert(offsetof(struct carry_context, stack_pointer) == CONTEXT_STACK_POINTER &&
                   offsetof(struct carry_context, area) == CONTEXT_AREA &&
                   offsetof(struct carry_context, mask) == CONTEXT_MASK &&
                   offsetof(struct carry_context, flags) == CONTEXT_FLAGS &&
                   offsetof(struct carry_context, fiber) == CONTEXT_FIBER &&
                   offsetof(struct carry_context, full_mask) == CONTEXT_FULL_MASK &&
                   offsetof(struct carry_context, registers) == CONTEXT_REGISTERS &&
                   offsetof(struct carry_context_registers, rsp) == REGISTERS_RSP &&
                   offsetof(struct carry_context_registers, rip) == REGISTERS_RIP &&
                   offsetof(struct carry_context_registers, rflags) == REGISTERS_RFLAGS &&
                   sizeof(struct carry_context_registers) == REGISTERS_SIZE,
               "as assembly knows them");

/* Bits of RFLAGS that System V calls expect clear, and that are not cleared otherwise. */
#define DIRECTION       (UINT64_C(1) << 10)
#define ALIGNMENT_CHECK (UINT64_C(1) << 18)

/* The frame that carry_context_switch() leaves on a stack. */
struct frame {
    uint32_t mxcsr;
    uint16_t fcw;
    uint16_t loaded_fcw; /* scratch, where the switch reads the value that it loaded */
    uint64_t r15, r14, r13, r12, rbx, rbp;
    uintptr_t pc;
};

/* Labels in switch.S. */
extern const char carry_context_switching[], carry_context_switched[];
void carry_context_start(void);
void carry_context_resume(void);

/* Checks for a shadow stack: without one, RDSSPQ changes nothing. */
static bool has_shadow_stack(void) {
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer;
}

bool carry_context_supported(void) {
    return !has_shadow_stack();
}

uint32_t carry_context_cpu_flags(void) {
    uint32_t bits = carry_cpu_bits();
    return (bits & CARRY_CPU_BIT(avx) ? 0 : FLAG_NO_AVX) |
           (bits & CARRY_CPU_BIT(xsave) ? FLAG_XSAVE : 0) |
           (bits & CARRY_CPU_BIT(xsavec) ? FLAG_XSAVEC : 0) |
           (bits & CARRY_CPU_BIT(xgetbv1) ? FLAG_XGETBV1 : 0);
}

void *carry_context_first_frame(struct carry_context *context, void *end, carry_context_fn *entry,
                                void *argument) {
    struct frame *frame = (struct frame *)end - 1;
    *frame = (struct frame){
        .mxcsr = CARRY_MXCSR_INITIAL,
        .fcw = CARRY_FCW_INITIAL,
        .r12 = (uintptr_t)entry,
        .r13 = (uintptr_t)argument,
        .r14 = (uintptr_t)context,
        .pc = (uintptr_t)carry_context_start,
    };
    return frame;
}

/* --- Under an interrupt --- */

#define BIT(name) CARRY_XSTATE_BIT(name)

/* Checks for a header. With only the legacy components, images may have the form of FXSAVE. */
static bool has_header(uint64_t components) {
    return components & ~CARRY_LEGACY_STATE;
}

static uint64_t get_in_use(const uint8_t *image) {
    return carry_image_get(image + CARRY_AREA_XSTATE_BV, 8);
}

/*
 * Returns the components in use, without an initial x87. Systems mark x87 as in use in all their
 * frames, and it would remain in use from then on.
 */
static uint64_t components_in_use(const uint8_t *image, uint64_t components) {
    uint64_t used = has_header(components) ? get_in_use(image) : CARRY_LEGACY_STATE;
    return carry_image_is_initial_x87(image) ? used & ~BIT(X87) : used;
}

/* Copies the legacy area, and the extended components of `mask`. */
static void copy_image(const struct carry_xstate_layout *layout, uint8_t *to, const uint8_t *from,
                       uint64_t mask) {
    __builtin_memcpy(to, from, CARRY_AREA_SOFTWARE);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1)
            __builtin_memcpy(to + layout->parts[i].offset, from + layout->parts[i].offset,
                             layout->parts[i].size);
}

static void suspend_context(const struct carry_xstate_layout *layout, struct carry_context *from,
                            const struct carry_context_registers *registers, const uint8_t *image,
                            uint64_t used) {
    uint8_t *area = from->area;
    copy_image(layout, area, image, used);
    __builtin_memset(area + CARRY_AREA_XSTATE_BV, 0, CARRY_XSTATE_EXTENDED - CARRY_AREA_XSTATE_BV);
    carry_image_put(area + CARRY_AREA_XSTATE_BV, 8, used);
    from->registers = *registers;
    from->flags |= FLAG_PREEMPTED;
}

/*
 * Marks components as in use. Components that are not in the context's full_mask are unchanged:
 * they belong to the thread.
 */
static void set_in_use(const struct carry_context *to, uint8_t *image, uint64_t components,
                       uint64_t used) {
    if (has_header(components))
        carry_image_put(image + CARRY_AREA_XSTATE_BV, 8,
                        used | (get_in_use(image) & ~to->full_mask));
}

static void resume_preempted(const struct carry_xstate_layout *layout, struct carry_context *to,
                             struct carry_context_registers *registers, uint8_t *image,
                             uint64_t components) {
    uint64_t used = get_in_use(to->area);
    copy_image(layout, image, to->area, used);
    set_in_use(to, image, components, used);
    *registers = to->registers;
    to->flags &= ~(uint32_t)FLAG_PREEMPTED;
}

/* Resumes in the middle of carry_context_switch(), which loads the components that `to` keeps. */
static void resume_suspended(const struct carry_context *to,
                             struct carry_context_registers *registers, uint8_t *image,
                             uint64_t components) {
    const struct frame *frame = to->stack_pointer;
    __builtin_memset(image, 0, CARRY_AREA_SOFTWARE);
    __builtin_memcpy(image + CARRY_AREA_FCW, &frame->fcw, sizeof frame->fcw);
    __builtin_memcpy(image + CARRY_AREA_MXCSR, &frame->mxcsr, sizeof frame->mxcsr);
    set_in_use(to, image, components, components_in_use(image, CARRY_LEGACY_STATE));
    registers->rsi = (uintptr_t)to;
    registers->rdx = 0;
    registers->rsp = (uintptr_t)to->stack_pointer;
    registers->rip = (uintptr_t)carry_context_resume;
    registers->rflags &= ~(DIRECTION | ALIGNMENT_CHECK);
}

static bool is_in_switch(const struct carry_context_registers *registers) {
    return registers->rip >= (uintptr_t)carry_context_switching &&
           registers->rip < (uintptr_t)carry_context_switched;
}

static bool is_on_stack(const struct carry_context *context, uint64_t stack_pointer) {
    uintptr_t stack = (uintptr_t)context->stack;
    return !stack || (stack_pointer >= stack && stack_pointer <= stack + context->stack_size);
}

/* Checks for room for the registers that carry_context_switch() stores below the red zone. */
static bool has_room(const struct carry_context *context, uint64_t stack_pointer) {
    return !context->stack ||
           stack_pointer - (uintptr_t)context->stack >= RED_ZONE + REGISTERS_SIZE;
}

static bool is_preempted(const struct carry_context *context) {
    return context->flags & FLAG_PREEMPTED;
}

static int why_not_by_sanitizer(const struct carry_context *from) {
    return from->flags & FLAG_FIBERS ? carry_host_fiber_preempts() : CARRY_OK;
}

static int why_not_exchange(const struct carry_context *from, const struct carry_context *to,
                            const struct carry_context_registers *registers, uint64_t used,
                            uint64_t components) {
    /* Frames of threads that may not use tiles lack TILEDATA. */
    if (has_shadow_stack() || from->full_mask & ~(components | BIT(TILEDATA)) ||
        used >> CARRY_XSTATE_COMPONENTS)
        return CARRY_ERROR_UNSUPPORTED;
    if (to == from || (!to->stack_pointer && !is_preempted(to)))
        return CARRY_ERROR_INVALID;
    const int error = why_not_by_sanitizer(from);
    if (error)
        return error;
    if (is_in_switch(registers) || !is_on_stack(from, registers->rsp))
        return CARRY_ERROR_BUSY;
    if (!from->area || from->area_size < carry_context_area_size(used))
        return CARRY_ERROR_SIZE;
    if (!has_room(from, registers->rsp))
        return CARRY_ERROR_SIZE;
    if (is_preempted(to) && get_in_use(to->area) & ~components)
        return CARRY_ERROR_SIZE;
    return CARRY_OK;
}

int carry_context_exchange(struct carry_context *from, struct carry_context *to,
                           struct carry_context_registers *registers, void *image,
                           uint64_t components) {
    struct carry_xstate_layout layout;
    uint64_t used = components_in_use(image, components) & from->full_mask;
    int error = why_not_exchange(from, to, registers, used, components);
    if (error)
        return error;
    carry_xstate_layout(&layout);
    suspend_context(&layout, from, registers, image, used);
    if (is_preempted(to))
        resume_preempted(&layout, to, registers, image, components);
    else
        resume_suspended(to, registers, image, components);
    if (from->flags & FLAG_FIBERS)
        carry_host_fiber_switch(from, to, false);
    return CARRY_OK;
}

#include "base/general_end.h"
