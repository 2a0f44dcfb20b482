/* SPDX-License-Identifier: MIT */
/*
 * The operations that template functions consist of, the same for every architecture. A function
 * writes fields without a branch; its arguments are the packet and the values.
 *
 * Chunks of the same effect are one change, in the register CHANGE: the sum of the written bytes
 * and of the complement of the bytes that they replace. CHANGE is added to the accumulators of the
 * checksums in which the change counts. Accumulators start as the complements of the stored
 * checksums (RFC 1624, equation 3). Complements of 64 bits are as good as complements of fewer
 * bits, because 2^64 - 1 is a multiple of 0xffff; with them, no accumulator is ever 0.
 */
#ifndef CARRY_JIT_TEMPLATE_OPS_H
#define CARRY_JIT_TEMPLATE_OPS_H

#include "template.h"

namespace carry::jit {

class TemplateOps {
  public:
    virtual void start_function() = 0;
    virtual void end_function() = 0;

    /* Sets the accumulator to the complement of the stored checksum. */
    virtual void start_sum(size_t accumulator, const TemplateSum &sum) = 0;

    /* Sets CHANGE and the carry to 0. */
    virtual void start_change() = 0;

    /* Adds the complement of the chunk in the packet to CHANGE and the carry. */
    virtual void add_old(const TemplateChunk &chunk) = 0;

    /* Writes the chunk into the packet. Preserves CHANGE and the carry. */
    virtual void write_chunk(const TemplateChunk &chunk) = 0;

    /* Adds the chunk that was written last to CHANGE and the carry. */
    virtual void add_written() = 0;

    /* Adds the carry to CHANGE. */
    virtual void end_change() = 0;

    /* Adds CHANGE to the accumulator: with the bytes of its words swapped if `swapped`, and
       complemented if `negative`. */
    virtual void add_change(size_t accumulator, bool swapped, bool negative) = 0;

    /* Stores the complement of the accumulator, folded; for_zero in place of 0. A stored 0
       remains if it may mean that there is no checksum. */
    virtual void store_sum(size_t accumulator, const TemplateSum &sum) = 0;

    /* Sets CHANGE to the change that store_sum() made to a sum that may be absent. */
    virtual void load_sum_change() = 0;

  protected:
    ~TemplateOps() = default;
};

/* Writes a whole function. */
void emit_template_function(TemplateOps &ops, const TemplatePlan &plan);

} // namespace carry::jit

#endif
