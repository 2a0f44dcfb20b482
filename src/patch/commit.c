/* SPDX-License-Identifier: MIT */
/*
 * Transactions. A commit first plans all changes and verifies every site, and then writes the plan.
 * While other threads run, sites that need guards are written in three steps (Intel SDM vol. 3,
 * "Cross-Modifying Code", with a guard in place of the pause):
 *
 *     1. write a guard over the first one or two bytes of every site: threads wait there
 *     2. synchronise all cores, then write the bytes that follow the guards
 *     3. synchronise all cores, then write the first bytes: waiting threads continue
 *
 * Nothing has to wait for the third step: a core that does not see its writes yet still sees the
 * guard.
 *
 * If the host exchanges pages, all writes become visible at once: a commit is then one step without
 * guards, whatever the threads do.
 *
 * If calls are or become several instructions, a guard is not enough: a CPU that was interrupted
 * between two of them continues after the guard. The host then stops all other CPUs outside sites,
 * and the plan is written in one step.
 */
#include "patch/patch_internal.h"

/* The maximum size of a piece. A longer alternative consists of several pieces. */
#define PIECE_BYTES 16

/* One write covers at most SPAN_BLOCKS adjacent blocks. */
#define BLOCK_BYTES UINT64_C(4096)
#define SPAN_BLOCKS 16

struct piece {
    uintptr_t address;
    uint8_t length;
    uint8_t guard; /* enum carry_guard */
    uint8_t from[PIECE_BYTES];
    uint8_t to[PIECE_BYTES];
};

/* Which other threads may run the sites of a plan, from most to fewest. */
enum mode {
    LIVE,    /* threads may run all sites */
    LOADING, /* threads may run all sites except the entries of an object that is being loaded */
    ALONE,   /* there is no other thread now, but there may be one at the next commit */
    QUIET,   /* the caller or the host keeps all other threads out of the sites */
};

/* The only plan, guarded by the host's lock. Its memory is kept from commit to commit. */
static struct plan {
    struct piece *pieces;
    struct carry_text_run *runs; /* after the pieces, in the same memory */
    size_t capacity;
    size_t count;
    size_t sites;
    enum mode mode;
    bool guardless; /* the second attempt: the plan must not need guards */

    /* Properties of the sites of the plan. */
    bool in_order;       /* the pieces are in the order of addresses, and do not overlap */
    bool moves_patched;  /* some site is not in its original state */
    bool stops;          /* some call is, or becomes, several instructions */
    bool keeps_original; /* some alternative keeps its original, because the plan is guardless */
    bool missing_guard;  /* some site needs a guard that this architecture lacks */
} plan;

enum carry_patch_reason carry_patch_refusal;

static uint64_t commits;
static uint64_t written;
static enum carry_guard last_guard;

/* --- The plan --- */

static size_t plan_bytes(size_t capacity) {
    return capacity * (sizeof *plan.pieces + sizeof *plan.runs);
}

static bool make_room_for_piece(void) {
    if (plan.count < plan.capacity)
        return true;
    size_t capacity = plan.capacity ? 2 * plan.capacity : 64;
    struct piece *pieces = carry_host_text()->allocate(plan_bytes(capacity));
    if (!pieces)
        return false;
    if (plan.capacity) {
        __builtin_memcpy(pieces, plan.pieces, plan.count * sizeof *pieces);
        carry_host_text()->release(plan.pieces, plan_bytes(plan.capacity));
    }
    plan.pieces = pieces;
    plan.runs = (struct carry_text_run *)(pieces + capacity);
    plan.capacity = capacity;
    return true;
}

void carry_commit_release(void) {
    if (plan.capacity)
        carry_host_text()->release(plan.pieces, plan_bytes(plan.capacity));
    plan = (struct plan){0};
}

static bool pieces_overlap(const struct piece *piece, const struct piece *next) {
    return next->address < piece->address + piece->length;
}

/*
 * Copies at least `length` bytes, in one of two constant sizes. The smaller size fits nearly all
 * sites.
 */
static void copy_state(uint8_t *to, const uint8_t *from, size_t length) {
    if (length <= PIECE_BYTES / 2)
        __builtin_memcpy(to, from, PIECE_BYTES / 2);
    else
        __builtin_memcpy(to, from, PIECE_BYTES);
}

