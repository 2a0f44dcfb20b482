/* SPDX-License-Identifier: MIT */
/*
 * Images of extended state: initial images are created, foreign images are checked and converted.
 *
 *     struct carry_xstate_layout layout;                    // of the machine that wrote it
 *     enum carry_xstate_refusal refusal = carry_xstate_from_regset(bytes, size, &layout);
 *     if (refusal)
 *         fprintf(stderr, "%s\n", carry_xstate_refusal_description(refusal));
 *     else if (carry_xstate_image_in_use(&layout, bytes) & CARRY_XSTATE_BIT(AVX))
 *         ...
 *
 * Contract shared by all functions here:
 *  - The functions only read and write bytes: any machine handles the images of any x86 CPU, at any
 *    address. An image written for this CPU may be loaded from an address aligned to
 *    CARRY_XSTATE_ALIGN.
 *  - An image holds user state, in the standard or the compact form: XCOMP_BV says which. A layout
 *    whose `user` is 0 describes a machine without XSAVE: its images are the 512 bytes of FXSAVE.
 *  - Whatever the bytes are, no function reads outside [image, image + size). An image that is not
 *    refused does not make XRSTOR fault because of its header or MXCSR, on the machine whose layout
 *    it has or that it was converted for. The contents of other registers are not judged.
 *  - No function keeps state or allocates: callable anywhere.
 *
 * Source: Intel SDM vol. 1, 13.4, 13.7 to 13.12; Linux, arch/x86/include/uapi/asm/sigcontext.h.
 */
#ifndef CARRY_IMAGE_H
#define CARRY_IMAGE_H

#include <carry/xstate.h>

CARRY_BEGIN_DECLS

#define CARRY_REFUSAL(name, description) CARRY_XSTATE_REFUSED_##name,
/* Functions that may refuse return CARRY_XSTATE_REFUSED_NONE, which is 0, or the reason. */
enum carry_xstate_refusal {
#include <carry/refusals.def>
    CARRY_XSTATE_REFUSALS
};
#undef CARRY_REFUSAL

/* Return the name of a refusal, such as "NOT_COMPACTED", and its description in one line. */
CARRY_API const char *carry_xstate_refusal_name(enum carry_xstate_refusal refusal);
CARRY_API const char *carry_xstate_refusal_description(enum carry_xstate_refusal refusal);

/*
 * Writes an image of `mask`, of carry_xstate_size() bytes, with nothing in use: loading the image
 * sets its components to the values that the CPU starts with. FCW and MXCSR become as in a new
 * process, whichever instruction loads them. PKRU, if `mask` names it, becomes 0, which grants all
 * rights. XSTATE_BV is 0: if it named vector state, even all zeros, loading the image would leave
 * SSE code slow. Returns 0, or
 *  CARRY_ERROR_SIZE         the buffer is too small; nothing is written
 *  CARRY_ERROR_UNSUPPORTED  the machine has no compact form
 *  CARRY_ERROR_INVALID      `form` is not a form
 */
CARRY_API int carry_xstate_initial(const struct carry_xstate_layout *layout, uint64_t mask,
                                   enum carry_xstate_form form, void *image, size_t size);

/* --- Foreign images --- */

/* Checks that a machine can have this layout. The result of carry_xstate_layout() passes. */
CARRY_API enum carry_xstate_refusal
carry_xstate_check_layout(const struct carry_xstate_layout *layout);

/* Checks the layout, and that the image is one of a machine with this layout. */
CARRY_API enum carry_xstate_refusal carry_xstate_check(const struct carry_xstate_layout *layout,
                                                       const void *image, size_t size);

/* The image that carry_xstate_convert() writes. */
struct carry_xstate_target {
    const struct carry_xstate_layout *layout;
    enum carry_xstate_form form;
    uint64_t mask; /* components that the image has room for, if the layout has them */
    uint64_t drop; /* components that become initial, whatever the source holds */
    void *image;
    size_t size;
};

/*
 * Writes the state in `image` as an image of another machine, or in another form. A component that
 * is not in use becomes initial, whatever bytes the source holds in its place. The function checks
 * the source first, and writes nothing unless it returns CARRY_XSTATE_REFUSED_NONE. The images must
 * not overlap.
 */
CARRY_API enum carry_xstate_refusal carry_xstate_convert(const struct carry_xstate_layout *layout,
                                                         const void *image, size_t size,
                                                         const struct carry_xstate_target *target);

/* --- The contents of a checked image --- */

/* Returns the components in use (without XSAVE: all). Their registers may still hold initial
 * values. */
CARRY_API uint64_t carry_xstate_image_in_use(const struct carry_xstate_layout *layout,
                                             const void *image);

/* Returns the bytes of a component and stores their number in `*size`; NULL if the component is not
 * in use. MXCSR is among the bytes of x87. */
CARRY_API const void *carry_xstate_image_part(const struct carry_xstate_layout *layout,
                                              const void *image, unsigned component, size_t *size);

/*
 * Returns whether all registers of a component hold the values that the CPU starts with. They do if
 * the component is not in use, with one exception: the standard form holds MXCSR, which is part of
 * SSE, even then.
 */
CARRY_API bool carry_xstate_image_is_initial(const struct carry_xstate_layout *layout,
                                             const void *image, unsigned component);

/* --- Sources of images --- */

/*
 * Each function checks an image and finds the layout of the machine that wrote it. Systems hand out
 * the standard form only, so these layouts describe neither the compact form nor supervisor state.
 * The image has `layout->standard_size` bytes, or 512 if `layout->user` is 0.
 */

/*
 * Checks a register set NT_X86_XSTATE, from ptrace or a core file. Its software bytes hold XCR0
 * (Linux, FreeBSD), but no offsets. The function derives these from XCR0 and the size, for this
 * machine and all known ones. An image of 512 bytes is one of FXSAVE (NT_PRFPREG).
 */
CARRY_API enum carry_xstate_refusal carry_xstate_from_regset(const void *image, size_t size,
                                                             struct carry_xstate_layout *layout);

/* Does what carry_xstate_from_regset() does, and also uses the contents of the core file's note
 * NT_X86_XSAVE_LAYOUT (0x205, Linux 6.12). */
CARRY_API enum carry_xstate_refusal carry_xstate_from_core(const void *image, size_t size,
                                                           const void *note, size_t note_size,
                                                           struct carry_xstate_layout *layout);

/*
 * Checks the frame that uc_mcontext.fpregs points to in a signal handler on Linux. `size` limits
 * the bytes that are read. The frame itself holds its length, so SIZE_MAX is valid for a frame that
 * Linux has just made.
 */
CARRY_API enum carry_xstate_refusal carry_xstate_from_frame(const void *frame, size_t size,
                                                            struct carry_xstate_layout *layout);

CARRY_END_DECLS

#endif
