/* SPDX-License-Identifier: MIT */
/* Emits code that sums runs of varying sizes with add and adc: first the end, then blocks, then
   words by the bits of the size. */
#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

/* Returns how often the sizes contain the bit `bit`. */
SumEmitter::Often SumEmitter::often(const SumSizes &sizes, uint64_t bit) {
    if (sizes.min / bit == sizes.max / bit)
        return sizes.min & bit ? Often::ALWAYS : Often::NEVER;
    return sizes.multiple % (2 * bit) ? Often::SOMETIMES : Often::NEVER;
}

/* Adds at most 7 bytes. */
void SumEmitter::add_short_range(int32_t offset, const SumSizes &sizes) {
    for (uint32_t bit = 4; bit; bit /= 2)
        add_by_bit(at.size, sizes, bit, [&] { add_piece(acc, offset, bit); });
}

/*
 * Adds the last size % 8 bytes. Loads the word that ends with them, and shifts it right by the
 * other bytes, in two steps, since a shift by 64 bits has no effect.
 */
void SumEmitter::add_last_range(int32_t offset) {
    const Gp count = at.scratch[0], word = at.scratch[1];
    const int32_t before = offset - static_cast<int32_t>(WORD_BYTES);
    a.mov(word, qword_ptr(at.data, at.size, 0, before));
    if (copies())
        a.mov(qword_ptr(at.copy, at.size, 0, before), word);
    a.mov(count.r32(), at.size.r32());
    a.not_(count.r32());
    a.shl(count.r32(), 3);
    if (target.has(SUM_BMI2))
        a.shrx(word, word, count);
    else
        a.shr(word, cl);
    a.shr(word, 8);
    add_register(word, UINT64_MAX >> 8);
    settle(acc);
}

void SumEmitter::add_scalar_blocks(int32_t offset, const SumSizes &sizes) {
    const Gp count = at.scratch[3];
    asmjit::Label none = a.newLabel();
    a.mov(count, at.size);
    a.shr(count, static_cast<uint32_t>(__builtin_ctzll(BLOCK_BYTES)));
    if (sizes.min < BLOCK_BYTES)
        a.jz(none);
    add_block_loop(offset, count);
    hold(acc);
    a.bind(none);
}

/* Adds runs of at least 8 bytes, or with at least 8 bytes before them. */
void SumEmitter::add_word_range(int32_t offset, const SumSizes &sizes) {
    if (sizes.multiple % WORD_BYTES)
        add_last_range(offset);
    if (sizes.max >= BLOCK_BYTES)
        add_scalar_blocks(offset, sizes);
    for (uint64_t bit = BLOCK_BYTES / 2; bit >= WORD_BYTES; bit /= 2)
        add_by_bit(at.size, sizes, bit, [&] { add_words(offset, bit); });
}

void SumEmitter::add_scalar_range(int32_t offset, const SumSizes &sizes) {
    split_range(
        sizes, WORD_BYTES - 1, [&](const SumSizes &lower) { add_short_range(offset, lower); },
        [&](const SumSizes &upper) { add_word_range(offset, upper); });
}

} // namespace carry::jit
