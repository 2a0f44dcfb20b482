/* SPDX-License-Identifier: MIT */
/*
 * Sums by vectors: dot products with ones, as src/sum/x86_64/template.h explains. The words' sign
 * bits are flipped, and 0x8000 is given back for each of them, those too that a masked load leaves
 * 0. The sum of all lanes, modulo 2^32, is that of the words, since it is less for any part.
 */
#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

constexpr uint32_t LANES = 8; /* accumulators: vectors 0 to 7 */
constexpr uint32_t WORDS = 8; /* the vector that was loaded last */
constexpr uint32_t FLIP = 14; /* 0x8000 in every word */
constexpr uint32_t ONES = 15; /* 1 in every word */

constexpr uint64_t PART_BYTES = 0x20000; /* words of more could reach 2^32 */
constexpr uint32_t BIAS_SHIFT = 14;      /* 0x8000 a word is 2^14 a byte */
constexpr uint64_t MASKED_MIN = 16;      /* shorter rests are summed as words */

} // namespace

Vec SumEmitter::vector(uint32_t index) const {
    switch (target.vector_bits) {
    case 128:
        return xmm(index);
    case 256:
        return ymm(index);
    default:
        return zmm(index);
    }
}

void SumEmitter::load_constants() {
    dirty = dirty || target.vector_bits > 128;
    a.vpbroadcastd(vector(FLIP), dword_ptr(constants));
    a.vpbroadcastd(vector(ONES), dword_ptr(constants, 4));
    lanes_used = 0;
    constants_used = true;
}

void SumEmitter::place_constants() {
    if (!constants_used)
        return;
    a.align(asmjit::AlignMode::kData, 8);
    a.bind(constants);
    a.embedUInt32(0x80008000);
    a.embedUInt32(0x00010001);
}

void SumEmitter::leave() {
    if (dirty)
        a.vzeroupper();
    dirty = false;
}

template <typename From> void SumEmitter::flip(const Vec &words, const From &from) {
    if (target.vector_bits == 512)
        a.vpxord(words, vector(FLIP), from);
    else
        a.vpxor(words, vector(FLIP), from);
}

template <typename To, typename From> void SumEmitter::move(const To &to, const From &from) {
    if (target.vector_bits == 512)
        a.vmovdqu64(to, from);
    else
        a.vmovdqu(to, from);
}

/* lane.32[i] += words.16[2i] + words.16[2i + 1], signed; the first into a lane needs no zeros. */
void SumEmitter::add_dot(const Vec &words, uint32_t lane) {
    const Vec sum = vector(lane), ones = vector(ONES);
    const bool used = lanes_used >> lane & 1;
    lanes_used |= 1u << lane;
    if (!used) {
        a.vpmaddwd(sum, ones, words);
    } else if (target.has(SUM_VNNI)) {
        a.evex().vpdpwssd(sum, ones, words);
    } else if (target.has(SUM_VEX_VNNI) && target.vector_bits < 512) {
        a.vex().vpdpwssd(sum, ones, words);
    } else {
        a.vpmaddwd(words, ones, words);
        a.vpaddd(sum, sum, words);
    }
}

void SumEmitter::add_vector(int32_t offset, uint32_t lane) {
    const Vec words = vector(WORDS);
    const Mem from = ptr(at.data, offset, target.vector_bytes());
    if (copies()) {
        move(words, from);
        move(ptr(at.copy, offset, target.vector_bytes()), words);
        flip(words, words);
    } else {
        flip(words, from);
    }
    add_dot(words, lane);
}

/* k1 names the bytes. */
void SumEmitter::add_masked(const Mem &from, const Mem &to, uint32_t lane) {
    const Vec words = vector(WORDS);
    a.k(k1).z().vmovdqu8(words, from);
    if (copies())
        a.k(k1).vmovdqu8(to, words);
    flip(words, words);
    add_dot(words, lane);
}

void SumEmitter::add_masked_rest(int32_t offset, uint32_t bytes, uint32_t lane) {
    const Gp mask = at.scratch[0];
    const uint32_t size = target.vector_bytes();
    a.mov(mask, (UINT64_C(1) << bytes) - 1);
    if (size == 64)
        a.kmovq(k1, mask);
    else
        a.kmovd(k1, mask.r32());
    add_masked(ptr(at.data, offset, size), copies() ? ptr(at.copy, offset, size) : Mem(), lane);
}

/* All lanes into lane 0. */
void SumEmitter::merge_lanes() {
    for (uint32_t step = 1; step < LANES; step *= 2)
        for (uint32_t lane = 0; lane + step < LANES; lane += 2 * step)
            if (lanes_used >> (lane + step) & 1)
                a.vpaddd(vector(lane), vector(lane), vector(lane + step));
}

