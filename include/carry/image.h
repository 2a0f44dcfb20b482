/* SPDX-License-Identifier: MIT */
/*
 * Images of extended state: initial ones, and those that others wrote, checked and converted.
 *
 *     struct carry_xstate_layout layout;                    // of the machine that wrote it
 *     enum carry_xstate_refusal refusal = carry_xstate_from_regset(bytes, size, &layout);
 *     if (refusal)
 *         fprintf(stderr, "%s\n", carry_xstate_refusal_description(refusal));
 *     else if (carry_xstate_image_in_use(&layout, bytes) & CARRY_XSTATE_BIT(AVX))
 *         ...
 *
 * Contract shared by all functions here:
 *  - They read and write bytes alone: any machine handles the images of any x86 CPU, at any
 *    address. What is written for this CPU may be loaded, at an address of CARRY_XSTATE_ALIGN.
 *  - Images are of user state, in the standard or the compact form: which one, XCOMP_BV tells. A
 *    layout whose `user` is 0 is of a machine without XSAVE: its images are FXSAVE's 512 bytes.
 *  - Whatever the bytes are, nothing outside [image, image + size) is read. What is not refused
 *    faults no XRSTOR for its header or MXCSR, of the machine whose layout it is, or of one that it
 *    was converted for. What other registers hold is not judged.
 *  - Nothing is kept or allocated: callable anywhere.
 *
 * Source: Intel SDM vol. 1, 13.4, 13.7 to 13.12; Linux, arch/x86/include/uapi/asm/sigcontext.h.
 */
#ifndef CARRY_IMAGE_H
#define CARRY_IMAGE_H

#include <carry/xstate.h>

CARRY_BEGIN_DECLS

#define CARRY_REFUSAL(name, description) CARRY_XSTATE_REFUSED_##name,
/* Functions that refuse return CARRY_XSTATE_REFUSED_NONE, which is 0, or why. */
enum carry_xstate_refusal {
#include <carry/refusals.def>
    CARRY_XSTATE_REFUSALS
};
#undef CARRY_REFUSAL

/* "NOT_COMPACTED", and one line for people. */
CARRY_API const char *carry_xstate_refusal_name(enum carry_xstate_refusal refusal);
CARRY_API const char *carry_xstate_refusal_description(enum carry_xstate_refusal refusal);

/*
 * Writes an image of `mask`, of carry_xstate_size() bytes, with nothing in use: loading it makes
 * its components as the CPU starts with them. FCW and MXCSR are those of a new process, however it
 * is loaded; PKRU, if it is asked for, becomes 0, which grants all rights. XSTATE_BV is 0: an image
 * that names vector state, be it all zero, leaves SSE code slow. Returns 0, or
 *  CARRY_ERROR_SIZE         the buffer is too small; nothing is written
 *  CARRY_ERROR_UNSUPPORTED  the machine has no compact form
 *  CARRY_ERROR_INVALID      there is no such form
 */
CARRY_API int carry_xstate_initial(const struct carry_xstate_layout *layout, uint64_t mask,
                                   enum carry_xstate_form form, void *image, size_t size);

/* --- Foreign images --- */

/* Could a machine be so? Those of carry_xstate_layout() are. */
CARRY_API enum carry_xstate_refusal
carry_xstate_check_layout(const struct carry_xstate_layout *layout);

/* Is it an image of a machine of that layout? The layout is checked too. */
CARRY_API enum carry_xstate_refusal carry_xstate_check(const struct carry_xstate_layout *layout,
                                                       const void *image, size_t size);

/* What carry_xstate_convert() writes. */
struct carry_xstate_target {
    const struct carry_xstate_layout *layout;
    enum carry_xstate_form form;
    uint64_t mask; /* components that the image has room for, as far as the layout has them */
    uint64_t drop; /* components that become initial, whatever the source holds */
    void *image;
    size_t size;
};

/*
 * Writes what `image` holds as an image of another machine, or another form. Components that are
 * not in use become initial, wherever they are. The source is checked, and the images must not
 * overlap. Nothing is written if it is refused.
 */
CARRY_API enum carry_xstate_refusal carry_xstate_convert(const struct carry_xstate_layout *layout,
                                                         const void *image, size_t size,
                                                         const struct carry_xstate_target *target);

/* --- What a checked image holds --- */

/* The components in use; their registers may still hold initial values. Without XSAVE, all. */
CARRY_API uint64_t carry_xstate_image_in_use(const struct carry_xstate_layout *layout,
                                             const void *image);

/* The bytes of a component, and how many; NULL if it is not in use. MXCSR is among those of x87. */
CARRY_API const void *carry_xstate_image_part(const struct carry_xstate_layout *layout,
                                              const void *image, unsigned component, size_t *size);

/*
 * Are all registers of a component as the CPU starts with them? They are if it is not in use, but
 * for MXCSR of SSE, which the standard form holds nevertheless.
 */
CARRY_API bool carry_xstate_image_is_initial(const struct carry_xstate_layout *layout,
                                             const void *image, unsigned component);

/* --- Where images come from --- */

/*
 * Each checks an image and finds the layout of the machine that wrote it. Only the standard form is
 * handed out by systems, so the compact form of these layouts is not known, nor supervisor state;
 * `layout->standard_size`, or 512 if `layout->user` is 0, are the bytes of the image.
 */

/*
 * NT_X86_XSTATE, from ptrace or a core file; XCR0 is in its software bytes (Linux, FreeBSD). It
 * does not tell offsets, which follow from XCR0 and the size for this machine and all known ones.
 * 512 bytes are FXSAVE's (NT_PRFPREG).
 */
CARRY_API enum carry_xstate_refusal carry_xstate_from_regset(const void *image, size_t size,
                                                             struct carry_xstate_layout *layout);

/* The same, with the contents of the core file's note NT_X86_XSAVE_LAYOUT (0x205, Linux 6.12). */
CARRY_API enum carry_xstate_refusal carry_xstate_from_core(const void *image, size_t size,
                                                           const void *note, size_t note_size,
                                                           struct carry_xstate_layout *layout);

/*
 * What uc_mcontext.fpregs points to in a signal handler on Linux. `size` bounds what is read: the
 * frame itself tells how long it is, so SIZE_MAX is good for one that the kernel has just made.
 */
CARRY_API enum carry_xstate_refusal carry_xstate_from_frame(const void *frame, size_t size,
                                                            struct carry_xstate_layout *layout);

CARRY_END_DECLS

#endif
