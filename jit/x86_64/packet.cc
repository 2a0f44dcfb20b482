/* SPDX-License-Identifier: MIT */
/*
 * Implements the operations of packet functions. The registers that ../packet_ops.h names are:
 *
 *     VALUE   rax     END      r9d     PSEUDO  edi
 *     SIZE    ecx     CONTENT  r10     COUNT   edx
 *                                      PASSED  r9d
 *
 * Further, rdi is the frame, rsi the sums, rdx the capacity, and r8 the frame's data. In functions
 * that fill in, r10 is the place in which the next sum is listed.
 *
 * Clobbers: rax, rcx, rdx, rsi, rdi, r8 to r11, flags, xmm0 to xmm2, and the registers that
 * emit_sum.h names.
 */
#include "../packet_ops.h"

#include "emit_sum.h"

namespace carry::jit {
namespace {

using namespace asmjit::x86;

/* Registers that a sum clobbers and that are needed after it. */
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

int32_t displacement(size_t offset) {
    return static_cast<int32_t>(offset);
}

class Ops final : public PacketOps {
  public:
    Ops(Assembler &assembler, const PacketPlan &packet_plan)
        : PacketOps(assembler, packet_plan), a(assembler),
          content_sum(a, {packet_plan.vector_bits, packet_plan.features}, registers_of_content()) {
    }

    /* --- The shape --- */

    void start() override {
        a.endbr64();
        a.mov(r9d, frame(offsetof(struct carry_frame, captured)));
        a.mov(r8, qword_ptr(rdi, offsetof(struct carry_frame, data)));
        a.cmp(frame(offsetof(struct carry_frame, linktype)), plan.linktype);
        a.jne(other);
        a.cmp(r9d, plan.size);
        a.jb(other);
    }

