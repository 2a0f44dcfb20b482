/* SPDX-License-Identifier: MIT */
/*
 * Implements the operations of template functions: x0 packet, x1 values, x2 CHANGE, x3 the chunk
 * that was read or written last, x5 to x17 accumulators.
 *
 * Clobbers: x2 to x17, flags
 */
#include "../template_ops.h"

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

class Ops final : public TemplateOps {
  public:
    explicit Ops(asmjit::CodeHolder &code) : a(&code) {
    }

    void start_function() override {
        a.hint(LANDING_PAD);
    }

    void end_function() override {
        a.ret(x30);
    }

    void start_sum(size_t accumulator, const TemplateSum &sum) override {
        load(x0, sum.offset, 2);
        a.mvn(operand(accumulator), x3);
    }

    void start_change() override {
        a.adds(x2, xzr, xzr);
    }

    void add_old(const TemplateChunk &chunk) override {
        load(x0, chunk.offset, chunk.size);
        a.mvn(x3, x3);
        a.adcs(x2, x2, x3);
    }

    /* Writes a chunk; loads and stores do not change the carry. */
    void write_chunk(const TemplateChunk &chunk) override {
        load(x1, chunk.value, chunk.size);
        store(chunk.offset, chunk.size);
    }

    void add_written() override {
        a.adcs(x2, x2, x3);
    }

    void end_change() override {
        a.adc(x2, x2, xzr);
    }

    void add_change(size_t accumulator, bool swapped, bool negative) override {
        const Gp total = operand(accumulator);
        a.ror(x3, x2, swapped ? 56 : 0);
        if (negative)
            a.mvn(x3, x3);
        a.adds(total, total, x3);
        a.adc(total, total, xzr);
    }

    void store_sum(size_t accumulator, const TemplateSum &sum) override {
        fold(operand(accumulator));
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
        a.strh(w2, bytes(x0, sum.offset));
    }

    /* Uses the old checksum: x3 still holds it. */
    void load_sum_change() override {
        a.mvn(x3, x3);
        a.adds(x2, x2, x3);
        a.adc(x2, x2, xzr);
    }

  private:
    static Gp operand(size_t accumulator) {
        return asmjit::arm::GpX(5 + static_cast<uint32_t>(accumulator));
    }

    /* Returns the operand for the bytes at an offset; may use x4, and does not change flags. */
    Mem bytes(const Gp &base, uint32_t offset) {
        if (offset <= NEAR_MAX)
            return ptr(base, static_cast<int32_t>(offset));
        a.movz(w4, offset & 0xffff);
        a.movk(w4, offset >> 16, asmjit::arm::lsl(16));
        return ptr(base, x4);
    }

    /* Loads into x3; its upper bits are 0. */
    void load(const Gp &base, uint32_t offset, uint32_t size) {
        const Mem from = bytes(base, offset);
        if (size == 8)
            a.ldr(x3, from);
        else if (size == 4)
            a.ldr(w3, from);
        else if (size == 2)
            a.ldrh(w3, from);
        else
            a.ldrb(w3, from);
    }

    /* Stores the lower bytes of x3 into the packet. */
    void store(uint32_t offset, uint32_t size) {
        const Mem to = bytes(x0, offset);
        if (size == 8)
            a.str(x3, to);
        else if (size == 4)
            a.str(w3, to);
        else if (size == 2)
            a.strh(w3, to);
        else
            a.strb(w3, to);
    }

    /* Sets w2 to the total, folded to 16 bits. */
    void fold(const Gp &total) {
        a.lsr(x2, total, 32);
        a.adds(w2, w2, total.w());
        a.adc(w2, w2, wzr);
        for (int i = 0; i < 2; i++) {
            a.lsr(w3, w2, 16);
            a.and_(w2, w2, 0xffff);
            a.add(w2, w2, w3);
        }
    }

    Assembler a;
};

} // namespace

int accept_template(const TemplatePlan &plan) {
    return plan.count_changing() <= ACCUMULATORS ? CARRY_OK : CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_template(asmjit::CodeHolder &code, const void *spec) {
    Ops ops(code);
    emit_template_function(ops, *static_cast<const TemplatePlan *>(spec));
    return asmjit::kErrorOk; /* the error handler of the code keeps errors */
}

} // namespace carry::jit
