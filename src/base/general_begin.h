/* SPDX-License-Identifier: MIT */
/*
 * From here to general_end.h, functions use only general registers, whatever CPU they are compiled
 * for. Otherwise compilers copy through vector registers, and put VZEROUPPER after XRSTOR, and so
 * change the registers that these functions have just loaded, or are about to save.
 *
 * Include this file first, so that inline functions of headers are compiled in the same way. It has
 * no include guard, because each use has its own end.
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
