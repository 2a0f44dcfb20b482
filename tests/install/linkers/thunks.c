/* SPDX-License-Identifier: MIT */
/*
 * Stubs of CARRY_THUNK in programs with link-time optimisation: only assembly names their
 * descriptors. C11 and C++17.
 */
#include "expect.h"

#include <carry/thunk.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
extern "C" {
#else
#define LINKAGE extern
#endif

static long enters, leaves;

static void enter(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)call;
    ++*(long *)thunk->user;
}

static void leave(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
    leaves++;
}

static long add(long a, double b) {
    return a + (long)b;
}

/*
 * Descriptors with internal, hidden and global linkage. The name of a static one is mangled in C++.
 */
#ifdef __cplusplus
LINKAGE struct carry_thunk own;
#else
static
#endif
struct carry_thunk own = {enter, NULL, (const void *)add, 0, &enters};
LINKAGE __attribute__((visibility("hidden"))) struct carry_thunk hidden;
struct carry_thunk hidden = {enter, leave, (const void *)add, 0, &enters};
LINKAGE struct carry_thunk open;
struct carry_thunk open = {enter, NULL, NULL, 0, &enters};

long by_own(long a, double b);
long by_hidden(long a, double b);
void by_open(void);
CARRY_THUNK(by_own, own)
CARRY_THUNK_AROUND(by_hidden, hidden)
#if CARRY_HAS_THUNK_ANY
CARRY_THUNK_ANY(by_open, open)
#endif

#ifdef __cplusplus
}
#endif

static void check_calls(void) {
    EXPECT(by_own(1, 2.5), 3);
    EXPECT(by_hidden(4, 5.5), 9);
#if CARRY_HAS_THUNK_ANY
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tcall by_open\n\tlea 128(%%rsp), %%rsp" ::
                         : "memory");
#endif
}

int main(void) {
    check_calls();
    EXPECT(enters, 0);
    EXPECT(carry_thunk_prepare(), CARRY_OK);
    check_calls();
    EXPECT(enters, 2 + CARRY_HAS_THUNK_ANY);
    EXPECT(leaves, 1);
    own.target = (const void *)by_hidden;
    EXPECT(by_own(1, 2.5), 3);
    EXPECT(enters, 4 + CARRY_HAS_THUNK_ANY);
    EXPECT(leaves, 2);
    return result();
}