static int plan_pieces(const struct carry_site *site, const uint8_t *from, const uint8_t *to) {
    for (size_t done = 0; done < site->length; done += PIECE_BYTES) {
        if (!make_room_for_piece())
            return CARRY_ERROR_MEMORY;
        size_t left = site->length - done;
        struct piece *piece = &plan.pieces[plan.count++];
        piece->address = carry_site_address(site) + done;
        piece->guard = CARRY_GUARD_NONE;
        piece->length = (uint8_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
        copy_state(piece->from, from + done, piece->length);
        copy_state(piece->to, to + done, piece->length);
        if (plan.count > 1 && pieces_overlap(piece - 1, piece))
            plan.in_order = false;
    }
    plan.sites++;
    return CARRY_OK;
}

/* The value that a site is patched to. `body` is the registered body of the function `value`, or
 * NULL. */
struct target {
    uintptr_t value;
    const struct carry_site *body;
};

static struct target find_target(uintptr_t value) {
    return (struct target){value, carry_body_of(value)};
}

static bool target_is_multi_insn(const struct target *target) {
    return target->body && target->body->flags & CARRY_SITE_SEVERAL;
}

static bool site_is_call(const struct carry_site *site) {
    return site->kind == CARRY_SITE_CALL || site->kind == CARRY_SITE_JUMP;
}

/* Finds the bytes of a site that is patched to `target`. Returns false if the site is not in this
 * state. A site that is not a call may also be in the opposite state. */
static bool find_patched_bytes(const struct carry_site *site, const struct target *target,
                               uint8_t *bytes) {
    bool calls = site_is_call(site);
    if (carry_encode(site, target->value, NULL, bytes) && carry_site_holds(site, bytes))
        return true;
    if (calls && !target->body)
        return false;
    return carry_encode(site, calls ? target->value : !target->value, target->body, bytes) &&
           carry_site_holds(site, bytes);
}

static bool holds_original_bytes(const struct carry_site *site, uint8_t *bytes) {
    carry_encode_original(site, bytes);
    return carry_site_holds(site, bytes);
}

/*
 * Finds the present bytes of a site that is in its original state, or patched to `from`. Returns
 * false if it is in neither state. Most sites in a plan are in the same state: once a site was
 * patched, the patched state is tried first.
 */
static bool find_present_bytes(const struct carry_site *site, const struct target *from,
                               uint8_t *bytes) {
    bool likely_patched = plan.moves_patched;
    if (likely_patched && find_patched_bytes(site, from, bytes))
        return true;
    if (holds_original_bytes(site, bytes))
        return true;
    if (likely_patched || !find_patched_bytes(site, from, bytes))
        return false;
    plan.moves_patched = true;
    return true;
}

/* Checks whether a site may change. Entries are registered before any thread can run them.
 * Alternatives are not: the object's resolvers may have run them. */
static bool may_change(const struct carry_site *site) {
    return plan.mode >= ALONE || (plan.mode == LOADING && site->kind == CARRY_SITE_ENTRY) ||
           !carry_site_is_multi_insn(site);
}

/* Finds the bytes that a site must hold: its original bytes if the function is out of reach.
 * Returns whether it holds them. */
static bool holds_target_bytes(const struct carry_site *site, uintptr_t value,
                               const struct carry_site *body, uint8_t *bytes) {
    if (!carry_encode(site, value, body, bytes))
        carry_encode_original(site, bytes);
    return carry_site_holds(site, bytes);
}

/* Checks whether an alternative keeps its original because the replacement needs a guard. */
static bool must_keep_original(const struct carry_site *site, const uint8_t *wanted) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    bool keeps = site->kind == CARRY_SITE_ALTERNATIVE && holds_original_bytes(site, bytes) &&
                 !carry_encode_swaps(bytes, wanted, site->length);
    plan.keeps_original = plan.keeps_original || keeps;
    return keeps;
}

/* Plans to patch a site from one state to another, unless it is in that state already. Returns 0 or
 * an error. */
static int plan_site(const struct carry_site *site, const struct target *from,
                     const struct target *to) {
    uint8_t present[CARRY_SITE_BYTES_MAX];
    uint8_t wanted[CARRY_SITE_BYTES_MAX];
    if (!carry_encode_supports(site) || !may_change(site))
        return CARRY_OK;
    if (holds_target_bytes(site, to->value, to->body, wanted))
        return CARRY_OK;
    if (plan.guardless &&
        (must_keep_original(site, wanted) || holds_target_bytes(site, to->value, NULL, wanted)))
        return CARRY_OK;
    if (!find_present_bytes(site, from, present))
        return CARRY_ERROR_BYTES;
    plan.stops = plan.stops || target_is_multi_insn(from) || target_is_multi_insn(to);
    return plan_pieces(site, present, wanted);
}

