/* SPDX-License-Identifier: MIT */
/*
 * Implements the operations of packet functions. The registers that ../packet_ops.h names are:
 *
 *     VALUE   x6      END      w11     PSEUDO  w4
 *     SIZE    w6      CONTENT  w12     COUNT   w15
 *                                      PASSED  w5
 *
 * Further, x0 is the frame, x1 the sums, x2 the capacity, x3 the frame's data, and x13 the place in
 * which the current sum is listed.
 *
 * Clobbers: x3 to x16, flags, v0 to v5
 */
#include "../packet_ops.h"

#include <carry/cpu.h>

#include "emit_sum.h"

namespace carry::jit {
namespace {

using namespace asmjit::a64;
using asmjit::arm::Gp;
using asmjit::arm::lsr;
using asmjit::arm::Mem;
using asmjit::arm::ptr;

constexpr uint32_t NEAR_MAX = 255; /* offsets that loads of any alignment reach */
constexpr uint32_t PORTS_PER_VECTOR = 8;
constexpr uint32_t WORD_BYTES = 8;
constexpr uint32_t ALL_ONES = 0xffff;

/* Returns the plan for the sum of the innermost content. */
SumPlan plan_content(const PacketPlan &plan) {
    SumPlan content = {};
    content.min_size = WORD_BYTES;
    content.max_size = CONTENT_MAX;
    content.multiple = 1;
    content.alignment = 1;
    content.vector_bits = plan.vector_bits;
    return content;
}

class Ops final : public PacketOps {
  public:
    Ops(Assembler &assembler, const PacketPlan &packet_plan)
        : PacketOps(assembler, packet_plan), a(assembler), content_plan(plan_content(packet_plan)),
          content_sum(a, content_plan, {x9, x10, {}}) {
    }

    /* --- The shape --- */

    void start() override {
        a.hint(LANDING_PAD);
        a.ldr(w11, frame(offsetof(struct carry_frame, captured)));
        a.ldr(x3, frame(offsetof(struct carry_frame, data)));
        a.ldr(w6, frame(offsetof(struct carry_frame, linktype)));
        compare(plan.linktype);
        a.b_ne(other);
        a.cmp(w11, plan.size);
        a.b_lo(other);
    }

    void require_match(const MatchGroup &group) override {
        load(group.offset, group.size);
        a.mov(x7, group.mask);
        a.and_(x6, x6, x7);
        a.mov(x7, group.value);
        a.cmp(x6, x7);
        a.b_ne(other);
    }

