/* SPDX-License-Identifier: MIT */
/*
 * From here to general_end.h, functions use general registers alone, whatever CPU they are compiled
 * for. Otherwise compilers put copies into vector registers, and VZEROUPPER behind XRSTOR, and so
 * change the registers that these functions have just loaded, or are about to save.
 *
 * To be included first, so that inline functions of headers are compiled alike; no include guard,
 * as each use has its own end.
 */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic error "-Wignored-attributes"
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("general-regs-only")
#endif
#endif
