/* SPDX-License-Identifier: MIT */
/*
 * The operations that packet functions consist of, the same for every architecture:
 *
 *     int function(const struct carry_frame *frame, struct carry_packet_sum *sums, size_t capacity)
 *
 * Each operation writes a few instructions. They pass values in registers. The comments below name
 * them as follows:
 *
 *     VALUE    the value that is loaded, compared or summed
 *     SIZE     the size of a pseudo-header's content; may be the register of VALUE
 *     END      the offset in the frame where the content of the innermost header ends
 *     CONTENT  the partial sum of that content, in 32 bits
 *
 * and in functions that fill in:
 *
 *     PSEUDO   the partial sum of the pseudo-header of the innermost sum
 *     COUNT    the number of sums that were listed
 *     PASSED   whether a sum around others was skipped
 *
 * The operations named jump... preserve these registers. Other operations clobber VALUE and SIZE
 * unless they set them. Frames that a function leaves to the library are called rare.
 */
#ifndef CARRY_JIT_PACKET_OPS_H
#define CARRY_JIT_PACKET_OPS_H

#include "jit_packet.h"

namespace carry::jit {

class PacketOps {
  public:
    using Label = asmjit::Label;
    using Found = struct carry_packet_sum;

    Label new_label() {
        return emitter.newLabel();
    }
    void bind(const Label &label) {
        emitter.bind(label);
    }

    /* --- The shape --- */

    /* Begins the function. Sets END to the captured size. Jumps to `other` if the link type differs
       from the plan's, or if not all headers were captured. */
    virtual void start() = 0;

    /* Jumps to `other` unless the frame's bytes match. */
    virtual void require_match(const MatchGroup &group) = 0;

    /* Jumps to `other` if the destination port announces a tunnel, or, with `either`, if one of the
       two ports does. */
    virtual void require_no_tunnel(const Ports &ports, bool either) = 0;

    /* Jumps to `rare` if the headers end beyond END, or if `sums` has no space for all
       sums. */
    virtual void require_room() = 0;

    /* --- Loads --- */

    /* Sets VALUE to up to 4 bytes of the frame in memory order, or to 8. */
    virtual void load(uint32_t offset, uint32_t size) = 0;

    /* Set VALUE or SIZE to a number of 16 bits in network order. */
    virtual void load_number(uint32_t offset) = 0;
    virtual void load_size(uint32_t offset) = 0;

    /* Sets SIZE to END - the offset of the innermost content. */
    virtual void load_content_size() = 0;

    /* Set VALUE to END, or END to VALUE. */
    virtual void load_end() = 0;
    virtual void set_end() = 0;

    /* Sets VALUE to the listed number of bytes that the sum covers. */
    virtual void load_cover_size(size_t index) = 0;

    /* --- Additions --- */

    virtual void add_number(uint32_t number) = 0;

    /* Sets VALUE to the sum of the frame's bytes in [from, to): an even number of bytes, 8 or
       more. */
    virtual void sum_bytes(uint32_t from, uint32_t to) = 0;

    /* Sets CONTENT to the sum of the innermost content, which is 8 bytes or more. */
    virtual void sum_content() = 0;

    /* Sets VALUE to the listed sum of the pseudo-header + CONTENT. */
    virtual void load_pseudo_and_content(size_t index) = 0;

    /* Add to VALUE the listed sum of the pseudo-header, or that sum and CONTENT, with end-around
       carry. */
    virtual void add_pseudo(size_t index) = 0;
    virtual void add_pseudo_and_content(size_t index) = 0;

    /* Adds the complement of PSEUDO to VALUE, with end-around carry. Clobbers PSEUDO. */
    virtual void add_pseudo_complement() = 0;

    /* Folds the 64 bits of VALUE to 16. */
    virtual void fold() = 0;

    /* --- Jumps --- */

    virtual void jump(const Label &to) = 0;
    virtual void jump_if_value(uint32_t number, const Label &to) = 0;
    virtual void jump_if_above_end(const Label &to) = 0;
    virtual void jump_unless_end(const Label &to) = 0;

    /* Jumps if the offset VALUE is beyond the captured bytes. */
    virtual void jump_if_cut(const Label &to) = 0;

    /* Jump if VALUE, folded, is 0xffff, as the sum of bytes with a good checksum is; or if it is
       not. */
    virtual void jump_if_good(const Label &to) = 0;
    virtual void jump_unless_good(const Label &to) = 0;

    /* Jump if the field of a sum holds 0, if it does not, or if it holds VALUE, folded. */
    virtual void jump_if_stored_zero(size_t index, const Label &to) = 0;
    virtual void jump_if_stored_nonzero(size_t index, const Label &to) = 0;
    virtual void jump_if_stored_value(size_t index, const Label &to) = 0;

