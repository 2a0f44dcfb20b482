/* SPDX-License-Identifier: MIT */
/*
 * Uses every module once, as a program does: C11 to C23, C++17 to C++23, 32 and 64 bits. Hooks and
 * thunks have their own programs.
 */
#include <carry/carry.h>

#include <string.h>

#include "../linkers/expect.h"

CARRY_OP(int, route, int);
CARRY_KEY(tracing);

static int plain(int port) {
    return port;
}
static int shifted(int port) {
    return port + 1000;
}

CARRY_OP_DEFINE(route, plain);
CARRY_KEY_DEFINE(tracing, false);

static int go(int port) {
    return carry_call(route)(port) + (carry_unlikely(tracing) ? 1 : 0);
}

static void patch(void) {
    struct carry_patch patch;
    EXPECT(go(4), 4);
    carry_patch_apply(0); /* optional: unpatched sites work in the same way */
    carry_patch_begin(&patch);
    carry_set(&patch, route, shifted);
    carry_enable(&patch, tracing);
    EXPECT(go(4), 4);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(go(4), 1005);
    carry_patch_begin(&patch);
    carry_disable(&patch, tracing);
    carry_patch_abort(&patch);
    EXPECT(go(4), 1005);
}

/* Checks the examples of RFC 1071, section 3, and of RFC 3720, appendix B.4. */
static void sums(void) {
    static const unsigned char bytes[8] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    static const unsigned char folded[2] = {0xdd, 0xf2};
    static const unsigned char zeros[32] = {0};
    volatile size_t size = sizeof bytes;
    unsigned char copy[sizeof bytes];
    uint16_t sum = carry_sum_fold(carry_sum(bytes, size, 0));
    EXPECT(memcmp(&sum, folded, sizeof sum), 0);
    EXPECT(carry_sum_fold(carry_sum_copy(copy, bytes, size, 0)), sum);
    EXPECT(memcmp(copy, bytes, sizeof copy), 0);
    EXPECT(carry_crc32c(zeros, sizeof zeros, 0) == UINT32_C(0x8a9136aa), true);
}

static void copies(void) {
    static unsigned char from[3000], to[3000];
    uint32_t sum = 0;
    memset(from, 0x5a, sizeof from);
    EXPECT(carry_fault_acquire() <= CARRY_OK,
           true); /* if it is refused, system calls copy instead */
    carry_copy(to, from, sizeof to);
    EXPECT(memcmp(to, from, sizeof to), 0);
    carry_copy_move(to + 1, to, sizeof to - 1);
    carry_copy_stream(to, from, sizeof to);
    EXPECT((long)carry_copy_try(to, from, sizeof to), 0);
    EXPECT((long)carry_copy_try(to, NULL, sizeof to), (long)sizeof to);
    EXPECT((long)carry_sum_copy_try(to, from, sizeof to, &sum), 0);
    EXPECT(carry_sum_fold(sum), carry_sum_fold(carry_sum(from, sizeof from, 0)));
    carry_fault_release();
}

static void packet(void) {
    static const unsigned char header[20] = {0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40,
                                             0x00, 0x40, 0x06, 0xb1, 0xe6, 0xac, 0x10,
                                             0x0a, 0x63, 0xac, 0x10, 0x0a, 0x0c};
    struct carry_frame frame;
    struct carry_packet_sum found[CARRY_PACKET_SUMS_MAX];
    memset(&frame, 0, sizeof frame);
    frame.data = header;
    frame.captured = sizeof header;
    frame.wire = 60;
    frame.linktype = 228;
    EXPECT((long)carry_packet_check(&frame, NULL, found, CARRY_PACKET_SUMS_MAX), 2);
    EXPECT(found[0].verdict, CARRY_VERDICT_GOOD);
    EXPECT(found[1].verdict, CARRY_VERDICT_UNVERIFIABLE);
}

static struct carry_context here, there;

static struct carry_context *count(void *argument, uintptr_t value) {
    *(long *)argument += (long)value;
    *(long *)argument += (long)carry_context_switch(&there, &here, 1);
    return &here;
}

static void contexts(void) {
    static char stack[1 << 16];
    long sum = 0;
    carry_context_adopt(&here, NULL, 0);
    int error = carry_context_create(&there, stack, sizeof stack, count, &sum);
    if (error == CARRY_ERROR_UNSUPPORTED)
        return;
    EXPECT(error, CARRY_OK);
    EXPECT((long)carry_context_switch(&here, &there, 2), 1);
    EXPECT((long)carry_context_switch(&here, &there, 3), 0);
    EXPECT(sum, 5);
}

static void machine(void) {
    struct carry_xstate_layout layout;
    EXPECT(carry_cpu_has("no such feature"), false);
    EXPECT(carry_cpu_set_mask("no such feature"), CARRY_ERROR_UNKNOWN);
    EXPECT(strlen(carry_cpu_arch()) > 0, true);
    carry_xstate_layout(&layout);
    EXPECT(carry_xstate_in_use() & ~carry_xstate_enabled() ? 1 : 0, 0);
}

int main(void) {
    patch();
    sums();
    copies();
    packet();
    contexts();
    machine();
    return result();
}
