/* SPDX-License-Identifier: MIT */
/* Emits code that sums runs of varying sizes with vectors: first blocks, then vectors by the bits
   of the size, then the rest. */
#include "emit_sum.h"

#include <numeric>

namespace carry::jit {

using namespace asmjit::x86;

namespace {

constexpr uint64_t MASKED_SHORT_MAX = 128;

} // namespace

/* Sets scratch[3] to the size of the next part: whole vectors only, if there are no masked loads.
   Returns the sizes that parts may have. */
SumSizes SumEmitter::choose_part(const SumSizes &sizes) {
    const Gp part = at.scratch[3];
    const bool one = sizes.max <= PART_BYTES;
    if (one) {
        a.mov(part, at.size);
    } else {
        a.mov(part.r32(), static_cast<uint32_t>(PART_BYTES));
        a.cmp(at.size, part);
        a.cmovb(part, at.size);
    }
    if (!target.has(SUM_MASKS) && sizes.multiple % target.vector_bytes())
        a.and_(part, -static_cast<int32_t>(target.vector_bytes()));
    return one ? sizes : SumSizes{0, PART_BYTES, std::gcd(sizes.multiple, PART_BYTES)};
}

void SumEmitter::add_part_blocks(int32_t offset, const SumSizes &sizes) {
    const uint64_t block = LANES * target.vector_bytes();
    asmjit::Label none = a.newLabel();
    if (sizes.max < block)
        return;
    a.mov(at.scratch[0].r32(), at.scratch[3].r32());
    a.shr(at.scratch[0].r32(), static_cast<uint32_t>(__builtin_ctzll(block)));
    a.jz(none);
    add_vector_loop(offset);
    a.bind(none);
}

/* Makes k1 select the first bytes of a vector: `bytes` modulo 256, at most the vector's size. */
void SumEmitter::set_mask(const Gp &bytes) {
    const Gp mask = at.scratch[1];
    a.mov(mask, -1);
    a.bzhi(mask, mask, bytes);
    if (target.vector_bits == 512)
        a.kmovq(k1, mask);
    else
        a.kmovd(k1, mask.r32());
}

void SumEmitter::add_masked(int32_t offset, const Gp &bytes, uint32_t lane) {
    set_mask(bytes);
    add_words_of(load_masked(offset), lane);
}

void SumEmitter::add_part_rest(int32_t offset, const SumSizes &sizes) {
    const Gp rest = at.scratch[0];
    asmjit::Label none = a.newLabel();
    if (!target.has(SUM_MASKS) || !(sizes.multiple % target.vector_bytes()))
        return;
    a.mov(rest.r32(), at.scratch[3].r32());
    a.and_(rest.r32(), target.vector_bytes() - 1);
    a.jz(none);
    add_masked(offset, rest, HEAD_LANE);
    a.bind(none);
}

/* Sets lane 0 to 0x8000 for each word of the vectors that hold the part's bytes. */
void SumEmitter::start_part() {
    const Gp bias = at.scratch[0].r32();
    const uint32_t size = target.vector_bytes();
    a.lea(bias, ptr(at.scratch[3], static_cast<int32_t>(size - 1)));
    a.shr(bias, static_cast<uint32_t>(__builtin_ctz(size)));
    a.shl(bias, 16);
    a.vmovd(xmm0, bias);
    a.vpbroadcastd(vector(0), xmm0);
    lanes_used |= 1;
}

void SumEmitter::add_range_part(int32_t offset, const SumSizes &sizes) {
    const uint64_t size = target.vector_bytes();
    const SumSizes parts = choose_part(sizes);
    start_part();
    zero_lanes();
    add_part_blocks(offset, parts);
    uint32_t lane = 0;
    for (uint32_t count = LANES / 2; count; lane += count, count /= 2)
        add_by_bit(at.scratch[3], parts, count * size,
                   [&] { add_vectors_straight(offset, count, lane, count); });
    add_part_rest(offset, parts);
    if (sizes.max > PART_BYTES)
        a.sub(at.size, at.scratch[3]);
    sum_lanes();
    add_lanes();
    settle(acc);
}

/* Adds parts until only the bytes that scalar code adds remain. */
void SumEmitter::add_range_parts(int32_t offset, const SumSizes &sizes) {
    asmjit::Label part = a.newLabel(), end = a.newLabel();
    a.bind(part);
    lanes_used = 1u << HEAD_LANE;
    add_range_part(offset, sizes);
    if (sizes.max <= PART_BYTES)
        return;
    a.cmp(at.size, target.has(SUM_MASKS) ? 1 : target.vector_bytes());
    a.jb(end);
    a.vpxor(xmm(HEAD_LANE), xmm(HEAD_LANE), xmm(HEAD_LANE));
    a.jmp(part);
    a.bind(end);
}

/* Adds runs of at least one vector. Without masked loads, scalar code adds the rest. */
void SumEmitter::add_vector_range(int32_t offset, const SumSizes &sizes, uint64_t alignment) {
    const uint32_t size = target.vector_bytes();
    hold(acc);
    load_constants();
    a.vpxor(xmm(HEAD_LANE), xmm(HEAD_LANE), xmm(HEAD_LANE));
    if (aligns(sizes, alignment))
        return add_aligned_range(offset, sizes, alignment);
    add_range_parts(offset, sizes);
    if (target.has(SUM_MASKS) || !(sizes.multiple % size))
        return;
    a.and_(at.size.r32(), size - 1);
    add_word_range(offset, {0, size - 1, sizes.multiple});
}

/* Adds at most one vector, in one load. */
void SumEmitter::add_masked_only(int32_t offset) {
    load_constants();
    start_lane(0, 1);
    add_masked(offset, at.size, 0);
    sum_lanes();
    add_lanes();
    settle(acc);
}

void SumEmitter::add_masked_range(int32_t offset, const SumSizes &sizes) {
    split_range(
        sizes, target.vector_bytes(), [&](const SumSizes &) { add_masked_only(offset); },
        [&](const SumSizes &upper) { add_vector_range(offset, upper, 1); });
}

/*
 * Adds short runs. Multiples of 4 are sizes of headers. Such sizes repeat, so branches on their
 * bits are predicted, and words are faster than vectors. Other sizes are assumed to vary from call
 * to call: a masked load has no branch to mispredict.
 */
void SumEmitter::add_short_range_by_mask(int32_t offset, const SumSizes &sizes) {
    if (!(sizes.multiple % 4))
        return add_scalar_range(offset, sizes);
    asmjit::Label masked = a.newLabel(), end = a.newLabel();
    a.test(at.size.r32(), 3);
    a.jnz(masked);
    const Chain before = acc;
    add_scalar_range(offset, {sizes.min, sizes.max, 4});
    hold(acc);
    a.jmp(end);
    a.bind(masked);
    acc = before;
    add_masked_range(offset, sizes);
    hold(acc);
    a.bind(end);
}

void SumEmitter::add_ranged_vectors(int32_t offset, const SumSizes &sizes, uint64_t alignment) {
    const bool masked = target.has(SUM_MASKS);
    split_range(
        sizes, masked ? MASKED_SHORT_MAX : scalar_max(),
        [&](const SumSizes &lower) {
            if (masked)
                add_short_range_by_mask(offset, lower);
            else
                add_scalar_range(offset, lower);
        },
        [&](const SumSizes &upper) { add_vector_range(offset, upper, alignment); });
}

} // namespace carry::jit
