/* SPDX-License-Identifier: MIT */
/*
 * Tests the trails that Spin finds in the models of proof/patch when a step is left out. The
 * library patches simulated text: after the operations that Spin reports, a core can fetch the
 * bytes that Spin reports. If no step is left out, a core can never fetch these bytes. Each commit
 * must execute the operations of the models in their order.
 */
#include <string.h>

#include "harness/site_record.h"
#include "harness/tap.h"
#include "harness/text_sim.h"

#define BYTES_MAX 16

enum mode { ALONE, TRAP, JUMP, REMAP, STOP };

static const struct trail {
    const char *name;
    const char *operations;
    const char *fetch;
    enum mode mode;
    enum sim_omission omission;
} trails[] = {
#define TEXT(name, mode, flags, trail, fetch, consequence)                                         \
    {#name, trail, fetch, mode, SIM_OMITS_##name},
#define OTHER(model, name, flags, test, consequence)
#define ORDER(mode, flags, sites, trail)
#include "../proof/patch/omissions.def"
#undef TEXT
#undef ORDER
};
#define TRAILS (sizeof trails / sizeof *trails)

static const struct order {
    const char *name;
    const char *operations;
    size_t sites;
    enum mode mode;
} orders[] = {
#define TEXT(name, mode, flags, trail, fetch, consequence)
#define ORDER(mode, flags, sites, trail) {#mode, trail, sites, mode},
#include "../proof/patch/omissions.def"
};
#define ORDERS (sizeof orders / sizeof *orders)

/* --- The encoder --- */

enum carry_guard __real_carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs);
enum carry_guard __wrap_carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs);

enum carry_guard __wrap_carry_encode_guard(uintptr_t site, size_t length, bool writes_pairs) {
    if (sim.leaves_out == SIM_OMITS_ALIGNMENT)
        site &= ~(uintptr_t)7;
    return __real_carry_encode_guard(site, length, writes_pairs);
}

/* --- Sites --- */

#define SITES_MAX 2

/* pushfq; popq %rax */
static const uint8_t several[] = {0x2e, 0x2e, 0x2e, 0x2e, 0x9c, 0x58};
#define SECOND 5 /* offset of the second instruction */

/* An alternative like the sites of the models: no byte is equal in both states. */
static const uint8_t alternative[] = {4, 4, 0x61, 0x62, 0x63, 0x64, 0x51, 0x52, 0x53, 0x54};

static struct data {
    struct carry_site records[SITES_MAX + 1]; /* one more for a body */
    struct carry_key key;
    uint8_t aux[BYTES_MAX];
    uint8_t body[4];
} * data;

static void add_site(size_t i, enum mode mode, uintptr_t address) {
    struct carry_site *record = &data->records[i];
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    if (mode == STOP)
        site_record_make(record, CARRY_SITE_CALL, address, (uintptr_t)&data->key, NULL,
                         SIM_CALL_BYTES, 0);
    else
        site_record_make(record, CARRY_SITE_ALTERNATIVE, address, (uintptr_t)&data->key, data->aux,
                         alternative[0], CARRY_SITE_SINGLE);
    carry_encode_original(record, bytes);
    memcpy(sim.writable + (address - (uintptr_t)sim.text), bytes, record->length);
    sim_add_site(address, record->length);
}

/* For mode STOP: returns the function whose body has two instructions if `is_several`, or another
 * function. */
static uintptr_t function_of(bool is_several) {
    return (uintptr_t)sim.text + (is_several ? 0x3000 : 0x1000000);
}

static int commit_mode(uintptr_t value) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &data->key, value);
    return carry_patch_commit(&patch);
}

/* Returns the value to which a commit of the mode changes the keys. */
static uintptr_t value_of(enum mode mode) {
    return mode == STOP ? function_of(false) : 1;
}

static void start_sites(enum mode mode, size_t sites, enum sim_omission omission) {
    const size_t distance = mode == REMAP ? 4 * SIM_PAGE_BYTES : 8;
    const uintptr_t first = (uintptr_t)sim.text + (omission == SIM_OMITS_ALIGNMENT ? 7 : 0);
    carry_patch_unregister(data->records);
    sim_reset();
    sim_forget();
    memset(data, 0, sizeof *data);
    memcpy(data->aux, alternative, sizeof alternative);
    memcpy(data->body, "\x02\x9c\x58", 3);
    for (size_t i = 0; i < sites; i++)
        add_site(i, mode, first + i * distance);
    site_record_make(&data->records[sites], CARRY_SITE_BODY, function_of(true), function_of(true),
                     data->body, 0, CARRY_SITE_SEVERAL);
    sim.alone = mode == ALONE;
    sim.writes_pairs = mode == JUMP;
    sim.at_once = mode == REMAP;
    sim.can_stop = mode == STOP;
    sim.several = several;
    carry_patch_register(data->records, data->records + sites + 1);
    if (mode == STOP)
        commit_mode(function_of(true));
    memset(sim.operations, 0, sizeof sim.operations);
    sim_watch(first, data->records[0].length);
    sim.leaves_out = omission;
}

