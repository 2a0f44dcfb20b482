/* SPDX-License-Identifier: MIT */
/*
 * An object that is loaded and unloaded, with imports, and with a key of the same name as another
 * object's.
 */
#include "plugin.h"
#include "share.h"

CARRY_KEY(mode);

/* The operation's result before this object was registered. */
static long early;

static __attribute__((constructor)) void run_early(void) {
    early = carry_call(share_op)(10);
}

CARRY_KEY_DEFINE(mode, true);
CARRY_KEY_STATIC(mode_of_file, true);
CARRY_OP_IMPORT(share_op);
CARRY_KEY_IMPORT(share_key);
CARRY_OP_IMPORT(share_choice);

static long run(long a) {
    return carry_unlikely(share_key) ? -carry_call(share_op)(a) : carry_call(share_op)(a);
}

static bool get_mode(void) {
    return carry_likely(mode) && carry_likely(mode_of_file);
}

static int set_mode(bool on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &carry_key_mode, on);
    carry_patch_set(&patch, &carry_key_mode_of_file, on);
    return carry_patch_commit(&patch);
}

/* Changes the shared key through an import. */
static int set_share(bool negate) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &carry_key_share_key, negate);
    return carry_patch_commit(&patch);
}

static long choice(long a) {
    return carry_call(share_choice)(a);
}

static long get_early(void) {
    return early;
}

CARRY_API const struct plugin plugin;
const struct plugin plugin = {run,      choice,    get_early,        get_mode,
                              set_mode, set_share, carry_patch_apply};
