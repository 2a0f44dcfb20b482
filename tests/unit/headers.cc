// SPDX-License-Identifier: MIT
// Checks in C++ that the public headers compile, and that sums and their updates work.
#include <carry/carry.h>

#include <cstring>

#include "harness/tap.h"

int main() {
    const unsigned char bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    const uint32_t whole = carry_sum(bytes, sizeof bytes, 0);
    const uint16_t folded = carry_sum_fold(whole);
    const uint16_t check = carry_sum_finish(whole);

    tap_ok(TAP_MEMEQ(&folded, "\xdd\xf2", 2), "carry_sum, carry_sum_fold");
    tap_ok(TAP_EQ(carry_sum_fold(carry_sum_inline(bytes, sizeof bytes, 0)), folded),
           "carry_sum_inline");
    tap_ok(TAP_MEMEQ(&check, "\x22\x0d", 2), "carry_sum_finish");
    tap_ok(TAP_EQ(carry_sum_finish(0xffff), 0) && TAP_EQ(carry_sum_finish_nonzero(0xffff), 0xffff),
           "carry_sum_finish_nonzero");
    const uint32_t joined =
        carry_sum_combine(carry_sum(bytes, 3, 0), carry_sum(bytes + 3, 5, 0), 3);
    tap_ok(TAP_EQ(carry_sum_fold(joined), folded), "carry_sum_combine");

    // Updates the checksum of zeros, 0xffff, to the checksum of these bytes.
    const unsigned char zeros[16] = {};
    unsigned char words[16] = {};
    std::memcpy(words, bytes, sizeof bytes);
    uint16_t word;
    uint32_t words2;
    std::memcpy(&word, bytes + 2, sizeof word);
    std::memcpy(&words2, bytes, sizeof words2);
    tap_ok(
        TAP_EQ(carry_sum_update16(0xffff, 0, word), carry_sum_finish(carry_sum(bytes + 2, 2, 0))),
        "carry_sum_update16");
    tap_ok(TAP_EQ(carry_sum_update32(0xffff, 0, words2), carry_sum_finish(carry_sum(bytes, 4, 0))),
           "carry_sum_update32");
    tap_ok(TAP_EQ(carry_sum_update128(0xffff, zeros, words), check), "carry_sum_update128");
    tap_ok(TAP_STREQ(carry_packet_verdict_name(CARRY_VERDICT_GOOD), "good"),
           "the functions have C linkage");
    return tap_done();
}
