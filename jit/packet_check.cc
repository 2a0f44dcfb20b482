/* SPDX-License-Identifier: MIT */
/*
 * Emits packet functions that do what carry_packet_check() does: they judge the sums from the
 * innermost outwards. The content of the innermost header is summed once, and counts in the sums
 * around it.
 */
#include "packet_ops.h"

namespace carry::jit {
namespace {

class CheckEmitter {
  public:
    explicit CheckEmitter(PacketOps &packet_ops);

    void emit();

  private:
    using Label = asmjit::Label;

    /* Where the judgement of one sum continues. */
    struct Labels {
        Label bad, absent, cut, done;
    };

    void judge_header(size_t index);
    void judge_content(size_t index);
    void judge_around(size_t index);
    void verify(size_t index);
    void leave_if_zero(size_t index);
    void emit_bad(size_t index);
    void emit_around_partial(size_t index);
    void emit_absent(size_t index);
    void emit_cut(size_t index);

    PacketOps &ops;
    const PacketPlan &plan;
    Labels labels[SUMS_MAX];
};

CheckEmitter::CheckEmitter(PacketOps &packet_ops) : ops(packet_ops), plan(packet_ops.plan) {
    for (Labels &of : labels)
        of = {ops.new_label(), ops.new_label(), ops.new_label(), ops.new_label()};
}

void CheckEmitter::leave_if_zero(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    if (sum.may_be_absent || sum.zero_is_illegal)
        ops.jump_if_stored_zero(index, sum.may_be_absent ? labels[index].absent : ops.rare);
}

/* Judges a sum whose covered bytes add up to VALUE. */
void CheckEmitter::verify(size_t index) {
    ops.fold();
    ops.jump_unless_good(labels[index].bad);
    ops.bind(labels[index].done);
}

void CheckEmitter::judge_header(size_t index) {
    const uint32_t offset = plan.sums[index].found.cover_offset;
    ops.list(index);
    ops.list_no_pseudo(index);
    ops.list_stored(index);
    ops.sum_bytes(offset, offset + IPV4_HEADER_BYTES);
    verify(index);
}

/* Judges the innermost sum. Sums its content even if the sum is absent, because sums around it need
 * the sum of the content. */
void CheckEmitter::judge_content(size_t index) {
    ops.list(index);
    ops.list_stored(index);
    ops.load_content_size();
    ops.list_pseudo(index);
    if (!plan.count_around())
        leave_if_zero(index);
    ops.load_end();
    ops.jump_if_cut(labels[index].cut);
    ops.sum_content();
    if (plan.count_around())
        leave_if_zero(index);
    ops.load_pseudo_and_content(index);
    verify(index);
}

/* Judges the sum of UDP around a tunnel. If bytes follow the UDP datagram, the frame is rare. */
void CheckEmitter::judge_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    const uint32_t offset = sum.found.cover_offset;
    ops.list(index);
    ops.list_stored(index);
    ops.load_size(plan.lengths[sum.length].offset);
    ops.list_pseudo(index);
    leave_if_zero(index);
    ops.load_cover_size(index);
    ops.add_number(offset);
    ops.jump_if_cut(labels[index].cut);
    ops.jump_unless_end(ops.rare);
    ops.sum_bytes(offset, plan.content());
    ops.add_pseudo_and_content(index);
    verify(index);
}

/* Judges a bad sum that becomes good once the partial sum within is complete: see
   carry_packet_check(). */
void CheckEmitter::emit_around_partial(size_t index) {
    size_t inner = index + 1;
    while (!plan.sums[inner].found.pseudo_protocol)
        inner++;
    ops.list_around_partial(index, inner, labels[index].done);
}

/*
 * Handles a bad sum. The frame is rare if the covered bytes may all be 0; if the field of a
 * header's sum holds 0, because other sums decide whether it is partial; or if the sum is around
 * others and the architecture does not judge it.
 */
void CheckEmitter::emit_bad(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    const bool may_be_zeros = !sum.over_header && !sum.found.pseudo_protocol;
    ops.bind(labels[index].bad);
    if (may_be_zeros || (plan.is_around(index) && !ops.judges_bad_around(index)))
        return ops.jump(ops.rare);
    if (sum.over_header)
        ops.jump_if_stored_zero(index, ops.rare);
    ops.list_expected(index);
    ops.list_partial_or_bad(index);
    if (plan.is_around(index) && plan.transports_within(index))
        emit_around_partial(index);
    ops.jump(labels[index].done);
}

void CheckEmitter::emit_absent(size_t index) {
    ops.bind(labels[index].absent);
    ops.list_verdict(index, CARRY_VERDICT_ABSENT);
    ops.jump(labels[index].done);
}

/* Handles a sum whose covered bytes were not all captured; VALUE is the offset at which they
   end. */
void CheckEmitter::emit_cut(size_t index) {
    ops.bind(labels[index].cut);
    leave_if_zero(index);
    ops.list_cut(index, labels[index].done);
    ops.jump(labels[index].done);
}

void CheckEmitter::emit() {
    for (size_t i = plan.sums.count; i-- > 0;) {
        ops.select_place(i);
        if (plan.sums[i].over_header)
            judge_header(i);
        else if (i == plan.innermost())
            judge_content(i);
        else
            judge_around(i);
    }
    ops.return_number(static_cast<int>(plan.sums.count));
    for (size_t i = 0; i < plan.sums.count; i++) {
        emit_bad(i);
        emit_absent(i);
        emit_cut(i);
    }
}

} // namespace

void emit_check(PacketOps &ops) {
    CheckEmitter(ops).emit();
}

} // namespace carry::jit
