/* SPDX-License-Identifier: MIT */
/* Included before each assembly file of the core. */
/* clang-format off */
    .cfi_sections .debug_frame