/* scratch[2] + scratch[0] = the sum of the lanes, which begin with lane 0. */
void SumEmitter::sum_lanes() {
    const Gp lower = at.scratch[2], upper = at.scratch[0];
    merge_lanes();
    if (target.vector_bits == 512) {
        a.vextracti64x4(ymm1, zmm0, 1);
        a.vpaddd(ymm0, ymm0, ymm1);
    }
    if (target.vector_bits >= 256) {
        a.vextracti128(xmm1, ymm0, 1);
        a.vpaddd(xmm0, xmm0, xmm1);
    }
    a.vpshufd(xmm1, xmm0, 0x4e);
    a.vpaddd(xmm0, xmm0, xmm1);
    a.vmovq(lower, xmm0);
    a.mov(upper, lower);
    a.shr(upper, 32);
}

/* scratch[2] = the sum of the words in the lanes, which took so many bytes. */
void SumEmitter::sum_words(uint64_t bytes) {
    sum_lanes();
    a.lea(at.scratch[2].r32(),
          ptr(at.scratch[2], at.scratch[0], 0,
              static_cast<int32_t>(static_cast<uint32_t>(bytes << BIAS_SHIFT))));
}

/* The same by a register, in whole vectors. */
void SumEmitter::sum_words(const Gp &bytes) {
    const Gp sum = at.scratch[2].r32(), bias = at.scratch[0].r32();
    const int32_t size = static_cast<int32_t>(target.vector_bytes());
    sum_lanes();
    a.add(sum, bias);
    a.lea(bias, ptr(bytes, size - 1));
    a.and_(bias, -size);
    a.shl(bias, BIAS_SHIFT);
    a.add(sum, bias);
}

void SumEmitter::zero_lanes() {
    for (uint32_t lane = 0; lane < LANES; lane++)
        a.vpxor(xmm(lane), xmm(lane), xmm(lane));
    lanes_used = (1u << LANES) - 1;
}

void SumEmitter::add_vectors_straight(int32_t offset, uint64_t count, uint32_t lane,
                                      uint32_t lanes) {
    const uint32_t size = target.vector_bytes();
    for (uint32_t i = 0; i < count; i++)
        add_vector(offset + static_cast<int32_t>(i * size), lane + i % lanes);
}

/* So many blocks of one vector a lane as scratch[0] says, at least one; passes them. */
void SumEmitter::add_vector_loop(int32_t offset) {
    asmjit::Label block = a.newLabel();
    a.bind(block);
    add_vectors_straight(offset, LANES, 0, LANES);
    advance(static_cast<int32_t>(LANES * target.vector_bytes()));
    a.dec(at.scratch[0].r32());
    a.jnz(block);
}

/* --- Of one size --- */

/* `parts` times PART_BYTES. */
void SumEmitter::add_parts(int32_t offset, uint64_t parts) {
    const Gp left = at.scratch[3].r32();
    asmjit::Label part = a.newLabel();
    hold(acc);
    load_constants();
    a.mov(left, static_cast<uint32_t>(parts));
    a.bind(part);
    zero_lanes();
    a.mov(at.scratch[0].r32(), static_cast<uint32_t>(PART_BYTES / (LANES * target.vector_bytes())));
    add_vector_loop(offset);
    sum_words(PART_BYTES);
    add_register(at.scratch[2], UINT32_MAX);
    settle(acc);
    a.dec(left);
    a.jnz(part);
}

/* Blocks that are too many for straight code; returns the bytes that they have. */
uint64_t SumEmitter::add_blocks(int32_t offset, uint64_t bytes) {
    const uint64_t block = LANES * target.vector_bytes();
    if (bytes <= SUM_STRAIGHT_MAX)
        return 0;
    zero_lanes();
    a.mov(at.scratch[0].r32(), static_cast<uint32_t>(bytes / block));
    add_vector_loop(offset);
    return bytes / block * block;
}

/* At most PART_BYTES. What is short of a vector is summed as words, or as a vector with zeros. */
void SumEmitter::add_part(int32_t offset, uint64_t bytes) {
    const uint32_t size = target.vector_bytes();
    load_constants();
    const uint64_t looped = add_blocks(offset, bytes);
    const uint64_t rest = bytes % size, count = (bytes - looped) / size;
    const uint32_t lanes = count < 12 ? 4 : LANES;
    const bool masked = target.has(SUM_MASKS) && rest >= MASKED_MIN;
    add_vectors_straight(offset, count, 0, lanes);
    const int32_t end = offset + static_cast<int32_t>(count * size);
    if (masked)
        add_masked_rest(end, static_cast<uint32_t>(rest), static_cast<uint32_t>(count % lanes));
    sum_words(bytes - rest + masked * size);
    if (rest && !masked)
        add_scalar(end, rest, true);
    add_register(at.scratch[2], UINT32_MAX);
}

