/* SPDX-License-Identifier: MIT */
#include "emit_packet.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

int32_t displacement(size_t offset) {
    return static_cast<int32_t>(offset);
}

} // namespace

/* What a sum spoils that is wanted behind it. */
const Gp kept[] = {rdx, rdi, rsi, r9};

SumRegisters registers_of_content() {
    SumRegisters at;
    at.data = r11;
    at.size = rax;
    at.acc = r10;
    at.scratch[0] = rcx;
    for (size_t i = 0; i < 4; i++)
        at.scratch[i + 1] = kept[i];
    return at;
}

PacketEmitter::PacketEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan)
    : a(&code), plan(packet_plan),
      content_sum(a, {packet_plan.vector_bits, packet_plan.features}, registers_of_content()) {
    for (Label &label : constants)
        label = a.newLabel();
    for (Label *label : {&other, &rare, &ports_table})
        *label = a.newLabel();
}

/* --- Loads and additions --- */

Mem PacketEmitter::data(size_t offset, uint32_t size) const {
    return Mem(r8, displacement(offset), size);
}

Mem PacketEmitter::member(size_t index, size_t offset, uint32_t size) const {
    if (shared_base.isValid())
        return Mem(shared_base, displacement(offset), size);
    return Mem(rsi, displacement(index * sizeof(Found) + offset), size);
}

void PacketEmitter::load(const Gp &to, size_t offset, uint32_t size) {
    if (size == 8)
        a.mov(to.r64(), data(offset, 8));
    else if (size == 4)
        a.mov(to.r32(), data(offset, 4));
    else
        a.movzx(to.r32(), data(offset, size));
}

void PacketEmitter::load_number(const Gp &to, size_t offset) {
    load(to, offset, 2);
    a.rol(to.r16(), 8);
}

void PacketEmitter::add_bytes(size_t from, size_t to) {
    load(rax, from, 8);
    a.xor_(ecx, ecx); /* no carry */
    for (from += 8; from < to;) {
        uint32_t size = to - from >= 8 ? 8 : to - from >= 4 ? 4 : 2;
        load(rcx, from, size);
        a.adc(rax, rcx);
        from += size;
    }
    a.adc(rax, 0);
}

void PacketEmitter::fold64() {
    a.mov(rcx, rax);
    a.shr(rcx, 32);
    a.add(eax, ecx);
    a.adc(eax, 0);
}

void PacketEmitter::fold32() {
    a.mov(ecx, eax);
    a.shr(ecx, 16);
    add16(ax, cx);
}

void PacketEmitter::add16(const Gp &to, const Gp &word) {
    a.add(to, word);
    a.adc(to, 0);
}

/* --- The shape --- */

void PacketEmitter::compare(const MatchGroup &group) {
    load(rax, group.offset, group.size);
    if (group.size == 8) {
        a.mov(rcx, group.mask);
        a.and_(rax, rcx);
        a.mov(rcx, group.value);
        a.cmp(rax, rcx);
    } else {
        a.and_(eax, static_cast<uint32_t>(group.mask));
        a.cmp(eax, static_cast<uint32_t>(group.value));
    }
    a.jne(other);
}

/* Goes to `none` if eax holds none of the numbers. */
void PacketEmitter::compare_any(const Choice &choice, const Label &none) {
    Label found = a.newLabel();
    for (uint32_t number : choice.numbers) {
        a.cmp(eax, loaded(number, choice.size));
        a.je(found);
    }
    a.jmp(none);
    a.bind(found);
}

void PacketEmitter::compare_choice(const Choice &choice) {
    load(eax, choice.offset, choice.size);
    compare_any(choice, other);
}

/* eax: a bit for each byte of the source port, and from 8 on the destination port, that is equal
   to one of ports_table. */
