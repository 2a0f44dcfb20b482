/* SPDX-License-Identifier: MIT */
/*
 * Describes the sites of each architecture, by the table in its header of <carry/patch.h>: one row
 * of facts and functions, in one file. `carry sites` uses only these, so that it can examine
 * programs of architectures other than its own.
 *
 * The library writes the states of sites; these files read them, and share no code with the
 * library, so that each checks the other.
 */
#ifndef CARRY_TOOLS_SITES_MACHINE_H
#define CARRY_TOOLS_SITES_MACHINE_H

#include "sites/disassemble.h"
#include "sites/state.h"

/* The most bytes to read of a text at once: to find a site, of a stub, and at the target of a
 * branch. */
#define MACHINE_SCAN_BYTES    20
#define MACHINE_STUB_BYTES    24
#define MACHINE_LANDING_BYTES 4

/* The values that the instructions of a stub contain. */
struct stub {
    uint64_t key;
    uint64_t target; /* of a branch: where it jumps */
    uint64_t back;   /* of a branch: where it returns */
    bool jumps_if_on;
};

/* Text that looks like a site. Either its key is known, or the stub that contains its key. */
struct trace {
    uint64_t site;
    uint64_t key;
    uint64_t stub; /* 0: the key is known */
    uint8_t kind;  /* a jump to a stub may be a branch, too */
};

struct machine {
    uint16_t elf;      /* e_machine */
    const char *name;  /* to display */
    const char *arch;  /* as carry_cpu_arch() returns it */
    const char *reach; /* of a direct call, to display */
    uint32_t relative; /* the type of a relocation that is an addend */
    uint32_t absolute; /* the type of a relocation that is the address of a symbol plus an addend */
    bool has_marks;    /* some symbols are no names: they mark text and data */

    uint8_t unit; /* addresses and lengths of instructions are multiples of it */
    uint8_t call_bytes;
    uint8_t branch_bytes;
    uint8_t entry_bytes;     /* 0: no entries */
    uint8_t call_stub_bytes; /* 0: no stubs */
    uint8_t branch_stub_bytes;
    uint8_t body_at; /* offset of a body's instructions from its size */
    uint8_t pair_at; /* offset of an alternative's instructions from its two sizes */

    disassemble_fn *disassemble;
    disassemble_text_fn *text;

    bool (*reaches)(uint64_t site, uint64_t target);
    bool (*is_nop)(const uint8_t *bytes, size_t size);

    /* Returns SITE_ORIGINAL, SITE_DIRECT or SITE_FOREIGN for a call or jump. Sets its target if it
     * is direct. */
    enum site_state (*call)(const struct record *record, const uint8_t *bytes, uint64_t *target);

    /* Returns whether a branch is a jump, and sets its target. */
    bool (*jump)(const uint8_t *bytes, uint64_t address, uint64_t *target);

    /* Returns the state of an entry. NULL: there are no entries. */
    enum site_state (*entry)(const struct record *record, const uint8_t *bytes);

    /* Returns whether the bytes are a guard of a site that is being changed. NULL: no bytes are. */
    bool (*guards)(const uint8_t *bytes, size_t size);

    /* Writes the bytes of a call that a body of `size` bytes replaces; false if it does not fit. */
    bool (*put_body)(uint64_t site, const struct record *body, const uint8_t *from, size_t size,
                     uint8_t *bytes);

    /* Writes the text of an alternative in one state: its instructions, moved and padded. */
    void (*put_state)(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text);

    /* Reads the stub of a site of this kind from the bytes at `at`; false if there is none. */
    bool (*stub)(const uint8_t *bytes, uint8_t kind, uint64_t at, struct stub *stub);

    /* Returns whether the bytes are a landing pad. NULL: no pages demand landing pads. */
    bool (*lands)(const uint8_t bytes[MACHINE_LANDING_BYTES]);

    /* Returns whether the bytes at `address` look like a site. Reads up to MACHINE_SCAN_BYTES. */
    bool (*trace)(const uint8_t *bytes, uint64_t address, struct trace *trace);

    /* Returns whether an instruction at `address` computes the address `made`. Reads up to
     * MACHINE_SCAN_BYTES. */
    bool (*makes)(const uint8_t *bytes, uint64_t address, bool is_fixed, uint64_t made);
};

/* Returns the row of an e_machine, or NULL. */
const struct machine *machine_of(uint16_t elf);

extern const struct machine machine_x86_64, machine_aarch64;

#endif
