/* SPDX-License-Identifier: MIT */
/*
 * Emits code that sums with vectors: by dot products with ones, as src/sum/x86_64/dot.h explains.
 * The words' sign bits are flipped, and 0x8000 is added for each word, also for each word that a
 * masked load sets to 0. The sum of all lanes modulo 2^32 is the sum of the words, since the sum of
 * a part is less than 2^32. If multiplications slow the core down, shifts and additions produce the
 * same sums of signed words.
 */
#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

constexpr uint32_t WORDS = 8; /* the vector that was loaded last */
constexpr uint32_t FLIP = 14; /* 0x8000 in every word */
constexpr uint32_t ONES = 15; /* 1 in every word; with SUM_SHIFTS, scratch for shifted words */

constexpr uint64_t EIGHT_LANES_MIN = 12; /* with fewer vectors, merging lanes costs too much */
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
    a.vpbroadcastd(vector(FLIP), dword_ptr(constant(0x80008000)));
    if (!target.has(SUM_SHIFTS))
        a.vpbroadcastd(vector(ONES), dword_ptr(constant(0x00010001)));
}

asmjit::Label SumEmitter::constant(uint32_t value) {
    for (const Constant &known : constants)
        if (known.value == value)
            return known.label;
    constants.push_back({value, a.newLabel()});
    return constants.back().label;
}

