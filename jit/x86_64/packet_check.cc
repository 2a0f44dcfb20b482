/* SPDX-License-Identifier: MIT */
/*
 * As carry_packet_check(): judges the sums from the innermost outwards. The content of the
 * innermost header is summed once, and counts in the sums around it.
 */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::x86;

CheckEmitter::CheckEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan)
    : PacketEmitter(code, packet_plan) {
    for (Labels &of : labels)
        of = {a.newLabel(), a.newLabel(), a.newLabel(), a.newLabel()};
}

void CheckEmitter::leave_if_zero(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    if (!sum.may_be_absent && !sum.zero_is_illegal)
        return;
    a.cmp(member(index, offsetof(Found, stored)), 0);
    a.je(sum.may_be_absent ? labels[index].absent : rare);
}

void CheckEmitter::judge_header(size_t index) {
    sum_header(index);
    verify(labels[index].bad);
    a.bind(labels[index].done);
}

/* The innermost. Sums around it want its bytes summed even where its own sum is absent. */
void CheckEmitter::judge_content(size_t index) {
    list(index);
    list_stored(index);
    a.mov(ecx, r9d);
    a.sub(ecx, plan.content());
    list_pseudo(index);
    if (!plan.count_around())
        leave_if_zero(index);
    a.mov(eax, r9d);
    a.cmp(eax, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.ja(labels[index].cut);
    sum_content();
    if (plan.count_around())
        leave_if_zero(index);
    a.mov(eax, member(index, offsetof(Found, pseudo)));
    a.add(rax, r10);
    verify(labels[index].bad);
    a.bind(labels[index].done);
}

/* UDP around tunnels. With bytes behind what it carries, it is rare. */
void CheckEmitter::judge_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    uint32_t offset = sum.found.cover_offset;
    list(index);
    list_stored(index);
    load_number(ecx, plan.lengths[sum.length].offset);
    list_pseudo(index);
    leave_if_zero(index);
    a.mov(eax, member(index, offsetof(Found, cover_size)));
    a.add(eax, offset);
    a.cmp(eax, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.ja(labels[index].cut);
    a.cmp(eax, r9d);
    a.jne(rare);
    add_bytes(offset, plan.content());
    a.mov(ecx, member(index, offsetof(Found, pseudo)));
    a.add(rcx, r10);
    a.add(rax, rcx);
    a.adc(rax, 0);
    verify(labels[index].bad);
    a.bind(labels[index].done);
}

/* Right for when the partial sum within is complete: see carry_packet_check(). */
void CheckEmitter::emit_around_partial(size_t index) {
    size_t inner = index + 1;
    while (!plan.sums[inner].found.pseudo_protocol)
        inner++;
    a.cmp(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_BAD);
    a.jne(labels[index].done);
    a.cmp(member(inner, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.jne(labels[index].done);
    load(ecx, plan.sums[inner].found.field_offset, 2);
    a.not_(ecx);
    add16(r11w, cx);
    a.mov(ecx, member(inner, offsetof(Found, expected)));
    a.rol(cx, 8);
    add16(r11w, cx);
    a.cmp(r11w, -1);
    a.jne(labels[index].done);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.mov(eax, member(index, offsetof(Found, stored)));
    a.mov(member(index, offsetof(Found, expected)), eax);
}

/* With several tunnels, nothing that is known not to be 0, or an empty header, which other sums
   tell of, it is rare. */
void CheckEmitter::emit_bad(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    bool may_be_zeros = !sum.over_header && !sum.found.pseudo_protocol;
    a.bind(labels[index].bad);
    if (may_be_zeros || (plan.is_around(index) && plan.transports_within(index) > 1)) {
        a.jmp(rare);
        return;
    }
    if (sum.over_header) {
        a.cmp(member(index, offsetof(Found, stored)), 0);
        a.je(rare);
    }
    list_expected(index);
    list_verdict(index);
    if (plan.is_around(index) && plan.transports_within(index))
        emit_around_partial(index);
    a.jmp(labels[index].done);
}

void CheckEmitter::emit_absent(size_t index) {
    a.bind(labels[index].absent);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_ABSENT);
    a.jmp(labels[index].done);
}

/* Covered bytes were not captured, or not even on the wire. eax holds where they end. */
void CheckEmitter::emit_cut(size_t index) {
    a.bind(labels[index].cut);
    leave_if_zero(index);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_UNVERIFIABLE);
    a.mov(member(index, offsetof(Found, reason), 1), CARRY_REASON_SNAPLEN);
    a.mov(member(index, offsetof(Found, expected)), 0);
    a.cmp(eax, dword_ptr(rdi, offsetof(struct carry_frame, wire)));
    a.jbe(labels[index].done);
    a.mov(member(index, offsetof(Found, reason), 1), CARRY_REASON_LENGTH);
    a.jmp(labels[index].done);
}

void CheckEmitter::emit_judgement() {
    for (size_t i = plan.sums.count; i-- > 0;) {
        if (plan.sums[i].over_header)
            judge_header(i);
        else if (i == plan.innermost())
            judge_content(i);
        else
            judge_around(i);
    }
    a.mov(eax, plan.sums.count);
    a.ret();
    for (size_t i = 0; i < plan.sums.count; i++) {
        emit_bad(i);
        emit_absent(i);
        emit_cut(i);
    }
}

} // namespace carry::jit
