/* SPDX-License-Identifier: MIT */
/*
 * What sites look like on an architecture, by the table in its header of <carry/patch.h>: one row,
 * of facts and functions, in one file. All that looks at sites is made of these, so a file may be
 * of another architecture than the tool.
 *
 * The library makes the states of sites, these files read them, and share no code with it: so each
 * is a check of the other.
 */
#ifndef CARRY_TOOLS_SITES_MACHINE_H
#define CARRY_TOOLS_SITES_MACHINE_H

#include "sites/disassemble.h"
#include "sites/state.h"

/* The most that may have to be read of a text at once: to see a site, a stub, and where a branch
 * leads. */
#define MACHINE_SCAN_BYTES    20
#define MACHINE_STUB_BYTES    24
#define MACHINE_LANDING_BYTES 4

/* The stub of a site, as its instructions tell. */
struct stub {
    uint64_t key;
    uint64_t target; /* of a branch: where it leads away, */
    uint64_t back;   /* and where it comes back to */
    bool jumps_if_on;
};

/* A site, as its text tells: its key, or the stub that it has if it is one, which tells more. */
struct trace {
    uint64_t site;
    uint64_t key;
    uint64_t stub; /* 0: the key is known */
    uint8_t kind;  /* of a jump to a stub, it may be a branch as well */
};

struct machine {
    uint16_t elf;      /* e_machine */
    const char *name;  /* to display */
    const char *arch;  /* as carry_cpu_arch() has it */
    const char *reach; /* of a direct call, to display */
    uint32_t relative; /* the types of relocations: an addend, ... */
    uint32_t absolute; /* ... and the address of a symbol plus an addend */
    bool has_marks;    /* symbols that name nothing, but mark what is text and what is data */

    uint8_t unit; /* instructions are at multiples of it, and as long */
    uint8_t call_bytes;
    uint8_t branch_bytes;
    uint8_t entry_bytes;     /* 0: no such sites */
    uint8_t call_stub_bytes; /* 0: no stubs */
    uint8_t branch_stub_bytes;
    uint8_t body_at; /* offset of the instructions behind the size of a body, */
    uint8_t pair_at; /* and behind the two sizes of an alternative */

    disassemble_fn *disassemble;
    disassemble_text_fn *text;

    bool (*reaches)(uint64_t site, uint64_t target);
    bool (*is_nop)(const uint8_t *bytes, size_t size);

    /* Is a call or jump original, or direct? Then where to; else SITE_FOREIGN. */
    enum site_state (*call)(const struct record *record, const uint8_t *bytes, uint64_t *target);

    /* Is there a jump, as in a branch, and what is its target? */
    bool (*jump)(const uint8_t *bytes, uint64_t address, uint64_t *target);

    /* The states of an entry; NULL: there are none. */
    enum site_state (*entry)(const struct record *record, const uint8_t *bytes);

    /* Do bytes guard a site that is being changed? NULL: nothing does. */
    bool (*guards)(const uint8_t *bytes, size_t size);

    /* The bytes of a call that a body of `size` bytes replaces; false if it does not fit. */
    bool (*put_body)(uint64_t site, const struct record *body, const uint8_t *from, size_t size,
                     uint8_t *bytes);

    /* The text of an alternative's state: its instructions, filled up and moved. */
    void (*put_state)(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text);

    /* What the stub of a site of this kind is, whose bytes are those of `at`; false if it is none.
     */
    bool (*stub)(const uint8_t *bytes, uint8_t kind, uint64_t at, struct stub *stub);

    /* May a branch through a register lead there, where pages demand it? NULL: none demand it. */
    bool (*lands)(const uint8_t bytes[MACHINE_LANDING_BYTES]);

    /* Do the bytes at `address` of the text look like a site? Reads up to MACHINE_SCAN_BYTES. */
    bool (*trace)(const uint8_t *bytes, uint64_t address, struct trace *trace);

    /* Does an instruction there make this address? As many bytes may be read. */
    bool (*makes)(const uint8_t *bytes, uint64_t address, bool is_fixed, uint64_t made);
};

/* The row of an e_machine, or NULL. */
const struct machine *machine_of(uint16_t elf);

extern const struct machine machine_x86_64, machine_aarch64;

#endif
