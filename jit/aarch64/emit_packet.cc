/* SPDX-License-Identifier: MIT */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::a64;
using asmjit::arm::lsr;
using asmjit::arm::ptr;

namespace {

constexpr uint32_t NEAR_MAX = 255; /* offsets that loads of any alignment reach */
constexpr uint32_t PORTS_PER_VECTOR = 8;
constexpr uint32_t WORD_BYTES = 8;

/* Of the content of the innermost header. */
SumPlan plan_content(const PacketPlan &plan) {
    SumPlan content = {};
    content.min_size = WORD_BYTES;
    content.max_size = CONTENT_MAX;
    content.multiple = 1;
    content.alignment = 1;
    content.vector_bits = plan.vector_bits;
    return content;
}

} // namespace

PacketEmitter::PacketEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan)
    : a(&code), plan(packet_plan), content_plan(plan_content(packet_plan)),
      content_sum(a, content_plan, {x9, x10, {}}) {
    for (Label &label : constants)
        label = a.newLabel();
    for (Label *label : {&other, &rare, &ports_table})
        *label = a.newLabel();
}

/* --- Loads and additions --- */

PacketEmitter::Mem PacketEmitter::data(uint32_t offset, uint32_t size) {
    if (offset <= NEAR_MAX || offset % size == 0)
        return ptr(x3, static_cast<int32_t>(offset));
    a.mov(w16, offset);
    return ptr(x3, x16);
}

PacketEmitter::Mem PacketEmitter::member(size_t offset) {
    return ptr(x13, static_cast<int32_t>(offset));
}

void PacketEmitter::load(const Gp &to, uint32_t offset, uint32_t size) {
    const Mem from = data(offset, size);
    if (size == 8)
        a.ldr(to.x(), from);
    else if (size == 4)
        a.ldr(to.w(), from);
    else if (size == 2)
        a.ldrh(to.w(), from);
    else
        a.ldrb(to.w(), from);
}

void PacketEmitter::load_number(const Gp &to, uint32_t offset) {
    load(to, offset, 2);
    a.rev16(to.w(), to.w());
}

/* Loads leave the carry alone. */
void PacketEmitter::add_bytes(uint32_t from, uint32_t to) {
    load(x6, from, 8);
    a.adds(x6, x6, xzr); /* no carry */
    for (from += 8; from < to;) {
        uint32_t size = to - from >= 8 ? 8 : to - from >= 4 ? 4 : 2;
        load(x7, from, size);
        a.adcs(x6, x6, x7);
        from += size;
    }
    a.adc(x6, x6, xzr);
}

void PacketEmitter::add_term(const Gp &term) {
    a.adds(x6, x6, term.x());
    a.adc(x6, x6, xzr);
}

void PacketEmitter::fold64() {
    a.lsr(x7, x6, 32);
    a.adds(w6, w6, w7);
    a.adc(w6, w6, wzr);
}

void PacketEmitter::fold32() {
    a.ror(w7, w6, 16);
    a.add(w6, w6, w7);
    a.lsr(w6, w6, 16);
}

void PacketEmitter::add16(const Gp &to, const Gp &word) {
    a.add(to, to, word);
    a.add(to, to, to, lsr(16));
    a.and_(to, to, 0xffff);
}

void PacketEmitter::require(uint32_t number, const Label &differs) {
    a.mov(w7, number);
    a.cmp(w6, w7);
    a.b_ne(differs);
}

/* --- The shape --- */

void PacketEmitter::compare(const MatchGroup &group) {
    load(x6, group.offset, group.size);
    a.mov(x7, group.mask);
    a.and_(x6, x6, x7);
    a.mov(x7, group.value);
    a.cmp(x6, x7);
    a.b_ne(other);
}

/* Goes to `none` if w6 holds none of the numbers. */
void PacketEmitter::compare_any(const Choice &choice, const Label &none) {
    Label found = a.newLabel();
    for (uint32_t number : choice.numbers) {
        a.mov(w7, loaded(number, choice.size));
        a.cmp(w6, w7);
        a.b_eq(found);
    }
    a.b(none);
    a.bind(found);
}