void PacketEmitter::find_tunnel_ports(const Ports &ports) {
    a.movd(xmm1, data(ports.offset, 4));
    a.pshuflw(xmm0, xmm1, 0x00);
    a.pshuflw(xmm1, xmm1, 0x55);
    a.punpcklqdq(xmm0, xmm1);
    a.pxor(xmm1, xmm1);
    for (uint32_t i = 0; i < tunnel_ports().count; i += 4) {
        a.movdqa(xmm2, ptr(ports_table, displacement(i * 4)));
        a.pcmpeqw(xmm2, xmm0);
        a.por(xmm1, xmm2);
    }
    a.pmovmskb(eax, xmm1);
}

/* The source port tells only if the destination port announces nothing. */
void PacketEmitter::compare_source(const Ports &ports) {
    find_tunnel_ports(ports);
    a.test(eax, 0xff00);
    a.jnz(other);
    Choice source = {ports.offset, 2, ports.tunnel};
    compare_choice(source);
}

void PacketEmitter::compare_ports(const Ports &ports) {
    if (ports.tunnel.count == 0) {
        find_tunnel_ports(ports);
        a.test(eax, eax);
        a.jnz(other);
        return;
    }
    Label by_source = a.newLabel(), done = a.newLabel();
    Choice destination = {ports.offset + 2, 2, ports.tunnel};
    load(eax, destination.offset, 2);
    compare_any(destination, by_source);
    a.jmp(done);
    a.bind(by_source);
    compare_source(ports);
    a.bind(done);
}

void PacketEmitter::compare_shape() {
    a.mov(r9d, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.mov(r8, qword_ptr(rdi, offsetof(struct carry_frame, data)));
    a.cmp(dword_ptr(rdi, offsetof(struct carry_frame, linktype)), plan.linktype);
    a.jne(other);
    a.cmp(r9d, plan.size);
    a.jb(other);
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
        load_number(eax, length.offset);
        a.add(eax, length.base);
        if (&length != plan.lengths.begin()) {
            a.cmp(eax, r9d);
            a.ja(rare);
        }
        a.mov(r9d, eax);
    }
    a.cmp(r9d, plan.size);
    a.jb(rare);
    a.cmp(rdx, plan.sums.count);
    a.jb(rare);
}

/* --- Sums --- */

void PacketEmitter::list_at(const Gp &base) {
    shared_base = base;
}

void PacketEmitter::list(size_t index) {
    a.movdqa(xmm0, ptr(constants[index]));
    a.movdqa(xmm1, ptr(constants[index], 16));
    a.movups(member(index, 0, 16), xmm0);
    a.movups(member(index, 16, 16), xmm1);
}

void PacketEmitter::list_stored(size_t index) {
    load_number(eax, plan.sums[index].found.field_offset);
    a.mov(member(index, offsetof(Found, stored)), eax);
    a.mov(member(index, offsetof(Found, expected)), eax);
}

/* Words of 32 bits, added in any order, fold to the same 32 bits unless all are 0. */
void PacketEmitter::list_pseudo(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    a.mov(member(index, offsetof(Found, cover_size)), ecx);
    if (!sum.found.pseudo_protocol) {
        a.mov(member(index, offsetof(Found, pseudo_size)), 0);
        return;
    }
    a.mov(member(index, offsetof(Found, pseudo_size)), ecx);
    a.bswap(ecx);
    a.lea(r11, ptr(rcx, displacement(static_cast<size_t>(sum.found.pseudo_protocol) << 24)));
    add_bytes(sum.addresses, sum.addresses + (sum.found.version == 4 ? 8 : 32));
    a.add(rax, r11);
    a.adc(rax, 0);
    fold64();
    a.mov(member(index, offsetof(Found, pseudo)), eax);
}