void SumEmitter::place_constants() {
    if (!constants.empty())
        a.align(asmjit::AlignMode::kData, sizeof(uint32_t));
    for (const Constant &known : constants) {
        a.bind(known.label);
        a.embedUInt32(known.value);
    }
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

/* Does what add_dot() does, without multiplications. */
void SumEmitter::add_shifted(const Vec &words, uint32_t lane) {
    const Vec sum = vector(lane), upper = vector(ONES);
    const bool used = lanes_used >> lane & 1;
    lanes_used |= 1u << lane;
    a.vpsrad(upper, words, 16);
    a.vpslld(words, words, 16);
    a.vpsrad(words, words, 16);
    if (used)
        a.vpaddd(upper, upper, sum);
    a.vpaddd(sum, upper, words);
}

/* Adds signed words: lane.32[i] += words.16[2i] + words.16[2i + 1]. The first addition sets the
   lane. */
void SumEmitter::add_dot(const Vec &words, uint32_t lane) {
    if (target.has(SUM_SHIFTS))
        return add_shifted(words, lane);
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

/* Returns a vector with the bytes at data + index + offset that k1 selects, and zeros. */
Vec SumEmitter::load_masked(const Gp &index, int32_t offset) {
    const Vec words = vector(WORDS);
    a.k(k1).z().vmovdqu8(words, ptr(at.data, index, 0, offset, target.vector_bytes()));
    if (copies())
        a.k(k1).vmovdqu8(ptr(at.copy, index, 0, offset, target.vector_bytes()), words);
    return words;
}

Vec SumEmitter::load_masked(int32_t offset) {
    const Vec words = vector(WORDS);
    a.k(k1).z().vmovdqu8(words, ptr(at.data, offset, target.vector_bytes()));
    if (copies())
        a.k(k1).vmovdqu8(ptr(at.copy, offset, target.vector_bytes()), words);
    return words;
}

void SumEmitter::add_words_of(const Vec &words, uint32_t lane) {
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
    add_words_of(load_masked(offset), lane);
}

/* Adds all lanes to lane 0. */
void SumEmitter::merge_lanes() {
    for (uint32_t step = 1; step < LANES; step *= 2)
        for (uint32_t lane = 0; lane + step < LANES; lane += 2 * step)
            if (lanes_used >> (lane + step) & 1)
                a.vpaddd(vector(lane), vector(lane), vector(lane + step));
}

/* Sets scratch[2] and scratch[3] to words with the same sum as the lanes. */
void SumEmitter::sum_lanes() {
    merge_lanes();
    if (target.vector_bits == 512) {
        a.vextracti32x4(xmm2, zmm0, 2);
        a.vextracti32x4(xmm3, zmm0, 3);
        a.vpaddd(xmm2, xmm2, xmm3);
    }
    if (target.vector_bits >= 256) {
        a.vextracti128(xmm1, ymm0, 1);
        a.vpaddd(xmm0, xmm0, xmm1);
    }
    if (target.vector_bits == 512)
        a.vpaddd(xmm0, xmm0, xmm2);
    a.vmovq(at.scratch[2], xmm0);
    a.vpextrq(at.scratch[3], xmm0, 1);
    lanes_used = 0;
}

/* Adds scratch[2] and scratch[3], each of which holds two sums of 32 bits. */
void SumEmitter::add_lanes() {
    add_register(at.scratch[2], UINT64_MAX);
    add_register(at.scratch[3], UINT64_MAX);
}

/* Sets a lane to 0x8000 for each word of `vectors` vectors. */
void SumEmitter::start_lane(uint32_t lane, uint64_t vectors) {
    a.vpbroadcastd(vector(lane), dword_ptr(constant(static_cast<uint32_t>(vectors << 16))));
    lanes_used |= 1u << lane;
}

/* Zeroes the lanes that have no value yet, for a loop that uses all. */
void SumEmitter::zero_lanes() {
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (!(lanes_used >> lane & 1))
            a.vpxor(xmm(lane), xmm(lane), xmm(lane));
    lanes_used = (1u << LANES) - 1;
}

void SumEmitter::add_vectors_straight(int32_t offset, uint64_t count, uint32_t lane,
                                      uint32_t lanes) {
    const uint32_t size = target.vector_bytes();
    for (uint32_t i = 0; i < count; i++)
        add_vector(offset + static_cast<int32_t>(i * size), lane + i % lanes);
}

/* Adds scratch[0] blocks of one vector per lane, at least one, and advances past them. */
void SumEmitter::add_vector_loop(int32_t offset) {
    asmjit::Label block = a.newLabel();
    a.bind(block);
    add_vectors_straight(offset, LANES, 0, LANES);
    advance(static_cast<int32_t>(LANES * target.vector_bytes()));
    a.dec(at.scratch[0].r32());
    a.jnz(block);
}

/* --- Runs of one size --- */

/* Adds blocks in a loop if they are too many for straight code; returns their bytes. */
uint64_t SumEmitter::add_blocks(int32_t offset, uint64_t bytes) {
    const uint64_t block = LANES * target.vector_bytes();
    if (bytes <= STRAIGHT_MAX)
        return 0;
    zero_lanes();
    a.mov(at.scratch[0].r32(), static_cast<uint32_t>(bytes / block));
    add_vector_loop(offset);
    return bytes / block * block;
}

/* Adds at most PART_BYTES. A rest shorter than a vector is added as words, or by a masked load. */
void SumEmitter::add_part(int32_t offset, uint64_t bytes) {
    const uint32_t size = target.vector_bytes();
    const uint64_t rest = bytes % size;
    const bool masked = target.has(SUM_MASKS) && rest >= MASKED_MIN;
    load_constants();
    start_lane(0, bytes / size + masked);
    const uint64_t count = (bytes - add_blocks(offset, bytes)) / size;
    const uint32_t lanes = count < EIGHT_LANES_MIN ? LANES / 2 : LANES;
    add_vectors_straight(offset, count, 0, lanes);
    const int32_t end = offset + static_cast<int32_t>(count * size);
    if (masked)
        add_masked_rest(end, static_cast<uint32_t>(rest), static_cast<uint32_t>(count % lanes));
    sum_lanes();
    if (rest && !masked)
        add_scalar(end, rest, true);
    add_lanes();
}

/*
 * Adds at most PART_BYTES. In long runs, loads that straddle lines cost more than alignment does;
 * then aligned and misaligned data have code of their own.
 */
void SumEmitter::add_vectors(int32_t offset, uint64_t bytes, uint64_t alignment) {
    if (!aligns({bytes, bytes, 1}, alignment))
        return add_part(offset, bytes);
    asmjit::Label misaligned = a.newLabel(), end = a.newLabel();
    hold(acc);
    count_head(offset);
    a.jnz(misaligned);
    add_part(offset, bytes);
    hold(acc);
    a.jmp(end);
    a.bind(misaligned);
    add_misaligned(offset, bytes, alignment);
    a.bind(end);
}

} // namespace carry::jit