void SumEmitter::add_vectors(int32_t offset, uint64_t bytes) {
    const uint64_t parts = bytes / PART_BYTES;
    if (parts) {
        add_parts(offset, parts);
        return add(offset, bytes % PART_BYTES);
    }
    add_part(offset, bytes);
}

/* --- Of many sizes --- */

/* scratch[3] = the bytes of the next part; whole vectors, where what is behind them is not masked.
 */
void SumEmitter::choose_part(const SumSizes &sizes) {
    const Gp part = at.scratch[3];
    if (sizes.max > PART_BYTES) {
        a.mov(part.r32(), static_cast<uint32_t>(PART_BYTES));
        a.cmp(at.size, part);
        a.cmovb(part, at.size);
    } else {
        a.mov(part, at.size);
    }
    if (!target.has(SUM_MASKS) && sizes.multiple % target.vector_bytes())
        a.and_(part, -static_cast<int32_t>(target.vector_bytes()));
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

/* k1 = the first bytes of a vector, by their number modulo its size, in scratch[0]. */
void SumEmitter::set_mask(const Gp &bytes) {
    const Gp mask = at.scratch[1];
    a.mov(mask, -1);
    a.bzhi(mask, mask, bytes);
    if (target.vector_bits == 512)
        a.kmovq(k1, mask);
    else
        a.kmovd(k1, mask.r32());
}

void SumEmitter::add_masked_range(int32_t offset, const Gp &bytes, uint32_t lane) {
    const uint32_t size = target.vector_bytes();
    set_mask(bytes);
    add_masked(ptr(at.data, offset, size), copies() ? ptr(at.copy, offset, size) : Mem(), lane);
}

void SumEmitter::add_part_rest(int32_t offset, const SumSizes &sizes) {
    const Gp rest = at.scratch[0];
    asmjit::Label none = a.newLabel();
    if (!target.has(SUM_MASKS) || !(sizes.multiple % target.vector_bytes()))
        return;
    a.mov(rest.r32(), at.scratch[3].r32());
    a.and_(rest.r32(), target.vector_bytes() - 1);
    a.jz(none);
    add_masked_range(offset, rest, LANES - 1);
    a.bind(none);
}

void SumEmitter::add_range_part(int32_t offset, const SumSizes &sizes) {
    const uint64_t size = target.vector_bytes();
    choose_part(sizes);
    zero_lanes();
    add_part_blocks(offset, sizes);
    uint32_t lane = 0;
    for (uint32_t count = LANES / 2; count; lane += count, count /= 2)
        add_by_bit(at.scratch[3], sizes, count * size,
                   [&] { add_vectors_straight(offset, count, lane, count); });
    add_part_rest(offset, sizes);
    sum_words(at.scratch[3]);
    add_register(at.scratch[2], UINT32_MAX);
    settle(acc);
}

/* Sizes of at least one vector. What no mask cuts is left to the scalar code. */
void SumEmitter::add_vector_range(int32_t offset, const SumSizes &sizes) {
    const uint32_t size = target.vector_bytes();
    const bool masked = target.has(SUM_MASKS);
    asmjit::Label part = a.newLabel();
    load_constants();
    a.bind(part);
    add_range_part(offset, sizes);
    if (sizes.max > PART_BYTES) {
        a.sub(at.size, at.scratch[3]);
        if (!masked)
            a.cmp(at.size, size);
        masked ? a.jnz(part) : a.jae(part);
    }
    if (masked || !(sizes.multiple % size))
        return;
    a.and_(at.size.r32(), size - 1);
    add_word_range(offset, {0, size - 1, sizes.multiple});
}

/* At most one vector, in one load. */
void SumEmitter::add_masked_only(int32_t offset) {
    load_constants();
    add_masked_range(offset, at.size, 0);
    sum_words(uint64_t{target.vector_bytes()});
    add_register(at.scratch[2], UINT32_MAX);
    settle(acc);
}

void SumEmitter::add_short_vector_range(int32_t offset, const SumSizes &sizes) {
    if (target.has(SUM_MASKS))
        add_masked_only(offset);
    else
        add_scalar_range(offset, sizes);
}

void SumEmitter::add_ranged_vectors(int32_t offset, const SumSizes &sizes) {
    const uint64_t limit = target.has(SUM_MASKS) ? target.vector_bytes() : SCALAR_MAX;
    split_range(
        sizes, limit, [&](const SumSizes &lower) { add_short_vector_range(offset, lower); },
        [&](const SumSizes &upper) { add_vector_range(offset, upper); });
}

} // namespace carry::jit
