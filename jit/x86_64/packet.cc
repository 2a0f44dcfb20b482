/* SPDX-License-Identifier: MIT */
/*
 * int function(const struct carry_frame *frame, struct carry_packet_sum *sums, size_t capacity)
 *
 * Compares what tells the shape, follows the lengths, and judges the sums from the innermost
 * outwards: the content of the innermost header is summed once, and counts in the sums around it.
 *
 * On verdicts: pseudo-headers and IPv4 headers are never all zeros, so that a partial sum with one
 * in it folds to 1..0xffff, and to 0xffff if it verifies. What its field should hold is the
 * complement of that, less what the field holds. The rest, and all that is rare, is left to the
 * function of <carry/packet.h>, by a tail call.
 *
 *   rdi    frame                   r8   its data
 *   rsi    sums                    r9   where the content of the innermost header ends
 *   rdx    capacity                r10  the partial sum of that content, in 32 bits
 *   rax, rcx, r11, xmm0 to xmm2 for anything
 */
#include "../packet.h"

#include <asmjit/x86.h>

namespace carry::jit {
namespace {

using namespace asmjit::x86;
using asmjit::Error;
using asmjit::Label;

using Found = struct carry_packet_sum;

/* Runs of so many bytes and more are worth the call of a compiled kernel. */
constexpr uint32_t KERNEL_BYTES = 128;

int32_t displacement(size_t offset) {
    return static_cast<int32_t>(offset);
}

/* A number as it is loaded from the network's byte order. */
uint32_t loaded(uint32_t number, uint32_t size) {
    return __builtin_bswap32(number) >> 8 * (4 - size);
}

/* Notes the first thing that went wrong. */
class FirstError : public asmjit::ErrorHandler {
  public:
    void handleError(Error error, const char *, asmjit::BaseEmitter *) override {
        if (!first)
            first = error;
    }
    Error first = asmjit::kErrorOk;
};

/* Up to 8 bytes that are compared at once. */
struct Group {
    uint32_t offset, size;
    uint64_t mask, value;
};

class Generator {
  public:
    Generator(asmjit::CodeHolder &code, const PacketPlan &packet_plan);
    void emit();

  private:
    /* Where the judgement of one sum goes on, and where what it lists of it is kept. */
    struct Labels {
        Label bad, absent, cut, done, constants;
    };

    Mem data(size_t offset, uint32_t size) const;
    Mem member(size_t index, size_t offset, uint32_t size = 4) const;
    void load(const Gp &to, size_t offset, uint32_t size);
    void load_number(const Gp &to, size_t offset);
    void add_bytes(size_t from, size_t to);
    void fold64();
    void fold32();
    void add16(const Gp &to, const Gp &word);

    void compare_shape();
    Group next_group(const Match *&match) const;
    void compare(const Group &group);
    void compare_choice(const Choice &choice);
    void compare_any(const Choice &choice, const Label &none);
    void compare_ports(const Ports &ports);
    void find_tunnel_ports(const Ports &ports);
    void compare_source(const Ports &ports);
    void follow_lengths();

    void judge_header(size_t index);
    void judge_content(size_t index);
    void judge_around(size_t index);
    void list(size_t index);
    void list_stored(size_t index);
    void list_pseudo(size_t index);
    void sum_content();
    void sum_content_by_kernel();
    void leave_if_zero(size_t index);
    void compare_total(size_t index);

    void emit_bad(size_t index);
    void emit_expected(size_t index);
    void emit_partial(size_t index);
    void emit_around_partial(size_t index);
    void emit_absent(size_t index);
    void emit_cut(size_t index);
    void emit_rare();
    void emit_judgement();
    void emit_constants();

    size_t innermost() const {
        return plan.sums.count - 1;
    }
    uint32_t content() const {
        return plan.sums[innermost()].found.cover_offset;
    }
    size_t transports_within(size_t index) const;
    bool has_sums_around() const;