void PacketEmitter::compare_choice(const Choice &choice) {
    load(x6, choice.offset, choice.size);
    compare_any(choice, other);
}

/* It is another shape if one of so many ports announces a tunnel. */
void PacketEmitter::leave_if_tunnel(uint32_t offset, uint32_t count) {
    a.adr(x7, ports_table);
    a.movi(v1.h8(), 0);
    for (uint32_t port = 0; port < count; port++) {
        load(x6, offset + 2 * port, 2);
        a.dup(v0.h8(), w6);
        for (uint32_t i = 0; i < tunnel_ports().count; i += PORTS_PER_VECTOR) {
            a.ldr(q2, ptr(x7, static_cast<int32_t>(2 * i)));
            a.cmeq(v2.h8(), v2.h8(), v0.h8());
            a.orr(v1.b16(), v1.b16(), v2.b16());
        }
    }
    a.umaxv(h1, v1.h8());
    a.fmov(w6, s1);
    a.cbnz(w6, other);
}

/* The source port tells only if the destination port announces nothing. */
void PacketEmitter::compare_ports(const Ports &ports) {
    if (ports.tunnel.count == 0)
        return leave_if_tunnel(ports.offset, 2);
    Label by_source = a.newLabel(), done = a.newLabel();
    const Choice source = {ports.offset, 2, ports.tunnel};
    const Choice destination = {ports.offset + 2, 2, ports.tunnel};
    load(x6, destination.offset, 2);
    compare_any(destination, by_source);
    a.b(done);
    a.bind(by_source);
    leave_if_tunnel(destination.offset, 1);
    compare_choice(source);
    a.bind(done);
}

void PacketEmitter::compare_shape() {
    a.ldr(w11, ptr(x0, offsetof(struct carry_frame, captured)));
    a.ldr(x3, ptr(x0, offsetof(struct carry_frame, data)));
    a.ldr(w6, ptr(x0, offsetof(struct carry_frame, linktype)));
    require(plan.linktype, other);
    a.cmp(w11, plan.size);
    a.b_lo(other);
    for (const Match *match = plan.matches.begin(); match != plan.matches.end();)
        compare(plan.next_group(match));
    for (const Choice &choice : plan.choices)
        compare_choice(choice);
    for (const Ports &ports : plan.ports)
        compare_ports(ports);
}

/* Each ends within the one before it, and the last holds its headers: so do all. */
void PacketEmitter::follow_lengths() {
    for (const Length &length : plan.lengths) {
        load_number(x6, length.offset);
        a.add(w6, w6, length.base);
        if (&length != plan.lengths.begin()) {
            a.cmp(w6, w11);
            a.b_hi(rare);
        }
        a.mov(w11, w6);
    }
    a.cmp(w11, plan.size);
    a.b_lo(rare);
    a.cmp(x2, plan.sums.count);
    a.b_lo(rare);
}

/* --- Sums --- */

void PacketEmitter::list(size_t index) {
    a.adr(x6, constants[index]);
    a.ldp(q0, q1, ptr(x6));
    a.stp(q0, q1, member(0));
}

void PacketEmitter::list_stored(size_t index) {
    load_number(x6, plan.sums[index].found.field_offset);
    a.str(w6, member(offsetof(Found, stored)));
    a.str(w6, member(offsetof(Found, expected)));
}

/* Words of 32 bits, added in any order, fold to the same 32 bits unless all are 0. */
void PacketEmitter::list_pseudo(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    a.str(w6, member(offsetof(Found, cover_size)));
    if (!sum.found.pseudo_protocol) {
        a.str(wzr, member(offsetof(Found, pseudo_size)));
        return;
    }
    a.str(w6, member(offsetof(Found, pseudo_size)));
    a.rev(w14, w6);
    a.mov(w7, static_cast<uint32_t>(sum.found.pseudo_protocol) << 24);
    a.add(x14, x14, x7);
    add_bytes(sum.addresses, sum.addresses + (sum.found.version == 4 ? 8 : 32));
    add_term(x14);
    fold64();
    a.str(w6, member(offsetof(Found, pseudo)));
}