    /* Compares ports with vectors of the tunnels' ports. The destination port follows the source
       port. */
    void require_no_tunnel(const Ports &ports, bool either) override {
        a.adr(x7, ports_table);
        a.movi(v1.h8(), 0);
        for (uint32_t port = either ? 0 : 1; port < 2; port++) {
            load(ports.offset + 2 * port, 2);
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

    void require_room() override {
        a.cmp(w11, plan.size);
        a.b_lo(rare);
        a.cmp(x2, plan.sums.count);
        a.b_lo(rare);
    }

    /* --- Loads --- */

    void load(uint32_t offset, uint32_t size) override {
        load_into(x6, offset, size);
    }

    void load_number(uint32_t offset) override {
        load(offset, 2);
        a.rev16(w6, w6);
    }

    void load_size(uint32_t offset) override {
        load_number(offset);
    }

    void load_content_size() override {
        a.sub(w6, w11, plan.content());
    }

    void load_end() override {
        a.mov(w6, w11);
    }

    void set_end() override {
        a.mov(w11, w6);
    }

    void load_cover_size(size_t) override {
        a.ldr(w6, member(offsetof(Found, cover_size)));
    }

    /* --- Additions --- */

    void add_number(uint32_t number) override {
        a.add(w6, w6, number);
    }

    /* Keeps the carry in the flag, as loads do not change it. */
    void sum_bytes(uint32_t from, uint32_t to) override {
        load(from, 8);
        a.adds(x6, x6, xzr); /* no carry */
        for (from += 8; from < to;) {
            uint32_t size = to - from >= 8 ? 8 : to - from >= 4 ? 4 : 2;
            load_into(x7, from, size);
            a.adcs(x6, x6, x7);
            from += size;
        }
        a.adc(x6, x6, xzr);
    }

    void sum_content() override {
        a.sub(w10, w11, plan.content());
        a.add(x9, x3, plan.content());
        content_sum.add_run(w12);
    }

    /* Sets PSEUDO, too. */
    void load_pseudo_and_content(size_t) override {
        a.ldr(w4, member(offsetof(Found, pseudo)));
        a.add(x6, x4, x12);
    }

    void add_pseudo(size_t) override {
        a.ldr(w7, member(offsetof(Found, pseudo)));
        add_carry(x7);
    }

    void add_pseudo_and_content(size_t) override {
        a.ldr(w7, member(offsetof(Found, pseudo)));
        a.add(x7, x7, x12);
        add_carry(x7);
    }

    void add_pseudo_complement() override {
        a.mvn(w7, w4);
        add_carry(x7);
    }

    void fold() override {
        fold64();
        fold32();
    }

    /* --- Jumps --- */

    void jump(const Label &to) override {
        a.b(to);
    }

    void jump_if_value(uint32_t number, const Label &to) override {
        compare(number);
        a.b_eq(to);
    }

    void jump_if_above_end(const Label &to) override {
        a.cmp(w6, w11);
        a.b_hi(to);
    }

    void jump_unless_end(const Label &to) override {
        a.cmp(w6, w11);
        a.b_ne(to);
    }

    void jump_if_cut(const Label &to) override {
        a.ldr(w7, frame(offsetof(struct carry_frame, captured)));
        a.cmp(w6, w7);
        a.b_hi(to);
    }

    void jump_if_good(const Label &to) override {
        compare(ALL_ONES);
        a.b_eq(to);
    }

    void jump_unless_good(const Label &to) override {
        compare(ALL_ONES);
        a.b_ne(to);
    }

    void jump_if_stored_zero(size_t, const Label &to) override {
        a.ldr(w7, member(offsetof(Found, stored)));
        a.cbz(w7, to);
    }

    void jump_if_stored_nonzero(size_t, const Label &to) override {
        a.ldr(w7, member(offsetof(Found, stored)));
        a.cbnz(w7, to);
    }

    void jump_if_stored_value(size_t index, const Label &to) override {
        load_into(x7, plan.sums[index].found.field_offset, 2);
        a.cmp(w6, w7);
        a.b_eq(to);
    }

    /* --- The list of sums --- */

    void select_place(size_t index) override {
        a.add(x13, x1, index * sizeof(Found));
    }

    void list(size_t index) override {
        a.adr(x6, constants[index]);
        a.ldp(q0, q1, ptr(x6));
        a.stp(q0, q1, member(0));
    }

    void list_stored(size_t index) override {
        load_number(plan.sums[index].found.field_offset);
        a.str(w6, member(offsetof(Found, stored)));
        a.str(w6, member(offsetof(Found, expected)));
    }

    /* Adds the pseudo-header in words of up to 64 bits. Not all of them are 0, so neither their
     * sizes nor their order change the sum folded to 32 bits. */
    void list_pseudo(size_t index) override {
        const PlannedSum &sum = plan.sums[index];
        a.str(w6, member(offsetof(Found, cover_size)));
        if (!sum.found.pseudo_protocol)
            return list_no_pseudo(index);
        a.str(w6, member(offsetof(Found, pseudo_size)));
        a.rev(w14, w6);
        a.mov(w7, static_cast<uint32_t>(sum.found.pseudo_protocol) << 24);
        a.add(x14, x14, x7);
        sum_bytes(sum.addresses, sum.addresses + (sum.found.version == 4 ? 8 : 32));
        add_carry(x14);
        fold64();
        a.str(w6, member(offsetof(Found, pseudo)));
    }

    void list_no_pseudo(size_t) override {
        a.str(wzr, member(offsetof(Found, pseudo_size)));
    }

    /* Lists 0xffff in place of 0 for UDP. */
    void list_expected(size_t index) override {
        const PlannedSum &sum = plan.sums[index];
        load_into(x7, sum.found.field_offset, 2);
        a.eor(w7, w7, ALL_ONES);
        add16(w6, w7);
        a.mov(w7, ALL_ONES);
        a.eor(w6, w6, w7);
        if (sum.found.protocol == CARRY_PROTOCOL_UDP) {
            a.cmp(w6, 0);
            a.csel(w6, w7, w6, CondCode::kEQ);
        }
        a.rev16(w6, w6);
        a.str(w6, member(offsetof(Found, expected)));
    }

    void list_verdict(size_t, uint32_t verdict) override {
        a.mov(w6, verdict);
        a.strb(w6, member(offsetof(Found, verdict)));
    }

    /* Compares the field to the sums that offload writes: the sum of the pseudo-header or, for
       large sends, the sum of the pseudo-header without its length. */
    void list_partial_or_bad(size_t index) override {
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
            load_into(x7, plan.sums[index].found.field_offset, 2);
            a.cmp(w6, w7);
            a.ccmp(w9, w7, EQUAL, CondCode::kNE);
            a.mov(w6, CARRY_VERDICT_PARTIAL);
            a.csel(w8, w6, w8, CondCode::kEQ);
        }
        a.strb(w8, member(offsetof(Found, verdict)));
    }

    /* --- Functions that check --- */

    void list_cut(size_t, const Label &) override {
        a.ldr(w7, frame(offsetof(struct carry_frame, wire)));
        a.cmp(w6, w7);
        a.mov(w6, CARRY_REASON_SNAPLEN);
        a.mov(w7, CARRY_REASON_LENGTH);
        a.csel(w6, w7, w6, CondCode::kHI);
        a.strb(w6, member(offsetof(Found, reason)));
        a.mov(w6, CARRY_VERDICT_UNVERIFIABLE);
        a.strb(w6, member(offsetof(Found, verdict)));
        a.str(wzr, member(offsetof(Found, expected)));
    }

    /* Returns false: a frame with a bad sum around others is rare. */
    bool judges_bad_around(size_t) const override {
        return false;
    }

    void list_around_partial(size_t, size_t, const Label &) override {
    }

    /* --- Functions that fill in --- */

    void require_absent(size_t index) override {
        load(plan.sums[index].found.field_offset, 2);
        a.cbnz(w6, rare);
    }

    void start_list() override {
        a.mov(x13, x1);
    }

    void keep_pseudo(size_t) override {
        a.mov(w15, wzr);
    }

    void start_outer() override {
        a.mov(w5, wzr);
    }

    void store_expected(size_t index) override {
        a.ldr(w6, member(offsetof(Found, expected)));
        a.rev16(w6, w6);
        a.strh(w6, data(plan.sums[index].found.field_offset, 2));
        a.add(x13, x13, sizeof(Found));
        a.add(w15, w15, 1);
    }

    void list_header_partial(size_t, const Label &otherwise) override {
        a.cbz(w15, otherwise);
        a.ldrb(w7, ptr(x1, offsetof(Found, verdict)));
        a.cmp(w7, CARRY_VERDICT_PARTIAL);
        a.b_ne(otherwise);
        a.strb(w7, member(offsetof(Found, verdict)));
        a.mov(w7, CARRY_CAUSE_HEADER);
        a.strb(w7, member(offsetof(Found, cause)));
    }

    void pass_if_listed(const Label &to) override {
        a.cmp(w15, 0);
        a.cset(w5, CondCode::kNE);
        a.b_ne(to);
    }

    void jump_if_passed(const Label &to) override {
        a.cbnz(w5, to);
    }

    /* --- The end --- */

    void return_number(int number) override {
        a.mov(w0, static_cast<uint32_t>(number));
        a.ret(x30);
    }

    void return_count() override {
        a.mov(w0, w15);
        a.ret(x30);
    }

    /* Branches through x16, as the landing pad of a function (BTI c) requires. */
    void call_library() override {
        auto function = plan.flags & CARRY_JIT_FILL ? carry_packet_fill : carry_packet_check;
        a.mov(x3, x2);
        a.mov(x2, x1);
        a.mov(x1, xzr);
        a.mov(x16, reinterpret_cast<uintptr_t>(function));
        a.br(x16);
    }

    /* Fills the last vector of the table with the first port. */
    void place_constants() override {
        place_sums();
        a.bind(ports_table);
        for (uint32_t i = 0; i % PORTS_PER_VECTOR || i < tunnel_ports().count; i++) {
            uint32_t port = tunnel_ports()[i < tunnel_ports().count ? i : 0];
            a.embedUInt16(static_cast<uint16_t>(loaded(port, 2)));
        }
    }

  private:
    /* Returns the operand for bytes of the frame; may use x16. */
    Mem data(uint32_t offset, uint32_t size) {
        if (offset <= NEAR_MAX || offset % size == 0)
            return ptr(x3, static_cast<int32_t>(offset));
        a.mov(w16, offset);
        return ptr(x3, x16);
    }

    /* Return the operands for a member of struct carry_frame, and for a member of the sum that is
       being listed. */
    static Mem frame(size_t offset) {
        return ptr(x0, static_cast<int32_t>(offset));
    }

    static Mem member(size_t offset) {
        return ptr(x13, static_cast<int32_t>(offset));
    }

    void load_into(const Gp &to, uint32_t offset, uint32_t size) {
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

    void compare(uint32_t number) {
        a.mov(w7, number);
        a.cmp(w6, w7);
    }

    void add_carry(const Gp &term) {
        a.adds(x6, x6, term);
        a.adc(x6, x6, xzr);
    }

    /* Folds 64 bits to 32. */
    void fold64() {
        a.lsr(x7, x6, 32);
        a.adds(w6, w6, w7);
        a.adc(w6, w6, wzr);
    }

    /* Folds 32 bits to 16. */
    void fold32() {
        a.ror(w7, w6, 16);
        a.add(w6, w6, w7);
        a.lsr(w6, w6, 16);
    }

    /* Adds words of 16 bits, with end-around carry. */
    void add16(const Gp &to, const Gp &word) {
        a.add(to, to, word);
        a.add(to, to, to, lsr(16));
        a.and_(to, to, 0xffff);
    }

    Assembler &a;
    const SumPlan content_plan;
    SumEmitter content_sum;
};

} // namespace

int plan_packet(PacketPlan &plan) {
    plan.vector_bits = carry_cpu_has("neon") ? 128 : 64;
    plan.features = 0;
    return CARRY_OK;
}

asmjit::Error emit_packet(asmjit::CodeHolder &code, const void *spec) {
    Assembler a(&code);
    Ops ops(a, *static_cast<const PacketPlan *>(spec));
    emit_packet_function(ops);
    return asmjit::kErrorOk; /* the error handler of the code keeps errors */
}

} // namespace carry::jit
