/* SPDX-License-Identifier: MIT */
/* Emits sums by add and adc: short runs, and all runs without vectors. */
#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

/* The fewest words for which two chains are faster than one, and three faster than two. */
constexpr uint64_t TWO_CHAINS_MIN = 6;
constexpr uint64_t THREE_CHAINS_MIN = 15;

} // namespace

/* Adds a term of at most `limit`. If the sum cannot exceed 64 bits, the carry is not read later. */
template <typename Term> void SumEmitter::add_term(Chain &chain, const Term &term, uint64_t limit) {
    if (!chain.limit) {
        a.mov(chain.sum, term);
        chain.limit = limit;
        return;
    }
    if (chain.carries)
        a.adc(chain.sum, term);
    else
        a.add(chain.sum, term);
    chain.carries = chain.carries || chain.limit > UINT64_MAX - limit;
    chain.limit = chain.carries ? UINT64_MAX : chain.limit + limit;
}

void SumEmitter::add_register(const Gp &term, uint64_t limit) {
    add_term(acc, term, limit);
}

/* Loads 1, 2, 4 or 8 bytes into a register, and stores them to the copy if there is one. */
void SumEmitter::load(const Gp &to, int32_t offset, uint32_t bytes) {
    const Mem from = ptr(at.data, offset, bytes);
    if (bytes == 8)
        a.mov(to.r64(), from);
    else if (bytes == 4)
        a.mov(to.r32(), from);
    else
        a.movzx(to.r32(), from);
    if (!copies())
        return;
    const Mem target_at = ptr(at.copy, offset, bytes);
    if (bytes == 8)
        a.mov(target_at, to.r64());
    else if (bytes == 4)
        a.mov(target_at, to.r32());
    else if (bytes == 2)
        a.mov(target_at, to.r16());
    else
        a.mov(target_at, to.r8());
}

/* Returns a register to load into: the register of the sum itself if the sum has no value yet. */
Gp SumEmitter::free_register(const Chain &chain) const {
    return chain.limit ? at.scratch[0] : chain.sum;
}

void SumEmitter::add_loaded(Chain &chain, const Gp &term, uint32_t bytes) {
    const uint64_t limit = UINT64_MAX >> 8 * (WORD_BYTES - bytes);
    if (chain.limit)
        add_term(chain, term, limit);
    else
        chain.limit = limit;
}

void SumEmitter::add_piece(Chain &chain, int32_t offset, uint32_t bytes) {
    const Gp piece = free_register(chain);
    load(piece, offset, bytes);
    add_loaded(chain, piece, bytes);
}

/* Adds fewer bytes than a word, by loading the word that ends with them. */
void SumEmitter::add_cut_word(Chain &chain, int32_t offset, uint32_t bytes) {
    const Gp word = free_register(chain);
    settle(chain);
    load(word, offset + static_cast<int32_t>(bytes - WORD_BYTES), WORD_BYTES);
    a.shr(word, 8 * (WORD_BYTES - bytes));
    add_loaded(chain, word, bytes);
}

/* Adds fewer bytes than a word. If `behind_word`, at least a word precedes them in the run. */
void SumEmitter::add_rest(Chain &chain, int32_t offset, uint32_t bytes, bool behind_word) {
    const bool one_piece = !(bytes & (bytes - 1));
    if (behind_word && !one_piece)
        return add_cut_word(chain, offset, bytes);
    for (uint32_t piece = WORD_BYTES / 2; piece; piece /= 2)
        if (bytes & piece) {
            add_piece(chain, offset, piece);
            offset += static_cast<int32_t>(piece);
        }
}

/* Adds whole words. */
void SumEmitter::add_chain(Chain &chain, int32_t offset, uint64_t bytes) {
    for (const int32_t end = offset + static_cast<int32_t>(bytes); offset < end;
         offset += WORD_BYTES) {
        if (copies()) {
            load(at.scratch[0], offset, WORD_BYTES);
            add_term(chain, at.scratch[0], UINT64_MAX);
        } else {
            add_term(chain, qword_ptr(at.data, offset), UINT64_MAX);
        }
    }
}

/*
 * Adds words in several chains, which the CPU runs in parallel. The accumulator adds the other
 * chains one after the other, so each chain has time for one word more than the previous one. The
 * third chain clobbers scratch[3]; rests shorter than a vector have too few words for it.
 */
void SumEmitter::add_words(int32_t offset, uint64_t bytes) {
    const uint64_t words = bytes / WORD_BYTES;
    const uint64_t others = words < TWO_CHAINS_MIN ? 0 : words < THREE_CHAINS_MIN ? 1 : 2;
    const uint64_t share = (words + 2 - others) / (others + 1);
    Chain other[] = {{at.scratch[1], 0, false}, {at.scratch[3], 0, false}};
    if (others)
        settle(acc);
    for (uint64_t i = others; i-- > 0;) {
        add_chain(other[i], offset, (share + i) * WORD_BYTES);
        settle(other[i]);
        offset += static_cast<int32_t>((share + i) * WORD_BYTES);
        bytes -= (share + i) * WORD_BYTES;
    }
    add_chain(acc, offset, bytes);
    for (uint64_t i = 0; i < others; i++)
        add_term(acc, other[i].sum, UINT64_MAX);
}

void SumEmitter::add_scalar(int32_t offset, uint64_t bytes, bool behind_word) {
    if (bytes > STRAIGHT_MAX) {
        a.mov(at.scratch[3].r32(), static_cast<uint32_t>(bytes / BLOCK_BYTES));
        add_block_loop(offset, at.scratch[3]);
        return add_scalar(offset, bytes % BLOCK_BYTES, true);
    }
    const uint32_t rest = bytes % WORD_BYTES;
    const uint64_t words = bytes - rest;
    const int32_t end = offset + static_cast<int32_t>(words);
    if (rest && words && words < TWO_CHAINS_MIN * WORD_BYTES)
        return add_beside(offset, words, rest);
    if (rest)
        add_rest(acc, end, rest, words || behind_word);
    add_words(offset, words);
}

/* Adds few words and a rest. The rest is added to the earlier sum in parallel to the words. */
void SumEmitter::add_beside(int32_t offset, uint64_t words, uint32_t rest) {
    Chain other = {at.scratch[1], 0, false};
    settle(acc);
    add_rest(other, offset + static_cast<int32_t>(words), rest, true);
    if (words > WORD_BYTES && acc.limit && acc.limit <= UINT64_MAX - other.limit) {
        add_term(other, acc.sum, acc.limit);
        acc.limit = 0;
    }
    add_words(offset, words);
    add_term(acc, other.sum, other.limit);
}

/* Adds `count` blocks, at least one, with two chains, and advances past them. */
void SumEmitter::add_block_loop(int32_t offset, const Gp &count) {
    Chain other = {at.scratch[1], 0, false};
    asmjit::Label block = a.newLabel();
    hold(acc);
    hold(other);
    a.bind(block);
    add_chain(acc, offset, BLOCK_BYTES / 2);
    settle(acc);
    add_chain(other, offset + static_cast<int32_t>(BLOCK_BYTES / 2), BLOCK_BYTES / 2);
    settle(other);
    advance(BLOCK_BYTES);
    a.dec(count.r32());
    a.jnz(block);
    add_term(acc, other.sum, UINT64_MAX);
    settle(acc);
}

} // namespace carry::jit
