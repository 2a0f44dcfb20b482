/* SPDX-License-Identifier: MIT */
/*
 * A packet like the packets that a template will write, and the effect of its bytes on its
 * checksums. The effects are found by trial: the walk of <carry/packet.h> examines the packet with
 * several other values of each byte that varies. If a checksum then moves or covers other bytes,
 * the byte must not vary; if the sum of its pseudo-header differs, the byte belongs to the
 * pseudo-header.
 */
#ifndef CARRY_JIT_EXAMPLE_H
#define CARRY_JIT_EXAMPLE_H

#include <vector>

#include "template.h"

namespace carry::jit {

/* A checksum of the example. */
struct ExampleSum : ::carry_packet_sum {
    bool is_none;     /* there is no checksum, whatever is stored */
    bool may_be_none; /* there is none if 0 is stored */
};

class Example {
  public:
    explicit Example(const struct carry_frame &example);

    /* Returns why no template can be made of the frame, in the words of carry_jit_template_error(),
       or NULL. */
    const char *error() const;

    /* Returns why the byte at `at` must not vary, or returns NULL and sets `effect` to the byte's
     * effect on the pseudo-headers that contain it. */
    const char *try_byte(uint32_t at, Effect &effect);

    /* Returns whether the sum covers the byte, not counting bytes of its pseudo-header. */
    bool covers(size_t sum, uint32_t at) const;

    bool is_checksum(uint32_t at) const;

    std::vector<uint8_t> bytes;
    std::vector<ExampleSum> sums; /* from outer to inner */

  private:
    struct Places {
        struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
        size_t count;
    };

    Places walk() const;
    uint8_t verdict_on(const struct carry_packet_sum &sum, uint8_t stored);
    const char *compare_walk(uint32_t at, uint8_t was, Effect &effect) const;
    bool count_in_pseudo(const Places &now, uint32_t at, uint8_t was, Effect &effect) const;

    struct carry_frame frame;
    Places places;
};

} // namespace carry::jit

#endif
