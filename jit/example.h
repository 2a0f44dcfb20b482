/* SPDX-License-Identifier: MIT */
/*
 * A packet like those that a template will write, and what its bytes mean to its checksums. That is
 * found by trying: the walk of <carry/packet.h> looks at the packet once for each change of a byte
 * that varies. Where a checksum then moves or covers something else, the byte is no mere value;
 * where the sum of its pseudo-header differs, the byte is one of that.
 */
#ifndef CARRY_JIT_EXAMPLE_H
#define CARRY_JIT_EXAMPLE_H

#include <vector>

#include "template.h"

namespace carry::jit {

/* A checksum of the example. */
struct ExampleSum : ::carry_packet_sum {
    bool is_none;     /* whatever is stored */
    bool may_be_none; /* where 0 is stored */
};

class Example {
  public:
    explicit Example(const struct carry_frame &example);

    /* Why there can be no template of it, as carry_jit_template_error() says that, or NULL. */
    const char *error() const;

    /* The same of the byte at `at`; else `effect` is that on the pseudo-headers it counts in. */
    const char *try_byte(uint32_t at, Effect &effect);

    /* Does the sum cover the byte, not counting its pseudo-header? */
    bool covers(size_t sum, uint32_t at) const;

    bool is_checksum(uint32_t at) const;

    std::vector<uint8_t> bytes;
    std::vector<ExampleSum> sums; /* outer to inner */

  private:
    struct Places {
        struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
        size_t count;
    };

    Places walk() const;
    uint8_t verdict_on(const struct carry_packet_sum &sum, uint8_t stored);
    const char *look(uint32_t at, uint8_t was, Effect &effect) const;
    bool count_in_pseudo(const Places &now, uint32_t at, uint8_t was, Effect &effect) const;

    struct carry_frame frame;
    Places places;
};

} // namespace carry::jit

#endif
