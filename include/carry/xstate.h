/* SPDX-License-Identifier: MIT */
/*
 * Extended state of x86: the registers that XSAVE saves, divided into components.
 *
 *     uint64_t mask = carry_xstate_default();             // the components worth keeping
 *     void *area = aligned_alloc(CARRY_XSTATE_ALIGN, carry_xstate_area_size(mask));
 *
 *     carry_xstate_save(area, mask);                      // of these, the components in use
 *     carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);      // so that SSE code runs at full speed
 *     ...
 *     carry_xstate_load(area, mask);
 *
 * Contract shared by all functions here:
 *  - A mask is a set of components: CARRY_XSTATE_BIT(AVX) | ... Functions silently ignore
 *    components that the CPU or the operating system has not enabled, so -1 stands for all.
 *  - A component that is not *in use* (XINUSE) is *initial*: its registers hold the values that the
 *    CPU starts with. A component in use may be initial too, because a CPU may count every write,
 *    whatever value it writes. So "in use" says nothing about values.
 *  - A component may come into use at any time, with initial values, because the operating system
 *    or a hypervisor writes it back: PKRU on Intel CPUs, SSE on AMD CPUs. If the CPU cannot report
 *    use (no XGETBV with ECX = 1), all enabled components count as in use.
 *  - The library writes an area in the best form that this CPU has: XSAVEC, else XSAVE, else
 *    FXSAVE. It never uses XSAVEOPT, which leaves stale parts in areas that are used again. An area
 *    is for the CPU that wrote it, and must be aligned to CARRY_XSTATE_ALIGN. An *image* is a copy
 *    of an area from anywhere: from another CPU, another process or a file.
 *  - Layouts, images and sizes are available for any machine, on any machine. Functions that access
 *    registers do nothing on other architectures, where no component is enabled.
 *  - PKRU is an access right, not data, and TILEDATA is 8 KiB that needs the operating system's
 *    permission. carry_xstate_default() contains neither; name them to include them.
 *  - No function allocates, locks or keeps state, except for cached CPUID data. Callable from any
 *    thread, from signal handlers and, where vector registers may be used, from operating-system
 *    kernels.
 *
 * Source: Intel SDM vol. 1, chapter 13; AMD APM vol. 2, 11.5 and vol. 3, appendix on CPUID Fn0D.
 */
#ifndef CARRY_XSTATE_H
#define CARRY_XSTATE_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

#define CARRY_COMPONENT(bit, name, description) CARRY_XSTATE_##name = bit,
enum carry_xstate_component {
#include <carry/components.def>
    CARRY_XSTATE_COMPONENTS
};
#undef CARRY_COMPONENT

/* CARRY_XSTATE_BIT(name)   the bit of a component in masks: CARRY_XSTATE_BIT(AVX). */
#define CARRY_XSTATE_BIT(name) (UINT64_C(1) << CARRY_XSTATE_##name)

/* Areas and images, in bytes. */
#define CARRY_XSTATE_ALIGN    64
#define CARRY_XSTATE_LEGACY   512 /* FXSAVE; then the header: XSTATE_BV, XCOMP_BV, 48 zero bytes */
#define CARRY_XSTATE_EXTENDED 576 /* the lowest offset of components from AVX on */

/* Return the name of a component, such as "AVX", and its description in one line. */
CARRY_API const char *carry_xstate_name(unsigned component);
CARRY_API const char *carry_xstate_description(unsigned component);

/* --- Layouts --- */

enum carry_xstate_form {
    CARRY_XSTATE_STANDARD, /* XSAVE: each component at its own offset */
    CARRY_XSTATE_COMPACT,  /* XSAVEC, XSAVES: the components of XCOMP_BV, one after the other */
};

struct carry_xstate_part {
    uint32_t size;   /* in bytes; 0 if the machine lacks the component */
    uint32_t offset; /* in the standard form; 0 if that form has no place for the component */
    bool supervisor; /* a component of IA32_XSS, so only operating-system kernels save it */
    bool aligned;    /* in the compact form, starts at a multiple of 64 */
    bool lazy;       /* the system may withhold it until it is first used (IA32_XFD) */
};

