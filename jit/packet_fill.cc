/* SPDX-License-Identifier: MIT */
/*
 * Emits packet functions that do what carry_packet_fill() does: from the innermost sum outwards,
 * they list and write each sum that is not good. A sum around others is written last if any other
 * sum within it was written. A frame is rare if it cannot be judged completely before the first
 * write.
 */
#include "packet_ops.h"

namespace carry::jit {
namespace {

class FillEmitter {
  public:
    explicit FillEmitter(PacketOps &packet_ops) : ops(packet_ops), plan(packet_ops.plan) {
    }

    void emit();

  private:
    using Label = asmjit::Label;

    void require_simple();
    void fill_content();
    void fill_header(size_t index);
    void fill_around(size_t index);
    void fill_outer();
    void list_zero(size_t index);

    PacketOps &ops;
    const PacketPlan &plan;
};

/* Jumps to `rare` unless the whole packet was captured, each sum around others is absent, and no
   bytes follow the bytes that such a sum covers. */
void FillEmitter::require_simple() {
    ops.load_number(plan.lengths[0].offset);
    ops.add_number(plan.lengths[0].base);
    ops.jump_if_cut(ops.rare);
    for (size_t i = 0; i < plan.sums.count; i++) {
        const PlannedSum &sum = plan.sums[i];
        if (!plan.is_around(i))
            continue;
        ops.require_absent(i);
        ops.load_number(plan.lengths[sum.length].offset);
        ops.add_number(sum.found.cover_offset);
        ops.jump_unless_end(ops.rare);
    }
}

/* Lists a sum whose field holds 0; VALUE is folded. */
void FillEmitter::list_zero(size_t index) {
    ops.list_expected(index);
    ops.list_verdict(index,
                     plan.sums[index].may_be_absent ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_ILLEGAL);
}

/* Fills in the innermost sum. If it has no pseudo-header, a frame is rare if the covered bytes
 * around the field add up to 0, as all of them may be 0. */
void FillEmitter::fill_content() {
    const size_t index = plan.innermost();
    const PlannedSum &sum = plan.sums[index];
    const Label not_zero = ops.new_label(), expected = ops.new_label(), done = ops.new_label();
    ops.list(index);
    ops.list_stored(index);
    ops.load_content_size();
    ops.list_pseudo(index);
    ops.sum_content();
    ops.load_pseudo_and_content(index);
    ops.fold();
    if (!sum.found.pseudo_protocol)
        ops.jump_if_stored_value(index, ops.rare);
    ops.keep_pseudo(index);
    if (sum.may_be_absent || sum.zero_is_illegal) {
        ops.jump_if_stored_nonzero(index, not_zero);
        list_zero(index);
        ops.jump(expected);
    }
    ops.bind(not_zero);
    ops.jump_if_good(done);
    ops.list_expected(index);
    ops.list_partial_or_bad(index);
    ops.bind(expected);
    ops.store_expected(index);
    ops.bind(done);
}

/* Fills in the sum of a header. A field of 0 is partial if the content's sum, which is then the
 * first in the list, was partial. */
void FillEmitter::fill_header(size_t index) {
    const uint32_t offset = plan.sums[index].found.cover_offset;
    const Label store = ops.new_label(), done = ops.new_label();
    ops.list(index);
    ops.list_no_pseudo(index);
    ops.list_stored(index);
    ops.sum_bytes(offset, offset + IPV4_HEADER_BYTES);
    ops.fold();
    ops.jump_if_good(done);
    ops.list_expected(index);
    ops.list_partial_or_bad(index);
    ops.jump_if_stored_nonzero(index, store);
    ops.list_header_partial(index, store);
    ops.bind(store);
    ops.store_expected(index);
    ops.bind(done);
}

/* Fills in a sum around others. Good content sums up to the complement of its pseudo-header, or to
 * 0 without one. */
void FillEmitter::fill_around(size_t index) {
    ops.list(index);
    ops.list_stored(index);
    ops.load_size(plan.lengths[plan.sums[index].length].offset);
    ops.list_pseudo(index);
    ops.sum_bytes(plan.sums[index].found.cover_offset, plan.content());
    ops.add_pseudo(index);
    if (plan.sums[plan.innermost()].found.pseudo_protocol)
        ops.add_pseudo_complement();
    ops.fold();
    list_zero(index);
    ops.store_expected(index);
}

/* Fills in the outer sums. If sums within were written, skips a sum around others first, and fills
 * it in last. */
void FillEmitter::fill_outer() {
    const Label around = ops.new_label(), passed = ops.new_label(), done = ops.new_label();
    ops.start_outer();
    for (size_t i = plan.innermost(); i-- > 0;) {
        if (!plan.is_around(i)) {
            fill_header(i);
            continue;
        }
        ops.pass_if_listed(passed);
        ops.bind(around);
        fill_around(i);
        ops.jump_if_passed(done);
        ops.bind(passed);
    }
    if (plan.count_around())
        ops.jump_if_passed(around);
    ops.bind(done);
}

void FillEmitter::emit() {
    if (plan.count_around() > 1)
        return ops.jump(ops.rare);
    require_simple();
    ops.start_list();
    fill_content();
    fill_outer();
    ops.return_count();
}

} // namespace

void emit_fill(PacketOps &ops) {
    FillEmitter(ops).emit();
}

} // namespace carry::jit
