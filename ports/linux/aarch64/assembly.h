/* SPDX-License-Identifier: MIT */
/* Before each assembly file of the core. */
/* clang-format off */
    .cfi_sections .debug_frame
