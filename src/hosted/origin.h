/* SPDX-License-Identifier: MIT */
/* Whose text it is: the file that it was loaded from, and the protection that it has. */
#ifndef CARRY_HOSTED_ORIGIN_H
#define CARRY_HOSTED_ORIGIN_H

#include "hosted/patch.h"

#include <sys/types.h>

#define CARRY_ORIGIN_HEAD_BYTES 1024

/* The pages of a segment of an object, and its file. */
struct carry_text_origin {
    struct carry_text_origin *next;
    uintptr_t address; /* that it was asked for */
    struct carry_text_run pages;
    off_t offset;        /* of the first page in the file */
    off_t end;           /* of the segment in the file */
    int protection;      /* as mprotect() takes it */
    char *name;          /* NULL if there is no file */
    unsigned head_bytes; /* the first bytes of the file, as loaded; 0 if they are not */
    unsigned char head[CARRY_ORIGIN_HEAD_BYTES];
};

/*
 * Where text at this address comes from; NULL if that is not known. Asks the dynamic linker, so not
 * with a lock: who holds the linker's may wait for ours. What is noted, with the lock, is kept
 * until the text is forgotten.
 */
struct carry_text_origin *carry_origin_look_up(uintptr_t address);
void carry_origin_note(struct carry_text_origin *origin);
void carry_origin_forget(uintptr_t low, uintptr_t high);

/* That of these pages, if they have one; else NULL. */
const struct carry_text_origin *carry_origin_of(const struct carry_text_run *run);

/* Opens the file; negative if there is none, or none that may be opened, or another by its name. */
int carry_origin_open(const struct carry_text_origin *origin);

/*
 * What all these pages were loaded with, and have again once they were written, copied or moved. So
 * pages of objects that lack landing pads demand none.
 */
int carry_origin_protection(const struct carry_text_run *run);

#endif
