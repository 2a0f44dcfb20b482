/* SPDX-License-Identifier: MIT */
/*
 * Functions that write fields, without a branch: rdi packet, rsi values.
 *
 * Clobbers: rax, rcx, rdx, r8 to r11, flags, and up to 128 bytes below the stack pointer.
 *
 * Chunks of the same effect are one change: the sum of what is written and of the complement of
 * what was there, in rax. It is added to the accumulators of the checksums that it counts in, which
 * start as the complements of what is stored (RFC 1624, equation 3). Complements of 64 bits stand
 * for those of fewer, for 2^64 - 1 is a multiple of 0xffff; and so no accumulator is ever 0.
 */
#include "../template.h"

#include <iterator>

#include <asmjit/x86.h>

namespace carry::jit {
namespace {

using namespace asmjit::x86;

/* For accumulators; what is more lies in the red zone, which signal handlers leave alone. */
const Gp registers[] = {rdx, r8, r9, r10, r11};
constexpr size_t RED_ZONE_WORDS = 16;

asmjit::Operand accumulator_at(size_t index) {
    if (index < std::size(registers))
        return registers[index];
    size_t word = index - std::size(registers) + 1;
    return qword_ptr(rsp, -8 * static_cast<int32_t>(word));
}

Mem at(const Gp &base, uint32_t offset, uint32_t size) {
    return Mem(base, static_cast<int32_t>(offset), size);
}

/* The bytes, in a register whose upper bits are 0. */
void emit_load(Assembler &a, const Gp &to, const Mem &from) {
    if (from.size() == 8)
        a.mov(to, from);
    else if (from.size() == 4)
        a.mov(to.r32(), from);
    else
        a.movzx(to.r32(), from);
}

void emit_store(Assembler &a, const Mem &to, const Gp &from) {
    switch (to.size()) {
    case 8:
        a.mov(to, from);
        break;
    case 4:
        a.mov(to, from.r32());
        break;
    case 2:
        a.mov(to, from.r16());
        break;
    default:
        a.mov(to, from.r8());
    }
}

class Writer {
  public:
    Writer(asmjit::CodeHolder &code, const TemplatePlan &template_plan);
    asmjit::Error write();

  private:
    void start(size_t sum);
    void take(const TemplateChunk &chunk);
    void move(const TemplateChunk &chunk);
    void change(size_t first);
    void spread(const Effect &effect);
    void add(const asmjit::Operand &accumulator, bool swapped, bool negative);
    void finish(size_t sum);
    void keep_none(const Mem &field);

    Assembler a;
    const TemplatePlan &plan;
    std::array<asmjit::Operand, CARRY_PACKET_SUMS_MAX> accumulators;
    std::vector<bool> done; /* of the chunks */
};

Writer::Writer(asmjit::CodeHolder &code, const TemplatePlan &template_plan)
    : a(&code), plan(template_plan), done(template_plan.chunks.size()) {
    size_t used = 0;
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            accumulators[i] = accumulator_at(used++);
}

void Writer::start(size_t sum) {
    emit_load(a, rcx, at(rdi, plan.sums[sum].offset, 2));
    a.not_(rcx);
    a.emit(Inst::kIdMov, accumulators[sum], rcx);
}

/* Adds what the chunk holds, complemented, to rax and the carry. */
void Writer::take(const TemplateChunk &chunk) {
    emit_load(a, rcx, at(rdi, chunk.offset, chunk.size));
    a.not_(rcx);
    a.adc(rax, rcx);
}

/* Leaves what is written in rcx. */
void Writer::move(const TemplateChunk &chunk) {
    emit_load(a, rcx, at(rsi, chunk.value, chunk.size));
    emit_store(a, at(rdi, chunk.offset, chunk.size), rcx);
}

/* Writes the chunk and those that have the same effect: moves leave the carry alone. */
void Writer::change(size_t first) {
    const Effect &effect = plan.chunks[first].effect;
    bool counts = effect != Effect{};
    if (counts)
        a.xor_(eax, eax);
    for (size_t i = first; i < plan.chunks.size(); i++) {
        if (plan.chunks[i].effect != effect)
            continue;
        if (counts)
            take(plan.chunks[i]);
        move(plan.chunks[i]);
        if (counts)
            a.adc(rax, rcx);
        done[i] = true;
    }
    if (counts)
        a.adc(rax, 0);
    spread(effect);
}

/* Adds rax, or with its bytes swapped, or its complement. */
void Writer::add(const asmjit::Operand &accumulator, bool swapped, bool negative) {
    if (swapped || negative)
        a.mov(rcx, rax);
    if (swapped)
        a.rol(rcx, 8);
    if (negative)
        a.not_(rcx);
    a.emit(Inst::kIdAdd, accumulator, swapped || negative ? rcx : rax);
    a.emit(Inst::kIdAdc, accumulator, 0);
}

void Writer::spread(const Effect &effect) {
    for (size_t i = 0; i < plan.sums.size(); i++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int times = effect[i][swapped]; times; times += times < 0 ? 1 : -1)
                add(accumulators[i], swapped, times < 0);
}

/* Folds the accumulator and stores its complement. A checksum that may be none changes others. */
void Writer::finish(size_t index) {
    const TemplateSum &sum = plan.sums[index];
    Mem field = at(rdi, sum.offset, 2);
    a.emit(Inst::kIdMov, rax, accumulators[index]);
    a.mov(ecx, eax);
    a.shr(rax, 32);
    a.add(eax, ecx);
    a.adc(eax, 0);
    a.mov(ecx, eax);
    a.shr(ecx, 16);
    a.add(ax, cx);
    a.adc(ax, 0);
    if (sum.for_zero) {
        a.cmp(ax, -1);
        a.mov(ecx, 0);
        a.cmove(eax, ecx);
    }
    a.not_(eax);
    if (sum.may_be_none)
        keep_none(field);
    a.mov(field, ax);
    if (sum.effect != Effect{}) {
        a.not_(rcx);
        a.movzx(eax, ax);
        a.add(rax, rcx);
        a.adc(rax, 0);
        spread(sum.effect);
    }
}

/* Leaves what is stored in ecx, and has it stored again if it is 0. */
void Writer::keep_none(const Mem &field) {
    emit_load(a, rcx, field);
    a.test(ecx, ecx);
    a.cmove(eax, ecx);
}

asmjit::Error Writer::write() {
    a.endbr64();
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            start(i);
    for (size_t i = 0; i < plan.chunks.size(); i++)
        if (!done[i])
            change(i);
    for (size_t i = plan.sums.size(); i-- > 0;)
        if (plan.sums[i].changes)
            finish(i);
    return a.ret();
}

} // namespace

int accept_template(const TemplatePlan &plan) {
    size_t changing = 0;
    for (const TemplateSum &sum : plan.sums)
        changing += sum.changes;
    return changing <= std::size(registers) + RED_ZONE_WORDS ? CARRY_OK : CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_template(asmjit::CodeHolder &code, const void *spec) {
    return Writer(code, *static_cast<const TemplatePlan *>(spec)).write();
}

} // namespace carry::jit
