/* SPDX-License-Identifier: MIT */
/* Tests exceptions in contexts: thrown and caught, through functions that were suspended. */
#include <carry/context.h>

#include <stdexcept>

extern "C" {
#include "harness/fault.h"
}
#include "harness/tap.h"

namespace {

constexpr int contexts = 3;

struct carry_context here;
struct carry_context there[contexts];
alignas(64) unsigned char stacks[contexts][65536];
int caught[contexts];
int unwound;

struct Unwinding {
    ~Unwinding() {
        unwound++;
    }
};

/* Throws through functions that were suspended. */
void fail(int self, int depth) {
    Unwinding unwinding;
    carry_context_switch(&there[self], &here, 0);
    if (depth == 0)
        throw std::runtime_error("thrown");
    fail(self, depth - 1);
}

struct carry_context *throw_and_catch(void *argument, uintptr_t) {
    int self = static_cast<int>(static_cast<struct carry_context *>(argument) - there);
    for (int i = 0; i < 10; i++) {
        try {
            fail(self, self);
        } catch (const std::runtime_error &) {
            caught[self]++;
        }
    }
    return &here;
}

} // namespace

int main() {
    bool ok = true;
    if (fault_under_valgrind())
        return tap_skip_all("valgrind confuses stacks that are near each other");
    carry_context_adopt(&here, nullptr, 0);
    for (int i = 0; i < contexts; i++) {
        int error = carry_context_create(&there[i], stacks[i], sizeof stacks[i], throw_and_catch,
                                         &there[i]);
        if (error == CARRY_ERROR_UNSUPPORTED)
            return tap_skip_all("there are no contexts on this architecture");
        ok = ok && !error;
    }
    for (bool left = true; left;) {
        left = false;
        for (auto &context : there) {
            if (context.stack_pointer) {
                carry_context_switch(&here, &context, 0);
                left = true;
            }
        }
    }
    tap_ok(TAP_TRUE(ok) && TAP_EQ(caught[0], 10) && TAP_EQ(caught[1], 10) && TAP_EQ(caught[2], 10),
           "exceptions are caught in the context that threw them");
    tap_ok(TAP_EQ(unwound, 10 * (1 + 2 + 3)), "frames that were suspended are unwound");
    return tap_done();
}