void PacketEmitter::sum_content() {
    a.sub(w10, w11, plan.content());
    a.add(x9, x3, plan.content());
    content_sum.add_run(w12);
}

void PacketEmitter::sum_header(size_t index) {
    uint32_t offset = plan.sums[index].found.cover_offset;
    list(index);
    a.str(wzr, member(offsetof(Found, pseudo_size)));
    list_stored(index);
    add_bytes(offset, offset + 20);
}

/* UDP stores 0xffff in place of 0. */
void PacketEmitter::list_expected(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    load(x7, sum.found.field_offset, 2);
    a.eor(w7, w7, 0xffff);
    add16(w6, w7);
    a.mov(w7, 0xffff);
    a.eor(w6, w6, w7);
    if (sum.found.protocol == CARRY_PROTOCOL_UDP) {
        a.cmp(w6, 0);
        a.csel(w6, w7, w6, CondCode::kEQ);
    }
    a.rev16(w6, w6);
    a.str(w6, member(offsetof(Found, expected)));
}

/* Offload leaves the pseudo-header, for large sends without the length. */
void PacketEmitter::list_verdict(size_t index) {
    constexpr uint32_t EQUAL = 4; /* the flag Z */
    a.mov(w8, CARRY_VERDICT_BAD);
    if (plan.sums[index].found.pseudo_protocol) {
        a.ldr(w14, member(offsetof(Found, pseudo)));
        a.ldr(w6, member(offsetof(Found, pseudo_size)));
        a.rev(w6, w6);
        a.mvn(w6, w6);
        a.adds(w6, w6, w14);
        a.adc(w6, w6, wzr);
        fold32();
        a.mov(w9, w6);
        a.mov(w6, w14);
        fold32();
        load(x7, plan.sums[index].found.field_offset, 2);
        a.cmp(w6, w7);
        a.ccmp(w9, w7, EQUAL, asmjit::arm::CondCode::kNE);
        a.mov(w6, CARRY_VERDICT_PARTIAL);
        a.csel(w8, w6, w8, CondCode::kEQ);
    }
    a.strb(w8, member(offsetof(Found, verdict)));
}

/* --- The whole --- */

/* The same call, with options of NULL; through x16, as a branch to the landing pad of a function
   has to be. */
void PacketEmitter::emit_rare() {
    auto function = plan.flags & CARRY_JIT_FILL ? carry_packet_fill : carry_packet_check;
    a.bind(rare);
    a.mov(x3, x2);
    a.mov(x2, x1);
    a.mov(x1, xzr);
    a.mov(x16, reinterpret_cast<uintptr_t>(function));
    a.br(x16);
    a.bind(other);
    a.mov(w0, static_cast<uint32_t>(CARRY_JIT_OTHER_SHAPE));
    a.ret(x30);
}

void PacketEmitter::emit_constants() {
    a.align(asmjit::AlignMode::kData, 16);
    for (size_t i = 0; i < plan.sums.count; i++) {
        a.bind(constants[i]);
        a.embed(&plan.sums[i].found, 32);
    }
    a.bind(ports_table);
    for (uint32_t i = 0; i % PORTS_PER_VECTOR || i < tunnel_ports().count; i++) {
        uint32_t port = tunnel_ports()[i < tunnel_ports().count ? i : 0];
        a.embedUInt16(static_cast<uint16_t>(loaded(port, 2)));
    }
}

void PacketEmitter::emit() {
    a.hint(LANDING_PAD);
    compare_shape();
    follow_lengths();
    emit_judgement();
    emit_rare();
    emit_constants();
}

} // namespace carry::jit
