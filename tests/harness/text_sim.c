/* SPDX-License-Identifier: MIT */
#include "harness/text_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host.h"

struct sim sim;

/* --- Memory --- */

static void *must_map(void *place, size_t size, int protection, int flags, int fd) {
    void *memory = mmap(place, size, protection, flags, fd, 0);
    if (memory == MAP_FAILED) {
        printf("Bail out! no memory for text\n");
        exit(1);
    }
    return memory;
}

void sim_open(void) {
    int fd = memfd_create("text", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)SIM_TEXT_BYTES)) {
        printf("Bail out! no memory for text\n");
        exit(1);
    }
    uint8_t *all = must_map(NULL, SIM_TEXT_BYTES + SIM_DATA_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1);
    sim.text = must_map(all, SIM_TEXT_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd);
    sim.data = all + SIM_TEXT_BYTES;
    sim.writable = must_map(NULL, SIM_TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    close(fd);
}

/* --- The judge --- */

/* The progress of a site in a live commit. */
enum progress { AT_REST, GUARDED, TAIL_CHANGED, HEAD_CHANGED };

static struct judged {
    uintptr_t address;
    size_t length;
    enum progress progress;
    size_t guard_size;
    bool settled; /* every core has seen its latest change */
} sites[SIM_SITES_MAX];
static size_t site_count;

static int16_t owner[SIM_TEXT_BYTES]; /* the site of each byte, or -1 */
static bool has_site[SIM_TEXT_BYTES /
                     SIM_PAGE_BYTES]; /* for each page: whether a byte of a site is in it */

static enum progress changing; /* the progress of sites in the current step; AT_REST: none */
static bool is_open;
static bool is_live;
static bool is_stopped;
static unsigned session_synchronisations;

/* For sessions whose writes become visible all at once. */
static bool is_unseen;
static uint8_t unseen[SIM_TEXT_BYTES];
static bool exchange_failed;
static bool is_exchanged; /* an exchange is not synchronised yet */

static struct carry_text_run runs[SIM_TEXT_BYTES / SIM_PAGE_BYTES];
static size_t run_count;

static size_t offset_of(uintptr_t address) {
    return address - (uintptr_t)sim.text;
}

static void fail_address(const char *what, uintptr_t address) {
    verdict_fail(&sim.verdict, "%s at text + 0x%zx; ", what, offset_of(address));
}

static void reset_judge(void) {
    changing = AT_REST;
    for (size_t i = 0; i < site_count; i++)
        sites[i].progress = AT_REST;
}

void sim_reset(void) {
    const struct sim fresh = {.text = sim.text,
                              .writable = sim.writable,
                              .data = sim.data,
                              .allocations = SIZE_MAX,
                              .verdict = {.ok = true}};
    sim = fresh;
    is_open = false;
    is_stopped = false;
    exchange_failed = false;
    is_exchanged = false;
    reset_judge();
}

void sim_forget(void) {
    site_count = 0;
    memset(owner, 0xff, sizeof owner);
    memset(has_site, 0, sizeof has_site);
}

static void take_byte(size_t offset) {
    owner[offset] = (int16_t)site_count;
    has_site[offset / SIM_PAGE_BYTES] = true;
}

void sim_add_site(uintptr_t address, size_t length) {
    sites[site_count] = (struct judged){.address = address, .length = length};
    for (size_t i = 0; i < length; i++)
        take_byte(offset_of(address) + i);
    site_count++;
}

/* Starts a step of the protocol. Heads need no synchronisation after them: a core that does not
   see a new head yet sees the guard. */
static void enter_step(struct judged *site, enum progress progress) {
    bool may_follow = changing == AT_REST || changing == HEAD_CHANGED || changing == progress;
    if (!may_follow)
        fail_address("two steps without a synchronisation in between", site->address);
    changing = progress;
    site->progress = progress;
    site->settled = false;
}

/* Judges a write of `size` bytes at `address` after which a site begins with `bytes`: these must be
   a guard. */
static void judge_guard(struct judged *site, const uint8_t *bytes, uintptr_t address, size_t size) {
    bool is_jump = size == 2 && address == site->address && bytes[0] == 0xeb && bytes[1] == 0xfe;
    if (!is_jump && bytes[0] != 0xcc)
        fail_address("a byte changes without a guard", site->address);
    if (is_jump && (site->address % 8 == 7 || !sim.writes_pairs))
        fail_address("a pair that is not written at once", site->address);
    sim.jumps += is_jump;
    sim.traps += !is_jump;
    site->guard_size = is_jump ? 2 : 1;
    enter_step(site, GUARDED);
}

