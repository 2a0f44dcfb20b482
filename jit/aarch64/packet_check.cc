/* SPDX-License-Identifier: MIT */
/*
 * As carry_packet_check(): judges the sums from the innermost outwards. The content of the
 * innermost header is summed once, and counts in the sums around it.
 */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::a64;
using asmjit::arm::ptr;

CheckEmitter::CheckEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan)
    : PacketEmitter(code, packet_plan) {
    for (Labels &of : labels)
        of = {a.newLabel(), a.newLabel(), a.newLabel(), a.newLabel()};
}

/* Each sum has a place of its own. */
void CheckEmitter::enter(size_t index) {
    a.add(x13, x1, index * sizeof(Found));
}

void CheckEmitter::leave_if_zero(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    if (!sum.may_be_absent && !sum.zero_is_illegal)
        return;
    a.ldr(w7, member(offsetof(Found, stored)));
    a.cbz(w7, sum.may_be_absent ? labels[index].absent : rare);
}

/* Where w6, the end of what is covered, is beyond what was captured. */
void CheckEmitter::leave_if_cut(size_t index) {
    a.ldr(w7, ptr(x0, offsetof(struct carry_frame, captured)));
    a.cmp(w6, w7);
    a.b_hi(labels[index].cut);
}

/* What x6 holds is the sum of all that is covered. */
void CheckEmitter::verify(size_t index) {
    fold64();
    fold32();
    require(0xffff, labels[index].bad);
    a.bind(labels[index].done);
}

void CheckEmitter::judge_header(size_t index) {
    sum_header(index);
    verify(index);
}

/* The innermost. Sums around it want its bytes summed even where its own sum is absent. */
void CheckEmitter::judge_content(size_t index) {
    list(index);
    list_stored(index);
    a.sub(w6, w11, plan.content());
    list_pseudo(index);
    if (!plan.count_around())
        leave_if_zero(index);
    a.mov(w6, w11);
    leave_if_cut(index);
    sum_content();
    if (plan.count_around())
        leave_if_zero(index);
    a.ldr(w4, member(offsetof(Found, pseudo)));
    a.add(x6, x4, x12);
    verify(index);
}

/* UDP around tunnels. With bytes behind what it carries, it is rare. */
void CheckEmitter::judge_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    uint32_t offset = sum.found.cover_offset;
    list(index);
    list_stored(index);
    load_number(x6, plan.lengths[sum.length].offset);
    list_pseudo(index);
    leave_if_zero(index);
    a.ldr(w6, member(offsetof(Found, cover_size)));
    a.add(w6, w6, offset);
    leave_if_cut(index);
    a.cmp(w6, w11);
    a.b_ne(rare);
    add_bytes(offset, plan.content());
    a.ldr(w7, member(offsetof(Found, pseudo)));
    a.add(x7, x7, x12);
    add_term(x7);
    verify(index);
}

/* Where nothing is known not to be 0, or a header is empty, which other sums tell of, it is rare.
 */
void CheckEmitter::emit_bad(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    bool may_be_zeros = !sum.over_header && !sum.found.pseudo_protocol;
    a.bind(labels[index].bad);
    if (may_be_zeros || plan.is_around(index)) {
        a.b(rare);
        return;
    }
    if (sum.over_header) {
        a.ldr(w7, member(offsetof(Found, stored)));
        a.cbz(w7, rare);
    }
    list_expected(index);
    list_verdict(index);
    a.b(labels[index].done);
}

void CheckEmitter::emit_absent(size_t index) {
    a.bind(labels[index].absent);
    a.mov(w6, CARRY_VERDICT_ABSENT);
    a.strb(w6, member(offsetof(Found, verdict)));
    a.b(labels[index].done);
}

/* Covered bytes were not captured, or not even on the wire. w6 holds where they end. */
void CheckEmitter::emit_cut(size_t index) {
    a.bind(labels[index].cut);
    leave_if_zero(index);
    a.ldr(w7, ptr(x0, offsetof(struct carry_frame, wire)));
    a.cmp(w6, w7);
    a.mov(w6, CARRY_REASON_SNAPLEN);
    a.mov(w7, CARRY_REASON_LENGTH);
    a.csel(w6, w7, w6, CondCode::kHI);
    a.strb(w6, member(offsetof(Found, reason)));
    a.mov(w6, CARRY_VERDICT_UNVERIFIABLE);
    a.strb(w6, member(offsetof(Found, verdict)));
    a.str(wzr, member(offsetof(Found, expected)));
    a.b(labels[index].done);
}

void CheckEmitter::emit_judgement() {
    for (size_t i = plan.sums.count; i-- > 0;) {
        enter(i);
        if (plan.sums[i].over_header)
            judge_header(i);
        else if (i == plan.innermost())
            judge_content(i);
        else
            judge_around(i);
    }
    a.mov(w0, plan.sums.count);
    a.ret(x30);
    for (size_t i = 0; i < plan.sums.count; i++) {
        emit_bad(i);
        emit_absent(i);
        emit_cut(i);
    }
}

} // namespace carry::jit
