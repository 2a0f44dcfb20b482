/* SPDX-License-Identifier: MIT */
/*
 * Before each source file of the core. Linux makes `inline` mean what it meant to GNU before C99,
 * where the library relies on C11: an inline function of a header is defined once, in one file.
 */
#undef inline