static void judge_head(struct judged *site, uintptr_t address, size_t size) {
    if (!site->settled)
        fail_address("the guard is removed before every core has seen the bytes after it",
                     site->address);
    if (site->guard_size == 2 && (size != 2 || address != site->address))
        fail_address("half a pair is written", site->address);
    enter_step(site, HEAD_CHANGED);
}

static void judge_tail(struct judged *site) {
    if (site->progress != GUARDED && site->progress != TAIL_CHANGED)
        fail_address("a byte changes without a guard", site->address);
    if (site->progress == GUARDED && !site->settled)
        fail_address("a byte changes before every core has seen the guard", site->address);
    enter_step(site, TAIL_CHANGED);
}

/* Judges a write that changes one site from byte `first` on. */
static void judge_site(struct judged *site, size_t first, const uint8_t *bytes, uintptr_t address,
                       size_t size) {
    bool stands = site->progress == GUARDED || site->progress == TAIL_CHANGED;
    size_t last = first;
    for (size_t i = first; i < site->length && site->address + i < address + size; i++)
        if (bytes[site->address + i - address] != sim.text[offset_of(site->address) + i])
            last = i;
    if (!stands && first == 0) {
        judge_guard(site, bytes + (site->address - address), address, size);
        if (last >= site->guard_size)
            fail_address("guard and tail change in one step", site->address);
    } else if (stands && first < site->guard_size) {
        judge_head(site, address, size);
        if (last >= site->guard_size)
            fail_address("head and tail change in one step", site->address);
    } else {
        judge_tail(site);
    }
}

/*
 * Returns whether the site consists of several instructions. A CPU may be between two of them, so a
 * guard at the first does not help.
 */
static bool is_several(const struct judged *site) {
    return sim.several && site->length == SIM_CALL_BYTES &&
           !memcmp(sim.text + offset_of(site->address), sim.several, SIM_CALL_BYTES);
}

static void judge_bytes(const uint8_t *bytes, uintptr_t address, size_t size) {
    int seen = -1;
    for (size_t i = 0; i < size; i++) {
        size_t offset = offset_of(address) + i;
        if (sim.text[offset] == bytes[i] || owner[offset] == seen)
            continue;
        seen = owner[offset];
        if (seen < 0)
            fail_address("a byte outside sites changes", address + i);
        else if (is_live && is_several(&sites[seen]))
            fail_address("several instructions change under threads", address + i);
        else if (is_unseen)
            sites[seen].progress = HEAD_CHANGED;
        else if (is_live)
            judge_site(&sites[seen], address + i - sites[seen].address, bytes, address, size);
    }
}

/*
 * Returns whether a page of the write contains no site. Adjacent pages may be written at once, but
 * a page without sites would be copied needlessly.
 */
static bool writes_bare_page(uintptr_t address, size_t size) {
    size_t last = offset_of(address + size - 1) / SIM_PAGE_BYTES;
    for (size_t page = offset_of(address) / SIM_PAGE_BYTES; page <= last; page++)
        if (!has_site[page])
            return true;
    return false;
}

static bool was_announced(uintptr_t address, size_t size) {
    for (size_t i = 0; i < run_count; i++)
        if (runs[i].low <= address && address + size <= runs[i].high)
            return true;
    return false;
}

static void judge_place(uintptr_t address, size_t size) {
    if (!is_open)
        fail_address("a write without open()", address);
    if (!size)
        fail_address("a write of 0 bytes", address);
    if (!was_announced(address, size))
        fail_address("a write outside the announced runs", address);
    else if (size && writes_bare_page(address, size))
        fail_address("a write of a page without sites", address);
}

/* --- What cores may fetch --- */

#define WATCHED_BYTES 16
#define MOMENTS_MAX   16

/* A site's bytes at each moment since all cores were synchronised. */
static struct {
    uintptr_t address;
    size_t length;
    uint8_t moments[MOMENTS_MAX][WATCHED_BYTES];
    size_t count;
} watched;

static void note_moment(void) {
    if (watched.length && watched.count < MOMENTS_MAX)
        memcpy(watched.moments[watched.count++], sim.text + offset_of(watched.address),
               watched.length);
}

