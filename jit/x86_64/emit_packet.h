/* SPDX-License-Identifier: MIT */
/*
 * What functions that check packets and those that fill them in are made of:
 *
 *     int function(const struct carry_frame *frame, struct carry_packet_sum *sums, size_t capacity)
 *
 *     rdi    frame                   r8   its data
 *     rsi    sums                    r9   where the content of the innermost header ends
 *     rdx    capacity                r10  the partial sum of that content, in 32 bits
 *
 * rax, rcx, r11 and xmm0 to xmm2 are for anything.
 */
#ifndef CARRY_JIT_X86_64_EMIT_PACKET_H
#define CARRY_JIT_X86_64_EMIT_PACKET_H

#include "../packet.h"

#include "emit_sum.h"

namespace carry::jit {

class PacketEmitter {
  public:
    PacketEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan);
    virtual ~PacketEmitter() = default;

    /* Writes the whole function. */
    void emit();

  protected:
    using Gp = asmjit::x86::Gp;
    using Label = asmjit::Label;
    using Mem = asmjit::x86::Mem;
    using Found = struct carry_packet_sum;

    /* The part that differs: all behind the shape. Returns, or goes to `rare`. */
    virtual void emit_judgement() = 0;

    /* --- Loads and additions --- */

    Mem data(size_t offset, uint32_t size) const;
    Mem member(size_t index, size_t offset, uint32_t size = 4) const;

    /* Up to 4 bytes as they stand, or 8. */
    void load(const Gp &to, size_t offset, uint32_t size);

    /* A number of 16 bits. */
    void load_number(const Gp &to, size_t offset);

    /* rax: the sum of the frame's bytes in [from, to), an even number, 8 or more; uses rcx. */
    void add_bytes(size_t from, size_t to);

    /* eax: what the 64 bits of rax fold to; ax: what those of eax do; use rcx. */
    void fold64();
    void fold32();

    /* One's complement, of 16 bits. */
    void add16(const Gp &to, const Gp &word);

    /* --- Sums --- */

    /* Has the members of later sums stand at [base] each, in place of their own. */
    void list_at(const Gp &base);

    /* All that is the same in every frame; the members from cover_size on are to be overwritten. */
    void list(size_t index);

    /* eax: the number that is stored; expected as well, unless it turns out otherwise. */
    void list_stored(size_t index);

    /* The pseudo-header of ecx bytes, as carry_sum_pseudo4() and 6() add it. */
    void list_pseudo(size_t index);

    /* r10: the sum of the content, 8 bytes or more; uses rax, rcx and r11. */
    void sum_content();

    /* The whole sum of a header, with what is listed of it: in rax. */
    void sum_header(size_t index);

    /* ax: what the 64 bits of rax fold to. Goes to `bad` unless it verifies. */
    void verify(const Label &bad);

    /* Of a sum that folds to ax and does not verify: what its field should hold. r11w = ax. */
    void list_expected(size_t index);

    /* PARTIAL, if it is what transmit offload leaves, else BAD. */
    void list_verdict(size_t index);

    asmjit::x86::Assembler a;
    const PacketPlan &plan;
    Label other, rare;

  private:
    void compare_shape();
    void compare(const MatchGroup &group);
    void compare_choice(const Choice &choice);
    void compare_any(const Choice &choice, const Label &none);
    void compare_ports(const Ports &ports);
    void find_tunnel_ports(const Ports &ports);
    void compare_source(const Ports &ports);
    void follow_lengths();
    void emit_rare();
    void emit_constants();

    SumEmitter content_sum;
    Label constants[SUMS_MAX], ports_table;
    Gp shared_base; /* of list_at(); none: each sum has a place of its own */
};

class CheckEmitter final : public PacketEmitter {
  public:
    CheckEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan);

  private:
    /* Where the judgement of one sum goes on. */
    struct Labels {
        Label bad, absent, cut, done;
    };

    void emit_judgement() override;
    void judge_header(size_t index);
    void judge_content(size_t index);
    void judge_around(size_t index);
    void leave_if_zero(size_t index);
    void emit_bad(size_t index);
    void emit_around_partial(size_t index);
    void emit_absent(size_t index);
    void emit_cut(size_t index);

    Labels labels[SUMS_MAX];
};

class FillEmitter final : public PacketEmitter {
  public:
    using PacketEmitter::PacketEmitter;

  private:
    void emit_judgement() override;
    void require_simple();
    void require_zero_around(size_t index);
    void fill_content();
    void fill_header(size_t index);
    void list_header_verdict(size_t index);
    void fill_around(size_t index);
    void list_zero(size_t index);
    void write(size_t index);
};

} // namespace carry::jit

#endif
