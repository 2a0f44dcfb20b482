/* SPDX-License-Identifier: MIT */
/* Ends what general_begin.h begins. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#endif