static int plan_key(const struct carry_key *key, uintptr_t value) {
    const struct target from = find_target(key->value);
    const struct target to = find_target(value);
    for (const struct carry_object *object = carry_objects; object; object = object->next) {
        struct carry_sites sites = carry_object_sites(object, (uintptr_t)key);
        for (size_t i = 0; i < sites.count; i++) {
            int error = plan_site(sites.first[i], &from, &to);
            if (error)
                return error;
        }
    }
    return CARRY_OK;
}

static int plan_object(const void *of) {
    const struct carry_object *object = of;
    struct target last = {0, NULL}; /* a cache: consecutive calls often have the same target */
    for (size_t i = 0; i < object->count; i++) {
        const struct carry_site *site = object->by_address[i];
        if (!carry_encode_supports(site))
            continue;
        struct target target = {carry_site_value(site), NULL};
        if (site_is_call(site)) {
            if (target.value != last.value)
                last = find_target(target.value);
            target = last;
        }
        int error = plan_site(site, &target, &target);
        if (error)
            return error;
    }
    return CARRY_OK;
}

static void empty_plan(void) {
    plan.count = 0;
    plan.sites = 0;
    plan.in_order = true;
    plan.moves_patched = false;
    plan.stops = false;
    plan.keeps_original = false;
    plan.missing_guard = false;
}

static void start_plan(enum mode mode) {
    empty_plan();
    plan.mode = mode < ALONE && carry_host_text()->alone() ? ALONE : mode;
    plan.guardless = false;
}

static bool piece_comes_before(const void *a, const void *b) {
    return ((const struct piece *)a)->address < ((const struct piece *)b)->address;
}

static bool is_same_piece(const struct piece *a, const struct piece *b) {
    return a->address == b->address && a->length == b->length &&
           !__builtin_memcmp(a->to, b->to, a->length);
}

/*
 * Sorts the pieces by address, so that one write covers the pieces of a page. A linker that folds
 * functions may leave two records of one site: one of them is dropped. Returns CARRY_ERROR_BYTES if
 * other pieces overlap.
 */
static int order_plan(void) {
    size_t kept = 0;
    if (plan.in_order)
        return CARRY_OK;
    carry_sort(plan.pieces, plan.count, sizeof *plan.pieces, piece_comes_before);
    for (size_t i = 0; i < plan.count; i++) {
        const struct piece *piece = &plan.pieces[i];
        if (!kept || !pieces_overlap(&plan.pieces[kept - 1], piece))
            plan.pieces[kept++] = *piece;
        else if (!is_same_piece(&plan.pieces[kept - 1], piece))
            return CARRY_ERROR_BYTES;
    }
    plan.count = kept;
    return CARRY_OK;
}

/* Finds the runs of consecutive pages that contain the pieces. Returns how many there are. */
static size_t find_runs(void) {
    const uintptr_t inside = carry_host_text()->page_bytes() - 1;
    size_t count = 0;
    for (size_t i = 0; i < plan.count; i++) {
        const struct piece *piece = &plan.pieces[i];
        uintptr_t low = piece->address & ~inside;
        uintptr_t high = (piece->address + piece->length + inside) & ~inside;
        if (count && low <= plan.runs[count - 1].high)
            plan.runs[count - 1].high = high;
        else
            plan.runs[count++] = (struct carry_text_run){low, high};
    }
    return count;
}

/* --- Writing --- */

enum step { GUARDS, TAILS, HEADS, WHOLE };

/* The part of a piece that one step writes. */
struct part {
    uintptr_t address;
    size_t size;
    const uint8_t *bytes;
    uint8_t guard[2];
};

static void find_part(struct part *part, const struct piece *piece, enum step step, bool forward) {
    const uint8_t *bytes = forward ? piece->to : piece->from;
    size_t guard = 0;
    if (piece->guard != CARRY_GUARD_NONE)
        guard = carry_encode_guard_bytes((enum carry_guard)piece->guard, part->guard);
    size_t skip = step == TAILS ? guard : 0;
    part->address = piece->address + skip;
    part->size = step == GUARDS || step == HEADS ? guard : piece->length - skip;
    part->bytes = step == GUARDS ? part->guard : bytes + skip;
}

