/* SPDX-License-Identifier: MIT */
/*
 * Tests all public functions that name or describe a value, by the rule in <carry/base.h>, and the
 * version.
 */
#include <carry/capture.h>
#include <carry/carry.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/tap.h"

/* Returns the name of an error: errors count downwards. */
static const char *error_name(unsigned number) {
    return carry_error_name((int)(0 - number));
}

static const char *error_text(unsigned number) {
    return carry_error_text((int)(0 - number));
}

static const char *refusal_name(unsigned number) {
    return carry_xstate_refusal_name((enum carry_xstate_refusal)number);
}

static const char *refusal_description(unsigned number) {
    return carry_xstate_refusal_description((enum carry_xstate_refusal)number);
}

static const char *patch_reason_name(unsigned number) {
    return carry_patch_reason_name((enum carry_patch_reason)number);
}

/* The number of a repair's own reasons. In the enumeration, the reasons of datagrams follow after
   a gap. */
#define LEFT_OWN (CARRY_CAPTURE_LEFT_WRITTEN + 1)

static unsigned left_of(unsigned number) {
    return number < LEFT_OWN ? number : number - LEFT_OWN + CARRY_CAPTURE_LEFT_DATAGRAM;
}

static const char *left_name(unsigned number) {
    return carry_capture_left_name(left_of(number));
}

static const char *left_text(unsigned number) {
    return carry_capture_left_text(left_of(number));
}

static const struct naming {
    const char *function;
    const char *(*name)(unsigned number);
    unsigned count; /* the values from 0 on that have names */
} namings[] = {
    {"carry_capture_cause_name", carry_capture_cause_name, CARRY_CAPTURE_CAUSE_COUNT},
    {"carry_capture_format_name", carry_capture_format_name, CARRY_CAPTURE_FORMAT_COUNT},
    {"carry_capture_left_name", left_name, LEFT_OWN + CARRY_CAPTURE_REASSEMBLY_COUNT},
    {"carry_capture_left_text", left_text, LEFT_OWN + CARRY_CAPTURE_REASSEMBLY_COUNT},
    {"carry_capture_outcome_name", carry_capture_outcome_name, CARRY_CAPTURE_UNCHECKED + 1},
    {"carry_capture_reason_text", carry_capture_reason_text, CARRY_REASON_COUNT},
    {"carry_capture_reassembly_name", carry_capture_reassembly_name,
     CARRY_CAPTURE_REASSEMBLY_COUNT},
    {"carry_capture_reassembly_text", carry_capture_reassembly_text,
     CARRY_CAPTURE_REASSEMBLY_COUNT},
    {"carry_error_name", error_name, -CARRY_ERROR_TOO_LARGE + 1},
    {"carry_error_text", error_text, -CARRY_ERROR_TOO_LARGE + 1},
    {"carry_packet_cause_name", carry_packet_cause_name, CARRY_CAUSE_COUNT},
    {"carry_packet_protocol_name", carry_packet_protocol_name, CARRY_PROTOCOL_COUNT},
    {"carry_packet_reason_name", carry_packet_reason_name, CARRY_REASON_COUNT},
    {"carry_packet_verdict_name", carry_packet_verdict_name, CARRY_VERDICT_COUNT},
    {"carry_patch_reason_name", patch_reason_name, CARRY_PATCH_REASONS},
    {"carry_xstate_description", carry_xstate_description, CARRY_XSTATE_COMPONENTS},
    {"carry_xstate_name", carry_xstate_name, CARRY_XSTATE_COMPONENTS},
    {"carry_xstate_refusal_description", refusal_description, CARRY_XSTATE_REFUSALS},
    {"carry_xstate_refusal_name", refusal_name, CARRY_XSTATE_REFUSALS},
};

/*
 * Returns whether the name is not empty or "unknown", the same pointer each time, and different
 * from the names of all smaller numbers.
 */
static bool is_named(const struct naming *naming, unsigned number) {
    const char *name = naming->name(number);
    if (!name || !*name || name != naming->name(number) || !strcmp(name, "unknown"))
        return false;
    for (unsigned other = 0; other < number; other++)
        if (!strcmp(name, naming->name(other)))
            return false;
    return true;
}

static bool is_unknown(const struct naming *naming, unsigned number) {
    const char *name = naming->name(number);
    return name && !strcmp(name, "unknown");
}

static void test_naming(const struct naming *naming) {
    const unsigned beyond[] = {naming->count, naming->count + 1, 255,     256,
                               1000,          INT_MAX,           INT_MIN, UINT_MAX};
    unsigned number = 0;
    while (number < naming->count && is_named(naming, number))
        number++;
    tap_ok(TAP_EQ(number, naming->count), "%s: each value has its own name", naming->function);
    bool ok = true;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        ok = ok && TAP_TRUE(is_unknown(naming, beyond[i]));
    tap_ok(ok, "%s: other values are \"unknown\"", naming->function);
}

static void test_errors(void) {
    tap_ok(TAP_STREQ(carry_error_name(CARRY_OK), "CARRY_OK") &&
               TAP_STREQ(carry_error_name(CARRY_ERROR_BUSY), "CARRY_ERROR_BUSY") &&
               TAP_TRUE(strstr(carry_error_text(CARRY_ERROR_MEMORY), "memory")),
           "names of errors are spelled as the enumerators");
    tap_ok(TAP_EQ(CARRY_ERROR_INVALID, -1) && TAP_EQ(CARRY_ERROR_UNSUPPORTED, -3) &&
               TAP_EQ(CARRY_ERROR_CONTEXT, -10),
           "the numbers of errors are stable");
}

static void test_version(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CARRY_VERSION_MAJOR, CARRY_VERSION_MINOR,
             CARRY_VERSION_PATCH);
    tap_ok(TAP_STREQ(carry_version_text(), text) && TAP_STREQ(CARRY_VERSION_TEXT, text),
           "the version is available as text");
    tap_ok(TAP_EQ(carry_version(), CARRY_VERSION) &&
               TAP_LT(CARRY_VERSION_OF(0, 1, 0), CARRY_VERSION_OF(0, 2, 0)) &&
               TAP_LT(CARRY_VERSION_OF(0, 999, 999), CARRY_VERSION_OF(1, 0, 0)),
           "the version is available as a growing number");
    tap_ok(TAP_STREQ(text, BUILD_VERSION), "the version is that of the build");
}

int main(void) {
    for (size_t i = 0; i < sizeof namings / sizeof *namings; i++)
        test_naming(&namings[i]);
    test_errors();
    test_version();
    return tap_done();
}
