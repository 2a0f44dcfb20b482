/* SPDX-License-Identifier: MIT */
/* How a debugger finds the caller of a function that leaves the stack pointer where it was. */
#ifndef CARRY_JIT_FRAME_H
#define CARRY_JIT_FRAME_H

#include <cstdint>

namespace carry::jit {

/* What DWARF's common information entry (section 6.4.1) says; numbers below 64, so one byte each.
 */
struct FrameRules {
    uint16_t machine; /* of ELF */
    uint8_t code_alignment, data_alignment, return_register;
    uint8_t instructions[7]; /* the rest are DW_CFA_nop */
};

extern const FrameRules frame_rules; /* each architecture's, in jit/<arch>/frame.cc */

} // namespace carry::jit

#endif
