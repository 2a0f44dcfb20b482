/* SPDX-License-Identifier: MIT */
/* Shared by patch_sites_<arch>.S: the records of sites, and the lists that placed.c reads. */
/* clang-format off */
#ifndef CARRY_TESTS_PATCH_SITES_H
#define CARRY_TESTS_PATCH_SITES_H

#define CALL        1
#define JUMP        2
#define BRANCH      3
#define ALTERNATIVE 4

#define JUMPS_IF_ON 1
#define SINGLE      2

.macro RECORD site, key, aux, kind, length, flags
    .pushsection carry_sites, "ao", %progbits, \site
    .balign 4
    .long   \site - ., \key - ., \aux
    .byte   \kind, \length, \flags, 1
    .popsection
.endm

/* Adds a row to the list of a kind: the addresses of a function and of its site. */
.macro LIST kind, function, site
    .pushsection .data.rel.ro.placed_\kind, "aw", %progbits
    .ifndef placed_\kind
    .globl  placed_\kind
    .hidden placed_\kind
placed_\kind:
    .endif
    .quad   \function, \site
    .popsection
.endm

/* Stores the number of rows. */
.macro LIST_ENDS kind
    .pushsection .data.rel.ro.placed_\kind, "aw", %progbits
    .set    .Lbytes_\kind, . - placed_\kind
    .popsection
    .pushsection .rodata, "a", %progbits
    .globl  placed_\kind\()_count
    .hidden placed_\kind\()_count
    .balign 8
placed_\kind\()_count:
    .quad   .Lbytes_\kind / 16
    .popsection
.endm

#endif