    /* --- The list of sums --- */

    /* Makes the following operations list their sum at sums[index]. */
    virtual void select_place(size_t index) = 0;

    /* Lists the members that are the same in every frame. Also overwrites cover_size and pseudo. */
    virtual void list(size_t index) = 0;

    /* Lists the stored number, also as the expected number. */
    virtual void list_stored(size_t index) = 0;

    /* Lists SIZE, and the sum of the pseudo-header as carry_sum_pseudo4() or carry_sum_pseudo6()
       computes it. */
    virtual void list_pseudo(size_t index) = 0;
    virtual void list_no_pseudo(size_t index) = 0;

    /* Lists the number that the field should hold. VALUE is folded and shows that the sum is not
       good. */
    virtual void list_expected(size_t index) = 0;

    virtual void list_verdict(size_t index, uint32_t verdict) = 0;

    /* Lists PARTIAL if the field holds the sum that transmit offload writes, else BAD. */
    virtual void list_partial_or_bad(size_t index) = 0;

    /* --- Functions that check --- */

    /* Lists the reason why bytes up to the offset VALUE are missing: not captured, or not on the
       wire. May jump to `done`. */
    virtual void list_cut(size_t index, const Label &done) = 0;

    /* Returns whether list_around_partial() can judge a sum around others. */
    virtual bool judges_bad_around(size_t index) const = 0;

    /* Lists PARTIAL for a bad sum that is good once the partial sum `inner` is complete; may jump
       to `done`. Follows list_expected() and list_partial_or_bad(). */
    virtual void list_around_partial(size_t index, size_t inner, const Label &done) = 0;

    /* --- Functions that fill in --- */

    /* Jumps to `rare` unless the field of the sum holds 0. */
    virtual void require_absent(size_t index) = 0;

    /* Begins the list with the innermost sum. */
    virtual void start_list() = 0;

    /* Sets PSEUDO to the listed sum of the pseudo-header, and COUNT to 0. CONTENT must not be used
     * afterwards. */
    virtual void keep_pseudo(size_t index) = 0;

    /* Begins the code for the sums outside the innermost one. Sets PASSED to 0. */
    virtual void start_outer() = 0;

    /* Stores the number that is listed as expected. Counts the sum, and advances to the next
       place. */
    virtual void store_expected(size_t index) = 0;

    /* Jumps unless the first listed sum is PARTIAL; else lists PARTIAL and CAUSE_HEADER. */
    virtual void list_header_partial(size_t index, const Label &otherwise) = 0;

    /* pass_if_listed() sets PASSED to whether sums were listed, and jumps if they were;
     * jump_if_passed() jumps if PASSED is true. */
    virtual void pass_if_listed(const Label &to) = 0;
    virtual void jump_if_passed(const Label &to) = 0;

    /* --- The end --- */

    virtual void return_number(int number) = 0;
    virtual void return_count() = 0;

    /* Calls the library's function with the same arguments, and without options. */
    virtual void call_library() = 0;

    /* Places constants after the instructions. */
    virtual void place_constants() = 0;

    const PacketPlan &plan;
    const Label other; /* returns CARRY_JIT_OTHER_SHAPE */
    const Label rare;  /* calls the library */

  protected:
    PacketOps(asmjit::BaseEmitter &base_emitter, const PacketPlan &packet_plan)
        : plan(packet_plan), other(base_emitter.newLabel()), rare(base_emitter.newLabel()),
          ports_table(base_emitter.newLabel()), emitter(base_emitter) {
        for (Label &constant : constants)
            constant = emitter.newLabel();
    }
    ~PacketOps() = default;

    /* Places the members that list() copies. */
    void place_sums() {
        emitter.align(asmjit::AlignMode::kData, 16);
        for (size_t i = 0; i < plan.sums.count; i++) {
            emitter.bind(constants[i]);
            emitter.embed(&plan.sums[i].found, LISTED_BYTES);
        }
    }

    static constexpr size_t LISTED_BYTES = 32;

    Label constants[SUMS_MAX];
    const Label ports_table; /* placed by the architecture, for require_no_tunnel() */

  private:
    asmjit::BaseEmitter &emitter;
};

/* Writes a whole function: one that fills in if the plan's flags say so, else one that checks. */
void emit_packet_function(PacketOps &ops);

/* Write the code after the shape: it judges all sums, and returns or jumps to `rare`. */
void emit_check(PacketOps &ops);
void emit_fill(PacketOps &ops);

} // namespace carry::jit

#endif
