/* SPDX-License-Identifier: MIT */
/*
 * Functions that write fields, without a branch: x0 packet, x1 values.
 *
 * Clobbers: x2 to x17, flags
 *
 * As x86_64/template.cc does it: a change is in x2, accumulators are in x5 to x17.
 */
#include "../template.h"

#include <asmjit/arm/a64assembler.h>

namespace carry::jit {
namespace {

using namespace asmjit::a64;
using asmjit::arm::Gp;
using asmjit::arm::Mem;
using asmjit::arm::ptr;

constexpr uint32_t ACCUMULATORS = 13;
constexpr uint32_t NEAR_MAX = 255;   /* offsets that loads of any alignment reach */
constexpr uint32_t LANDING_PAD = 34; /* HINT #34: BTI c */

Gp accumulator_at(uint32_t index) {
    return asmjit::arm::GpX(5 + index);
}

class Writer {
  public:
    Writer(asmjit::CodeHolder &code, const TemplatePlan &template_plan);
    asmjit::Error write();

  private:
    Mem at(const Gp &base, uint32_t offset);
    void load(const Gp &base, uint32_t offset, uint32_t size);
    void store(uint32_t offset, uint32_t size);
    void start(size_t sum);
    void change(size_t first);
    void spread(const Effect &effect);
    void add(const Gp &accumulator, bool swapped, bool negative);
    void fold(const Gp &total);
    void finish(size_t sum);

    Assembler a;
    const TemplatePlan &plan;
    std::array<Gp, CARRY_PACKET_SUMS_MAX> accumulators;
    std::vector<bool> done; /* of the chunks */
};

Writer::Writer(asmjit::CodeHolder &code, const TemplatePlan &template_plan)
    : a(&code), plan(template_plan), done(template_plan.chunks.size()) {
    uint32_t used = 0;
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            accumulators[i] = accumulator_at(used++);
}

/* Flags stay. */
Mem Writer::at(const Gp &base, uint32_t offset) {
    if (offset <= NEAR_MAX)
        return ptr(base, static_cast<int32_t>(offset));
    a.movz(w4, offset & 0xffff);
    a.movk(w4, offset >> 16, asmjit::arm::lsl(16));
    return ptr(base, x4);
}

/* Into x3, of which the upper bits are 0. */
void Writer::load(const Gp &base, uint32_t offset, uint32_t size) {
    const Mem from = at(base, offset);
    if (size == 8)
        a.ldr(x3, from);
    else if (size == 4)
        a.ldr(w3, from);
    else if (size == 2)
        a.ldrh(w3, from);
    else
        a.ldrb(w3, from);
}

/* From x3, into the packet. */
void Writer::store(uint32_t offset, uint32_t size) {
    const Mem to = at(x0, offset);
    if (size == 8)
        a.str(x3, to);
    else if (size == 4)
        a.str(w3, to);
    else if (size == 2)
        a.strh(w3, to);
    else
        a.strb(w3, to);
}

void Writer::start(size_t sum) {
    load(x0, plan.sums[sum].offset, 2);
    a.mvn(accumulators[sum], x3);
}

/* Writes the chunk and those that have the same effect: loads and stores leave the carry alone. */
void Writer::change(size_t first) {
    const Effect &effect = plan.chunks[first].effect;
    const bool counts = effect != Effect{};
    if (counts)
        a.adds(x2, xzr, xzr);
    for (size_t i = first; i < plan.chunks.size(); i++) {
        const TemplateChunk &chunk = plan.chunks[i];
        if (chunk.effect != effect)
            continue;
        if (counts) {
            load(x0, chunk.offset, chunk.size);
            a.mvn(x3, x3);
            a.adcs(x2, x2, x3);
        }
        load(x1, chunk.value, chunk.size);
        store(chunk.offset, chunk.size);
        if (counts)
            a.adcs(x2, x2, x3);
        done[i] = true;
    }
    if (counts)
        a.adc(x2, x2, xzr);
    spread(effect);
}

/* Adds x2, or with its bytes swapped, or its complement. */
void Writer::add(const Gp &accumulator, bool swapped, bool negative) {
    a.ror(x3, x2, swapped ? 56 : 0);
    if (negative)
        a.mvn(x3, x3);
    a.adds(accumulator, accumulator, x3);
    a.adc(accumulator, accumulator, xzr);
}

void Writer::spread(const Effect &effect) {
    for (size_t i = 0; i < plan.sums.size(); i++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int times = effect[i][swapped]; times; times += times < 0 ? 1 : -1)
                add(accumulators[i], swapped, times < 0);
}

/* Into the lower half of w2, and no further. */
void Writer::fold(const Gp &total) {
    a.lsr(x2, total, 32);
    a.adds(w2, w2, total.w());
    a.adc(w2, w2, wzr);
    for (int i = 0; i < 2; i++) {
        a.lsr(w3, w2, 16);
        a.and_(w2, w2, 0xffff);
        a.add(w2, w2, w3);
    }
}

/* Stores the complement of what the accumulator holds. One that may be none changes others. */
void Writer::finish(size_t index) {
    const TemplateSum &sum = plan.sums[index];
    fold(accumulators[index]);
    a.mov(w3, 0xffff);
    if (sum.for_zero) {
        a.cmp(w2, w3);
        a.csel(w2, wzr, w2, CondCode::kEQ);
    }
    a.eor(w2, w2, w3);
    load(x0, sum.offset, 2);
    if (sum.may_be_none) {
        a.cmp(w3, 0);
        a.csel(w2, wzr, w2, CondCode::kEQ);
    }
    a.strh(w2, at(x0, sum.offset));
    if (sum.effect != Effect{}) {
        a.mvn(x3, x3);
        a.adds(x2, x2, x3);
        a.adc(x2, x2, xzr);
        spread(sum.effect);
    }
}

asmjit::Error Writer::write() {
    a.hint(LANDING_PAD);
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            start(i);
    for (size_t i = 0; i < plan.chunks.size(); i++)
        if (!done[i])
            change(i);
    for (size_t i = plan.sums.size(); i-- > 0;)
        if (plan.sums[i].changes)
            finish(i);
    return a.ret(x30);
}

} // namespace

int accept_template(const TemplatePlan &plan) {
    uint32_t changing = 0;
    for (const TemplateSum &sum : plan.sums)
        changing += sum.changes;
    return changing <= ACCUMULATORS ? CARRY_OK : CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_template(asmjit::CodeHolder &code, const void *spec) {
    return Writer(code, *static_cast<const TemplatePlan *>(spec)).write();
}

} // namespace carry::jit
