/* SPDX-License-Identifier: MIT */
#include "mutants/patch.h"

#include <string.h>
#include <time.h>

#include "patch/patch_internal.h"

enum broken_patch broken_patch;

bool __real_carry_encode(const struct carry_site *site, uintptr_t value,
                         const struct carry_site *body, uint8_t *bytes);
bool __wrap_carry_encode(const struct carry_site *site, uintptr_t value,
                         const struct carry_site *body, uint8_t *bytes);
bool __real_carry_patch_is_site(uintptr_t address);
bool __wrap_carry_patch_is_site(uintptr_t address);
const struct carry_text_host *__real_carry_host_text(void);
const struct carry_text_host *__wrap_carry_host_text(void);

/* cs call f  ->  call f; nop */
static void split_call(uint8_t *bytes) {
    int32_t rel32;
    memcpy(&rel32, bytes + 2, sizeof rel32);
    rel32++; /* rel32 counts from the end of the call, which is a byte earlier */
    bytes[0] = 0xe8;
    memcpy(bytes + 1, &rel32, sizeof rel32);
    bytes[5] = 0x90;
}

bool __wrap_carry_encode(const struct carry_site *site, uintptr_t value,
                         const struct carry_site *body, uint8_t *bytes) {
    bool fits = __real_carry_encode(site, value, body, bytes);
    bool direct = site->kind == CARRY_SITE_CALL && bytes[0] == 0x2e && bytes[1] == 0xe8;
    if (fits && direct && broken_patch == BROKEN_PATCH_CALL_NOP)
        split_call(bytes);
    return fits;
}

/* The number of traps that handlers have looked up. */
static uint32_t traps;

bool __wrap_carry_patch_is_site(uintptr_t address) {
    __atomic_fetch_add(&traps, 1, __ATOMIC_SEQ_CST);
    return broken_patch != BROKEN_PATCH_LOST_SITES && __real_carry_patch_is_site(address);
}

/* --- The host --- */

#define TRAP_WAITS 100000 /* far more than a thread needs to reach a guard */

/* The steps of a commit, numbered by the synchronisations before them. */
enum { GUARDS, TAILS, HEADS };

static int step;

static struct {
    uintptr_t address;
    size_t size;
    uint8_t bytes[16];
} late[256];
static size_t late_count;

static bool is_alone(void) {
    return broken_patch == BROKEN_PATCH_NO_GUARD || __real_carry_host_text()->alone();
}

static int open_session(const struct carry_text_run *runs, size_t count, bool quiet,
                        struct carry_text_session *session) {
    step = GUARDS;
    int error = __real_carry_host_text()->open(runs, count, quiet, session);
    if (broken_patch == BROKEN_PATCH_LOST_SITES) /* every guard is a trap, never a jump */
        session->writes_pairs = false;
    return error;
}

/* Waits long enough for a thread to reach a site, even if it shares this core. */
static void wait_for_thread(void) {
    const struct timespec pause = {0, 50000};
    nanosleep(&pause, NULL);
}

/*
 * Waits until a thread has hit a guard. The thread runs all sites repeatedly, and all of them are
 * guarded.
 */
static void wait_for_trap(void) {
    const uint32_t before = __atomic_load_n(&traps, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < TRAP_WAITS && before == __atomic_load_n(&traps, __ATOMIC_SEQ_CST); i++)
        wait_for_thread();
}

static bool write_bytewise(uintptr_t address, const uint8_t *bytes, size_t size) {
    bool ok = true;
    for (size_t i = 0; i < size && ok; i++) {
        ok = __real_carry_host_text()->write(address + i, bytes + i, 1);
        wait_for_thread();
    }
    return ok;
}

static bool write_text(uintptr_t address, const void *bytes, size_t size) {
    if (broken_patch == BROKEN_PATCH_NOT_WRITTEN)
        return true;
    if (broken_patch == BROKEN_PATCH_NO_GUARD)
        return write_bytewise(address, bytes, size);
    if (broken_patch != BROKEN_PATCH_TAIL_LAST || step != TAILS)
        return __real_carry_host_text()->write(address, bytes, size);
    late[late_count].address = address;
    late[late_count].size = size;
    memcpy(late[late_count++].bytes, bytes, size);
    return true;
}

static void synchronise_or_wait(void) {
    if (broken_patch == BROKEN_PATCH_LOST_SITES && step == GUARDS)
        wait_for_trap();
    else
        wait_for_thread();
    for (size_t i = 0; step == HEADS && i < late_count; i++)
        __real_carry_host_text()->write(late[i].address, late[i].bytes, late[i].size);
    if (step++ == HEADS)
        late_count = 0;
    __real_carry_host_text()->synchronise();
}

const struct carry_text_host *__wrap_carry_host_text(void) {
    static struct carry_text_host host;
    const struct carry_text_host *right = __real_carry_host_text();
    if (broken_patch == BROKEN_PATCH_NOT)
        return right;
    if (!host.lock) {
        struct carry_text_host mutant = *right;
        mutant.alone = is_alone;
        mutant.open = open_session;
        mutant.write = write_text;
        mutant.synchronise = synchronise_or_wait;
        host = mutant;
    }
    return &host;
}