void sim_watch(uintptr_t address, size_t length) {
    watched.address = address;
    watched.length = length;
    watched.count = 0;
    note_moment();
}

/* Returns whether the bytes from `first` up to `end` were in the site at one moment. */
static bool were_there(const uint8_t *bytes, size_t first, size_t end) {
    bool found = false;
    for (size_t i = 0; i < watched.count; i++)
        found = found || !memcmp(watched.moments[i] + first, bytes + first, end - first);
    return found;
}

static bool sees_pairs(void) {
    return sim.writes_pairs && sim.leaves_out != SIM_OMITS_PAIR && watched.address % 8 != 7;
}

/* Returns whether any core runs. None runs in a session of a process with one thread, or during a
   stop. */
static bool someone_runs(void) {
    if (is_open && sim.alone)
        return sim.leaves_out == SIM_OMITS_BLOCKED_SIGNALS;
    return !is_stopped || sim.leaves_out == SIM_OMITS_STOP ||
           sim.leaves_out == SIM_OMITS_SITES_KEPT_FROM_NMIS;
}

bool sim_may_fetch(const uint8_t *bytes, size_t first) {
    if (!someone_runs())
        return false;
    if (sim.at_once)
        return were_there(bytes, first, watched.length);
    bool may = first || !sees_pairs() || were_there(bytes, 0, 2);
    for (size_t i = first; i < watched.length; i++)
        may = may && were_there(bytes, i, i + 1);
    return may;
}

static void note_operation(char operation) {
    size_t used = strlen(sim.operations);
    if (used + 1 < sizeof sim.operations)
        sim.operations[used] = operation;
    note_moment();
    if (sim.look)
        sim.look();
}

/* Returns the letter of a write's step. Sites of one byte have no tails, and count as heads. */
static char step_of(uintptr_t address, const uint8_t *bytes, size_t size) {
    const int first = owner[offset_of(address)];
    const int last = owner[offset_of(address + size - 1)];
    if (first < 0 || last < 0)
        return '?';
    if (address != sites[first].address)
        return 'T';
    if (bytes[0] == 0xcc || (size > 1 && bytes[0] == 0xeb && bytes[1] == 0xfe))
        return 'G';
    return address + size == sites[last].address + sites[last].length && size > 1 ? 'W' : 'H';
}

/* --- The host --- */

static void *allocate_memory(size_t size) {
    if (!sim.allocations)
        return NULL;
    sim.allocations--;
    return malloc(size);
}

static void release_memory(void *memory, size_t size) {
    memset(memory, 0xa5, size);
    free(memory);
}

static bool begun;
static bool locked;

static void begin_transaction(void) {
    if (begun || locked)
        verdict_fail(&sim.verdict, "begins twice, or in the wrong order; ");
    begun = true;
}

static void end_transaction(void) {
    if (!begun || locked)
        verdict_fail(&sim.verdict, "ends twice, or in the wrong order; ");
    begun = false;
}

static void lock_text(void) {
    if (locked)
        verdict_fail(&sim.verdict, "locks twice; ");
    locked = true;
}

static void unlock_text(void) {
    if (!locked)
        verdict_fail(&sim.verdict, "unlocks twice; ");
    if (is_exchanged)
        verdict_fail(&sim.verdict, "cores may run what was exchanged; ");
    locked = false;
}

static bool is_alone(void) {
    return sim.alone || sim.leaves_out == SIM_OMITS_GUARD;
}

static void judge_runs(void) {
    for (size_t i = 0; i < run_count; i++) {
        if (runs[i].low % SIM_PAGE_BYTES || runs[i].high % SIM_PAGE_BYTES ||
            runs[i].low >= runs[i].high)
            fail_address("a run that is not of whole pages", runs[i].low);
        if (i && runs[i].low <= runs[i - 1].high)
            fail_address("runs that touch or are out of order", runs[i].low);
    }
}

