/* SPDX-License-Identifier: MIT */
/*
 * What functions that check packets and those that fill them in are made of:
 *
 *     int function(const struct carry_frame *frame, struct carry_packet_sum *sums, size_t capacity)
 *
 *     x0     frame                   w11  where the content of the innermost header ends
 *     x1     sums                    w12  the partial sum of that content
 *     x2     capacity                x13  where the sum is listed that is being judged
 *     x3     the frame's data
 *
 * Clobbers: x3 to x16, flags, v0 to v5. x6 is what is being added up or compared; x7, x8, x14 and
 * x16 are for anything.
 */
#ifndef CARRY_JIT_AARCH64_EMIT_PACKET_H
#define CARRY_JIT_AARCH64_EMIT_PACKET_H

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
    using Gp = asmjit::arm::Gp;
    using Label = asmjit::Label;
    using Mem = asmjit::arm::Mem;
    using Found = struct carry_packet_sum;

    /* The part that differs: all behind the shape. Returns, or goes to `rare`. */
    virtual void emit_judgement() = 0;

    /* --- Loads and additions --- */

    /* Of the frame's bytes; may use x16. */
    Mem data(uint32_t offset, uint32_t size);

    /* Of the sum that is being judged. */
    static Mem member(size_t offset);

    /* Up to 4 bytes as they stand, or 8. */
    void load(const Gp &to, uint32_t offset, uint32_t size);

    /* A number of 16 bits. */
    void load_number(const Gp &to, uint32_t offset);

    /* x6: the sum of the frame's bytes in [from, to), an even number, 8 or more; uses x7. */
    void add_bytes(uint32_t from, uint32_t to);

    /* x6 += a term; what the 64 bits of x6 fold to; what those of w6 do, into 16; use x7. */
    void add_term(const Gp &term);
    void fold64();
    void fold32();

    /* One's complement, of 16 bits. */
    void add16(const Gp &to, const Gp &word);

    /* Goes to `differs` unless the 32 bits of w6 are the number; uses w7. */
    void require(uint32_t number, const Label &differs);

    /* --- Sums --- */

    /* All that is the same in every frame; the members from cover_size on are to be overwritten. */
    void list(size_t index);

    /* The number that is stored; expected as well, unless it turns out otherwise. */
    void list_stored(size_t index);

    /* The pseudo-header of w6 bytes, as carry_sum_pseudo4() and 6() add it. */
    void list_pseudo(size_t index);

    /* w12: the sum of the content, 8 bytes or more. */
    void sum_content();

    /* The whole sum of a header, with what is listed of it: in x6. */
    void sum_header(size_t index);

    /* Of a sum that folds to w6 and does not verify: what its field should hold. */
    void list_expected(size_t index);

    /* PARTIAL, if it is what transmit offload leaves, else BAD. */
    void list_verdict(size_t index);

    asmjit::a64::Assembler a;
    const PacketPlan &plan;
    Label other, rare;

  private:
    void compare_shape();
    void compare(const MatchGroup &group);
    void compare_choice(const Choice &choice);
    void compare_any(const Choice &choice, const Label &none);
    void compare_ports(const Ports &ports);
    void leave_if_tunnel(uint32_t offset, uint32_t count);
    void follow_lengths();
    void emit_rare();
    void emit_constants();

    const SumPlan content_plan;
    SumEmitter content_sum;
    Label constants[SUMS_MAX], ports_table;
};

/* UDP around tunnels that does not verify is rare. */
class CheckEmitter final : public PacketEmitter {
  public:
    CheckEmitter(asmjit::CodeHolder &code, const PacketPlan &packet_plan);

  private:
    /* Where the judgement of one sum goes on. */
    struct Labels {
        Label bad, absent, cut, done;
    };

    void emit_judgement() override;
    void enter(size_t index);
    void judge_header(size_t index);
    void judge_content(size_t index);
    void judge_around(size_t index);
    void leave_if_zero(size_t index);
    void leave_if_cut(size_t index);
    void verify(size_t index);
    void emit_bad(size_t index);
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