/* Copies at most PIECE_BYTES bytes without a function call, in two copies that may overlap. */
static void copy_part_bytes(uint8_t *to, const uint8_t *from, size_t size) {
    if (size >= 8) {
        __builtin_memcpy(to, from, 8);
        __builtin_memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        __builtin_memcpy(to, from, 4);
        __builtin_memcpy(to + size - 4, from + size - 4, 4);
    } else {
        for (size_t i = 0; i < size; i++)
            to[i] = from[i];
    }
}

/*
 * Writes the parts of all pieces in a span with one call of the host: a call costs far more than
 * the bytes. The bytes between the parts are written unchanged. Returns false on failure.
 */
static bool write_span(const struct piece *pieces, size_t count, enum step step, bool forward) {
    static uint8_t bytes[SPAN_BLOCKS * BLOCK_BYTES + PIECE_BYTES];
    struct part part;
    find_part(&part, &pieces[count - 1], step, forward);
    if (count == 1)
        return !part.size || carry_host_text()->write(part.address, part.bytes, part.size);
    uintptr_t end = part.address + part.size;
    find_part(&part, &pieces[0], step, forward);
    uintptr_t start = part.address;
    __builtin_memcpy(bytes, (const void *)start, end - start);
    for (size_t i = 0; i < count; i++) {
        find_part(&part, &pieces[i], step, forward);
        copy_part_bytes(bytes + (part.address - start), part.bytes, part.size);
    }
    return carry_host_text()->write(start, bytes, end - start);
}

/*
 * Returns how many pieces begin within `blocks` consecutive blocks. A block in which none begins
 * ends the span.
 */
static size_t count_in_span(const struct piece *pieces, size_t count, size_t blocks) {
    const uintptr_t first = pieces[0].address / BLOCK_BYTES;
    size_t i = 1;
    for (uintptr_t last = first; i < count; i++) {
        uintptr_t block = pieces[i].address / BLOCK_BYTES;
        if (block > last + 1 || block - first >= blocks)
            break;
        last = block;
    }
    return i;
}

/*
 * Writes one step of all pieces. With `singly`, writes each piece on its own. Without `forward`,
 * restores the old bytes, and continues after a failed write: a site that cannot be restored has
 * not changed, and the others must be restored. Each write then covers one block, because a longer
 * write might end at the block that cannot be written. Returns whether all writes succeeded.
 */
static bool write_step(enum step step, bool forward, bool singly) {
    const size_t blocks = forward ? SPAN_BLOCKS : 1;
    bool ok = true;
    for (size_t i = 0, count; i < plan.count && (ok || !forward); i += count) {
        const struct piece *pieces = &plan.pieces[i];
        count = singly ? 1 : count_in_span(pieces, plan.count - i, blocks);
        ok = write_span(pieces, count, step, forward) && ok;
    }
    return ok;
}

/* Writes all pieces, or restores them, while threads run. Returns whether all writes succeeded. */
static bool write_guarded(bool forward, bool singly) {
    enum step step = last_guard == CARRY_GUARD_NONE ? WHOLE : GUARDS;
    const enum step last = last_guard == CARRY_GUARD_NONE ? WHOLE : HEADS;
    bool ok = true;
    /* Without guards, nothing orders loads: a thread could run the new instruction with data that
     * is older than the commit. */
    if (step == WHOLE && forward && plan.mode < ALONE)
        carry_host_text()->synchronise();
    for (; step <= last && (ok || !forward); step++) {
        ok = write_step(step, forward, singly) && ok;
        if (step != HEADS) /* nothing waits for this step: see the head of this file */
            carry_host_text()->synchronise();
    }
    return ok;
}

/* Returns whether text between sites must not be written. Asks the host only if such text would be
 * written. */
static bool must_write_sites_only(const struct carry_text_session *session) {
    const struct carry_text_host *host = carry_host_text();
    return session->sites_only || (plan.count > 1 && host->is_watched && host->is_watched());
}

/*
 * Writes the plan, or restores all sites after a failure. If writes become visible at once, there
 * is nothing to restore. Otherwise each piece may have to be written on its own: within a longer
 * write, a pair of bytes is not one store. Returns whether the plan was written.
 */
static bool write_pieces(const struct carry_text_session *session) {
    const bool sites_only = must_write_sites_only(session);
    if (session->at_once)
        return write_step(WHOLE, true, sites_only);
    const bool singly = sites_only || session->writes_pairs;
    bool ok = write_guarded(true, singly);
    if (!ok)
        write_guarded(false, singly);
    return ok;
}

