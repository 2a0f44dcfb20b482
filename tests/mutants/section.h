/* SPDX-License-Identifier: MIT */
/* Mutants of sections: the right code with one fault, inserted by the linker (--wrap). */
#ifndef CARRY_TESTS_BROKEN_SECTION_H
#define CARRY_TESTS_BROKEN_SECTION_H

enum broken_section {
    BROKEN_SECTION_NOT,
    BROKEN_SECTION_FORGETS,  /* nothing is saved */
    BROKEN_SECTION_LETS_GO,  /* the CPU counts as free while registers are loaded */
    BROKEN_SECTION_ONE_AREA, /* nested sections share one area */
    BROKEN_SECTION_NMI,      /* NMIs are not recognised */
};

extern enum broken_section broken_section;

#endif