static int open_session(const struct carry_text_run *wanted, size_t count, bool quiet,
                        struct carry_text_session *session) {
    if (!locked || is_open)
        verdict_fail(&sim.verdict, "opens without the lock, or twice; ");
    if (quiet != is_stopped)
        verdict_fail(&sim.verdict, "opens as if all were quiet, or as if not; ");
    sim.opens++;
    if (sim.refusal)
        return sim.refusal;
    is_open = true;
    is_live = (!quiet || sim.leaves_out == SIM_OMITS_STOP) && !sim.alone;
    session_synchronisations = 0;
    is_unseen = is_live && sim.at_once && !exchange_failed;
    exchange_failed = false;
    memcpy(unseen, sim.text, sizeof unseen);
    run_count = count;
    memcpy(runs, wanted, count * sizeof *runs);
    judge_runs();
    *session = (struct carry_text_session){
        .writes_pairs = sim.writes_pairs && !is_unseen,
        .holds_traps = !is_unseen && !sim.holds_no_traps,
        .at_once = is_unseen,
        .sites_only = is_unseen,
    };
    note_operation('(');
    return CARRY_OK;
}

static bool is_stuck(uintptr_t address) {
    return sim.stuck && address / SIM_PAGE_BYTES == (uintptr_t)sim.stuck / SIM_PAGE_BYTES;
}

/*
 * Writes a trap at sim.breaks_at, like a debugger. Returns whether it wrote one; then no page is
 * exchanged.
 */
static bool met_breakpoint(void) {
    const size_t place = sim.breaks_at;
    sim.breaks_at = 0;
    if (place)
        sim.writable[place] = 0xcc;
    return place;
}

/* Exchanges all runs, only the first one if the exchange fails, or none at a breakpoint. */
static void exchange_pages(void) {
    exchange_failed = met_breakpoint();
    if (exchange_failed)
        return;
    exchange_failed = sim.exchange_fails;
    sim.exchange_fails = false;
    for (size_t i = 0; i < (exchange_failed ? 1 : run_count); i++) {
        size_t offset = offset_of(runs[i].low);
        memcpy(sim.writable + offset, unseen + offset, runs[i].high - runs[i].low);
        note_operation('x');
    }
    is_exchanged = true;
}

static bool close_session(bool keep) {
    if (is_unseen && keep)
        exchange_pages();
    for (size_t i = 0; i < site_count; i++)
        if ((sites[i].progress == GUARDED || sites[i].progress == TAIL_CHANGED) &&
            !is_stuck(sites[i].address))
            fail_address("a guard is left behind", sites[i].address);
    if (changing != AT_REST && changing != HEAD_CHANGED)
        verdict_fail(&sim.verdict, "closes before every core has seen it all; ");
    for (size_t i = 0; i < site_count; i++)
        if (is_live && sites[i].progress != AT_REST && is_several(&sites[i]))
            fail_address("a site becomes several instructions under threads", sites[i].address);
    is_open = false;
    reset_judge();
    note_operation(')');
    return !exchange_failed;
}

/* Returns how many bytes of a write succeed: all, the bytes before a stuck page, or half of the
   bytes or none if the test makes the write fail. */
static size_t writable_bytes(uintptr_t address, size_t size) {
    if (sim.stuck && sim.writes >= sim.fail_at) {
        size_t i = 0;
        while (i < size && !is_stuck(address + i))
            i++;
        return i;
    }
    bool fails = !sim.stuck && sim.fail_at &&
                 (sim.writes == sim.fail_at || (sim.writes > sim.fail_at && sim.fails_on));
    return !fails ? size : sim.fails_halfway && size != 2 ? size / 2 : 0;
}

/* Checks that no byte between sites is written if there is a debugger, which may write there. */
static void judge_owners(uintptr_t address, size_t size) {
    for (size_t i = 0; i < size && sim.has_debugger; i++)
        if (owner[offset_of(address + i)] < 0)
            fail_address("a byte between sites is written", address + i);
}

static bool write_part(uintptr_t address, const void *bytes, size_t wanted) {
    judge_place(address, wanted);
    judge_owners(address, wanted);
    sim.writes++;
    const size_t size = writable_bytes(address, wanted);
    if (sim.verdict.ok) {
        judge_bytes(bytes, address, size);
        memcpy((is_unseen ? unseen : sim.writable) + offset_of(address), bytes, size);
    }
    return size == wanted;
}

/* A tail that is written late, after the next head: SIM_OMITS_ORDER. */
static struct {
    uintptr_t address;
    uint8_t bytes[WATCHED_BYTES];
    size_t size;
} late;

static bool put_off(uintptr_t address, const void *bytes, size_t size) {
    late.address = address;
    late.size = size;
    memcpy(late.bytes, bytes, size);
    return true;
}

