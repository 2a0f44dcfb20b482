/* SPDX-License-Identifier: MIT */
/*
 * As carry_packet_fill(): from the innermost outwards, what is not good is listed and written, one
 * behind the other; a sum around others comes last if any of those was written. What cannot be
 * told before the first write is rare.
 *
 *   w4     the pseudo-header of the content     w15    how many sums were listed
 *   w5     1: a sum around others was passed over
 */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::a64;
using asmjit::arm::ptr;

/* All that is said of the frame was captured. */
void FillEmitter::require_simple() {
    load_number(x6, plan.lengths[0].offset);
    a.add(w6, w6, plan.lengths[0].base);
    a.ldr(w7, ptr(x0, offsetof(struct carry_frame, captured)));
    a.cmp(w6, w7);
    a.b_hi(rare);
    for (size_t i = 0; i < plan.sums.count; i++)
        if (plan.is_around(i))
            require_zero_around(i);
}

/* The sender leaves it out, and nothing lies behind what it carries. */
void FillEmitter::require_zero_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    load(x6, sum.found.field_offset, 2);
    a.cbnz(w6, rare);
    load_number(x6, plan.lengths[sum.length].offset);
    a.add(w6, w6, sum.found.cover_offset);
    a.cmp(w6, w11);
    a.b_ne(rare);
}

/* Stores what is expected, and goes on to the next place. */
void FillEmitter::write(size_t index) {
    a.ldr(w6, member(offsetof(Found, expected)));
    a.rev16(w6, w6);
    a.strh(w6, data(plan.sums[index].found.field_offset, 2));
    a.add(x13, x13, sizeof(Found));
    a.add(w15, w15, 1);
}

/* w6 holds what the sum, with 0 in its field, folds to. */
void FillEmitter::list_zero(size_t index) {
    list_expected(index);
    a.mov(w6, plan.sums[index].may_be_absent ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_ILLEGAL);
    a.strb(w6, member(offsetof(Found, verdict)));
}

/* Where nothing tells zeros alone from what adds up to 0, it is rare. */
void FillEmitter::fill_content() {
    const size_t index = plan.innermost();
    const PlannedSum &sum = plan.sums[index];
    Label not_zero = a.newLabel(), expected = a.newLabel(), done = a.newLabel();
    list(index);
    list_stored(index);
    a.sub(w6, w11, plan.content());
    list_pseudo(index);
    sum_content();
    a.ldr(w4, member(offsetof(Found, pseudo)));
    a.add(x6, x4, x12);
    fold64();
    fold32();
    if (!sum.found.pseudo_protocol) {
        load(x7, sum.found.field_offset, 2);
        a.cmp(w6, w7);
        a.b_eq(rare);
    }
    a.mov(w15, wzr);
    if (sum.may_be_absent || sum.zero_is_illegal) {
        a.ldr(w7, member(offsetof(Found, stored)));
        a.cbnz(w7, not_zero);
        list_zero(index);
        a.b(expected);
    }
    a.bind(not_zero);
    a.mov(w7, 0xffff);
    a.cmp(w6, w7);
    a.b_eq(done);
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
    a.ldr(w7, member(offsetof(Found, stored)));
    a.cbnz(w7, done);
    a.cbz(w15, done);
    a.ldrb(w7, ptr(x1, offsetof(Found, verdict)));
    a.cmp(w7, CARRY_VERDICT_PARTIAL);
    a.b_ne(done);
    a.strb(w7, member(offsetof(Found, verdict)));
    a.mov(w7, CARRY_CAUSE_HEADER);
    a.strb(w7, member(offsetof(Found, cause)));
    a.bind(done);
}

void FillEmitter::fill_header(size_t index) {
    Label done = a.newLabel();
    sum_header(index);
    fold64();
    fold32();
    a.mov(w7, 0xffff);
    a.cmp(w6, w7);
    a.b_eq(done);
    list_expected(index);
    list_header_verdict(index);
    write(index);
    a.bind(done);
}

/* Content that verifies is the complement of its pseudo-header, or 0 if it has none. */
void FillEmitter::fill_around(size_t index) {
    list(index);
    list_stored(index);
    load_number(x6, plan.lengths[plan.sums[index].length].offset);
    list_pseudo(index);
    add_bytes(plan.sums[index].found.cover_offset, plan.content());
    a.ldr(w7, member(offsetof(Found, pseudo)));
    add_term(x7);
    if (plan.sums[plan.innermost()].found.pseudo_protocol) {
        a.mvn(w7, w4);
        add_term(x7);
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
        a.b(rare);
        return;
    }
    require_simple();
    a.mov(x13, x1);
    fill_content();
    a.mov(w5, wzr);
    for (size_t i = plan.innermost(); i-- > 0;) {
        if (!plan.is_around(i)) {
            fill_header(i);
            continue;
        }
        a.cmp(w15, 0);
        a.cset(w5, CondCode::kNE);
        a.b_ne(passed);
        a.bind(around);
        fill_around(i);
        a.cbnz(w5, done);
        a.bind(passed);
    }
    if (plan.count_around())
        a.cbnz(w5, around);
    a.bind(done);
    a.mov(w0, w15);
    a.ret(x30);
}

} // namespace carry::jit