    void require_match(const MatchGroup &group) override {
        load(group.offset, group.size);
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

    void require_no_tunnel(const Ports &ports, bool either) override {
        find_tunnel_ports(ports);
        if (either)
            a.test(eax, eax);
        else
            a.test(eax, 0xff00);
        a.jnz(other);
    }

    void require_room() override {
        a.cmp(r9d, plan.size);
        a.jb(rare);
        a.cmp(rdx, plan.sums.count);
        a.jb(rare);
    }

    /* --- Loads --- */

    void load(uint32_t offset, uint32_t size) override {
        load_into(rax, offset, size);
    }

    void load_number(uint32_t offset) override {
        load_number_into(rax, offset);
    }

    void load_size(uint32_t offset) override {
        load_number_into(rcx, offset);
    }

    void load_content_size() override {
        a.mov(ecx, r9d);
        a.sub(ecx, plan.content());
    }

    void load_end() override {
        a.mov(eax, r9d);
    }

    void set_end() override {
        a.mov(r9d, eax);
    }

    void load_cover_size(size_t index) override {
        a.mov(eax, member(index, offsetof(Found, cover_size)));
    }

    /* --- Additions --- */

    void add_number(uint32_t number) override {
        a.add(eax, number);
    }

    void sum_bytes(uint32_t from, uint32_t to) override {
        load(from, 8);
        a.xor_(ecx, ecx); /* no carry */
        for (from += 8; from < to;) {
            uint32_t size = to - from >= 8 ? 8 : to - from >= 4 ? 4 : 2;
            load_into(rcx, from, size);
            a.adc(rax, rcx);
            from += size;
        }
        a.adc(rax, 0);
    }

    /* Keeps registers below the stack pointer. The stack pointer does not move, so that debuggers
     * find the caller. */
    void sum_content() override {
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

    void load_pseudo_and_content(size_t index) override {
        a.mov(eax, member(index, offsetof(Found, pseudo)));
        a.add(rax, r10);
    }

    void add_pseudo(size_t index) override {
        a.mov(ecx, member(index, offsetof(Found, pseudo)));
        add_carry(rcx);
    }

    void add_pseudo_and_content(size_t index) override {
        a.mov(ecx, member(index, offsetof(Found, pseudo)));
        a.add(rcx, r10);
        add_carry(rcx);
    }

    void add_pseudo_complement() override {
        a.not_(edi);
        add_carry(rdi);
    }

    void fold() override {
        fold64();
        fold32();
    }

    /* --- Jumps --- */

    void jump(const Label &to) override {
        a.jmp(to);
    }

    void jump_if_value(uint32_t number, const Label &to) override {
        a.cmp(eax, number);
        a.je(to);
    }

    void jump_if_above_end(const Label &to) override {
        a.cmp(eax, r9d);
        a.ja(to);
    }

    void jump_unless_end(const Label &to) override {
        a.cmp(eax, r9d);
        a.jne(to);
    }

    void jump_if_cut(const Label &to) override {
        a.cmp(eax, frame(offsetof(struct carry_frame, captured)));
        a.ja(to);
    }

    void jump_if_good(const Label &to) override {
        a.cmp(ax, -1);
        a.je(to);
    }

    void jump_unless_good(const Label &to) override {
        a.cmp(ax, -1);
        a.jne(to);
    }

    void jump_if_stored_zero(size_t index, const Label &to) override {
        a.cmp(member(index, offsetof(Found, stored)), 0);
        a.je(to);
    }

    void jump_if_stored_nonzero(size_t index, const Label &to) override {
        a.cmp(member(index, offsetof(Found, stored)), 0);
        a.jne(to);
    }

    void jump_if_stored_value(size_t index, const Label &to) override {
        a.cmp(ax, field(index));
        a.je(to);
    }

    /* --- The list of sums --- */

    /* Does nothing: member() computes the place. */
    void select_place(size_t) override {
    }

    void list(size_t index) override {
        a.movdqa(xmm0, ptr(constants[index]));
        a.movdqa(xmm1, ptr(constants[index], 16));
        a.movups(member(index, 0, 16), xmm0);
        a.movups(member(index, 16, 16), xmm1);
    }

    void list_stored(size_t index) override {
        load_number(plan.sums[index].found.field_offset);
        a.mov(member(index, offsetof(Found, stored)), eax);
        a.mov(member(index, offsetof(Found, expected)), eax);
    }

    /* Adds the pseudo-header as words of 32 bits. Unless all words are 0, their order does not
     * change the folded 32 bits. */
    void list_pseudo(size_t index) override {
        const PlannedSum &sum = plan.sums[index];
        a.mov(member(index, offsetof(Found, cover_size)), ecx);
        if (!sum.found.pseudo_protocol)
            return list_no_pseudo(index);
        a.mov(member(index, offsetof(Found, pseudo_size)), ecx);
        a.bswap(ecx);
        a.lea(r11, ptr(rcx, displacement(static_cast<size_t>(sum.found.pseudo_protocol) << 24)));
        sum_bytes(sum.addresses, sum.addresses + (sum.found.version == 4 ? 8 : 32));
        add_carry(r11);
        fold64();
        a.mov(member(index, offsetof(Found, pseudo)), eax);
    }

    void list_no_pseudo(size_t index) override {
        a.mov(member(index, offsetof(Found, pseudo_size)), 0);
    }

    /* Keeps the folded sum in r11w, for list_around_partial(). Lists 0xffff in place of 0 for
       UDP. */
    void list_expected(size_t index) override {
        const PlannedSum &sum = plan.sums[index];
        a.mov(r11d, eax);
        load_into(ecx, sum.found.field_offset, 2);
        a.not_(ecx);
        add16(ax, cx);
        a.not_(eax);
        if (sum.found.protocol == CARRY_PROTOCOL_UDP) {
            a.cmp(ax, 1);
            a.sbb(ecx, ecx);
            a.or_(eax, ecx);
        }
        a.rol(ax, 8);
        a.movzx(eax, ax);
        a.mov(member(index, offsetof(Found, expected)), eax);
    }

    void list_verdict(size_t index, uint32_t verdict) override {
        a.mov(member(index, offsetof(Found, verdict), 1), verdict);
    }

    /* Compares the field to the sums that offload writes: the sum of the pseudo-header or, for
       large sends, the sum of the pseudo-header without its length. */
    void list_partial_or_bad(size_t index) override {
        const Label partial = a.newLabel(), bad = a.newLabel();
        list_verdict(index, CARRY_VERDICT_BAD);
        if (!plan.sums[index].found.pseudo_protocol)
            return;
        a.mov(eax, member(index, offsetof(Found, pseudo)));
        fold32();
        jump_if_stored_value(index, partial);
        a.mov(ecx, member(index, offsetof(Found, pseudo_size)));
        a.bswap(ecx);
        a.not_(ecx);
        a.mov(eax, member(index, offsetof(Found, pseudo)));
        a.add(eax, ecx);
        a.adc(eax, 0);
        fold32();
        a.cmp(ax, field(index));
        a.jne(bad);
        a.bind(partial);
        list_verdict(index, CARRY_VERDICT_PARTIAL);
        a.bind(bad);
    }

    /* --- Functions that check --- */

    void list_cut(size_t index, const Label &done) override {
        list_verdict(index, CARRY_VERDICT_UNVERIFIABLE);
        a.mov(member(index, offsetof(Found, reason), 1), CARRY_REASON_SNAPLEN);
        a.mov(member(index, offsetof(Found, expected)), 0);
        a.cmp(eax, frame(offsetof(struct carry_frame, wire)));
        a.jbe(done);
        a.mov(member(index, offsetof(Found, reason), 1), CARRY_REASON_LENGTH);
    }

    /* Returns false for several tunnels: the partial sum within may itself be around another
       sum. */
    bool judges_bad_around(size_t index) const override {
        return plan.transports_within(index) <= 1;
    }

    void list_around_partial(size_t index, size_t inner, const Label &done) override {
        a.cmp(member(index, offsetof(Found, verdict), 1), CARRY_VERDICT_BAD);
        a.jne(done);
        a.cmp(member(inner, offsetof(Found, verdict), 1), CARRY_VERDICT_PARTIAL);
        a.jne(done);
        load_into(ecx, plan.sums[inner].found.field_offset, 2);
        a.not_(ecx);
        add16(r11w, cx);
        a.mov(ecx, member(inner, offsetof(Found, expected)));
        a.rol(cx, 8);
        add16(r11w, cx);
        a.cmp(r11w, -1);
        a.jne(done);
        list_verdict(index, CARRY_VERDICT_PARTIAL);
        a.mov(eax, member(index, offsetof(Found, stored)));
        a.mov(member(index, offsetof(Found, expected)), eax);
    }

    /* --- Functions that fill in --- */

    void require_absent(size_t index) override {
        a.cmp(field(index), 0);
        a.jne(rare);
    }

    void start_list() override {
        shared_base = rsi;
    }

    void keep_pseudo(size_t index) override {
        a.mov(edi, member(index, offsetof(Found, pseudo)));
        a.mov(r10, rsi);
        a.xor_(edx, edx);
    }

    void start_outer() override {
        shared_base = r10;
        a.xor_(r9d, r9d);
    }

    void store_expected(size_t index) override {
        a.mov(eax, member(index, offsetof(Found, expected)));
        a.rol(ax, 8);
        a.mov(field(index), ax);
        a.add(r10, sizeof(Found));
        a.inc(edx);
    }

    void list_header_partial(size_t index, const Label &otherwise) override {
        a.test(edx, edx);
        a.jz(otherwise);
        a.cmp(byte_ptr(rsi, offsetof(Found, verdict)), CARRY_VERDICT_PARTIAL);
        a.jne(otherwise);
        list_verdict(index, CARRY_VERDICT_PARTIAL);
        a.mov(member(index, offsetof(Found, cause), 1), CARRY_CAUSE_HEADER);
    }

    void pass_if_listed(const Label &to) override {
        a.test(edx, edx);
        a.setnz(r9b);
        a.jnz(to);
    }

    void jump_if_passed(const Label &to) override {
        a.test(r9d, r9d);
        a.jnz(to);
    }

    /* --- The end --- */

    void return_number(int number) override {
        a.mov(eax, number);
        a.ret();
    }

    void return_count() override {
        a.mov(eax, edx);
        a.ret();
    }

    void call_library() override {
        auto function = plan.flags & CARRY_JIT_FILL ? carry_packet_fill : carry_packet_check;
        a.mov(rcx, rdx);
        a.mov(rdx, rsi);
        a.xor_(esi, esi);
        a.mov(rax, reinterpret_cast<uintptr_t>(function));
        a.jmp(rax);
    }

    /* Places a table with each group of four ports twice: for the source port and the destination
       port. */
    void place_constants() override {
        content_sum.place_constants();
        place_sums();
        a.bind(ports_table);
        for (uint32_t i = 0; i < tunnel_ports().count; i += 4)
            for (uint32_t j = i; j < i + 8; j++) {
                uint32_t of = i + j % 4 < tunnel_ports().count ? i + j % 4 : 0;
                a.embedUInt16(static_cast<uint16_t>(loaded(tunnel_ports()[of], 2)));
            }
    }

  private:
    /* Return operands: for bytes of the frame, for a member of struct carry_frame, for the stored
       checksum, and for a member of a listed sum. */
    static Mem data(uint32_t offset, uint32_t size) {
        return Mem(r8, displacement(offset), size);
    }

    static Mem frame(size_t offset) {
        return dword_ptr(rdi, displacement(offset));
    }

    Mem field(size_t index) const {
        return data(plan.sums[index].found.field_offset, 2);
    }

    Mem member(size_t index, size_t offset, uint32_t size = 4) const {
        if (shared_base.isValid())
            return Mem(shared_base, displacement(offset), size);
        return Mem(rsi, displacement(index * sizeof(Found) + offset), size);
    }

    /* Compares the ports with ports_table. Sets some of bits 0 to 7 of eax if the source port is in
       the table, and some of bits 8 to 15 if the destination port is. */
    void find_tunnel_ports(const Ports &ports) {
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

    void load_into(const Gp &to, uint32_t offset, uint32_t size) {
        if (size == 8)
            a.mov(to.r64(), data(offset, 8));
        else if (size == 4)
            a.mov(to.r32(), data(offset, 4));
        else
            a.movzx(to.r32(), data(offset, size));
    }

    void load_number_into(const Gp &to, uint32_t offset) {
        load_into(to, offset, 2);
        a.rol(to.r16(), 8);
    }

    void add_carry(const Gp &term) {
        a.add(rax, term);
        a.adc(rax, 0);
    }

    /* Folds 64 bits to 32. */
    void fold64() {
        a.mov(rcx, rax);
        a.shr(rcx, 32);
        a.add(eax, ecx);
        a.adc(eax, 0);
    }

    /* Folds 32 bits to the 16 of ax. */
    void fold32() {
        a.mov(ecx, eax);
        a.shr(ecx, 16);
        add16(ax, cx);
    }

    /* Adds words of 16 bits, with end-around carry. */
    void add16(const Gp &to, const Gp &word) {
        a.add(to, word);
        a.adc(to, 0);
    }

    Assembler &a;
    SumEmitter content_sum;
    Gp shared_base; /* the place of the next sum; none: each sum has its own place */
};

} // namespace

int plan_packet(PacketPlan &plan) {
    SumTarget target;
    find_sum_target(0, target);
    plan.vector_bits = target.vector_bits;
    plan.features = target.features;
    return CARRY_OK;
}

asmjit::Error emit_packet(asmjit::CodeHolder &code, const void *spec) {
    Assembler a(&code);
    Ops ops(a, *static_cast<const PacketPlan *>(spec));
    emit_packet_function(ops);
    return asmjit::kErrorOk; /* the error handler of the code keeps errors */
}

} // namespace carry::jit
