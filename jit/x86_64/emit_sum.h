/* SPDX-License-Identifier: MIT */
/*
 * Writes code that sums runs of bytes, for every x86-64 generator.
 *
 *     SumRegisters at;
 *     SumEmitter sum(a, target, at);
 *     sum.start(edx);                  rax = the seed
 *     sum.add(0, 20);                  rax += the 20 bytes at rdi
 *     sum.add(20, {0, 65515, 1});      rax += the rsi bytes at rdi + 20
 *     sum.settle();                    rax may be read, flags may be clobbered
 *     sum.leave();                     the function may return
 *     ...
 *     sum.place_constants();           after the instructions
 *
 * The accumulator has 64 bits, with end-around carry: 2^64 is 1 modulo 0xffff. It is 0 only if
 * all added bytes are 0.
 */
#ifndef CARRY_JIT_X86_64_EMIT_SUM_H
#define CARRY_JIT_X86_64_EMIT_SUM_H

#include <cstdint>
#include <vector>

#include <asmjit/x86.h>

namespace carry::jit {

/* Features of the CPU that sums use, by carry_cpu_has(). */
enum SumFeature : uint64_t {
    SUM_MASKS = 1 << 0,    /* AVX-512BW and VL: loads masked by byte */
    SUM_VNNI = 1 << 1,     /* AVX-512 VNNI: dot products that add up */
    SUM_VEX_VNNI = 1 << 2, /* the same without AVX-512, up to 256 bits */
    SUM_BMI2 = 1 << 3,     /* shifts and rotations that keep the flags */
    SUM_SHIFTS = 1 << 4,   /* multiplications slow the core down: shifts and additions instead */
};

struct SumTarget {
    uint32_t vector_bits; /* 64: no vectors */
    uint64_t features;    /* enum SumFeature, or-ed */

    bool has(SumFeature feature) const {
        return features & feature;
    }
    uint32_t vector_bytes() const {
        return vector_bits / 8;
    }
};

/*
 * Sets `target` to the features of this CPU for vectors of `vector_bits`. If that is 0, the size is
 * the one that this CPU prefers. Returns false if the CPU lacks such vectors.
 */
bool find_sum_target(uint32_t vector_bits, SumTarget &target);

/* The sizes that a run may have. */
struct SumSizes {
    uint64_t min, max, multiple;
};

/*
 * The registers that the code uses: different 64-bit registers. `size` and the last of `scratch`
 * are used only if sizes vary, or for large sizes. With vectors, the code also uses vectors 0 to 15
 * and k1.
 */
struct SumRegisters {
    asmjit::x86::Gp data = asmjit::x86::rdi; /* points to the bytes */
    asmjit::x86::Gp copy;                    /* points to their copy, if there is one */
    asmjit::x86::Gp size = asmjit::x86::rsi; /* of a run whose size varies */
    asmjit::x86::Gp acc = asmjit::x86::rax;
    asmjit::x86::Gp scratch[5] = {asmjit::x86::rcx, /* must be rcx, for shifts by cl */
                                  asmjit::x86::r8, asmjit::x86::r9, asmjit::x86::r10,
                                  asmjit::x86::r11};
};

constexpr uint32_t WORD_BYTES = 8;

/* From this size on, runs are aligned to lines if their loads would straddle too many. */
constexpr uint64_t SUM_ALIGNED_MIN = 1024;

class SumEmitter {
  public:
    SumEmitter(asmjit::x86::Assembler &assembler, const SumTarget &sum_target,
               const SumRegisters &registers);

    /*
     * Set the accumulator, at.acc, to 0, to a 32-bit register or to a number. resume() uses the
     * value that other code has put there.
     */
    void start();
    void start(const asmjit::x86::Gp &seed);
    void start(uint32_t seed);
    void resume();

    /*
     * Add the bytes at data + offset, a multiple of `alignment`. Clobber the pointers and the size,
     * except for one fixed size up to STRAIGHT_MAX.
     */
    void add(int32_t offset, uint64_t size, uint64_t alignment = 1);
    void add(int32_t offset, const SumSizes &sizes, uint64_t alignment = 1);