    Assembler a;
    const PacketPlan &plan;
    Labels labels[SUMS_MAX];
    Label other, rare, ports_table, long_content, content_summed;
};

Generator::Generator(asmjit::CodeHolder &code, const PacketPlan &packet_plan)
    : a(&code), plan(packet_plan) {
    for (Labels &of : labels)
        of = {a.newLabel(), a.newLabel(), a.newLabel(), a.newLabel(), a.newLabel()};
    for (Label *label : {&other, &rare, &ports_table, &long_content, &content_summed})
        *label = a.newLabel();
}

/* Sums over the content of an IP header that is further in. */
size_t Generator::transports_within(size_t index) const {
    size_t count = 0;
    for (size_t i = index + 1; i < plan.sums.count; i++)
        count += plan.sums[i].found.pseudo_protocol != 0;
    return count;
}

bool Generator::has_sums_around() const {
    for (const PlannedSum &sum : plan.sums)
        if (!sum.over_header && &sum != &plan.sums[innermost()])
            return true;
    return false;
}

/* --- Loads and additions --- */

Mem Generator::data(size_t offset, uint32_t size) const {
    return Mem(r8, displacement(offset), size);
}

Mem Generator::member(size_t index, size_t offset, uint32_t size) const {
    return Mem(rsi, displacement(index * sizeof(Found) + offset), size);
}

/* Up to 4 bytes as they stand, or 8. */
void Generator::load(const Gp &to, size_t offset, uint32_t size) {
    if (size == 8)
        a.mov(to.r64(), data(offset, 8));
    else if (size == 4)
        a.mov(to.r32(), data(offset, 4));
    else
        a.movzx(to.r32(), data(offset, size));
}

/* A number of 16 bits. */
void Generator::load_number(const Gp &to, size_t offset) {
    load(to, offset, 2);
    a.rol(to.r16(), 8);
}

/* rax: the sum of the frame's bytes in [from, to), an even number, 8 or more; uses rcx. */
void Generator::add_bytes(size_t from, size_t to) {
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

/* eax: what the 64 bits of rax fold to; uses rcx. */
void Generator::fold64() {
    a.mov(rcx, rax);
    a.shr(rcx, 32);
    a.add(eax, ecx);
    a.adc(eax, 0);
}

/* ax: what the 32 bits of eax fold to; uses rcx. */
void Generator::fold32() {
    a.mov(ecx, eax);
    a.shr(ecx, 16);
    add16(ax, cx);
}

void Generator::add16(const Gp &to, const Gp &word) {
    a.add(to, word);
    a.adc(to, 0);
}

/* --- The shape --- */

/* Bytes to be compared, as many as one load can hold, within the headers. */
Group Generator::next_group(const Match *&match) const {
    const Match *first = match;
    while (match != plan.matches.end() && match->offset < first->offset + 8)
        match++;
    uint32_t used = match[-1].offset - first->offset + 1;
    Group group = {first->offset, used > 4 ? 8u : used > 2 ? 4u : used, 0, 0};
    if (group.offset + group.size > plan.size)
        group.offset = plan.size - group.size;
    for (const Match *one = first; one != match; one++) {
        uint32_t shift = 8 * (one->offset - group.offset);
        group.mask |= static_cast<uint64_t>(one->mask) << shift;
        group.value |= static_cast<uint64_t>(one->value) << shift;
    }
    return group;
}

void Generator::compare(const Group &group) {
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
void Generator::compare_any(const Choice &choice, const Label &none) {
    Label found = a.newLabel();
    for (uint32_t number : choice.numbers) {
        a.cmp(eax, loaded(number, choice.size));
        a.je(found);
    }
    a.jmp(none);
    a.bind(found);
}

void Generator::compare_choice(const Choice &choice) {
    load(eax, choice.offset, choice.size);
    compare_any(choice, other);
}

/* eax: a bit for each byte of the source port, and from 8 on the destination port, that is equal
   to one of ports_table. */
void Generator::find_tunnel_ports(const Ports &ports) {
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
void Generator::compare_source(const Ports &ports) {
    find_tunnel_ports(ports);
    a.test(eax, 0xff00);
    a.jnz(other);
    Choice source = {ports.offset, 2, ports.tunnel};
    compare_choice(source);
}

void Generator::compare_ports(const Ports &ports) {
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

void Generator::compare_shape() {
    a.mov(r9d, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.mov(r8, qword_ptr(rdi, offsetof(struct carry_frame, data)));
    a.cmp(dword_ptr(rdi, offsetof(struct carry_frame, linktype)), plan.linktype);
    a.jne(other);
    a.cmp(r9d, plan.size);
    a.jb(other);
    for (const Match *match = plan.matches.begin(); match != plan.matches.end();)
        compare(next_group(match));
    for (const Choice &choice : plan.choices)
        compare_choice(choice);
    for (const Ports &ports : plan.ports)
        compare_ports(ports);
}

/* Each ends within the one before it, and the last holds its headers: so do all. */
void Generator::follow_lengths() {
    a.mov(eax, dword_ptr(rdi, offsetof(struct carry_frame, wire)));
    a.cmp(eax, r9d);
    a.cmova(r9d, eax);
    for (const Length &length : plan.lengths) {
        load_number(eax, length.offset);
        a.add(eax, length.base);
        a.cmp(eax, r9d);
        a.ja(rare);
        a.mov(r9d, eax);
    }
    a.cmp(r9d, plan.size);
    a.jb(rare);
    a.cmp(rdx, plan.sums.count);
    a.jb(rare);
}

/* --- Judgement --- */

/* All that is the same in every frame; the members from cover_size on are to be overwritten. */
void Generator::list(size_t index) {
    a.movdqa(xmm0, ptr(labels[index].constants));
    a.movdqa(xmm1, ptr(labels[index].constants, 16));
    a.movups(member(index, 0, 16), xmm0);
    a.movups(member(index, 16, 16), xmm1);
}

/* eax: the number that is stored; expected as well, unless a label of the sum says otherwise. */
void Generator::list_stored(size_t index) {
    load_number(eax, plan.sums[index].found.field_offset);
    a.mov(member(index, offsetof(Found, stored)), eax);
    a.mov(member(index, offsetof(Found, expected)), eax);
}

/* The pseudo-header of ecx bytes: words of 32 bits, added as carry_sum_pseudo4() and 6() do. */
void Generator::list_pseudo(size_t index) {
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

/* Says what the 64 bits of rax are, as the sum with its field and pseudo-header. */
void Generator::compare_total(size_t index) {
    fold64();
    fold32();
    a.cmp(ax, -1);
    a.jne(labels[index].bad);
    a.bind(labels[index].done);
}

void Generator::leave_if_zero(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    if (!sum.may_be_absent && !sum.zero_is_illegal)
        return;
    a.cmp(member(index, offsetof(Found, stored)), 0);
    a.je(sum.may_be_absent ? labels[index].absent : rare);
}

void Generator::judge_header(size_t index) {
    uint32_t offset = plan.sums[index].found.cover_offset;
    list(index);
    a.mov(member(index, offsetof(Found, pseudo_size)), 0);
    list_stored(index);
    add_bytes(offset, offset + 20);
    compare_total(index);
}

/* r10: the sum of the content, 8 bytes or more; uses rax, rcx and r11. */
void Generator::sum_content() {
    Label next = a.newLabel(), last = a.newLabel();
    a.lea(r11, ptr(r8, displacement(content())));
    a.mov(eax, r9d);
    a.sub(eax, content());
    a.cmp(eax, KERNEL_BYTES);
    a.jae(long_content);
    /* The last 1 to 8 bytes, less what lies before them. */
    a.mov(r10, qword_ptr(r8, r9, 0, -8));
    a.dec(eax);
    a.mov(ecx, eax);
    a.shl(ecx, 3);
    a.xor_(ecx, 56);
    a.shr(r10, cl);
    a.shr(eax, 3);
    a.jz(last);
    a.bind(next);
    a.add(r10, qword_ptr(r11));
    a.adc(r10, 0);
    a.add(r11, 8);
    a.dec(eax);
    a.jnz(next);
    a.bind(last);
    a.mov(eax, r10d);
    a.shr(r10, 32);
    a.add(r10d, eax);
    a.adc(r10d, 0);
    a.bind(content_summed);
}

/* rax holds the size. */
void Generator::sum_content_by_kernel() {
    a.bind(long_content);
    for (const Gp &kept : {rdi, rsi, rdx, r8, r9})
        a.push(kept);
    a.mov(rdi, r11);
    a.mov(esi, eax);
    a.xor_(edx, edx);
    a.mov(rax, reinterpret_cast<uintptr_t>(carry_sum_call));
    a.call(rax);
    for (const Gp &kept : {r9, r8, rdx, rsi, rdi})
        a.pop(kept);
    a.mov(r10d, eax);
    a.jmp(content_summed);
}

/* The innermost. Sums around it want its bytes summed even where its own sum is absent. */
void Generator::judge_content(size_t index) {
    uint32_t offset = plan.sums[index].found.cover_offset;
    list(index);
    list_stored(index);
    a.lea(ecx, ptr(r9, -displacement(offset)));
    list_pseudo(index);
    if (!has_sums_around())
        leave_if_zero(index);
    a.cmp(r9d, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.ja(labels[index].cut);
    sum_content();
    if (has_sums_around())
        leave_if_zero(index);
    a.mov(eax, member(index, offsetof(Found, pseudo)));
    a.add(rax, r10);
    compare_total(index);
}

/* UDP around tunnels. With bytes behind what it carries, it is rare. */
void Generator::judge_around(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    uint32_t offset = sum.found.cover_offset;
    list(index);
    list_stored(index);
    load_number(ecx, plan.lengths[sum.length].offset);
    list_pseudo(index);
    leave_if_zero(index);
    a.mov(eax, member(index, offsetof(Found, cover_size)));
    a.add(eax, offset);
    a.cmp(eax, dword_ptr(rdi, offsetof(struct carry_frame, captured)));
    a.ja(labels[index].cut);
    a.cmp(eax, r9d);
    a.jne(rare);
    add_bytes(offset, content());
    a.mov(ecx, member(index, offsetof(Found, pseudo)));
    a.add(rcx, r10);
    a.add(rax, rcx);
    a.adc(rax, 0);
    compare_total(index);
}

/* --- Sums that are not good --- */

/* ax holds what the sum folds to; r11w then does. */
void Generator::emit_expected(size_t index) {
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

/* Left by transmit offload, with or without the length in the pseudo-header? */
void Generator::emit_partial(size_t index) {
    Label partial = a.newLabel(), bad = a.newLabel();
    Mem stored = data(plan.sums[index].found.field_offset, 2);
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
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.bind(bad);
}

/* Right for when the partial sum within is complete: see carry_packet_check(). */
void Generator::emit_around_partial(size_t index) {
    size_t inner = index + 1;
    while (!plan.sums[inner].found.pseudo_protocol)
        inner++;
    a.cmp(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_BAD);
    a.jne(labels[index].done);
    a.cmp(member(inner, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.jne(labels[index].done);
    load(ecx, plan.sums[inner].found.field_offset, 2);
    a.not_(ecx);
    add16(r11w, cx);
    a.mov(ecx, member(inner, offsetof(Found, expected)));
    a.rol(cx, 8);
    add16(r11w, cx);
    a.cmp(r11w, -1);
    a.jne(labels[index].done);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
    a.mov(eax, member(index, offsetof(Found, stored)));
    a.mov(member(index, offsetof(Found, expected)), eax);
}

void Generator::emit_bad(size_t index) {
    const PlannedSum &sum = plan.sums[index];
    bool may_be_zeros = !sum.over_header && !sum.found.pseudo_protocol;
    bool has_tunnels = transports_within(index) > 1 && !sum.over_header;
    a.bind(labels[index].bad);
    if (may_be_zeros || has_tunnels) {
        a.jmp(rare);
        return;
    }
    emit_expected(index);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_BAD);
    if (!sum.over_header) {
        emit_partial(index);
        if (transports_within(index))
            emit_around_partial(index);
    }
    a.jmp(labels[index].done);
}

void Generator::emit_absent(size_t index) {
    a.bind(labels[index].absent);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_ABSENT);
    a.jmp(labels[index].done);
}

/* Covered bytes were not captured. */
void Generator::emit_cut(size_t index) {
    a.bind(labels[index].cut);
    leave_if_zero(index);
    a.mov(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_UNVERIFIABLE);
    a.mov(member(index, offsetof(Found, reason), 1), CARRY_REASON_SNAPLEN);
    a.mov(member(index, offsetof(Found, expected)), 0);
    a.jmp(labels[index].done);
}

/* The same call, with options of NULL. */
void Generator::emit_rare() {
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

void Generator::emit_constants() {
    a.align(asmjit::AlignMode::kData, 16);
    for (size_t i = 0; i < plan.sums.count; i++) {
        a.bind(labels[i].constants);
        a.embed(&plan.sums[i].found, 32);
    }
    a.bind(ports_table);
    for (uint32_t i = 0; i < tunnel_ports().count; i += 4)
        for (uint32_t j = i; j < i + 8; j++) {
            uint32_t of = i + j % 4 < tunnel_ports().count ? i + j % 4 : 0;
            a.embedUInt16(static_cast<uint16_t>(loaded(tunnel_ports()[of], 2)));
        }
}

void Generator::emit_judgement() {
    for (size_t i = plan.sums.count; i-- > 0;) {
        if (plan.sums[i].over_header)
            judge_header(i);
        else if (i == innermost())
            judge_content(i);
        else
            judge_around(i);
    }
    a.mov(eax, plan.sums.count);
    a.ret();
    for (size_t i = 0; i < plan.sums.count; i++) {
        emit_bad(i);
        emit_absent(i);
        emit_cut(i);
    }
    sum_content_by_kernel();
}

void Generator::emit() {
    a.endbr64();
    compare_shape();
    follow_lengths();
    if (plan.flags & CARRY_JIT_FILL)
        a.jmp(rare);
    else
        emit_judgement();
    emit_rare();
    emit_constants();
}

} // namespace

Error emit_packet(asmjit::CodeHolder &code, const void *spec) {
    FirstError error;
    code.setErrorHandler(&error);
    Generator(code, *static_cast<const PacketPlan *>(spec)).emit();
    code.setErrorHandler(nullptr);
    return error.first;
}

} // namespace carry::jit
