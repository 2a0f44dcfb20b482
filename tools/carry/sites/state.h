/* SPDX-License-Identifier: MIT */
/* Determines the state of a site by comparing its bytes with the states that its record permits. */
#ifndef CARRY_TOOLS_SITES_STATE_H
#define CARRY_TOOLS_SITES_STATE_H

#include <carry/patch.h>

#include "sites/program.h"

/* The longest alternative that the library patches. */
#define SITE_BYTES_MAX 64

enum site_state {
    SITE_ORIGINAL,
    SITE_DIRECT,      /* call or jump: leads to a function without the pointer */
    SITE_INLINE,      /* call: replaced by the body of the function */
    SITE_NOP,         /* call of a function that does nothing, or branch or entry */
    SITE_JUMPS,       /* branch, or entry: jumps to its stub */
    SITE_REPLACEMENT, /* alternative */
    SITE_GUARD,       /* being changed at this moment */
    SITE_BODY,        /* not a site: the record of a function's body */
    SITE_UNKNOWN,     /* a record of a newer library, or an invalid one */
    SITE_FOREIGN,     /* bytes of no state */
    SITE_UNREADABLE,  /* not in memory, or not in the file */
    SITE_STATES,
};

struct site {
    const struct object *object;
    const struct record *record;
    enum site_state state;
    uint8_t bytes[SITE_BYTES_MAX]; /* of a body: its instructions */
    size_t size;
    bool value_known; /* the value of its key */
    uint64_t value;
    const char *import; /* the function's name if the key will hold a function of another object */
    bool has_target;    /* `target` is where the site leads now, directly or through its key */
    uint64_t target;
    bool reason_known; /* `reason` is known: why the site is original */
    enum carry_patch_reason reason;
};

/* The bytes of an alternative in its two states, and the instructions of its record. */
struct alternative {
    uint8_t text[2][SITE_BYTES_MAX];  /* the site's text in its default state, and replaced */
    uint8_t sizes[2];                 /* of the instructions in each state */
    uint8_t bytes[2][SITE_BYTES_MAX]; /* the instructions in section carry_bytes */
    uint64_t address[2];              /* their addresses */
};

/* Reads a site, and determines its state. */
void site_look(const struct program *program, const struct object *object,
               const struct record *record, struct site *site);

/* Returns whether the kind of a record is known, and its length and address are valid for it. */
bool site_is_known(const struct machine *machine, const struct record *record);

/* Reads an alternative. Returns false if its bytes cannot be read, or do not fit into the site. */
bool site_alternative(const struct program *program, const struct machine *machine,
                      const struct record *record, struct alternative *alternative);

/* Reads the instructions of a body. Returns false if they cannot be read, or if `bytes` is too
 * small. */
bool site_body(const struct program *program, const struct machine *machine,
               const struct record *body, uint8_t bytes[SITE_BYTES_MAX], size_t *size);

/* Returns whether a site has several instructions, and is patched only while one thread runs. */
static inline bool site_wants_quiet(const struct record *record) {
    return record->kind == CARRY_SITE_ALTERNATIVE && !(record->flags & CARRY_SITE_SINGLE);
}

static inline bool site_calls(const struct record *record) {
    return record->kind == CARRY_SITE_CALL || record->kind == CARRY_SITE_JUMP;
}

/* Returns the size of the stub of a site of this kind; 0: it has none. */
size_t site_stub_bytes(const struct machine *machine, uint8_t kind);

/* Reads the stub of a site; returns false if there is none. */
struct stub;
bool site_stub(const struct program *program, const struct machine *machine, uint8_t kind,
               uint64_t at, struct stub *stub);

/* Returns whether the key holds a function that a direct call cannot reach. */
bool site_is_far(const struct site *site);

/* Writes the kind of a record: "call", "branch", ..., or "kind 9". Returns `text`. */
#define SITE_NAME_SIZE 64
char *site_kind_name(const struct record *record, char text[SITE_NAME_SIZE]);

/* Writes the name of the operation, key or feature, or of the function of a body. Without symbols,
 * writes an address. Returns `text`. */
char *site_name(const struct program *program, const struct object *object,
                const struct record *record, char text[SITE_NAME_SIZE]);

/* Returns whether `key` is an operation or key with a mangled name of C++, and writes that name
 * with its namespaces. */
bool site_key_of_cxx(const struct object *object, uint64_t key, char text[SITE_NAME_SIZE]);

/* Reads the name of the feature of an alternative; returns false if it cannot be read. */
bool site_feature(const struct program *program, const struct record *record,
                  char text[SITE_NAME_SIZE]);

/* Returns the name of a state: "original", "direct", ... */
const char *site_state_name(enum site_state state);

#endif