/* The components of a machine, and where they are kept. All zero except mxcsr_mask if the machine
 * has FXSAVE, but no XSAVE. */
struct carry_xstate_layout {
    uint64_t user;          /* components that XCR0 enables, if they have a name and a size */
    uint64_t supervisor;    /* components that IA32_XSS may enable */
    uint32_t standard_size; /* of an image of all that XCR0 enables, as CPUID reports it */
    uint32_t mxcsr_mask;    /* the bits that MXCSR may have set */
    bool xsaveopt;
    bool xsavec;
    bool xgetbv1; /* XGETBV reports the components in use */
    bool xsaves;
    bool xfd;
    struct carry_xstate_part parts[CARRY_XSTATE_COMPONENTS];
};

/* Copies the layout of this machine, which is detected once. Features that carry_cpu_set_mask()
 * masks are still reported: the layout describes the machine, not what the library uses of it. */
CARRY_API void carry_xstate_layout(struct carry_xstate_layout *layout);

/*
 * Returns the size, in bytes, of an image of the components of `mask` that the layout has. The
 * legacy area and the header are included. Returns 512 if the layout has no XSAVE, and 0 if `form`
 * is not a form. Not always a multiple of 64.
 */
CARRY_API size_t carry_xstate_size(const struct carry_xstate_layout *layout, uint64_t mask,
                                   enum carry_xstate_form form);

/* Returns where a component of `mask` starts in an image as carry_xstate_size() counts it; 0 if the
 * image does not hold the component. (x87 starts at 0 too, but every image holds it.) */
CARRY_API size_t carry_xstate_offset(const struct carry_xstate_layout *layout, uint64_t mask,
                                     enum carry_xstate_form form, unsigned component);

/* --- The registers of this CPU --- */

/* Returns the components that the operating system has enabled and the library uses. */
CARRY_API uint64_t carry_xstate_enabled(void);

/* Returns the enabled components except PKRU and TILEDATA: those to keep across a switch. */
CARRY_API uint64_t carry_xstate_default(void);

/* Returns the components that are in use now. */
CARRY_API uint64_t carry_xstate_in_use(void);

/* Returns the size of an area for the components of `mask`, in bytes: a multiple of
 * CARRY_XSTATE_ALIGN. */
CARRY_API size_t carry_xstate_area_size(uint64_t mask);

/*
 * Saves the components of `mask` that are in use into `area`, of carry_xstate_area_size(mask)
 * bytes, and returns these components. The registers stay as they are.
 */
CARRY_API uint64_t carry_xstate_save(void *area, uint64_t mask);

/*
 * Loads the components of `mask` from an area that carry_xstate_save() or carry_xstate_initial()
 * wrote. Components that were not in use become initial. CPUs with XSAVE may also put them out of
 * use, and all CPUs measured do. The area must have carry_xstate_area_size(mask) bytes: a CPU may
 * read all of a component, in use or not. An area that any other code wrote must be
 * checked with carry_xstate_check() first: an invalid header faults.
 */
CARRY_API void carry_xstate_load(const void *area, uint64_t mask);

enum carry_xstate_level {
    CARRY_XSTATE_CLEAN_UPPERS,  /* upper halves of zmm0-15 and ymm0-15 (VZEROUPPER); xmm stay */
    CARRY_XSTATE_CLEAN_VECTORS, /* all vector registers, masks and tiles */
    CARRY_XSTATE_CLEAN_ALL,     /* x87, FCW and MXCSR too; PKRU stays */
};

/*
 * Makes the registers of a level initial, and puts them out of use as far as the CPU allows:
 *  - SSE may stay in use while MXCSR is not 0x1f80.
 *  - Without XSAVE, x87 and SSE stay in use.
 * The first two levels change only registers that a call may change, so they may be used wherever
 * code may make a call.
 */
CARRY_API void carry_xstate_clean(enum carry_xstate_level level);

CARRY_END_DECLS

#endif
