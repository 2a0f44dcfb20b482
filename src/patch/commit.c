/* SPDX-License-Identifier: MIT */
/*
 * Transactions. A commit first makes a plan of all that is to change, which verifies every site,
 * and then writes it. While other threads run, that takes three steps (Intel SDM vol. 3,
 * "Cross-Modifying Code", with a guard in place of the pause):
 *
 *     1. a guard over the first byte or two of every site: whoever comes there waits
 *     2. all cores synchronised, then what follows the guards
 *     3. all cores synchronised, then the first bytes: whoever waits goes on
 *
 * After the third nothing is left to wait for: a core that has not seen it yet sees the guard.
 *
 * No guard is needed where the host shows all that is written at once, by exchanging the pages:
 * then a commit is one step, whatever the threads do.
 *
 * Where calls are or become several instructions a guard is not enough: a CPU that was interrupted
 * between two of them goes on behind it. All is written at once then, while the host has everyone
 * stand still outside of sites.
 */
#include "patch/patch.h"

/* Long alternatives are planned in several pieces. */
#define PIECE_BYTES 16

/* At most this many adjacent blocks are written at once. */
#define BLOCK_BYTES UINT64_C(4096)
#define SPAN_BLOCKS 16

struct piece {
    uintptr_t address;
    uint8_t length;
    uint8_t guard; /* enum carry_guard */
    uint8_t from[PIECE_BYTES];
    uint8_t to[PIECE_BYTES];
};

/* The one plan, and its memory from commit to commit; the host's lock guards it. */
static struct plan {
    struct piece *pieces;
    struct carry_text_run *runs; /* behind the pieces, in the same memory */
    size_t capacity;
    size_t count;
    size_t sites;
    bool in_order;      /* pieces are by address, and none overlaps another */
    bool moves_patched; /* a site of the plan is not in its original state */
    bool stops;         /* ... or it is, or will be, several instructions that stand for a call */
    bool quiet;         /* several instructions may change at once */
    bool stays_quiet;   /* and that does not end when another thread starts */
    bool loading;       /* the sites are of an object that is being loaded */
    bool swaps;         /* nothing comes in that would need a guard: no body, no replacement */
    bool stays;         /* ... so an alternative keeps its original */
    bool lacks;         /* a guard that there is none of */
    bool sites_only;    /* what lies between sites may be written by others */
} plan;

enum carry_patch_reason carry_patch_refusal;

static uint64_t commits;
static uint64_t written;
static enum carry_guard last_guard;

/* --- The plan --- */

static size_t plan_bytes(size_t capacity) {
    return capacity * (sizeof *plan.pieces + sizeof *plan.runs);
}