static bool write_text(uintptr_t address, const void *bytes, size_t size) {
    const char step = size ? step_of(address, bytes, size) : '?';
    if (sim.leaves_out == SIM_OMITS_ORDER && step == 'T')
        return put_off(address, bytes, size);
    const bool apart = sim.leaves_out == SIM_OMITS_PAIR && size == 2;
    bool ok = write_part(address, bytes, apart ? 1 : size);
    note_moment();
    if (apart)
        ok = write_part(address + 1, (const uint8_t *)bytes + 1, 1) && ok;
    note_operation(step);
    if (sim.leaves_out == SIM_OMITS_ORDER && step == 'H') {
        ok = write_part(late.address, late.bytes, late.size) && ok;
        note_operation('T');
    }
    return ok;
}

/* Checks whether the session leaves out its synchronisation `number`, from 1. */
static bool leaves_out_synchronisation(unsigned number) {
    switch (sim.leaves_out) {
    case SIM_OMITS_SYNC_1:
    case SIM_OMITS_SYNC_WHOLE:
    case SIM_OMITS_SYNC_STOPPED:
        return number == 1;
    case SIM_OMITS_SYNC_2:
        return number == 2;
    case SIM_OMITS_SYNC_REMAP:
        return !is_open;
    default:
        return false;
    }
}

static void synchronise_cores(void) {
    sim.synchronisations++;
    if (leaves_out_synchronisation(++session_synchronisations))
        return;
    is_exchanged = is_open && is_exchanged;
    changing = AT_REST;
    for (size_t i = 0; i < site_count; i++)
        sites[i].settled = true;
    watched.count = 0;
    note_operation('s');
}

static void yield_core(void) {
}

static void forget_text(uintptr_t low, uintptr_t high) {
    if (is_open || low >= high)
        verdict_fail(&sim.verdict, "forgets nothing, or in a session; ");
    sim.forgotten_low = low;
    sim.forgotten_high = high;
}

static const char *backend_name(void) {
    return "simulated";
}

/* Returns how many of the contexts stop_cores() examines. */
static size_t contexts_seen(void) {
    return sim.leaves_out == SIM_OMITS_LOOK_INSIDE       ? SIM_RUNS
           : sim.leaves_out == SIM_OMITS_LOOK_AT_ALL     ? SIM_INTERRUPTED
           : sim.leaves_out == SIM_OMITS_LOOK_AT_WAITING ? SIM_WAITS
                                                         : SIM_CONTEXTS;
}

static bool all_outside(void) {
    size_t i = 0;
    while (i < contexts_seen() && !carry_patch_is_inside(sim.goes_on[i]))
        i++;
    return i == contexts_seen();
}

static bool stop_cores(void) {
    if (!locked || is_open || is_stopped || sim.alone)
        verdict_fail(&sim.verdict, "stops without the lock, twice, or for nothing; ");
    is_stopped = !sim.stop_fails && all_outside();
    sim.stops += is_stopped;
    sim.stops_refused += !is_stopped;
    if (is_stopped)
        note_operation('[');
    return is_stopped;
}

static void start_cores(void) {
    if (!is_stopped || is_open)
        verdict_fail(&sim.verdict, "starts cores that are not stopped, or in a session; ");
    is_stopped = false;
    note_operation(']');
}

static bool is_watched(void) {
    return sim.has_debugger;
}

static size_t page_bytes(void) {
    return SIM_PAGE_BYTES;
}

const struct carry_text_host *carry_host_text(void) {
    static struct carry_text_host host = {
        .page_bytes = page_bytes,
        .allocate = allocate_memory,
        .release = release_memory,
        .begin = begin_transaction,
        .end = end_transaction,
        .lock = lock_text,
        .unlock = unlock_text,
        .yield = yield_core,
        .alone = is_alone,
        .open = open_session,
        .close = close_session,
        .write = write_text,
        .is_watched = is_watched,
        .synchronise = synchronise_cores,
        .backend = backend_name,
        .forget = forget_text,
        .start = start_cores,
    };
    host.stop = sim.can_stop ? stop_cores : NULL;
    return &host;
}

const char *carry_host_cpu_mask(void) {
    return NULL;
}

uint64_t carry_host_hwcap(enum carry_host_hwcap word) {
    (void)word;
    return 0;
}
