/* SPDX-License-Identifier: MIT */
/*
 * As carry_packet_fill(): from the innermost outwards, what is not good is listed and written, one
 * behind the other; a sum around others comes last if any of those was written. What cannot be
 * told before the first write is rare.
 *
 *   r10    where the next sum is listed      edx    how many were
 *   edi    the pseudo-header of the content  r9d    1: a sum around others was passed over
 */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::x86;

/* All that is said of the frame was captured. */
void FillEmitter::require_simple() {
    load_number(eax, plan.lengths[0].offset);
    a.add(eax, plan.lengths[0].base);
    a.cmp(eax, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.ja(rare);
    for (size_t i = 0; i < plan.sums.count; i++)
        if (plan.is_around(i))
            require_zero_around(i);
}

/* The sender leaves it out, and nothing lies behind what it carries. */
void FillEmitter::require_zero_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    a.cmp(data(sum.found.field_offset, 2), 0);
    a.jne(rare);
    load_number(eax, plan.lengths[sum.length].offset);
    a.add(eax, sum.found.cover_offset);
    a.cmp(eax, r9d);
    a.jne(rare);
}

/* Stores what is expected, and goes on to the next place. */
void FillEmitter::write(size_t index) {
    a.mov(eax, member(index, offsetof(Found, expected)));
    a.rol(ax, 8);
    a.mov(data(plan.sums[index].found.field_offset, 2), ax);
    a.add(r10, sizeof(Found));
    a.inc(edx);
}

/* ax holds what the sum, with 0 in its field, folds to. */
void FillEmitter::list_zero(size_t index) {
    uint32_t verdict =
        plan.sums[index].may_be_absent ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_ILLEGAL;
    list_expected(index);
    a.mov(member(index, offsetof(Found, verdict), 1), verdict);
}

/* Where nothing tells zeros alone from what adds up to 0, it is rare. */
void FillEmitter::fill_content() {
    const size_t index = plan.innermost();
    const PlannedSum &sum = plan.sums[index];
    Label not_zero = a.newLabel(), expected = a.newLabel(), done = a.newLabel();
    list(index);
    list_stored(index);
    a.mov(ecx, r9d);
    a.sub(ecx, plan.content());
    list_pseudo(index);
    sum_content();
    a.mov(eax, member(index, offsetof(Found, pseudo)));
    a.add(rax, r10);
    fold64();
    fold32();
    if (!sum.found.pseudo_protocol) {
        a.cmp(ax, data(sum.found.field_offset, 2));
        a.je(rare);
    }
    a.mov(edi, member(index, offsetof(Found, pseudo)));
    a.mov(r10, rsi);
    a.xor_(edx, edx);
    if (sum.may_be_absent || sum.zero_is_illegal) {
        a.cmp(member(index, offsetof(Found, stored)), 0);
        a.jne(not_zero);
        list_zero(index);
        a.jmp(expected);
    }
    a.bind(not_zero);
    a.cmp(ax, -1);
    a.je(done);
    list_expected(index);
    list_verdict(index);
    a.bind(expected);
    write(index);
    a.bind(done);
}

/* An empty header is partial if the content was, which then is the first that was listed. */
void FillEmitter::list_header_verdict(size_t index) {
    Label done = a.newLabel();
    list_verdict(index);
    a.cmp(member(index, offsetof(Found, stored)), 0);
    a.jne(done);
    a.test(edx, edx);
    a.jz(done);
    a.cmp(byte_ptr(rsi, offsetof(Found, verdict)), CARRY_VERDICT_PARTIAL);
    a.jne(done);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.mov(member(index, offsetof(Found, cause), 1), CARRY_CAUSE_HEADER);
    a.bind(done);
}

void FillEmitter::fill_header(size_t index) {
    Label done = a.newLabel();
    sum_header(index);
    fold64();
    fold32();
    a.cmp(ax, -1);
    a.je(done);
    list_expected(index);
    list_header_verdict(index);
    write(index);
    a.bind(done);
}

/* Content that verifies is the complement of its pseudo-header, or 0 if it has none. */
void FillEmitter::fill_around(size_t index) {
    list(index);
    list_stored(index);
    load_number(ecx, plan.lengths[plan.sums[index].length].offset);
    list_pseudo(index);
    add_bytes(plan.sums[index].found.cover_offset, plan.content());
    a.mov(ecx, member(index, offsetof(Found, pseudo)));
    a.add(rax, rcx);
    a.adc(rax, 0);
    if (plan.sums[plan.innermost()].found.pseudo_protocol) {
        a.not_(edi);
        a.add(rax, rdi);
        a.adc(rax, 0);
    }
    fold64();
    fold32();
    list_zero(index);
    write(index);
}

/* A sum around others is passed over while some within are fresh, and then come back to. */
void FillEmitter::emit_judgement() {
    Label around = a.newLabel(), passed = a.newLabel(), done = a.newLabel();
    if (plan.count_around() > 1) {
        a.jmp(rare);
        return;
    }
    require_simple();
    list_at(rsi);
    fill_content();
    list_at(r10);
    a.xor_(r9d, r9d);
    for (size_t i = plan.innermost(); i-- > 0;) {
        if (!plan.is_around(i)) {
            fill_header(i);
            continue;
        }
        a.test(edx, edx);
        a.setnz(r9b);
        a.jnz(passed);
        a.bind(around);
        fill_around(i);
        a.test(r9d, r9d);
        a.jnz(done);
        a.bind(passed);
    }
    if (plan.count_around()) {
        a.test(r9d, r9d);
        a.jnz(around);
    }
    a.bind(done);
    a.mov(eax, edx);
    a.ret();
}

} // namespace carry::jit
