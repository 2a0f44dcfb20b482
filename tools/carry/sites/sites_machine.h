/* SPDX-License-Identifier: MIT */
/*
 * Describes the sites of each architecture as <carry/patch/ARCHITECTURE.h> defines them: a row of
 * facts and functions per architecture, each in a file of its own. `carry sites` uses only these
 * rows, so that it can examine programs of architectures other than its own.
 *
 * The library writes the states of sites; these files read them, and share no code with the
 * library, so that each checks the other.
 */
#ifndef CARRY_TOOLS_SITES_MACHINE_H
#define CARRY_TOOLS_SITES_MACHINE_H

#include "sites/disassemble.h"
#include "sites/state.h"

/* The most bytes to read of a text at once: to find a site, to read a stub, and at the target of a
 * branch. */
#define MACHINE_SCAN_BYTES    20
#define MACHINE_STUB_BYTES    24
#define MACHINE_LANDING_BYTES 4

/* The values that the instructions of a stub contain. */
struct stub {
    uint64_t key;
    uint64_t target; /* of a branch: where the stub jumps */
    uint64_t back;   /* of a branch: where the stub returns */
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
    const char *arch;  /* the name that carry_cpu_arch() returns */
    const char *reach; /* of a direct call, to display */
    uint32_t relative; /* the type of a relocation whose value is the addend */
    uint32_t absolute; /* the type of a relocation to a symbol's address plus the addend */
    bool has_marks;    /* some symbols are not names: they mark text and data */

    uint8_t unit; /* addresses and lengths of instructions are multiples of it */
    uint8_t call_bytes;
    uint8_t branch_bytes;
    uint8_t entry_bytes;     /* 0: no entries */
    uint8_t call_stub_bytes; /* 0: no stubs */
    uint8_t branch_stub_bytes;
    uint8_t body_at; /* distance of a body's instructions from its size */
    uint8_t pair_at; /* distance of an alternative's instructions from its two sizes */

    disassemble_fn *disassemble;
    disassemble_text_fn *text;

    bool (*reaches)(uint64_t site, uint64_t target);
    bool (*is_nop)(const uint8_t *bytes, size_t size);

    /* Returns SITE_ORIGINAL, SITE_DIRECT or SITE_FOREIGN for a call or jump. Sets its target if it
     * is direct. */
    enum site_state (*call)(const struct record *record, const uint8_t *bytes, uint64_t *target);

    /* Returns whether the bytes of a branch's site are a jump, and sets its target. */
    bool (*jump)(const uint8_t *bytes, uint64_t address, uint64_t *target);

    /* Returns the state of an entry. NULL: there are no entries. */
    enum site_state (*entry)(const struct record *record, const uint8_t *bytes);

    /* Returns whether the bytes are a guard of a site that is being changed. NULL: there are no
     * such guards. */
    bool (*guards)(const uint8_t *bytes, size_t size);

    /* Writes the bytes of a call's site that contains a body of `size` bytes instead of the call.
     * Returns false if the body cannot be moved to the site. */
    bool (*put_body)(uint64_t site, const struct record *body, const uint8_t *from, size_t size,
                     uint8_t *bytes);

    /* Writes the text of an alternative's site in one state: the instructions of that state, moved
     * and padded. */
    void (*put_state)(const struct record *record, const struct alternative *from, int replaced,
                      uint8_t *text);

    /* Reads the stub of a site of this kind from the bytes at `at`; false if there is none. */
    bool (*stub)(const uint8_t *bytes, uint8_t kind, uint64_t at, struct stub *stub);

    /* Returns whether the bytes are a landing pad. NULL: no pages demand landing pads. */
    bool (*lands)(const uint8_t bytes[MACHINE_LANDING_BYTES]);

    /* Returns whether the bytes at `address` look like a site. Reads up to MACHINE_SCAN_BYTES. */
    bool (*trace)(const uint8_t *bytes, uint64_t address, struct trace *trace);

    /* Returns whether the instruction or the operand at `address` yields the address `made`. Reads
     * up to MACHINE_SCAN_BYTES. */
    bool (*makes)(const uint8_t *bytes, uint64_t address, bool is_fixed, uint64_t made);
};

/* Returns the row of an e_machine, or NULL. */
const struct machine *machine_of(uint16_t elf);

extern const struct machine machine_x86_64, machine_aarch64;

#endif