static enum carry_guard choose_guard(const struct piece *piece,
                                     const struct carry_text_session *session) {
    if (plan.mode >= ALONE || session->at_once ||
        (session->writes_pairs && carry_encode_swaps(piece->from, piece->to, piece->length)))
        return CARRY_GUARD_NONE;
    return carry_encode_guard(piece->address, piece->length, session->writes_pairs);
}

/*
 * Chooses a guard for each piece. Returns false if a piece needs a guard that this architecture
 * lacks, or if it needs a trap and the session does not hold threads at traps.
 */
static bool choose_guards(const struct carry_text_session *session) {
    last_guard = session->at_once ? CARRY_GUARD_REMAP : CARRY_GUARD_NONE;
    for (size_t i = 0; i < plan.count; i++) {
        enum carry_guard guard = choose_guard(&plan.pieces[i], session);
        plan.pieces[i].guard = (uint8_t)guard;
        if (guard > last_guard)
            last_guard = guard;
    }
    plan.missing_guard = last_guard == CARRY_GUARD_MISSING;
    return !plan.missing_guard && (last_guard != CARRY_GUARD_TRAP || session->holds_traps);
}

static bool piece_holds(const struct piece *piece, const uint8_t *bytes) {
    return !__builtin_memcmp((const void *)piece->address, bytes, piece->length);
}

/*
 * Returns whether another process changed a site after it was verified, for example a debugger that
 * set a breakpoint. Returns false if some site has its new bytes, because an exchange could not be
 * reverted: the plan must then be written in any case.
 */
static bool lost_a_site(void) {
    bool lost = false, changed = false;
    for (size_t i = 0; i < plan.count; i++) {
        const struct piece *piece = &plan.pieces[i];
        bool is_new = piece_holds(piece, piece->to);
        changed = changed || is_new;
        lost = lost || (!is_new && !piece_holds(piece, piece->from));
    }
    return lost && !changed;
}

/* Writes the plan in one session or several, until the host reports that all threads see it.
 * Returns 0 or an error. */
static int write_session(void) {
    const struct carry_text_host *host = carry_host_text();
    for (;;) {
        struct carry_text_session session;
        int error = host->open(plan.runs, find_runs(), plan.mode == QUIET, &session);
        if (error)
            return error;
        bool ok = choose_guards(&session) && write_pieces(&session);
        bool seen = host->close(ok);
        if (session.at_once)
            host->synchronise();
        if (seen)
            return ok ? CARRY_OK : CARRY_ERROR_PERMISSION;
        if (session.at_once && lost_a_site())
            return CARRY_ERROR_BYTES;
    }
}

/* Writes the plan. If calls are or become several instructions, stops all other CPUs while it
 * writes, unless no other thread can run the sites anyway. Returns 0 or an error. */
static int write_plan(void) {
    if (plan.mode >= ALONE || !plan.stops)
        return write_session();
    if (!carry_host_text()->stop())
        return CARRY_ERROR_BUSY;
    plan.mode = QUIET;
    int error = write_session();
    carry_host_text()->start();
    return error;
}

/* Fills in the plan from an object, a list of objects, an import or a transaction. */
typedef int make_plan(const void *of);

/* Makes a plan, sorts and writes it, and records why text could not be written. Returns 0 or an
 * error. */
static int carry_out_once(make_plan *make, const void *of) {
    int error = make(of);
    if (!error)
        error = order_plan();
    if (error || !plan.count)
        return error;
    error = write_plan();
    carry_patch_refusal = error == CARRY_ERROR_PERMISSION ? CARRY_PATCH_PERMISSION
                          : error == CARRY_ERROR_NO_SYNC  ? CARRY_PATCH_NO_SYNC
                                                          : CARRY_PATCH_NOT_ASKED;
    if (!error)
        written += plan.sites;
    return error;
}

/*
 * Makes a plan and writes it. If a guard is missing, tries again without the changes that need a
 * guard. Sites in their original state read their keys from memory: if all sites are in this state,
 * `keys_change` allows keys to change although text could not be written. Returns 0 or an error.
 */
static int carry_out_plan(make_plan *make, const void *of, bool keys_change) {
    int error = carry_out_once(make, of);
    if (plan.missing_guard) {
        empty_plan();
        plan.guardless = true;
        error = carry_out_once(make, of);
        if (!error && plan.keeps_original)
            carry_patch_refusal = CARRY_PATCH_PERMISSION;
    }
    bool planned = error != CARRY_ERROR_BYTES && error != CARRY_ERROR_MEMORY;
    return keys_change && planned && !plan.moves_patched ? CARRY_OK : error;
}