    /* Adds the carry to the accumulator. The caller must call it before other code reads the
       accumulator, or clobbers the carry flag. */
    void settle();

    /* Folds the accumulator to 32 bits. Nothing may be added afterwards. */
    void fold();

    /* Zeroes the upper halves of vectors if they were used since the previous call. */
    void leave();

    void place_constants();

    SumRegisters at;

  private:
    static constexpr uint64_t BLOCK_BYTES = 256; /* bytes that each round of a loop of words adds */

    /* Exact sizes up to this one are summed without a loop. */
    static constexpr uint64_t STRAIGHT_MAX = 512;

    /* Accumulators: vectors 0 to 7, of 32-bit sums. */
    static constexpr uint32_t LANES = 8;
    static constexpr uint32_t HEAD_LANE = LANES - 1;

    /* Bytes of a part: its words and the words of a head add up to less than 2^32. */
    static constexpr uint64_t PART_BYTES = 0x20000 - 0x200;

    /* A sum that grows by add and adc. */
    struct Chain {
        asmjit::x86::Gp sum;
        uint64_t limit; /* the largest possible sum; 0: the register has no value yet */
        bool carries;   /* the carry flag must still be added */
    };

    struct Constant {
        uint32_t value;
        asmjit::Label label;
    };

    /* How often the sizes of a run contain a bit. */
    enum class Often { NEVER, SOMETIMES, ALWAYS };

    bool copies() const;
    uint64_t scalar_max() const;
    void advance(int32_t bytes);
    void hold(Chain &chain);
    static Often often(const SumSizes &sizes, uint64_t bit);
    template <typename AddBytes>
    void add_by_bit(const asmjit::x86::Gp &bits, const SumSizes &sizes, uint64_t bit,
                    const AddBytes &add_bytes);
    template <typename Lower, typename Upper>
    void split_range(const SumSizes &sizes, uint64_t lower_max, const Lower &lower,
                     const Upper &upper);

    /* emit_scalar.cc; emit_sum.cc defines settle() */
    template <typename Term> void add_term(Chain &chain, const Term &term, uint64_t limit);
    void add_register(const asmjit::x86::Gp &term, uint64_t limit);
    void settle(Chain &chain);
    void load(const asmjit::x86::Gp &to, int32_t offset, uint32_t bytes);
    asmjit::x86::Gp free_register(const Chain &chain) const;
    void add_loaded(Chain &chain, const asmjit::x86::Gp &term, uint32_t bytes);
    void add_piece(Chain &chain, int32_t offset, uint32_t bytes);
    void add_cut_word(Chain &chain, int32_t offset, uint32_t bytes);
    void add_rest(Chain &chain, int32_t offset, uint32_t bytes, bool behind_word);
    void add_beside(int32_t offset, uint64_t words, uint32_t rest);
    void add_chain(Chain &chain, int32_t offset, uint64_t bytes);
    void add_words(int32_t offset, uint64_t bytes);
    void add_scalar(int32_t offset, uint64_t bytes, bool behind_word);
    void add_block_loop(int32_t offset, const asmjit::x86::Gp &count);

    /* emit_scalar_range.cc */
    void add_short_range(int32_t offset, const SumSizes &sizes);
    void add_last_range(int32_t offset);
    void add_scalar_blocks(int32_t offset, const SumSizes &sizes);
    void add_word_range(int32_t offset, const SumSizes &sizes);
    void add_scalar_range(int32_t offset, const SumSizes &sizes);

    /* emit_vector.cc */
    asmjit::x86::Vec vector(uint32_t index) const;
    void load_constants();
    asmjit::Label constant(uint32_t value);
    template <typename From> void flip(const asmjit::x86::Vec &words, const From &from);
    template <typename To, typename From> void move(const To &to, const From &from);
    void add_dot(const asmjit::x86::Vec &words, uint32_t lane);
    void add_shifted(const asmjit::x86::Vec &words, uint32_t lane);
    void add_vector(int32_t offset, uint32_t lane);
    asmjit::x86::Vec load_masked(const asmjit::x86::Gp &index, int32_t offset);
    asmjit::x86::Vec load_masked(int32_t offset);
    void add_words_of(const asmjit::x86::Vec &words, uint32_t lane);
    void add_masked_rest(int32_t offset, uint32_t bytes, uint32_t lane);
    void merge_lanes();
    void sum_lanes();
    void add_lanes();
    void start_lane(uint32_t lane, uint64_t vectors);
    void zero_lanes();
    void add_vectors_straight(int32_t offset, uint64_t count, uint32_t lane, uint32_t lanes);
    void add_vector_loop(int32_t offset);
    uint64_t add_blocks(int32_t offset, uint64_t bytes);
    void add_part(int32_t offset, uint64_t bytes);
    void add_vectors(int32_t offset, uint64_t bytes, uint64_t alignment);

