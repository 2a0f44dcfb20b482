// SPDX-License-Identifier: MIT
// Tests exceptions through thunks: thrown by targets and by callbacks.
#include <carry/thunk.h>

#include <stdexcept>
#include <string>

#include "harness/tap.h"

#if CARRY_HAS_THUNKS

static unsigned left;

static void enter(const carry_thunk *thunk, carry_thunk_call *) {
    if (thunk->user)
        throw std::out_of_range("enter");
}

static void leave(const carry_thunk *, carry_thunk_call *call) {
    left++;
    if (call->result[0] == 13)
        throw std::out_of_range("leave");
}

static long throw_negative(long a, double b) {
    if (a < 0)
        throw std::domain_error("target");
    return a + static_cast<long>(b);
}

extern "C" {
extern carry_thunk entered, surrounded;
carry_thunk entered = {enter, nullptr, reinterpret_cast<const void *>(throw_negative), 0, nullptr};
carry_thunk surrounded = {enter, leave, reinterpret_cast<const void *>(throw_negative), 0, nullptr};
long by_enter(long, double);
long by_around(long, double);
CARRY_THUNK(by_enter, entered)
CARRY_THUNK_AROUND(by_around, surrounded)
}

// Returns the text of the exception that a call throws, "nothing" if it throws none, or "lost
// registers" if unwinding does not restore registers.
static const char *thrown(long (*function)(long, double), long a) {
    volatile long seed = a;
    const long b = seed * 3, c = seed * 5, d = seed * 7;
    static std::string what;
    what = "nothing";
    try {
        function(a, 1.5);
    } catch (const std::exception &error) {
        what = error.what();
    }
    return b + c + d == 15 * a ? what.c_str() : "lost registers";
}

int main() {
    tap_ok(TAP_STREQ(thrown(throw_negative, 1), "nothing") &&
               TAP_STREQ(thrown(throw_negative, -1), "target"),
           "the target throws without a thunk");
    tap_ok(TAP_STREQ(thrown(by_enter, -1), "target") && TAP_STREQ(thrown(by_around, -1), "target"),
           "the target throws before a callback is set");
    carry_thunk_prepare();
    tap_ok(TAP_STREQ(thrown(by_enter, 1), "nothing"), "enter: nothing is thrown");
    tap_ok(TAP_STREQ(thrown(by_enter, -1), "target"), "enter: the target throws");
    tap_ok(TAP_STREQ(thrown(by_around, 1), "nothing") && TAP_EQ(left, 1),
           "around: nothing is thrown");
    tap_ok(TAP_STREQ(thrown(by_around, -1), "target") && TAP_EQ(left, 1),
           "around: the target throws, and leave is not called");
    tap_ok(TAP_STREQ(thrown(by_around, 12), "leave"), "around: leave throws");
    entered.user = surrounded.user = &left;
    tap_ok(TAP_STREQ(thrown(by_enter, 1), "enter") && TAP_STREQ(thrown(by_around, 1), "enter"),
           "around: enter throws");
    return tap_done();
}

#else

int main() {
    tap_ok(TAP_EQ(carry_thunk_prepare(), CARRY_ERROR_UNSUPPORTED),
           "no thunks on this architecture");
    return tap_done();
}

#endif
