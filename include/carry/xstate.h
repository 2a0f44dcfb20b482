/* SPDX-License-Identifier: MIT */
/*
 * Extended state of x86: the registers that XSAVE saves, by components.
 *
 *     uint64_t mask = carry_xstate_default();             // what is worth keeping
 *     void *area = aligned_alloc(CARRY_XSTATE_ALIGN, carry_xstate_area_size(mask));
 *
 *     carry_xstate_save(area, mask);                      // what of it is in use
 *     carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);      // so that SSE code runs at full speed
 *     ...
 *     carry_xstate_load(area, mask);
 *
 * Contract shared by all functions here:
 *  - A mask is a set of components, CARRY_XSTATE_BIT(AVX) | ...: components that the CPU or the
 *    operating system has not enabled are left out of it in silence, so -1 stands for all.
 *  - A component that is not *in use* (XINUSE) is *initial*: its registers hold what the CPU starts
 *    with. A component in use may be initial too, as a CPU may count every write, whatever value it
 *    writes. So a component that is in use says nothing about its values.
 *  - A component may come into use at any time, initial, because the system or a hypervisor writes
 *    it back: PKRU on Intel's CPUs, SSE on AMD's. Where the CPU cannot tell (no XGETBV with
 *    ECX = 1), all components that are enabled count as in use.
 *  - An area is written in the best form this CPU has (XSAVEC, else XSAVE, else FXSAVE), never
 *    by XSAVEOPT, which leaves stale parts in areas that are used again. Areas are for the CPU that
 *    wrote them, and of CARRY_XSTATE_ALIGN alignment. An *image* is a copy of such an area as
 *    anybody may hold it: of another CPU or process, in a file.
 *  - Layouts, images and sizes can be asked for any machine, on any machine. What touches registers
 *    does nothing on other architectures: nothing is enabled there.
 *  - PKRU is a right, not data, and TILEDATA is 8 KiB that needs the system's permission: neither
 *    is in carry_xstate_default(); name them to have them.
 *  - Nothing allocates, locks or keeps state but cached facts of CPUID: callable from any thread,
 *    signal handlers and, where vector registers may be used, kernels.
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

#define CARRY_XSTATE_BIT(name) (UINT64_C(1) << CARRY_XSTATE_##name)

/* Of areas and images, in bytes. */
#define CARRY_XSTATE_ALIGN    64
#define CARRY_XSTATE_LEGACY   512 /* FXSAVE; then the header: XSTATE_BV, XCOMP_BV, 48 zeroes */
#define CARRY_XSTATE_EXTENDED 576 /* where components from AVX on may start */

/* "AVX", and one line for people. */
CARRY_API const char *carry_xstate_name(unsigned component);
CARRY_API const char *carry_xstate_description(unsigned component);

/* --- Layouts --- */

enum carry_xstate_form {
    CARRY_XSTATE_STANDARD, /* XSAVE: each component at its own offset */
    CARRY_XSTATE_COMPACT,  /* XSAVEC, XSAVES: one after the other, those of XCOMP_BV */
};

struct carry_xstate_part {
    uint32_t size;   /* in bytes; 0 if the machine lacks the component */
    uint32_t offset; /* in the standard form; 0 for those that it has no place for */
    bool supervisor; /* belongs to IA32_XSS, so only kernels save it */
    bool aligned;    /* in the compact form, starts at a multiple of 64 */
    bool lazy;       /* the system may withhold it until it is first used (IA32_XFD) */
};

/* What a machine has, and where it keeps it. All zero where there is no XSAVE but FXSAVE. */
struct carry_xstate_layout {
    uint64_t user;       /* components that XCR0 enables, as far as they have a name and a size */
    uint64_t supervisor; /* that IA32_XSS may enable */
    uint32_t standard_size; /* of an image of all that XCR0 enables, as CPUID tells */
    uint32_t mxcsr_mask;    /* the bits that MXCSR may have set */
    bool xsaveopt;
    bool xsavec;
    bool xgetbv1; /* tells what is in use */
    bool xsaves;
    bool xfd;
    struct carry_xstate_part parts[CARRY_XSTATE_COMPONENTS];
};

/* Copies the layout of this machine, which is found once. Features masked by carry_cpu_set_mask()
 * are still told here: it says what the machine has, not what the library uses of it. */
CARRY_API void carry_xstate_layout(struct carry_xstate_layout *layout);

/* Bytes of an image of the components of `mask` that the layout has, legacy area and header
 * included; 512 where it has no XSAVE. Not always a multiple of 64. */
CARRY_API size_t carry_xstate_size(const struct carry_xstate_layout *layout, uint64_t mask,
                                   enum carry_xstate_form form);

/* Where a component of `mask` starts in such an image; 0 if it is not in there (x87 starts at 0
 * too: it always is). */
CARRY_API size_t carry_xstate_offset(const struct carry_xstate_layout *layout, uint64_t mask,
                                     enum carry_xstate_form form, unsigned component);

/* --- The registers of this CPU --- */

/* The components that the operating system has enabled and the library uses. */
CARRY_API uint64_t carry_xstate_enabled(void);

/* Those, less PKRU and TILEDATA: what to keep across a switch. */
CARRY_API uint64_t carry_xstate_default(void);

/* The components that are in use now. */
CARRY_API uint64_t carry_xstate_in_use(void);

/* Bytes of an area for the components of `mask`, a multiple of CARRY_XSTATE_ALIGN. */
CARRY_API size_t carry_xstate_area_size(uint64_t mask);

/*
 * Saves the components of `mask` that are in use into `area`, of carry_xstate_area_size(mask)
 * bytes, and returns which they were. The registers stay as they are.
 */
CARRY_API uint64_t carry_xstate_save(void *area, uint64_t mask);

/*
 * Loads the components of `mask` from an area that carry_xstate_save() or carry_xstate_initial()
 * wrote: those that were not in use become initial. CPUs with XSAVE may also put them out of use,
 * and all that were measured do. An area from elsewhere must be checked by carry_xstate_check()
 * first: garbage in a header faults.
 */
CARRY_API void carry_xstate_load(const void *area, uint64_t mask);

enum carry_xstate_level {
    CARRY_XSTATE_CLEAN_UPPERS,  /* upper halves of zmm0-15 and ymm0-15 (VZEROUPPER); xmm stay */
    CARRY_XSTATE_CLEAN_VECTORS, /* all vector registers, masks and tiles */
    CARRY_XSTATE_CLEAN_ALL,     /* x87, FCW and MXCSR too; PKRU stays */
};

/*
 * Makes the registers of a level initial, and puts them out of use as far as the CPU allows: SSE
 * may stay in use while MXCSR is not 0x1f80, and x87 and SSE stay in use without XSAVE. The first
 * two levels change only what a call may change, so they may stand wherever a call may stand.
 */
CARRY_API void carry_xstate_clean(enum carry_xstate_level level);

CARRY_END_DECLS

#endif
