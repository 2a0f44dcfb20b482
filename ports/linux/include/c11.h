/* SPDX-License-Identifier: MIT */
/*
 * Restores the meaning of `inline` in C11; included before each source file of the core. Linux
 * redefines it to its meaning in GNU C before C99. In the library, an inline function of a header
 * is defined once, in one file.
 */
#undef inline