/* The stack pointer stays where it is, for debuggers: registers are kept below it. */
void PacketEmitter::sum_content() {
    int32_t below = 0;
    a.mov(eax, r9d);
    a.sub(eax, plan.content());
    a.lea(r11, data(plan.content(), 8));
    for (const Gp &of : kept)
        a.mov(qword_ptr(rsp, below -= 8), of);
    content_sum.start();
    content_sum.add(0, {WORD_BYTES, CONTENT_MAX, 1});
    content_sum.fold();
    content_sum.leave();
    below = 0;
    for (const Gp &of : kept)
        a.mov(of, qword_ptr(rsp, below -= 8));
}

void PacketEmitter::sum_header(size_t index) {
    uint32_t offset = plan.sums[index].found.cover_offset;
    list(index);
    a.mov(member(index, offsetof(Found, pseudo_size)), 0);
    list_stored(index);
    add_bytes(offset, offset + 20);
}

void PacketEmitter::verify(const Label &bad) {
    fold64();
    fold32();
    a.cmp(ax, -1);
    a.jne(bad);
}

void PacketEmitter::list_expected(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    a.mov(r11d, eax);
    load(ecx, sum.found.field_offset, 2);
    a.not_(ecx);
    add16(ax, cx);
    a.not_(eax);
    if (sum.found.protocol == CARRY_PROTOCOL_UDP) {
        /* 0xffff in place of 0. */
        a.cmp(ax, 1);
        a.sbb(ecx, ecx);
        a.or_(eax, ecx);
    }
    a.rol(ax, 8);
    a.movzx(eax, ax);
    a.mov(member(index, offsetof(Found, expected)), eax);
}

/* Offload leaves the pseudo-header, for large sends without the length. */
void PacketEmitter::list_verdict(size_t index) {
    Mem verdict = member(index, offsetof(Found, verdict), 1);
    Mem stored = data(plan.sums[index].found.field_offset, 2);
    Label partial = a.newLabel(), bad = a.newLabel();
    a.mov(verdict, CARRY_VERDICT_BAD);
    if (!plan.sums[index].found.pseudo_protocol)
        return;
    a.mov(eax, member(index, offsetof(Found, pseudo)));
    fold32();
    a.cmp(ax, stored);
    a.je(partial);
    a.mov(ecx, member(index, offsetof(Found, pseudo_size)));
    a.bswap(ecx);
    a.not_(ecx);
    a.mov(eax, member(index, offsetof(Found, pseudo)));
    a.add(eax, ecx);
    a.adc(eax, 0);
    fold32();
    a.cmp(ax, stored);
    a.jne(bad);
    a.bind(partial);
    a.mov(verdict, CARRY_VERDICT_PARTIAL);
    a.bind(bad);
}

/* --- The whole --- */

/* The same call, with options of NULL. */
void PacketEmitter::emit_rare() {
    auto function = plan.flags & CARRY_JIT_FILL ? carry_packet_fill : carry_packet_check;
    a.bind(rare);
    a.mov(rcx, rdx);
    a.mov(rdx, rsi);
    a.xor_(esi, esi);
    a.mov(rax, reinterpret_cast<uintptr_t>(function));
    a.jmp(rax);
    a.bind(other);
    a.mov(eax, CARRY_JIT_OTHER_SHAPE);
    a.ret();
}

void PacketEmitter::emit_constants() {
    content_sum.place_constants();
    a.align(asmjit::AlignMode::kData, 16);
    for (size_t i = 0; i < plan.sums.count; i++) {
        a.bind(constants[i]);
        a.embed(&plan.sums[i].found, 32);
    }
    a.bind(ports_table);
    for (uint32_t i = 0; i < tunnel_ports().count; i += 4)
        for (uint32_t j = i; j < i + 8; j++) {
            uint32_t of = i + j % 4 < tunnel_ports().count ? i + j % 4 : 0;
            a.embedUInt16(static_cast<uint16_t>(loaded(tunnel_ports()[of], 2)));
        }
}

void PacketEmitter::emit() {
    a.endbr64();
    compare_shape();
    follow_lengths();
    emit_judgement();
    emit_rare();
    emit_constants();
}

} // namespace carry::jit
