/* SPDX-License-Identifier: MIT */
/* The rules by which a debugger finds the caller of a function that does not move the stack
   pointer. */
#ifndef CARRY_JIT_FRAME_H
#define CARRY_JIT_FRAME_H

#include <cstdint>

namespace carry::jit {

/* The content of DWARF's common information entry (section 6.4.1). Its numbers are so small that
   each is one byte. */
struct FrameRules {
    uint16_t machine; /* of ELF */
    uint8_t code_alignment, data_alignment, return_register;
    uint8_t instructions[7]; /* the rest are DW_CFA_nop */
};

extern const FrameRules frame_rules; /* defined in jit/<arch>/frame.cc */

} // namespace carry::jit

#endif
