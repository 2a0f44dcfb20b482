// SPDX-License-Identifier: MIT
// Tests that the callee of an operation may throw and catch, and that backtraces from it contain
// its caller, in every state of the site.
#include "expect.h"

#include <carry/patch.h>
#include <execinfo.h>
#include <stdexcept>

CARRY_OP(long, op, long);

static bool sees_caller;

// Returns whether an address is directly after a site, as return addresses are.
static bool is_behind_site(const void *address) {
    for (const struct carry_site *site = __start_carry_sites; site != __stop_carry_sites; site++)
        if (reinterpret_cast<const char *>(&site->site) + site->site + site->length == address)
            return true;
    return false;
}

static void throw_negative(long a) {
    if (a < 0)
        throw std::out_of_range("negative");
}

static long catches(long a) {
    void *frames[16];
    int count = backtrace(frames, 16);
    sees_caller = false;
    for (int i = 0; i < count; i++)
        sees_caller = sees_caller || is_behind_site(frames[i]);
    try {
        throw_negative(a);
    } catch (const std::out_of_range &) {
        return -2 * a;
    }
    return 2 * a;
}

static long plain(long a) {
    return a;
}

CARRY_OP_DEFINE(op, plain);

__attribute__((noinline)) static long run(long a) {
    long before = a;
    long b = carry_call(op)(a);
    return before + b;
}

// Throws from a direct call, and unwinds over a frame that has called through the site.
__attribute__((noinline)) static long run_and_throw(long a) {
    long b = carry_call(op)(a);
    throw_negative(-b);
    return b;
}

static void check(long (*function)(long)) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, op, function);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(run(4), function == plain ? 8 : 12);
    EXPECT(run(-4), function == plain ? -8 : 4);
    EXPECT(sees_caller, function != plain);
    bool caught = false;
    try {
        run_and_throw(1);
    } catch (const std::out_of_range &) {
        caught = true;
    }
    EXPECT(caught, true);
    sees_caller = false;
}

int main() {
    check(catches);
    check(plain);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    check(catches);
    check(plain);
    check(catches);
    return result();
}
