/* SPDX-License-Identifier: MIT */
/*
 * As carry_packet_fill(): from the innermost outwards, what is not good is listed and written, one
 * behind the other. What cannot be told before the first write is rare.
 *
 *   w15    how many were listed
 */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::a64;
using asmjit::arm::ptr;

/* All that is said of the frame. */
void FillEmitter::require_captured() {
    load_number(x6, plan.lengths[0].offset);
    a.add(w6, w6, plan.lengths[0].base);
    a.ldr(w7, ptr(x0, offsetof(struct carry_frame, captured)));
    a.cmp(w6, w7);
    a.b_hi(rare);
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
    a.ldr(w6, member(offsetof(Found, pseudo)));
    a.add(x6, x6, x12);
    fold64();
    fold32();
    load(x7, sum.found.field_offset, 2);
    if (!sum.found.pseudo_protocol) {
        a.cmp(w6, w7);
        a.b_eq(rare);
    }
    if (sum.may_be_absent || sum.zero_is_illegal) {
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

void FillEmitter::fill_header(size_t index) {
    Label done = a.newLabel();
    sum_header(index);
    fold64();
    fold32();
    a.mov(w7, 0xffff);
    a.cmp(w6, w7);
    a.b_eq(done);
    list_expected(index);
    list_verdict(index);
    write(index);
    a.bind(done);
}

void FillEmitter::emit_judgement() {
    if (plan.count_around()) {
        a.b(rare);
        return;
    }
    require_captured();
    a.mov(w15, wzr);
    a.mov(x13, x1);
    fill_content();
    for (size_t i = plan.innermost(); i-- > 0;)
        fill_header(i);
    a.mov(w0, w15);
    a.ret(x30);
}

} // namespace carry::jit
