/* SPDX-License-Identifier: MIT */
/*
 * Tests only the core of `patch`, with a simulated host that judges each write and fails on demand.
 * A model derives the expected bytes of every site from the table in <carry/patch/x86_64.h>.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/effort.h"
#include "harness/rng.h"
#include "harness/site_record.h"
#include "harness/tap.h"
#include "harness/text_sim.h"

#define KEYS      24
#define FUNCTIONS 6
#define CALL      6
#define BRANCH    5

/* The simulated data: records, keys, stubs and bodies. */
struct data {
    struct carry_site records[SIM_SITES_MAX];
    struct carry_key keys[KEYS];
    uint8_t stubs[SIM_SITES_MAX][64]; /* the stubs of branches, or the bytes of alternatives */
    uint8_t bodies[FUNCTIONS][8];
};
_Static_assert(sizeof(struct data) <= SIM_DATA_BYTES, "the data has room");

static struct data *data;
static size_t sites;
static size_t records;

/* --- The model --- */

static struct model {
    uintptr_t values[KEYS];
    uint8_t text[SIM_TEXT_BYTES];
} model;

static const char *broken; /* the first requirement that is not met */

static void require(bool ok, const char *what) {
    if (!ok && !broken)
        broken = what;
}

enum function { NEAR, NEARER, FAR, INLINE, NOTHING, SEVERAL };

static uintptr_t function_at(enum function function) {
    const uintptr_t text = (uintptr_t)sim.text;
    static const uintptr_t offsets[FUNCTIONS] = {
        [NEAR] = 0x12345678,  [NEARER] = 16,      [FAR] = (uintptr_t)1 << 33,
        [INLINE] = 0x1000000, [NOTHING] = 0x2000, [SEVERAL] = 0x3000,
    };
    return text + offsets[function];
}

/* pushfq; popq %rax */
static const uint8_t several[] = {0x2e, 0x2e, 0x2e, 0x2e, 0x9c, 0x58};
_Static_assert(sizeof several == SIM_CALL_BYTES && sizeof several == CALL, "a call");

static void put32(uint8_t *bytes, uintptr_t target, uintptr_t end) {
    uintptr_t distance = target - end;
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(distance >> 8 * i);
}

static void state_of_call(size_t i, uintptr_t address, uintptr_t function, bool patched,
                          uint8_t *bytes) {
    bool call = data->records[i].kind == CARRY_SITE_CALL;
    if (!patched || function == function_at(FAR)) {
        memcpy(bytes, call ? "\xff\x15" : "\xff\x25", 2);
        put32(bytes + 2, carry_site_key(&data->records[i]), address + CALL);
    } else if (call && function == function_at(INLINE)) {
        memcpy(bytes, "\x2e\x2e\x48\x8d\x47\x01", CALL);
    } else if (call && function == function_at(SEVERAL) && sim.can_stop) {
        memcpy(bytes, several, CALL);
    } else if (call && function == function_at(NOTHING)) {
        memcpy(bytes, "\x66\x0f\x1f\x44\x00\x00", CALL);
    } else {
        memcpy(bytes, call ? "\x2e\xe8" : "\x2e\xe9", 2);
        put32(bytes + 2, function, address + CALL);
    }
}

static void state_of_branch(size_t i, uintptr_t address, bool on, bool patched, uint8_t *bytes) {
    bool jumps = on == (data->records[i].flags == CARRY_SITE_JUMPS_IF_ON);
    if (patched && !jumps) {
        memcpy(bytes, "\x0f\x1f\x44\x00\x00", BRANCH);
        return;
    }
    bytes[0] = 0xe9;
    uintptr_t stub = (uintptr_t)data->stubs[i];
    int32_t away;
    memcpy(&away, data->stubs[i] + 9, 4);
    put32(bytes + 1, patched ? stub + 13 + (uintptr_t)(intptr_t)away : stub, address + BRANCH);
}

/*
 * Writes NOPs: the longest first or, if `single`, only one, with prefixes if necessary. This list
 * is not the encoder's, because the encoder is checked against it.
 */
