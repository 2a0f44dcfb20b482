/* SPDX-License-Identifier: MIT */
/*
 * The plan of a template: which bytes change, and their effect on checksums.
 *
 * Checksums are linear: if the words of a sum change by D (new minus old, in one's complement), the
 * stored checksum changes by -D. If another sum covers that checksum, its words change too; so the
 * change of an outer sum follows from the fields only. What a field adds to an outer sum, the
 * field's own checksum subtracts, so most changes within tunnels do not change outer sums. UDP's
 * checksums are the exception, since only the packet shows whether there is one.
 */
#ifndef CARRY_JIT_TEMPLATE_H
#define CARRY_JIT_TEMPLATE_H

#include <array>
#include <string>
#include <vector>

#include "code.h"

namespace carry::jit {

/*
 * How often a change counts in each sum: [0] as it is, and [1] with the bytes of its words swapped,
 * for words at odd offsets of the covered bytes.
 */
using Effect = std::array<std::array<int8_t, 2>, CARRY_PACKET_SUMS_MAX>;

/* Bytes that are moved by one load and one store. */
struct TemplateChunk {
    uint32_t offset; /* in the packet */
    uint32_t value;  /* offset of the written bytes in the values */
    uint32_t size;   /* 1, 2, 4 or 8 */
    Effect effect;
};

/* A checksum of the packet. A plan lists the checksums from outer to inner. */
struct TemplateSum {
    uint32_t offset;     /* of its field */
    uint16_t for_zero;   /* is stored in place of 0: 0 or 0xffff */
    uint8_t may_be_none; /* a stored 0 means that there is no checksum, and remains */
    uint8_t changes;
    Effect effect; /* the effect of its own change, if the checksum may be absent */
};

struct TemplatePlan {
    std::vector<TemplateChunk> chunks;
    std::vector<TemplateSum> sums;

    size_t count_changing() const;
};

/*
 * Returns 0, or CARRY_ERROR_UNSUPPORTED if the plan needs more registers than there are. Each
 * architecture defines this function and emit_template() in jit/<arch>/template.cc.
 */
int accept_template(const TemplatePlan &plan);
Emit emit_template; /* its spec is a TemplatePlan */

} // namespace carry::jit

#endif