/* --- Sites without a change of their keys --- */

/* Sets the value of a key and of its imports. The key's resolver is not called again. */
static void set_value(struct carry_key *key, uintptr_t value) {
    key->resolve = NULL;
    for (struct carry_key *each = key; each; each = each->imports)
        __atomic_store_n(&each->value, value, __ATOMIC_RELEASE);
}

static void resolve_key(struct carry_key *key) {
    if (key->original)
        key = key->original;
    if (key->resolve)
        set_value(key, key->resolve());
}

static void resolve_keys(const struct carry_object *object) {
    for (size_t i = 0; i < object->count; i++) {
        const struct carry_site *site = object->by_key[i];
        if (site_is_call(site) && carry_encode_supports(site))
            resolve_key((struct carry_key *)carry_site_key(site));
    }
}

int carry_commit_object(const struct carry_object *object) {
    start_plan(LOADING);
    resolve_keys(object);
    return carry_out_plan(plan_object, object, false);
}

static int plan_import(const void *of) {
    const struct carry_key *import = of;
    return plan_key(import, import->original->value);
}

int carry_commit_import(const struct carry_key *import) {
    start_plan(LIVE);
    resolve_key(import->original);
    return carry_out_plan(plan_import, import, true);
}

static int plan_objects(const void *first) {
    for (const struct carry_object *object = first; object; object = object->next) {
        int error = plan_object(object);
        if (error)
            return error;
    }
    return CARRY_OK;
}

int carry_commit_objects(bool quiet) {
    start_plan(quiet ? QUIET : LIVE);
    for (const struct carry_object *object = carry_objects; object; object = object->next)
        resolve_keys(object);
    int error = carry_out_plan(plan_objects, carry_objects, false);
    if (!error)
        commits++;
    return error;
}

/* --- Transactions --- */

/* Ends every list of changes: a key in a list never has NULL in `changed`. */
static struct carry_key end_of_changes;

void carry_changes_start(struct carry_patch *patch) {
    patch->changed = &end_of_changes;
}

void carry_patch_set(struct carry_patch *patch, struct carry_key *key, uintptr_t value) {
    if (key->original)
        key = key->original;
    key->wanted = value;
    if (key->changed)
        return;
    key->changed = patch->changed;
    patch->changed = key;
}

static int plan_changes(const void *of) {
    const struct carry_patch *patch = of;
    for (const struct carry_key *key = patch->changed; key != &end_of_changes; key = key->changed)
        for (const struct carry_key *each = key; each; each = each->imports) {
            int error = plan_key(each, key->wanted);
            if (error)
                return error;
        }
    return CARRY_OK;
}

static void set_values(const struct carry_patch *patch) {
    for (struct carry_key *key = patch->changed; key != &end_of_changes; key = key->changed)
        set_value(key, key->wanted);
}

static void forget_changes(struct carry_patch *patch) {
    for (struct carry_key *key = patch->changed; key != &end_of_changes;) {
        struct carry_key *next = key->changed;
        key->changed = NULL;
        key = next;
    }
    patch->changed = NULL;
}

int carry_commit_changes(struct carry_patch *patch) {
    start_plan(LIVE);
    int error = carry_out_plan(plan_changes, patch, true);
    if (!error) {
        set_values(patch);
        commits++;
    }
    forget_changes(patch);
    return error;
}

void carry_patch_begin(struct carry_patch *patch) {
    carry_host_text()->begin();
    carry_changes_start(patch);
}

int carry_patch_commit(struct carry_patch *patch) {
    if (!patch->changed)
        return CARRY_ERROR_INVALID;
    carry_host_text()->lock();
    int error = carry_commit_changes(patch);
    carry_host_text()->unlock();
    carry_host_text()->end();
    return error;
}

void carry_patch_abort(struct carry_patch *patch) {
    if (!patch->changed)
        return;
    forget_changes(patch);
    carry_host_text()->end();
}

int carry_patch_select(const char *backend, const char *guard) {
    if (!carry_host_text()->select)
        return backend || guard ? CARRY_ERROR_UNSUPPORTED : CARRY_OK;
    carry_host_text()->lock();
    int error = carry_host_text()->select(backend, guard);
    carry_host_text()->unlock();
    return error;
}

/* --- Statistics --- */

void carry_commit_account(struct carry_patch_counts *stats) {
    static const char *const guards[] = {"none", "remap", "jump", "trap", "none"};
    stats->commits = commits;
    stats->written = written;
    stats->guard = guards[last_guard];
}