static void put_nops(uint8_t *bytes, size_t length, bool single) {
    static const uint8_t nops[9][9] = {
        {0x90},
        {0x66, 0x90},
        {0x0f, 0x1f, 0x00},
        {0x0f, 0x1f, 0x40, 0x00},
        {0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
        {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
        {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
        {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    };
    for (; single && length > 9; length--)
        *bytes++ = 0x2e;
    for (size_t size; length; bytes += size, length -= size) {
        size = length < 9 ? length : 9;
        memcpy(bytes, nops[size - 1], size);
    }
}

/* Writes the bytes of an alternative. Its replacement is 0x51, 0x52 ..., its original 0x61, 0x62
   ... */
static void state_of_alternative(size_t i, bool replaced, uint8_t *bytes) {
    size_t length = data->records[i].length;
    size_t size = data->stubs[i][replaced];
    bool single = data->records[i].flags & CARRY_SITE_SINGLE;
    size_t before = single && size ? length - size : 0;
    memset(bytes, 0x2e, before);
    for (size_t j = 0; j < size; j++)
        bytes[before + j] = (uint8_t)((replaced ? 0x51 : 0x61) + j);
    size_t rest = length - before - size;
    if (!replaced)
        memset(bytes + before + size, 0x90, rest);
    else
        put_nops(bytes + before + size, rest, single);
}

static void state_of_site(size_t i, uintptr_t value, bool patched, uint8_t *bytes) {
    uintptr_t address = carry_site_address(&data->records[i]);
    if (data->records[i].kind == CARRY_SITE_BRANCH)
        state_of_branch(i, address, value != 0, patched, bytes);
    else if (data->records[i].kind == CARRY_SITE_ALTERNATIVE)
        state_of_alternative(i, patched && value, bytes);
    else
        state_of_call(i, address, value, patched, bytes);
}

static size_t offset_of_site(size_t i) {
    return carry_site_address(&data->records[i]) - (uintptr_t)sim.text;
}

static size_t key_of(size_t i) {
    return (size_t)((struct carry_key *)carry_site_key(&data->records[i]) - data->keys);
}

static bool is_single(size_t i) {
    return data->records[i].kind != CARRY_SITE_ALTERNATIVE ||
           data->records[i].flags & CARRY_SITE_SINGLE;
}

static bool model_stops;

/* Returns whether a stop is needed: a changing site is, or becomes, several instructions. */
static bool wants_stop(size_t key, uintptr_t value) {
    const uintptr_t function = function_at(SEVERAL);
    return sim.can_stop && !sim.alone && (model.values[key] == function || value == function);
}

/*
 * Models a commit that sets the keys of `changed` to `wanted`. If `fails`, a write fails: the
 * commit returns `error` if a site that must change was patched before; otherwise the text remains,
 * and sites follow their keys in memory.
 */
static int model_commit(const bool *changed, const uintptr_t *wanted, bool fails, int error) {
    static struct model next;
    next = model;
    bool patched = false;
    model_stops = false;
    for (size_t i = 0; i < sites; i++) {
        uint8_t state[64];
        uint8_t *bytes = next.text + offset_of_site(i);
        size_t length = data->records[i].length;
        if (!changed[key_of(i)] || (!is_single(i) && !sim.alone))
            continue;
        state_of_site(i, 0, false, state);
        bool original = !memcmp(bytes, state, length);
        state_of_site(i, wanted[key_of(i)], true, state);
        if (memcmp(bytes, state, length)) {
            memcpy(bytes, state, length);
            patched = patched || !original;
            model_stops = model_stops || wants_stop(key_of(i), wanted[key_of(i)]);
        }
    }
    bool writes = memcmp(next.text, model.text, sizeof next.text) != 0;
    if (writes && fails && patched)
        return error;
    if (!writes || !fails)
        memcpy(model.text, next.text, sizeof model.text);
    for (size_t key = 0; key < KEYS; key++)
        if (changed[key])
            model.values[key] = wanted[key];
    return CARRY_OK;
}

static void compare_with_model(void) {
    require(!memcmp(sim.text, model.text, SIM_TEXT_BYTES), "the text is not as in the model");
    for (size_t key = 0; key < KEYS; key++) {
        require(data->keys[key].value == model.values[key], "a key is not as in the model");
        require(!data->keys[key].changed, "a key is still in a transaction");
    }
}

/* --- Sites --- */

/* Returns whether a key is an operation: keys 0 to 7 are operations, the others are booleans. */
static bool is_operation(size_t key) {
    return key < 8;
}

static uintptr_t random_value(size_t key) {
    return is_operation(key) ? function_at((enum function)rng_below(FUNCTIONS)) : rng_below(2);
}

static void make_record(size_t i, enum carry_site_kind kind, uintptr_t address, uintptr_t key,
                        const uint8_t *aux, size_t length, unsigned flags) {
    site_record_make(&data->records[i], kind, address, key, aux, length, flags);
}

static size_t make_alternative(size_t i, uintptr_t address, uintptr_t key) {
    bool single = rng_below(3);
    size_t old = 1 + rng_below(single ? 12 : 25);
    size_t new = single || rng_below(2) ? rng_below(old + 1) : old + rng_below(3);
    size_t length = old > new ? old : new;
    uint8_t *aux = data->stubs[i];
    aux[0] = (uint8_t)old;
    aux[1] = (uint8_t) new;
    for (size_t j = 0; j < old; j++)
        aux[2 + j] = (uint8_t)(0x61 + j);
    for (size_t j = 0; j < new; j++)
        aux[2 + old + j] = (uint8_t)(0x51 + j);
    make_record(i, CARRY_SITE_ALTERNATIVE, address, key, aux, length,
                single ? CARRY_SITE_SINGLE : 0);
    return length;
}

/* Makes site `i` at an address. Returns its length. */
static size_t make_site(size_t i, uintptr_t address) {
    size_t key = rng_below(KEYS);
    uintptr_t at = (uintptr_t)&data->keys[key];
    if (is_operation(key)) {
        make_record(i, rng_below(4) ? CARRY_SITE_CALL : CARRY_SITE_JUMP, address, at, NULL, CALL,
                    0);
        return CALL;
    }
    if (rng_below(3) == 0)
        return make_alternative(i, address, at);
    int32_t away = (int32_t)(rng_next() % 0x1000000);
    memcpy(data->stubs[i] + 9, &away, 4);
    make_record(i, CARRY_SITE_BRANCH, address, at, data->stubs[i], BRANCH,
                rng_below(2) ? CARRY_SITE_JUMPS_IF_ON : 0);
    return BRANCH;
}

/* Returns an address near the end of a page, but not inside the previous site. */
static uintptr_t near_page_end(uintptr_t address) {
    uintptr_t end = (address | (SIM_PAGE_BYTES - 1)) - rng_below(4);
    return end > address ? end : address;
}

static bool apart = true; /* some sites are pages apart from the next */

/* Makes sites that touch, cross lines and pages, or are pages apart. */
static void make_sites(size_t count) {
    uintptr_t address = (uintptr_t)sim.text + rng_below(64);
    const uintptr_t end = (uintptr_t)sim.text + SIM_TEXT_BYTES - 64;
    for (sites = 0; sites < count && address < end; sites++) {
        address += make_site(sites, address);
        if (rng_below(3))
            address += rng_below(40);
        else if (apart && rng_below(20) == 0)
            address += rng_below(SIM_TEXT_BYTES / 8);
        else if (rng_below(20) == 0)
            address = near_page_end(address);
    }
}

static void shuffle_records(void) {
    for (size_t i = sites; i-- > 1;) {
        size_t j = rng_below(i + 1);
        struct carry_site a = data->records[i];
        struct carry_site b = data->records[j];
        uint8_t stub[sizeof data->stubs[0]];
        memcpy(stub, data->stubs[i], sizeof stub);
        memcpy(data->stubs[i], data->stubs[j], sizeof stub);
        memcpy(data->stubs[j], stub, sizeof stub);
        uintptr_t site_a = carry_site_address(&data->records[i]);
        uintptr_t site_b = carry_site_address(&data->records[j]);
        uintptr_t key_a = carry_site_key(&data->records[i]);
        uintptr_t key_b = carry_site_key(&data->records[j]);
        make_record(i, b.kind, site_b, key_b, data->stubs[i], b.length, b.flags);
        make_record(j, a.kind, site_a, key_a, data->stubs[j], a.length, a.flags);
    }
}

static void make_body(size_t i, enum function function, const void *bytes, size_t size,
                      unsigned flags) {
    uint8_t *aux = data->bodies[function];
    aux[0] = (uint8_t)size;
    memcpy(aux + 1, bytes, size);
    make_record(i, CARRY_SITE_BODY, function_at(function), function_at(function), aux, 0, flags);
}

static void reset_keys(void) {
    memset(data->keys, 0, sizeof data->keys);
    for (size_t key = 0; key < KEYS; key++)
        data->keys[key].value = is_operation(key) ? function_at(NEAR) : 0;
}

/* Makes unpatched text with about `count` sites that are not registered yet. */
static void start_text(size_t count) {
    if (records)
        carry_patch_unregister(data->records);
    carry_patch_applied = false;
    sim_reset();
    sim_forget();
    broken = NULL;
    reset_keys();
    rng_fill(sim.writable, SIM_TEXT_BYTES);
    make_sites(count);
    shuffle_records();
    for (size_t i = 0; i < sites; i++) {
        state_of_site(i, 0, false, sim.writable + offset_of_site(i));
        sim_add_site(carry_site_address(&data->records[i]), data->records[i].length);
    }
    make_body(sites, INLINE, "\x48\x8d\x47\x01", 4, 0);
    make_body(sites + 1, NOTHING, "", 0, 0);
    make_body(sites + 2, SEVERAL, several + 4, 2, CARRY_SITE_SEVERAL);
    records = sites + 3;
    memcpy(model.text, sim.text, SIM_TEXT_BYTES);
    for (size_t key = 0; key < KEYS; key++)
        model.values[key] = data->keys[key].value;
}

static void start_registered(size_t count) {
    start_text(count);
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
}

static void report(const char *name) {
    if (broken)
        verdict_fail(&sim.verdict, "%s; ", broken);
    verdict_report(&sim.verdict, "%s", name);
}

/* --- Transactions --- */

static bool changed[KEYS];
static uintptr_t wanted[KEYS];

static void choose_all(void) {
    for (size_t key = 0; key < KEYS; key++) {
        changed[key] = true;
        wanted[key] = is_operation(key) ? function_at(NEARER) : !model.values[key];
    }
}

static void choose_some(void) {
    for (size_t key = 0; key < KEYS; key++) {
        changed[key] = rng_below(3) == 0;
        wanted[key] = random_value(key);
    }
}

static int commit_chosen(void) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    for (size_t key = 0; key < KEYS; key++)
        if (changed[key])
            carry_patch_set(&patch, &data->keys[key], wanted[key]);
    return carry_patch_commit(&patch);
}

/* Commits the chosen changes in the library and in the model. */
static void commit_both(bool fails, int error) {
    int expected = model_commit(changed, wanted, fails, error);
    require(commit_chosen() == expected, "commit returns another value than the model");
    compare_with_model();
}

/* --- Tests --- */

static const struct mode {
    const char *name;
    bool alone;
    bool writes_pairs;
    bool can_stop;
    bool at_once;
} modes[] = {
    {.name = "alone, in spans", .alone = true},
    {.name = "alone, in pairs", .alone = true, .writes_pairs = true},
    {.name = "live, in spans"},
    {.name = "live, in pairs", .writes_pairs = true},
    {.name = "live, where all CPUs can be stopped", .writes_pairs = true, .can_stop = true},
    {.name = "live, at once", .at_once = true},
    {.name = "live, at once, where all CPUs can be stopped", .can_stop = true, .at_once = true},
};
#define MODES (sizeof modes / sizeof *modes)

static void set_mode(const struct mode *mode) {
    sim.alone = mode->alone;
    sim.writes_pairs = mode->writes_pairs;
    sim.can_stop = mode->can_stop;
    sim.at_once = mode->at_once;
    sim.several = several;
}

static void test_steps(const struct mode *mode) {
    start_registered(600);
    set_mode(mode);
    choose_all();
    commit_both(false, 0);
    const bool unguarded = mode->alone || mode->at_once;
    require(sim.synchronisations == (unguarded ? 1 : 2), "another number of steps");
    require(sim.opens == 1, "another number of sessions");
    require(!sim.jumps == (unguarded || !mode->writes_pairs), "jumps as guards, or none");
    require(!sim.traps == unguarded, "traps as guards, or none");
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    require(!strcmp(stats.guard, mode->alone     ? "none"
                                 : mode->at_once ? "remap"
                                                 : "trap"),
            "another guard is reported");
    report(mode->name);
}

/* Pages that already show the new state are written again with all other pages. */
static void test_half_exchanged(void) {
    start_registered(600);
    set_mode(&(struct mode){.at_once = true});
    choose_all();
    commit_both(false, 0);
    choose_all();
    sim.exchange_fails = true;
    size_t opens = sim.opens;
    commit_both(false, 0);
    require(!sim.exchange_fails && sim.opens == opens + 2, "another number of sessions");
    require(sim.traps, "no guard is written for the second attempt");
    compare_with_model();
    report("pages that are exchanged only in part are written again");
}

/* A breakpoint appears at a site between its check and the exchange. */
static void test_breakpoint(void) {
    start_registered(1);
    set_mode(&(struct mode){.at_once = true});
    struct carry_patch patch;
    carry_patch_begin(&patch);
    struct carry_key *key = (struct carry_key *)carry_site_key(&data->records[0]);
    const uintptr_t before = key->value;
    carry_patch_set(&patch, key, is_operation(key_of(0)) ? function_at(NEARER) : 1);
    sim.breaks_at = offset_of_site(0);
    require(sim.breaks_at != 0, "the site is at the start of the text");
    require(carry_patch_commit(&patch) == CARRY_ERROR_BYTES, "another error");
    require(sim.text[offset_of_site(0)] == 0xcc, "the breakpoint is gone");
    require(key->value == before, "the key has changed");
    sim.writable[offset_of_site(0)] = model.text[offset_of_site(0)];
    compare_with_model();
    report("a breakpoint at a site makes a commit fail");
}

static void test_debugger(void) {
    static const struct mode watched[] = {{.alone = true}, {.alone = false}, {.at_once = true}};
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        start_registered(600);
        set_mode(&watched[i]);
        sim.has_debugger = true;
        choose_all();
        commit_both(false, 0);
        compare_with_model();
        report("below a debugger, nothing between sites is written");
    }
}

static bool begins_on(size_t page) {
    bool begins = false;
    for (size_t i = 0; i < sites; i++)
        begins = begins || offset_of_site(i) / SIM_PAGE_BYTES == page;
    return begins;
}

/* Returns the number of runs of up to sixteen adjacent pages with sites. */
static size_t span_count(void) {
    size_t count = 0;
    for (size_t page = 0, length = 0; page < SIM_TEXT_BYTES / SIM_PAGE_BYTES; page++) {
        length = begins_on(page) ? length % 16 + 1 : 0;
        count += length == 1;
    }
    return count;
}

static void test_spans(void) {
    start_registered(600);
    choose_all();
    commit_both(false, 0);
    /* A step skips a span whose only site is as short as a guard. */
    require(sim.writes <= 3 * span_count() && sim.writes > 2 * span_count(),
            "other writes than spans");
    report("each step writes a span of pages once");
}

static void test_random_commits(const struct mode *mode, const struct effort *effort) {
    start_registered(400);
    set_mode(mode);
    for (size_t i = 0; i < effort->rounds / 50 && sim.verdict.ok && !broken; i++) {
        choose_some();
        sim.alone = rng_below(4) == 0 ? !mode->alone : mode->alone;
        sim.fail_at = rng_below(3) == 0 ? sim.writes + 1 + rng_below(4) : 0;
        sim.fails_halfway = rng_below(2);
        sim.refusal = rng_below(6) == 0 ? CARRY_ERROR_NO_SYNC : 0;
        sim.stop_fails = rng_below(4) == 0;
        size_t writes = sim.writes;
        size_t stops = sim.stops;
        size_t stops_refused = sim.stops_refused;
        /* Whether a write fails is known only after the commit: then the text must be unchanged. */
        uint8_t *before = malloc(SIM_TEXT_BYTES);
        memcpy(before, sim.text, SIM_TEXT_BYTES);
        int error = commit_chosen();
        bool busy = sim.stops_refused > stops_refused;
        bool hit = busy || sim.refusal || (sim.fail_at > writes && sim.fail_at <= sim.writes);
        int expected_error = busy          ? CARRY_ERROR_BUSY
                             : sim.refusal ? sim.refusal
                                           : CARRY_ERROR_PERMISSION;
        require(error == model_commit(changed, wanted, hit, expected_error),
                "commit returns another value than the model");
        require(model_stops == (busy || sim.stops > stops), "stops for nothing, or does not");
        require(!hit || !memcmp(before, sim.text, SIM_TEXT_BYTES), "a failure changes text");
        free(before);
        compare_with_model();
    }
    report(mode->name);
}

/* Each write of a commit fails in turn; then all succeed. */
static void test_rollback(const struct mode *mode, bool patched, bool halfway) {
    start_registered(mode->writes_pairs ? 150 : 600); /* spans need fewer writes */
    set_mode(mode);
    if (patched) {
        choose_all();
        commit_both(false, 0);
    }
    sim.fails_halfway = halfway;
    bool failed = true;
    size_t tries = 0;
    while (failed && sim.verdict.ok && !broken) {
        choose_all();
        struct model before = model;
        size_t start_writes = sim.writes;
        sim.fail_at = start_writes + ++tries;
        int error = commit_chosen();
        failed = sim.writes >= sim.fail_at;
        require(error == (failed && patched ? CARRY_ERROR_PERMISSION : CARRY_OK),
                "the wrong error");
        model_commit(changed, wanted, failed, 0);
        compare_with_model();
        require(!failed || !memcmp(before.text, model.text, SIM_TEXT_BYTES), "text changes");
        rng_restart();
    }
    require(tries > 1, "no write to fail");
    tap_note("%s: %zu writes failed", mode->name, tries - 1);
    report(mode->name);
}

/* A page that cannot be written does not prevent other pages from being restored. */
static void test_stuck_page(const struct mode *mode) {
    start_registered(400);
    set_mode(mode);
    choose_all();
    commit_both(false, 0);
    for (size_t page = 0; page < SIM_TEXT_BYTES / SIM_PAGE_BYTES; page++) {
        sim.stuck = sim.text + page * SIM_PAGE_BYTES;
        choose_all();
        size_t writes = sim.writes;
        int error = commit_chosen();
        require(sim.writes > writes, "nothing is written");
        require(error == model_commit(changed, wanted, error != 0, error), "the wrong error");
        compare_with_model();
    }
    report(mode->name);
}

/* A page can no longer be written after guards are on it: all other pages must be restored. */
static void test_lost_page(const struct mode *mode) {
    unsigned lost = 0;
    apart = false;
    for (size_t after = 1; after < 60; after += mode->writes_pairs ? 4 : 1) {
        start_registered(1500);
        set_mode(mode);
        choose_all();
        commit_both(false, 0);
        sim.stuck = sim.text + 2 * SIM_PAGE_BYTES;
        sim.fail_at = sim.writes + after;
        choose_all();
        int error = commit_chosen();
        model_commit(changed, wanted, error != 0, error);
        lost += error != 0;
        for (size_t i = 0; i < sites; i++) {
            size_t offset = offset_of_site(i);
            size_t end = offset + data->records[i].length;
            if (offset / SIM_PAGE_BYTES != 2 && (end - 1) / SIM_PAGE_BYTES != 2)
                require(!memcmp(sim.text + offset, model.text + offset, end - offset),
                        "a site of another page is not restored");
        }
        if (broken || !sim.verdict.ok) /* the next start_text() would discard the failure */
            break;
    }
    apart = true;
    require(lost, "no page is lost");
    report(mode->name);
}

static void test_refusals(void) {
    static const int refusals[] = {CARRY_ERROR_PERMISSION, CARRY_ERROR_NO_SYNC};
    for (size_t i = 0; i < 2; i++) {
        start_registered(100);
        sim.refusal = refusals[i];
        choose_all();
        commit_both(true, refusals[i]);
        struct carry_patch_counts stats;
        carry_patch_stats(&stats);
        enum carry_patch_reason reason =
            refusals[i] == CARRY_ERROR_NO_SYNC ? CARRY_PATCH_NO_SYNC : CARRY_PATCH_PERMISSION;
        require(stats.unpatched[reason] > sites / 2 && !stats.direct && !stats.branches,
                "the reason is not counted");
        require(carry_patch_apply(0) == refusals[i], "apply hides the error");
        compare_with_model();
        require(!sim.writes, "something is written");

        sim.refusal = 0;
        choose_all();
        commit_both(false, 0);
        sim.refusal = refusals[i];
        choose_all();
        commit_both(true, refusals[i]);
        report(
            i ? "no synchronisation: unpatched sites follow their keys, patched ones do not change"
              : "no permission: unpatched sites follow their keys, patched ones do not change");
    }
}

/* A host that cannot write pairs needs traps: if these hold no threads, nothing is written. */
static void test_without_traps(void) {
    start_registered(100);
    set_mode(&modes[2]);
    sim.holds_no_traps = true;
    choose_all();
    commit_both(true, CARRY_ERROR_PERMISSION);
    require(sim.opens == 1 && !sim.writes, "something is written");
    sim.holds_no_traps = false;
    commit_both(false, 0);
    report("where traps do not hold threads, none is written");
}

static void test_select(void) {
    start_registered(20);
    require(carry_patch_select(NULL, NULL) == CARRY_OK, "the default is refused");
    require(carry_patch_select("remap", NULL) == CARRY_ERROR_UNSUPPORTED &&
                carry_patch_select(NULL, "trap") == CARRY_ERROR_UNSUPPORTED,
            "what it has not is accepted");
    report("a host with one way to write has no choice");
}

static void test_allocation(void) {
    start_text(300);
    sim.allocations = 0;
    require(carry_patch_register(data->records, data->records + records) == CARRY_ERROR_MEMORY,
            "registering without memory");
    sim.allocations = SIZE_MAX;
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
    /*
     * The plan keeps its memory, so an allocation is needed only where a plan is the largest so
     * far.
     */
    sim.allocations = 0;
    choose_all();
    require(commit_chosen() == CARRY_ERROR_MEMORY, "a commit without memory");
    compare_with_model();
    sim.allocations = 1;
    require(commit_chosen() == CARRY_ERROR_MEMORY, "a commit with too little memory");
    compare_with_model();
    sim.allocations = SIZE_MAX;
    commit_both(false, 0);
    report("no memory: nothing changes");
}

static void test_foreign_bytes(void) {
    start_registered(300);
    choose_all();
    commit_both(false, 0);
    for (size_t i = 0; i < sites && sim.verdict.ok; i++) {
        if (!is_single(i))
            continue;
        uint8_t *byte = sim.writable + offset_of_site(i) + rng_below(data->records[i].length);
        size_t opens = sim.opens;
        *byte ^= 0x80;
        model.text[byte - sim.writable] ^= 0x80;
        choose_all();
        require(commit_chosen() == CARRY_ERROR_BYTES, "a foreign byte is not found");
        require(sim.opens == opens, "text is opened for nothing");
        compare_with_model();
        *byte ^= 0x80;
        model.text[byte - sim.writable] ^= 0x80;
    }
    choose_all();
    commit_both(false, 0);
    report("a site with a foreign byte: nothing is written");
}

/*
 * Tests foreign bytes that are found by carry_patch_apply(), when a key is imported, and when an
 * object is registered.
 */
static void test_foreign_bytes_elsewhere(void) {
    start_registered(100);
    size_t one = 0;
    while (!is_operation(key_of(one)))
        one++;
    uint8_t *byte = sim.writable + offset_of_site(one);
    *byte ^= 0x80;
    model.text[byte - sim.writable] ^= 0x80;
    require(carry_patch_apply(0) == CARRY_ERROR_BYTES, "apply does not find the foreign byte");
    compare_with_model();
    require(carry_patch_import(&data->keys[key_of(one)], &data->keys[KEYS - 1]) ==
                CARRY_ERROR_BYTES,
            "an import does not find the foreign byte");
    carry_patch_unimport(&data->keys[key_of(one)]);
    carry_patch_unregister(data->records);
    require(carry_patch_register(data->records, data->records + records) == CARRY_ERROR_BYTES,
            "loading an object does not find the foreign byte");
    require(!sim.opens, "text is opened for nothing");
    report("a foreign byte in an object is always found");
}

static void test_is_site(void) {
    start_registered(500);
    bool right = true;
    for (size_t offset = 0; offset < SIM_TEXT_BYTES; offset++) {
        bool is_site = false;
        for (size_t i = 0; i < sites; i++)
            is_site = is_site || offset_of_site(i) == offset;
        right = right && carry_patch_is_site((uintptr_t)sim.text + offset) == is_site;
    }
    require(right, "a site is not found, or another address is");
    require(!carry_patch_is_site(UINTPTR_MAX), "the last address is a site");
    report("sites are found by address");
}

static void test_is_inside(void) {
    start_registered(500);
    bool right = true;
    for (size_t offset = 0; offset < SIM_TEXT_BYTES; offset++) {
        bool is_inside = false;
        for (size_t i = 0; i < sites; i++)
            is_inside = is_inside || (offset_of_site(i) < offset &&
                                      offset < offset_of_site(i) + data->records[i].length);
        right = right && carry_patch_is_inside((uintptr_t)sim.text + offset) == is_inside;
    }
    require(right, "an address is judged wrongly to be inside a site, or not");
    report("addresses inside sites are found");
}

static void test_objects(void) {
    start_text(200);
    const struct carry_site *middle = data->records + records / 2, *end = data->records + records;
    require(!carry_patch_register(data->records, middle), "registering fails");
    require(!carry_patch_register(middle, end), "registering another fails");
    for (size_t i = 0; i < sites; i++)
        require(carry_patch_is_site(carry_site_address(&data->records[i])), "a site is not found");
    carry_patch_unregister(middle);
    carry_patch_unregister(middle); /* a second time */
    carry_patch_unregister(NULL);   /* no registered object is without records */
    for (size_t i = 0; i < sites; i++) {
        bool is_there = &data->records[i] < middle;
        require(carry_patch_is_site(carry_site_address(&data->records[i])) == is_there,
                "a site is of the wrong object");
    }
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    require(stats.objects == 1 && !stats.unrecorded, "the objects are not counted");
    report("sites of several objects");
}

/*
 * All CPUs are stopped while several instructions are written or replaced, and for no other change.
 */
static void test_stop(void) {
    static const struct mode *const mode = &modes[MODES - 1];
    start_registered(300);
    set_mode(mode);
    memset(changed, 0, sizeof changed);
    changed[0] = true;
    wanted[0] = function_at(SEVERAL);
    commit_both(false, 0);
    require(sim.stops == 1, "it does not stop to put several instructions there");
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    require(stats.inlined, "no call is inlined");
    changed[0] = false;
    changed[1] = true;
    wanted[1] = function_at(INLINE);
    commit_both(false, 0);
    require(sim.stops == 1, "it stops for single instructions");
    changed[0] = true;
    wanted[0] = function_at(NEARER);
    sim.stop_fails = true;
    size_t opens = sim.opens;
    commit_both(true, CARRY_ERROR_BUSY);
    require(sim.stops_refused == 1 && sim.opens == opens, "text is opened for nothing");
    sim.stop_fails = false;
    commit_both(false, 0);
    require(sim.stops == 2, "it does not stop to take several instructions away");
    report("calls become several instructions, and calls again");
}

/* --- Records that compilers do not emit --- */

/* Linkers that fold functions leave two records of one site: it is written only once. */
static void test_duplicates(const struct mode *mode) {
    start_text(100);
    size_t one = 0;
    while (!is_single(one))
        one++;
    const struct carry_site *first = &data->records[one];
    make_record(records++, first->kind, carry_site_address(first), carry_site_key(first),
                data->stubs[one], first->length, first->flags);
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
    set_mode(mode);
    choose_all();
    commit_both(false, CARRY_OK);
    report(mode->name);
}

static bool is_lone_call(size_t i) {
    const uintptr_t end = carry_site_address(&data->records[i]) + CALL;
    bool lone = data->records[i].kind == CARRY_SITE_CALL;
    for (size_t j = 0; j < sites && lone; j++)
        lone = carry_site_address(&data->records[j]) != end;
    return lone;
}

/*
 * Makes an alternative that begins `offset` bytes into a call. Its replacement has the bytes of the
 * patched call, except that `change` inverts bits of the first byte.
 */
static void make_overlap(size_t call, size_t offset, size_t length, uint8_t change) {
    const uintptr_t at = carry_site_address(&data->records[call]) + offset;
    uint8_t *aux = data->stubs[records], state[64];
    state_of_site(call, function_at(NEARER), true, state);
    aux[0] = aux[1] = (uint8_t)length;
    memcpy(aux + 2, (const void *)at, length);
    memcpy(aux + 2 + length, state, length);
    aux[2 + length] ^= change;
    make_record(records++, CARRY_SITE_ALTERNATIVE, at, carry_site_key(&data->records[call]), aux,
                length, CARRY_SITE_SINGLE);
}

/* Tests overlapping sites that are not equal: the content of one contradicts the other. */
static void test_overlaps(void) {
    static const struct {
        size_t offset, length;
        uint8_t change;
        const char *name;
    } others[] = {
        {1, CALL, 0, "a site that begins inside another"},
        {0, CALL - 1, 0, "a shorter site at the same address"},
        {0, CALL, 1, "a site at the same address that becomes something else"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        start_text(100);
        size_t call = 0;
        while (!is_lone_call(call))
            call++;
        make_overlap(call, others[i].offset, others[i].length, others[i].change);
        require(!carry_patch_register(data->records, data->records + records), "registering fails");
        memset(changed, 0, sizeof changed);
        changed[key_of(call)] = true;
        wanted[key_of(call)] = function_at(NEARER);
        require(commit_chosen() == CARRY_ERROR_BYTES, "it is accepted");
        compare_with_model();
        require(!sim.opens, "text is opened for nothing");
        report(others[i].name);
    }
}

/* Tests a body that is too long for a call: the site of a call has six bytes. */
static void test_long_body(void) {
    start_text(60);
    make_body(records++, NEARER, "\x48\x8d\x87\x00\x01\x00\x00", 7, 0);
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
    choose_all();
    commit_both(false, 0);
    report("a body that is too long for a call is called");
}

/* A record may describe a function's body whose first instruction is a site. */
static void test_body_at_site(void) {
    start_text(60);
    for (size_t i = 0; i < 50; i++) {
        make_body(records, INLINE, "\x48\x8d\x47\x01", 4, 0);
        make_record(records, CARRY_SITE_BODY, carry_site_address(&data->records[i]),
                    function_at(INLINE), data->bodies[INLINE], 0, 0);
        records++;
    }
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
    for (size_t i = 0; i < 50; i++) {
        uintptr_t address = carry_site_address(&data->records[i]);
        require(carry_patch_is_site(address), "a site is hidden");
        require(data->records[i].length < 2 || carry_patch_is_inside(address + 1),
                "an address inside a site is hidden");
    }
    report("bodies do not hide sites");
}

/* --- Operations that are resolved, and keys of other objects --- */

static unsigned resolved;

static uintptr_t resolve_operation(void) {
    return function_at(resolved++ ? NEAR : NEARER);
}

static void test_resolve(void) {
    start_registered(200);
    resolved = 0;
    data->keys[0].resolve = resolve_operation;
    model.values[0] = function_at(NEARER);
    memset(changed, 1, sizeof changed);
    memcpy(wanted, model.values, sizeof wanted);
    model_commit(changed, wanted, false, 0);
    require(!carry_patch_apply(0) && !carry_patch_apply(0), "apply fails");
    require(resolved == 1, "an operation is not resolved once");
    compare_with_model();
    report("an operation is resolved before it is first patched");
}

static void test_resolve_at_load(void) {
    start_text(200);
    require(!carry_patch_apply(0), "apply fails");
    resolved = 0;
    data->keys[0].resolve = resolve_operation;
    require(!carry_patch_register(data->records, data->records + records), "registering fails");
    model.values[0] = function_at(NEARER);
    memset(changed, 1, sizeof changed);
    memcpy(wanted, model.values, sizeof wanted);
    model_commit(changed, wanted, false, 0);
    compare_with_model();
    require(resolved == 1, "an operation is not resolved once");
    report("an operation of an object that is loaded later is resolved");
}

/* Tests imports where key 1 follows key 0, and key 2 follows key 1. */
static void test_imports(void) {
    start_registered(200);
    resolved = 0;
    data->keys[0].resolve = resolve_operation;
    carry_patch_import(&data->keys[1], &data->keys[0]);
    carry_patch_import(&data->keys[2], &data->keys[1]);
    require(!carry_patch_apply(0), "apply fails");
    for (size_t key = 0; key < KEYS; key++) {
        changed[key] = true;
        wanted[key] = key < 3 ? function_at(NEARER) : model.values[key];
    }
    model_commit(changed, wanted, false, 0);
    compare_with_model();
    memset(changed, 0, sizeof changed);
    changed[0] = changed[1] = changed[2] = true;
    wanted[0] = wanted[1] = wanted[2] = function_at(INLINE);
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &data->keys[2], function_at(INLINE));
    require(carry_patch_commit(&patch) == model_commit(changed, wanted, false, 0), "commit fails");
    compare_with_model();
    carry_patch_unimport(&data->keys[1]);
    require(data->keys[0].imports == &data->keys[2], "another import went");
    carry_patch_unimport(&data->keys[1]); /* a second time */
    require(data->keys[0].imports == &data->keys[2], "another import went later");
    carry_patch_unimport(&data->keys[2]);
    require(!data->keys[0].imports, "an import is left behind");
    carry_patch_unimport(&data->keys[0]); /* a key that follows no other */
    require(!carry_patch_import(&data->keys[0], &data->keys[0]) && !data->keys[0].original,
            "a key follows itself");
    report("imports follow their key, directly and indirectly");
}

/* Tests a key with original or patched sites that begins to follow a key with another value. */
static void test_late_import(void) {
    for (int patched = 0; patched < 2; patched++) {
        start_registered(200);
        data->keys[0].value = function_at(NEARER);
        carry_patch_applied = true;
        require(!patched || !carry_patch_apply(0), "apply fails");
        sim.refusal = CARRY_ERROR_PERMISSION;
        require(carry_patch_import(&data->keys[1], &data->keys[0]) == patched * sim.refusal,
                "a wrong result");
        require(data->keys[1].value == function_at(NEARER), "the key does not follow");
        carry_patch_unimport(&data->keys[1]);
        report(patched ? "an import whose patched sites cannot change fails"
                       : "an import whose sites are original cannot fail");
    }
}

static void with_all_modes(const char *what, void (*test)(const struct mode *)) {
    tap_note("%s", what);
    for (size_t i = 0; i < MODES; i++)
        test(&modes[i]);
}

static void rollback_fresh(const struct mode *mode) {
    test_rollback(mode, false, false);
}

static void rollback_patched(const struct mode *mode) {
    test_rollback(mode, true, false);
}

static void rollback_halfway(const struct mode *mode) {
    test_rollback(mode, true, true);
}

static void random_commits(const struct mode *mode) {
    test_random_commits(mode, effort_chosen());
}

/* The host learns which text is unloaded, so that it can discard what it has stored about it. */
static void test_forget(void) {
    start_registered(20);
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (size_t i = 0; i < records; i++) {
        const uintptr_t address = carry_site_address(&data->records[i]);
        low = address < low ? address : low;
        high = address + data->records[i].length > high ? address + data->records[i].length : high;
    }
    carry_patch_unregister(data->records);
    records = 0;
    require(sim.forgotten_low == low && sim.forgotten_high == high, "other text is forgotten");
    report("the text of an object is forgotten with it");
}

int main(void) {
    const struct carry_site call = {
        .kind = CARRY_SITE_CALL, .length = CALL, .version = CARRY_SITE_VERSION};
    if (!carry_encode_supports(&call))
        return tap_skip_all("these sites are of x86-64");
    effort_note(effort_chosen());
    sim_open();
    data = (struct data *)sim.data;
    test_allocation();
    with_all_modes("the steps of a commit", test_steps);
    test_spans();
    test_half_exchanged();
    test_breakpoint();
    test_debugger();
    with_all_modes("random commits", random_commits);
    with_all_modes("each write fails, sites in their original state", rollback_fresh);
    with_all_modes("each write fails, sites patched", rollback_patched);
    with_all_modes("each write fails halfway", rollback_halfway);
    with_all_modes("a page cannot be written", test_stuck_page);
    tap_note("a page is lost while guards are in place");
    test_lost_page(&modes[2]);
    test_lost_page(&modes[3]);
    test_refusals();
    test_without_traps();
    test_select();
    test_foreign_bytes();
    test_foreign_bytes_elsewhere();
    test_is_site();
    test_is_inside();
    test_objects();
    test_stop();
    with_all_modes("two records of one site", test_duplicates);
    test_overlaps();
    test_long_body();
    test_body_at_site();
    test_resolve();
    test_resolve_at_load();
    test_imports();
    test_late_import();
    test_forget();
    return tap_done();
}
