/* SPDX-License-Identifier: MIT */
/* Emits packet functions: they compare the shape of the frame, follow its lengths, and judge its
   sums. */
#include "packet_ops.h"

namespace carry::jit {
namespace {

/* Jumps to `none` if VALUE is not one of the numbers. */
void compare_any(PacketOps &ops, const Choice &choice, const asmjit::Label &none) {
    const asmjit::Label found = ops.new_label();
    for (uint32_t number : choice.numbers)
        ops.jump_if_value(loaded(number, choice.size), found);
    ops.jump(none);
    ops.bind(found);
}

void require_choice(PacketOps &ops, const Choice &choice) {
    ops.load(choice.offset, choice.size);
    compare_any(ops, choice, ops.other);
}

/* Requires the ports of a UDP header. The source port counts only if the destination port announces
   no tunnel. */
void require_ports(PacketOps &ops, const Ports &ports) {
    if (ports.tunnel.count == 0)
        return ops.require_no_tunnel(ports, true);
    const asmjit::Label by_source = ops.new_label(), done = ops.new_label();
    const Choice source = {ports.offset, 2, ports.tunnel};
    const Choice destination = {ports.offset + 2, 2, ports.tunnel};
    ops.load(destination.offset, destination.size);
    compare_any(ops, destination, by_source);
    ops.jump(done);
    ops.bind(by_source);
    ops.require_no_tunnel(ports, false);
    require_choice(ops, source);
    ops.bind(done);
}

void require_shape(PacketOps &ops) {
    const PacketPlan &plan = ops.plan;
    for (const Match *match = plan.matches.begin(); match != plan.matches.end();)
        ops.require_match(plan.next_group(match));
    for (const Choice &choice : plan.choices)
        require_choice(ops, choice);
    for (const Ports &ports : plan.ports)
        require_ports(ops, ports);
}

/* Requires that each length ends within the previous one, and that the last one includes all
   headers; then all lengths do. */
void follow_lengths(PacketOps &ops) {
    const PacketPlan &plan = ops.plan;
    for (const Length &length : plan.lengths) {
        ops.load_number(length.offset);
        ops.add_number(length.base);
        if (&length != plan.lengths.begin())
            ops.jump_if_above_end(ops.rare);
        ops.set_end();
    }
    ops.require_room();
}

} // namespace

void emit_packet_function(PacketOps &ops) {
    ops.start();
    require_shape(ops);
    follow_lengths(ops);
    if (ops.plan.flags & CARRY_JIT_FILL)
        emit_fill(ops);
    else
        emit_check(ops);
    ops.bind(ops.rare);
    ops.call_library();
    ops.bind(ops.other);
    ops.return_number(CARRY_JIT_OTHER_SHAPE);
    ops.place_constants();
}

} // namespace carry::jit