/* --- Trails --- */

static const struct trail *trail;
static uint8_t before[CARRY_SITE_BYTES_MAX];
static uint8_t after[CARRY_SITE_BYTES_MAX];
static uint8_t fetched[BYTES_MAX];
static size_t fetched_from;
static bool was_fetched;

/*
 * Returns the index of the instruction that contains a byte of the site. For alternatives, returns
 * the index of the byte, because the models count bytes.
 */
static size_t index_of(size_t byte) {
    return trail->mode == STOP ? byte >= SECOND : byte;
}

static void find_fetched(void) {
    const struct carry_site *site = &data->records[0];
    uint8_t guard[2];
    carry_encode_guard_bytes(trail->mode == JUMP ? CARRY_GUARD_JUMP : CARRY_GUARD_TRAP, guard);
    memcpy(before, (const void *)carry_site_address(site), site->length);
    carry_encode(site, value_of(trail->mode), NULL, after);
    fetched_from = trail->fetch[0] == '.' ? SECOND : 0;
    for (size_t i = fetched_from; i < site->length; i++) {
        const char of = trail->fetch[index_of(i)];
        fetched[i] = of == 'G' ? guard[i] : of == 'N' ? after[i] : before[i];
    }
}

static bool is_fetched(const uint8_t *bytes) {
    return !memcmp(bytes + fetched_from, fetched + fetched_from,
                   data->records[0].length - fetched_from);
}

/* Returns whether `fetched` is the complete old instruction, which a core may run until the commit
 * returns. */
static bool is_intended(void) {
    return !fetched_from && is_fetched(before) && !strchr(sim.operations, ')');
}

static void look_there(void) {
    if (!strcmp(sim.operations, trail->operations))
        was_fetched = sim_may_fetch(fetched, fetched_from) && !is_intended();
}

static void look_everywhere(void) {
    was_fetched = was_fetched || (sim_may_fetch(fetched, fetched_from) && !is_intended());
}

/* Sets was_fetched anew each time, so that the last call counts: where pages are exchanged, cores
 * may fetch the old page until all cores are synchronised at the end of a commit. */
static void look_at_end(void) {
    was_fetched = sim_may_fetch(fetched, fetched_from);
}

static bool comes_to_fetch(enum sim_omission omission, void (*look)(void)) {
    start_sites(trail->mode, 1, trail->omission);
    sim.leaves_out = omission;
    find_fetched();
    if (trail->omission >= SIM_OMITS_LOOK_INSIDE && trail->omission <= SIM_OMITS_LOOK_AT_WAITING)
        sim.goes_on[trail->omission - SIM_OMITS_LOOK_INSIDE] =
            carry_site_address(&data->records[0]) + SECOND;
    was_fetched = false;
    sim.look = look;
    commit_mode(value_of(trail->mode));
    sim.look = NULL;
    if (look == look_at_end)
        look_at_end();
    return was_fetched;
}

static void test_trail(void) {
    bool found = comes_to_fetch(trail->omission, look_there);
    if (!sim.verdict.ok)
        tap_note("the judge says: %s", sim.verdict.text);
    tap_ok(found, "without %s: after %s a core may fetch %s", trail->name, trail->operations,
           trail->fetch);
    found = comes_to_fetch(SIM_OMITS_NOTHING, trail->mode == REMAP ? look_at_end : look_everywhere);
    tap_ok(TAP_TRUE(!found) && TAP_TRUE(sim.verdict.ok),
           "without an omission, no core may fetch it");
}

static void test_order(const struct order *order) {
    start_sites(order->mode, order->sites, SIM_OMITS_NOTHING);
    int error = commit_mode(value_of(order->mode));
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(sim.verdict.ok) &&
               TAP_STREQ(sim.operations, order->operations),
           "%s, %zu sites: %s, as in the model: %s", order->name, order->sites, sim.operations,
           order->operations);
}

int main(void) {
    const struct carry_site call = {
        .kind = CARRY_SITE_CALL, .length = SIM_CALL_BYTES, .version = CARRY_SITE_VERSION};
    if (!carry_encode_supports(&call))
        return tap_skip_all("these sites are of x86-64");
    sim_open();
    data = (struct data *)sim.data;
    for (size_t i = 0; i < ORDERS; i++)
        test_order(&orders[i]);
    for (size_t i = 0; i < TRAILS; i++) {
        trail = &trails[i];
        test_trail();
    }
    return tap_done();
}
