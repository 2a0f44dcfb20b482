/* SPDX-License-Identifier: MIT */
/* How a site stands: its bytes against the states that its record allows. */
#ifndef CARRY_TOOLS_SITES_STATE_H
#define CARRY_TOOLS_SITES_STATE_H

#include <carry/patch.h>

#include "sites/program.h"

/* The longest alternative that the library patches. */
#define SITE_BYTES_MAX 64

enum site_state {
    SITE_ORIGINAL,
    SITE_DIRECT,      /* call or jump: straight to a function */
    SITE_INLINE,      /* call: the function's own instruction */
    SITE_NOP,         /* call of a function that does nothing, or branch */
    SITE_JUMPS,       /* branch: taken */
    SITE_REPLACEMENT, /* alternative */
    SITE_GUARD,       /* being changed at this moment */
    SITE_BODY,        /* no site: the record of a function's instruction */
    SITE_UNKNOWN,     /* a record of a newer library */
    SITE_FOREIGN,     /* other bytes than any of these */
    SITE_UNREADABLE,  /* not in memory, or not in the file */
    SITE_STATES,
};

struct site {
    const struct object *object;
    const struct record *record;
    enum site_state state;
    uint8_t bytes[SITE_BYTES_MAX]; /* those of a body are its instruction */
    size_t size;
    bool value_known; /* of what its key holds */
    uint64_t value;
    const char *import; /* or: another object's function */
    bool has_target;    /* where the site leads as it stands, through its key or not */
    uint64_t target;
    bool reason_known; /* why it is in its original state */
    enum carry_patch_reason reason;
};

/* The bytes of an alternative's two states, and those of its record they come from. */
struct alternative {
    uint8_t text[2][SITE_BYTES_MAX];  /* the site in its default, and replaced */
    uint8_t sizes[2];                 /* of the instructions in each */
    uint8_t bytes[2][SITE_BYTES_MAX]; /* the instructions, as they stand in section carry_bytes */
    uint64_t address[2];              /* ... and where */
};

/* Looks at a site. */
void site_look(const struct program *program, const struct object *object,
               const struct record *record, struct site *site);

/* Is its kind known, with a length and at a place that it may have? */
bool site_is_known(const struct machine *machine, const struct record *record);

/* False if its bytes cannot be read, or are more than the site has room for. */
bool site_alternative(const struct program *program, const struct machine *machine,
                      const struct record *record, struct alternative *alternative);

/* The instruction of a body. False if it cannot be read, or is longer than `bytes`. */
bool site_body(const struct program *program, const struct machine *machine,
               const struct record *body, uint8_t bytes[SITE_BYTES_MAX], size_t *size);

/* Is it patched only while one thread runs, being of several instructions? */
static inline bool site_wants_quiet(const struct record *record) {
    return record->kind == CARRY_SITE_ALTERNATIVE && !(record->flags & CARRY_SITE_SINGLE);
}

static inline bool site_calls(const struct record *record) {
    return record->kind == CARRY_SITE_CALL || record->kind == CARRY_SITE_JUMP;
}

/* How many bytes the stub of a site of this kind has; 0: it has none. */
size_t site_stub_bytes(const struct machine *machine, uint8_t kind);

/* Reads the stub of a site; false if there is none. */
struct stub;
bool site_stub(const struct program *program, const struct machine *machine, uint8_t kind,
               uint64_t at, struct stub *stub);

/* Is what its key holds a function that a direct call cannot reach? */
bool site_is_far(const struct site *site);

/* "call", "branch", ...; "kind 9". Returns `text`. */
#define SITE_NAME_SIZE 64
char *site_kind_name(const struct record *record, char text[SITE_NAME_SIZE]);

/* The operation, key or feature; the function of a body; an address without symbols. */
char *site_name(const struct program *program, const struct object *object,
                const struct record *record, char text[SITE_NAME_SIZE]);

/* Is this an operation or a key that C++ mangles? Its name with those of its namespaces, if so. */
bool site_key_of_cxx(const struct object *object, uint64_t key, char text[SITE_NAME_SIZE]);

/* The name of the feature that an alternative waits for; false if it is not readable as one. */
bool site_feature(const struct program *program, const struct record *record,
                  char text[SITE_NAME_SIZE]);

/* "original", "direct", ... */
const char *site_state_name(enum site_state state);

#endif
