/* SPDX-License-Identifier: MIT */
/* Emits template functions: they write the fields, and update the checksums that these change. */
#include "template_ops.h"

namespace carry::jit {
namespace {

class Writer {
  public:
    Writer(TemplateOps &template_ops, const TemplatePlan &template_plan);
    void write();

  private:
    void write_chunks(size_t first);
    void spread(const Effect &effect);
    void store(size_t sum);

    TemplateOps &ops;
    const TemplatePlan &plan;
    std::array<size_t, CARRY_PACKET_SUMS_MAX> accumulators; /* of the sums that change */
    std::vector<bool> done;                                 /* of the chunks */
};

Writer::Writer(TemplateOps &template_ops, const TemplatePlan &template_plan)
    : ops(template_ops), plan(template_plan), done(template_plan.chunks.size()) {
    size_t used = 0;
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            accumulators[i] = used++;
}

/* Writes the chunk `first`, and all chunks that have the same effect. */
void Writer::write_chunks(size_t first) {
    const Effect &effect = plan.chunks[first].effect;
    const bool counts = effect != Effect{};
    if (counts)
        ops.start_change();
    for (size_t i = first; i < plan.chunks.size(); i++) {
        if (plan.chunks[i].effect != effect)
            continue;
        if (counts)
            ops.add_old(plan.chunks[i]);
        ops.write_chunk(plan.chunks[i]);
        if (counts)
            ops.add_written();
        done[i] = true;
    }
    if (counts)
        ops.end_change();
    spread(effect);
}

/* Adds CHANGE to each accumulator, as often as it counts there. */
void Writer::spread(const Effect &effect) {
    for (size_t i = 0; i < plan.sums.size(); i++)
        for (int swapped = 0; swapped < 2; swapped++)
            for (int times = effect[i][swapped]; times; times += times < 0 ? 1 : -1)
                ops.add_change(accumulators[i], swapped, times < 0);
}

/* Stores a checksum. Its own change has an effect on others only if it may be absent. */
void Writer::store(size_t index) {
    const TemplateSum &sum = plan.sums[index];
    ops.store_sum(accumulators[index], sum);
    if (sum.effect != Effect{}) {
        ops.load_sum_change();
        spread(sum.effect);
    }
}

void Writer::write() {
    ops.start_function();
    for (size_t i = 0; i < plan.sums.size(); i++)
        if (plan.sums[i].changes)
            ops.start_sum(accumulators[i], plan.sums[i]);
    for (size_t i = 0; i < plan.chunks.size(); i++)
        if (!done[i])
            write_chunks(i);
    for (size_t i = plan.sums.size(); i-- > 0;)
        if (plan.sums[i].changes)
            store(i);
    ops.end_function();
}

} // namespace

void emit_template_function(TemplateOps &ops, const TemplatePlan &plan) {
    Writer(ops, plan).write();
}

} // namespace carry::jit