    /* emit_aligned.cc */
    bool aligns(const SumSizes &sizes, uint64_t alignment) const;
    void count_head(int32_t offset);
    void add_head(int32_t offset, uint64_t alignment);
    void turn_back(uint64_t alignment);
    void add_last_vectors(int32_t offset);
    void add_misaligned(int32_t offset, uint64_t bytes, uint64_t alignment);
    void add_aligned_range(int32_t offset, const SumSizes &sizes, uint64_t alignment);

    /* emit_vector_range.cc */
    SumSizes choose_part(const SumSizes &sizes);
    void start_part();
    void add_part_blocks(int32_t offset, const SumSizes &sizes);
    void set_mask(const asmjit::x86::Gp &bytes);
    void add_masked(int32_t offset, const asmjit::x86::Gp &bytes, uint32_t lane);
    void add_part_rest(int32_t offset, const SumSizes &sizes);
    void add_range_part(int32_t offset, const SumSizes &sizes);
    void add_range_parts(int32_t offset, const SumSizes &sizes);
    void add_vector_range(int32_t offset, const SumSizes &sizes, uint64_t alignment);
    void add_masked_only(int32_t offset);
    void add_masked_range(int32_t offset, const SumSizes &sizes);
    void add_short_range_by_mask(int32_t offset, const SumSizes &sizes);
    void add_ranged_vectors(int32_t offset, const SumSizes &sizes, uint64_t alignment);

    asmjit::x86::Assembler &a;
    const SumTarget target;
    Chain acc;
    std::vector<Constant> constants;
    uint32_t lanes_used = 0; /* bits: vector accumulators that have a value */
    bool dirty = false;      /* upper halves of vectors are used */
};

/*
 * Adds `bit` bytes with add_bytes(), and advances past them, if the register `bits` has that bit.
 * The accumulator must be settled before, and is settled after.
 */
template <typename AddBytes>
void SumEmitter::add_by_bit(const asmjit::x86::Gp &bits, const SumSizes &sizes, uint64_t bit,
                            const AddBytes &add_bytes) {
    const Often when = often(sizes, bit);
    asmjit::Label next = a.newLabel();
    if (when == Often::NEVER)
        return;
    if (when == Often::SOMETIMES) {
        a.test(bits.r32(), static_cast<uint32_t>(bit));
        a.jz(next);
    }
    add_bytes();
    hold(acc);
    advance(static_cast<int32_t>(bit));
    a.bind(next);
}

/*
 * Adds sizes up to lower_max with lower(), and sizes above it with upper(). Emits no code for sizes
 * that cannot occur. The accumulator must be settled before.
 */
template <typename Lower, typename Upper>
void SumEmitter::split_range(const SumSizes &sizes, uint64_t lower_max, const Lower &lower,
                             const Upper &upper) {
    const uint64_t last = lower_max / sizes.multiple * sizes.multiple;
    if (sizes.max <= lower_max)
        return lower(sizes);
    if (sizes.min > lower_max)
        return upper(sizes);
    asmjit::Label above = a.newLabel(), end = a.newLabel();
    a.cmp(at.size, static_cast<uint32_t>(lower_max));
    a.ja(above);
    const Chain before = acc;
    lower({sizes.min, last, sizes.multiple});
    hold(acc);
    a.jmp(end);
    a.bind(above);
    acc = before;
    upper({last + sizes.multiple, sizes.max, sizes.multiple});
    hold(acc);
    a.bind(end);
}

} // namespace carry::jit

#endif