static bool make_room(void) {
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

static bool overlaps(const struct piece *piece, const struct piece *next) {
    return next->address < piece->address + piece->length;
}

/* By sizes that the compiler knows; the shorter is that of nearly all sites. */
static void copy_state(uint8_t *to, const uint8_t *from, size_t length) {
    if (length <= PIECE_BYTES / 2)
        __builtin_memcpy(to, from, PIECE_BYTES / 2);
    else
        __builtin_memcpy(to, from, PIECE_BYTES);
}

static int plan_pieces(const struct carry_site *site, const uint8_t *from, const uint8_t *to) {
    for (size_t done = 0; done < site->length; done += PIECE_BYTES) {
        if (!make_room())
            return CARRY_ERROR_MEMORY;
        size_t left = site->length - done;
        struct piece *piece = &plan.pieces[plan.count++];
        piece->address = carry_site_address(site) + done;
        piece->guard = CARRY_GUARD_NONE;
        piece->length = (uint8_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
        copy_state(piece->from, from + done, piece->length);
        copy_state(piece->to, to + done, piece->length);
        if (plan.count > 1 && overlaps(piece - 1, piece))
            plan.in_order = false;
    }
    plan.sites++;
    return CARRY_OK;
}

/* What a site is patched to: a value, and if that is a function, its registered body, or NULL. */
struct target {
    uintptr_t value;
    const struct carry_site *body;
};

static struct target target_of(uintptr_t value) {
    return (struct target){value, carry_body_of(value)};
}

static bool is_several(const struct target *target) {
    return target->body && target->body->flags & CARRY_SITE_SEVERAL;
}

static bool is_call(const struct carry_site *site) {
    return site->kind == CARRY_SITE_CALL || site->kind == CARRY_SITE_JUMP;
}

/* Is the site in a state that it was patched to, and which? */
static bool find_state(const struct carry_site *site, const struct target *target, uint8_t *bytes) {
    bool calls = is_call(site);
    if (carry_encode(site, target->value, NULL, bytes) && carry_site_holds(site, bytes))
        return true;
    if (calls && !target->body)
        return false;
    return carry_encode(site, calls ? target->value : !target->value, target->body, bytes) &&
           carry_site_holds(site, bytes);
}

static bool is_original(const struct carry_site *site, uint8_t *bytes) {
    carry_encode_original(site, bytes);
    return carry_site_holds(site, bytes);
}

/*
 * Finds the bytes of a site that is original, or patched to `from`. Most sites of a plan are in the
 * same state: once one was found patched, the others are tried as patched first. False if neither
 * is.
 */
static bool find_present(const struct carry_site *site, const struct target *from, uint8_t *bytes) {
    bool likely_patched = plan.moves_patched;
    if (likely_patched && find_state(site, from, bytes))
        return true;
    if (is_original(site, bytes))
        return true;
    if (likely_patched || !find_state(site, from, bytes))
        return false;
    plan.moves_patched = true;
    return true;
}

/* Entries are registered before anybody can run them; an alternative of an object may have run in
 * its resolvers. */
static bool may_change(const struct carry_site *site) {
    return plan.quiet || (plan.loading && site->kind == CARRY_SITE_ENTRY) ||
           !carry_site_is_several(site);
}

/* Finds what a site is to hold: its original where the function is far. Does it hold that? */
static bool is_patched(const struct carry_site *site, uintptr_t value,
                       const struct carry_site *body, uint8_t *bytes) {
    if (!carry_encode(site, value, body, bytes))
        carry_encode_original(site, bytes);
    return carry_site_holds(site, bytes);
}

/* Where its replacement may not come in, the original of an alternative is right. */
static bool may_stay(const struct carry_site *site, const uint8_t *wanted) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    bool stays = site->kind == CARRY_SITE_ALTERNATIVE && is_original(site, bytes) &&
                 !carry_encode_swaps(bytes, wanted, site->length);
    plan.stays = plan.stays || stays;
    return stays;
}

/* Plans to patch a site from one state to another. A body that stands there already may stay. */
static int plan_site(const struct carry_site *site, const struct target *from,
                     const struct target *to) {
    uint8_t present[CARRY_SITE_BYTES_MAX];
    uint8_t wanted[CARRY_SITE_BYTES_MAX];
    if (!carry_encode_knows(site) || !may_change(site))
        return CARRY_OK;
    if (is_patched(site, to->value, to->body, wanted))
        return CARRY_OK;
    if (plan.swaps && (may_stay(site, wanted) || is_patched(site, to->value, NULL, wanted)))
        return CARRY_OK;
    if (!find_present(site, from, present))
        return CARRY_ERROR_BYTES;
    plan.stops = plan.stops || is_several(from) || is_several(to);
    return plan_pieces(site, present, wanted);
}

static int plan_key(const struct carry_key *key, uintptr_t value) {
    const struct target from = target_of(key->value);
    const struct target to = target_of(value);
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
    struct target last = {0, NULL}; /* of the call before: those of one function come in rows */
    for (size_t i = 0; i < object->count; i++) {
        const struct carry_site *site = object->by_address[i];
        if (!carry_encode_knows(site))
            continue;
        struct target target = {carry_site_value(site), NULL};
        if (is_call(site)) {
            if (target.value != last.value)
                last = target_of(target.value);
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
    plan.stays = false;
    plan.lacks = false;
}

static void start_plan(bool quiet) {
    empty_plan();
    plan.quiet = quiet || carry_host_text()->alone();
    plan.stays_quiet = quiet;
    plan.loading = false;
    plan.swaps = false;
}

static bool lies_before(const void *a, const void *b) {
    return ((const struct piece *)a)->address < ((const struct piece *)b)->address;
}

static bool is_same(const struct piece *a, const struct piece *b) {
    return a->address == b->address && a->length == b->length &&
           !__builtin_memcmp(a->to, b->to, a->length);
}

/*
 * By address, so that what is written to one page is written at once. Linkers that fold functions
 * may leave two records of one site; what else overlaps is no site.
 */
static int order_plan(void) {
    size_t kept = 0;
    if (plan.in_order)
        return CARRY_OK;
    carry_sort(plan.pieces, plan.count, sizeof *plan.pieces, lies_before);
    for (size_t i = 0; i < plan.count; i++) {
        const struct piece *piece = &plan.pieces[i];
        if (!kept || !overlaps(&plan.pieces[kept - 1], piece))
            plan.pieces[kept++] = *piece;
        else if (!is_same(&plan.pieces[kept - 1], piece))
            return CARRY_ERROR_BYTES;
    }
    plan.count = kept;
    return CARRY_OK;
}

/* The pages of the plan, those in a row together. Returns how many rows. */
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

/* What a step writes of a piece. */
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

/* At most PIECE_BYTES, without a call: by two copies that overlap. */
static void copy_part(uint8_t *to, const uint8_t *from, size_t size) {
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
 * All parts of a span at once, as a call of the host costs far more than their bytes. What lies
 * between them is written as it is.
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
        copy_part(bytes + (part.address - start), part.bytes, part.size);
    }
    return carry_host_text()->write(start, bytes, end - start);
}

/* How many of the pieces begin within `blocks` blocks in a row. One without any ends the row. */
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
 * One step for all. Pairs go by themselves: among others they would not be written at once. The
 * way back goes on where a write fails: what cannot be restored did not change, and the rest must.
 * So it is made block by block, as a write of several may end at the one that fails.
 */
static bool write_step(enum step step, bool forward, bool in_pairs) {
    const size_t blocks = forward ? SPAN_BLOCKS : 1;
    bool ok = true;
    for (size_t i = 0, count; i < plan.count && (ok || !forward); i += count) {
        const struct piece *pieces = &plan.pieces[i];
        count = in_pairs || plan.sites_only ? 1 : count_in_span(pieces, plan.count - i, blocks);
        ok = write_span(pieces, count, step, forward) && ok;
    }
    return ok;
}

/* Of what nobody has seen, nothing has to be taken back. */
static bool write_unseen(void) {
    return write_step(WHOLE, true, false);
}

static bool write_seen(bool forward, bool in_pairs) {
    enum step step = last_guard == CARRY_GUARD_NONE ? WHOLE : GUARDS;
    const enum step last = last_guard == CARRY_GUARD_NONE ? WHOLE : HEADS;
    bool ok = true;
    /* No guard orders a thread that runs the new instruction: its earlier loads may be older. */
    if (step == WHOLE && forward && !plan.quiet)
        carry_host_text()->synchronise();
    for (; step <= last && (ok || !forward); step++) {
        ok = write_step(step, forward, in_pairs) && ok;
        if (step != HEADS) /* nothing waits for these: see the top of this file */
            carry_host_text()->synchronise();
    }
    return ok;
}

static bool write_all(const struct carry_text_session *session) {
    if (session->at_once)
        return write_unseen();
    bool ok = write_seen(true, session->writes_pairs);
    if (!ok)
        write_seen(false, session->writes_pairs);
    return ok;
}

static enum carry_guard guard_of(const struct piece *piece,
                                 const struct carry_text_session *session) {
    if (plan.quiet || session->at_once ||
        (session->writes_pairs && carry_encode_swaps(piece->from, piece->to, piece->length)))
        return CARRY_GUARD_NONE;
    return carry_encode_guard(piece->address, piece->length, session->writes_pairs);
}

/* False if a site needs a trap, and nobody would wait there, or a guard that there is none of. */
static bool choose_guards(const struct carry_text_session *session) {
    last_guard = session->at_once ? CARRY_GUARD_REMAP : CARRY_GUARD_NONE;
    for (size_t i = 0; i < plan.count; i++) {
        enum carry_guard guard = guard_of(&plan.pieces[i], session);
        plan.pieces[i].guard = (uint8_t)guard;
        if (guard > last_guard)
            last_guard = guard;
    }
    plan.lacks = last_guard == CARRY_GUARD_LACKS;
    return !plan.lacks && (last_guard != CARRY_GUARD_TRAP || session->holds_traps);
}

/* Returns whether text between sites must not be written: asked only where that would happen. */
static bool must_write_sites_only(const struct carry_text_session *session) {
    const struct carry_text_host *host = carry_host_text();
    return session->sites_only || (plan.count > 1 && host->is_watched && host->is_watched());
}

static bool piece_holds(const struct piece *piece, const uint8_t *bytes) {
    return !__builtin_memcmp((const void *)piece->address, bytes, piece->length);
}

/*
 * Returns whether another process changed a site after it was verified, as a debugger does that
 * sets a breakpoint there. Where some pages could not be taken back, writing goes on regardless.
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

/* Sets *seen to whether all of it came to be seen; if not, the same is to be done again. */
static int write_once(bool *seen) {
    struct carry_text_session session;
    int error = carry_host_text()->open(plan.runs, find_runs(), plan.stays_quiet, &session);
    if (error)
        return error;
    plan.sites_only = must_write_sites_only(&session);
    bool ok = choose_guards(&session) && write_all(&session);
    *seen = carry_host_text()->close(ok);
    if (session.at_once)
        carry_host_text()->synchronise();
    if (!*seen)
        return session.at_once && lost_a_site() ? CARRY_ERROR_BYTES : CARRY_OK;
    return ok ? CARRY_OK : CARRY_ERROR_PERMISSION;
}

static int write_session(void) {
    bool seen = false;
    int error = CARRY_OK;
    while (!error && !seen)
        error = write_once(&seen);
    return error;
}

static int write_plan(void) {
    if (plan.quiet || !plan.stops)
        return write_session();
    if (!carry_host_text()->stop())
        return CARRY_ERROR_BUSY;
    plan.quiet = true;
    plan.stays_quiet = true;
    int error = write_session();
    carry_host_text()->start();
    return error;
}

/* Carries out the plan as it is. */
static int write_ordered(void) {
    int error = order_plan();
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

/* What a plan is made of: see those that make one. */
typedef int make_plan(const void *of);

/* Makes a plan, once more without what needs a guard where there is none, and carries it out. */
static int carry_out_plan(make_plan *make, const void *of) {
    int error = make(of);
    if (!error)
        error = write_ordered();
    if (!plan.lacks)
        return error;
    empty_plan();
    plan.swaps = true;
    error = make(of);
    if (!error)
        error = write_ordered();
    if (!error && plan.stays)
        carry_patch_refusal = CARRY_PATCH_PERMISSION;
    return error;
}

/* The same for keys that change: where all their sites are original, memory is all it takes. */
static int carry_out_changes(make_plan *make, const void *of) {
    int error = carry_out_plan(make, of);
    bool planned = error != CARRY_ERROR_BYTES && error != CARRY_ERROR_MEMORY;
    return planned && !plan.moves_patched ? CARRY_OK : error;
}

/* --- Sites without a change of their keys --- */

/* A new value for a key and for all that follow it. It is not asked for any more. */
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
        if (is_call(site) && carry_encode_knows(site))
            resolve_key((struct carry_key *)carry_site_key(site));
    }
}

int carry_commit_object(const struct carry_object *object) {
    start_plan(false);
    plan.loading = true;
    resolve_keys(object);
    return carry_out_plan(plan_object, object);
}

static int plan_import(const void *of) {
    const struct carry_key *import = of;
    return plan_key(import, import->original->value);
}

int carry_commit_import(const struct carry_key *import) {
    start_plan(false);
    resolve_key(import->original);
    return carry_out_changes(plan_import, import);
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
    start_plan(quiet);
    for (const struct carry_object *object = carry_objects; object; object = object->next)
        resolve_keys(object);
    int error = carry_out_plan(plan_objects, carry_objects);
    if (!error)
        commits++;
    return error;
}

/* --- Transactions --- */

/* The end of every list of changes, so that a key in a list never has a `changed` of NULL. */
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
    start_plan(false);
    int error = carry_out_changes(plan_changes, patch);
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

/* --- Accounts --- */

void carry_commit_account(struct carry_patch_counts *stats) {
    static const char *const guards[] = {"none", "remap", "jump", "trap", "none"};
    stats->commits = commits;
    stats->written = written;
    stats->guard = guards[last_guard];
}
