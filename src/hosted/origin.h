/* SPDX-License-Identifier: MIT */
/* The origins of text: the files that it was loaded from, and the protection of its pages. */
#ifndef CARRY_HOSTED_ORIGIN_H
#define CARRY_HOSTED_ORIGIN_H

#include "hosted/hosted_patch.h"

#include <sys/types.h>

#define CARRY_ORIGIN_HEAD_BYTES 1024

/* The pages of a segment of an object, and its file. */
struct carry_text_origin {
    struct carry_text_origin *next;
    uintptr_t address; /* the address that was looked up */
    struct carry_text_run pages;
    off_t offset;        /* of the first page in the file */
    off_t end;           /* of the segment in the file */
    int protection;      /* an argument of mprotect() */
    char *name;          /* of the file */
    unsigned head_bytes; /* the size of `head`; 0 if the start of the file is not loaded */
    unsigned char head[CARRY_ORIGIN_HEAD_BYTES]; /* the first bytes of the file */
};

/*
 * carry_origin_look_up() returns the origin of the text at an address, or NULL if it is unknown. It
 * asks the dynamic linker, so never call it with the lock held: a thread with the linker's lock may
 * wait for the library's. carry_origin_note() keeps an origin until carry_origin_forget() frees all
 * origins in a range; both require the lock.
 */
struct carry_text_origin *carry_origin_look_up(uintptr_t address);
void carry_origin_note(struct carry_text_origin *origin);
void carry_origin_forget(uintptr_t low, uintptr_t high);

/* Returns the noted origin that contains all these pages, or NULL. */
const struct carry_text_origin *carry_origin_of(const struct carry_text_run *run);

/* Opens the file that was loaded. Returns its descriptor; negative if it is not accessible, or if
 * another file has its name now. */
int carry_origin_open(const struct carry_text_origin *origin);

/*
 * Returns the protection with which these pages were loaded: the flags that all of them had. They
 * get it again once they were written, copied or moved. So pages of objects without landing pads do
 * not demand them.
 */
int carry_origin_protection(const struct carry_text_run *run);

#endif
