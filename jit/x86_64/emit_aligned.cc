/* SPDX-License-Identifier: MIT */
/*
 * Sums by vectors that straddle no cache lines. A masked load reads the head: the bytes before the
 * first line. If the head has an odd size, the words after it begin at odd offsets, so the bytes of
 * their sum are swapped. Therefore the accumulator and the head are rotated by 8 bits, and the
 * total is rotated back at the end.
 */
#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

constexpr uint32_t LINE_BYTES = 64;
constexpr uint32_t TURNS = 9; /* this vector holds how many bits the head is rotated by */

} // namespace

/* Returns whether to align loads. With narrower vectors, only every other load would straddle
   lines. */
bool SumEmitter::aligns(const SumSizes &sizes, uint64_t alignment) const {
    return target.vector_bits == 8 * LINE_BYTES && alignment < LINE_BYTES &&
           sizes.max >= SUM_ALIGNED_MIN;
}

/* Sets scratch[3] to the size of the head, in the copy if there is one, else in the data; sets
   flags. */
void SumEmitter::count_head(int32_t offset) {
    const Gp head = at.scratch[3].r32();
    a.lea(head, ptr(copies() ? at.copy : at.data, offset));
    a.neg(head);
    a.and_(head, LINE_BYTES - 1);
}

/* Adds the head, and advances past it. With an alignment of 1, sets scratch[4] to the number of
   bits by which the sum is rotated. */
void SumEmitter::add_head(int32_t offset, uint64_t alignment) {
    const Gp head = at.scratch[3], turn = at.scratch[4].r32();
    set_mask(head);
    const Vec words = load_masked(offset);
    if (alignment == 1) {
        a.mov(turn, head.r32());
        a.and_(turn, 1);
        a.shl(turn, 3);
        a.mov(ecx, turn);
        a.rol(acc.sum, cl);
        a.vpbroadcastd(vector(TURNS), turn);
        a.vprolvd(words, words, vector(TURNS));
    }
    add_words_of(words, HEAD_LANE);
    a.add(at.data, head);
    if (copies())
        a.add(at.copy, head);
}

void SumEmitter::turn_back(uint64_t alignment) {
    settle(acc);
    if (alignment > 1)
        return;
    a.mov(ecx, at.scratch[4].r32());
    a.ror(acc.sum, cl);
}

/* Adds the last scratch[3] bytes, at most 126, in two vectors. */
void SumEmitter::add_last_vectors(int32_t offset) {
    const Gp left = at.scratch[3], index = at.scratch[2], zero = at.scratch[0];
    set_mask(left);
    add_words_of(load_masked(offset), 0);
    /* If no byte is left for the second load, it repeats the address of the first load: the page
     * after the data may be inaccessible, and a load there costs hundreds of cycles even if all
     * bytes are masked out. */
    a.xor_(zero.r32(), zero.r32());
    a.mov(index.r32(), LINE_BYTES);
    a.sub(left.r32(), LINE_BYTES);
    a.cmovbe(index, zero);
    a.cmovb(left, zero);
    set_mask(left);
    add_words_of(load_masked(index, offset), 1);
}

/* Adds a run of one size, at most PART_BYTES. count_head() must have found a head that is not
   empty. */
void SumEmitter::add_misaligned(int32_t offset, uint64_t bytes, uint64_t alignment) {
    const uint64_t lines = (bytes - (LINE_BYTES - 1)) / LINE_BYTES;
    const Gp left = at.scratch[3].r32();
    load_constants();
    start_lane(0, lines + 3);
    add_head(offset, alignment);
    a.neg(left);
    a.add(left, static_cast<int32_t>(bytes - lines * LINE_BYTES));
    const uint64_t looped = add_blocks(offset, lines * LINE_BYTES) / LINE_BYTES;
    add_vectors_straight(offset, lines - looped, 0, LANES);
    add_last_vectors(offset + static_cast<int32_t>((lines - looped) * LINE_BYTES));
    sum_lanes();
    add_lanes();
    turn_back(alignment);
}

/* Adds a run of many sizes. The constants must be loaded, and the lane of the head must be 0. */
void SumEmitter::add_aligned_range(int32_t offset, const SumSizes &sizes, uint64_t alignment) {
    asmjit::Label aligned = a.newLabel();
    if (alignment == 1)
        a.xor_(at.scratch[4].r32(), at.scratch[4].r32());
    if (sizes.min < SUM_ALIGNED_MIN) {
        a.cmp(at.size, static_cast<uint32_t>(SUM_ALIGNED_MIN));
        a.jb(aligned);
    }
    count_head(offset);
    a.jz(aligned);
    start_lane(HEAD_LANE, 1);
    add_head(offset, alignment);
    a.sub(at.size, at.scratch[3]);
    a.bind(aligned);
    const uint64_t behind = sizes.min < SUM_ALIGNED_MIN ? 0 : LINE_BYTES - 1;
    add_range_parts(offset, {sizes.min - behind, sizes.max, 1});
    turn_back(alignment);
}

} // namespace carry::jit
