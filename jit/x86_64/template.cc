/* SPDX-License-Identifier: MIT */
/*
 * Implements the operations of template functions: rdi packet, rsi values, rax CHANGE, rcx the
 * chunk that was read or written last.
 *
 * Clobbers: rax, rcx, rdx, r8 to r11, flags, and up to 128 bytes below the stack pointer.
 */
#include "../template_ops.h"

#include <iterator>

#include <asmjit/x86.h>

namespace carry::jit {
namespace {

using namespace asmjit::x86;

/* Accumulators; further accumulators are in the red zone: signal handlers do not use it. */
const Gp registers[] = {rdx, r8, r9, r10, r11};
constexpr size_t RED_ZONE_WORDS = 16;

class Ops final : public TemplateOps {
  public:
    explicit Ops(asmjit::CodeHolder &code) : a(&code) {
    }

    void start_function() override {
        a.endbr64();
    }

    void end_function() override {
        a.ret();
    }

    void start_sum(size_t accumulator, const TemplateSum &sum) override {
        load(bytes(rdi, sum.offset, 2));
        a.not_(rcx);
        a.emit(Inst::kIdMov, operand(accumulator), rcx);
    }

    void start_change() override {
        a.xor_(eax, eax);
    }

    void add_old(const TemplateChunk &chunk) override {
        load(bytes(rdi, chunk.offset, chunk.size));
        a.not_(rcx);
        a.adc(rax, rcx);
    }

    /* Writes a chunk; moves do not change the carry. */
    void write_chunk(const TemplateChunk &chunk) override {
        load(bytes(rsi, chunk.value, chunk.size));
        store(bytes(rdi, chunk.offset, chunk.size));
    }

    void add_written() override {
        a.adc(rax, rcx);
    }

    void end_change() override {
        a.adc(rax, 0);
    }

    void add_change(size_t accumulator, bool swapped, bool negative) override {
        if (swapped || negative)
            a.mov(rcx, rax);
        if (swapped)
            a.rol(rcx, 8);
        if (negative)
            a.not_(rcx);
        a.emit(Inst::kIdAdd, operand(accumulator), swapped || negative ? rcx : rax);
        a.emit(Inst::kIdAdc, operand(accumulator), 0);
    }

    void store_sum(size_t accumulator, const TemplateSum &sum) override {
        const Mem field = bytes(rdi, sum.offset, 2);
        fold(accumulator);
        if (sum.for_zero) {
            a.cmp(ax, -1);
            a.mov(ecx, 0);
            a.cmove(eax, ecx);
        }
        a.not_(eax);
        if (sum.may_be_none) {
            load(field);
            a.test(ecx, ecx);
            a.cmove(eax, ecx);
        }
        a.mov(field, ax);
    }

    /* Uses the old checksum: rcx still holds it. */
    void load_sum_change() override {
        a.not_(rcx);
        a.movzx(eax, ax);
        a.add(rax, rcx);
        a.adc(rax, 0);
    }

  private:
    static asmjit::Operand operand(size_t accumulator) {
        if (accumulator < std::size(registers))
            return registers[accumulator];
        size_t word = accumulator - std::size(registers) + 1;
        return qword_ptr(rsp, -8 * static_cast<int32_t>(word));
    }

    static Mem bytes(const Gp &base, uint32_t offset, uint32_t size) {
        return Mem(base, static_cast<int32_t>(offset), size);
    }

    /* Loads into rcx; its upper bits are 0. */
    void load(const Mem &from) {
        if (from.size() == 8)
            a.mov(rcx, from);
        else if (from.size() == 4)
            a.mov(ecx, from);
        else
            a.movzx(ecx, from);
    }

    /* Stores the lower bytes of rcx. */
    void store(const Mem &to) {
        if (to.size() == 8)
            a.mov(to, rcx);
        else if (to.size() == 4)
            a.mov(to, ecx);
        else if (to.size() == 2)
            a.mov(to, cx);
        else
            a.mov(to, cl);
    }

    /* Sets ax to the accumulator, folded. */
    void fold(size_t accumulator) {
        a.emit(Inst::kIdMov, rax, operand(accumulator));
        a.mov(ecx, eax);
        a.shr(rax, 32);
        a.add(eax, ecx);
        a.adc(eax, 0);
        a.mov(ecx, eax);
        a.shr(ecx, 16);
        a.add(ax, cx);
        a.adc(ax, 0);
    }

    Assembler a;
};

} // namespace

int accept_template(const TemplatePlan &plan) {
    return plan.count_changing() <= std::size(registers) + RED_ZONE_WORDS ? CARRY_OK
                                                                          : CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_template(asmjit::CodeHolder &code, const void *spec) {
    Ops ops(code);
    emit_template_function(ops, *static_cast<const TemplatePlan *>(spec));
    return asmjit::kErrorOk; /* the error handler of the code keeps errors */
}

} // namespace carry::jit
