/* SPDX-License-Identifier: MIT */
/* Broken twins of sections: right ones with one fault, which the linker puts between (--wrap). */
#ifndef CARRY_TESTS_BROKEN_SECTION_H
#define CARRY_TESTS_BROKEN_SECTION_H

enum broken_section {
    BROKEN_SECTION_NOT,
    BROKEN_SECTION_FORGETS,  /* nothing is saved */
    BROKEN_SECTION_LETS_GO,  /* the CPU is not in use any more while registers are loaded */
    BROKEN_SECTION_ONE_AREA, /* all that nest bring the same area */
    BROKEN_SECTION_NMI,      /* NMIs are not known to be such */
};

extern enum broken_section broken_section;

#endif
