/* SPDX-License-Identifier: MIT */
/*
 * Included before each source file of the core. Linux redefines `inline` to its meaning in GNU C
 * before C99. The library relies on the meaning of C11: an inline function of a header is defined
 * once, in one file.
 */
#undef inline
