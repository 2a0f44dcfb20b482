/* SPDX-License-Identifier: MIT */
#include "emit_sum.h"

#include <algorithm>

#include <carry/cpu.h>

namespace carry::jit {

using namespace asmjit::x86;

/* --- Features of the CPU --- */

namespace {

/* Returns the feature's bit if it is present, and 0 otherwise. */
uint64_t bit_if(bool present, SumFeature feature) {
    return present ? feature : uint64_t{0};
}

bool has_masks() {
    return carry_cpu_has("avx512bw") && carry_cpu_has("avx512vl");
}

uint32_t preferred_bits() {
    if (has_masks() && carry_cpu_has("prefer512"))
        return 512;
    return carry_cpu_has("avx2") ? 256 : 64;
}

bool has_vectors(uint32_t bits) {
    return bits == 64 || (bits == 512 ? has_masks() : carry_cpu_has("avx2"));
}

uint64_t vector_features() {
    return bit_if(has_masks(), SUM_MASKS) |
           bit_if(has_masks() && carry_cpu_has("avx512vnni"), SUM_VNNI) |
           bit_if(carry_cpu_has("avxvnni"), SUM_VEX_VNNI) |
           bit_if(!carry_cpu_has("prefer_multiply"), SUM_SHIFTS);
}

} // namespace

bool find_sum_target(uint32_t vector_bits, SumTarget &target) {
    target.vector_bits = vector_bits ? vector_bits : preferred_bits();
    target.features = bit_if(carry_cpu_has("bmi2"), SUM_BMI2);
    if (target.vector_bits > 64)
        target.features |= vector_features();
    return has_vectors(target.vector_bits);
}

/* --- The accumulator --- */

SumEmitter::SumEmitter(Assembler &assembler, const SumTarget &sum_target,
                       const SumRegisters &registers)
    : at(registers), a(assembler), target(sum_target), acc{registers.acc, 0, false} {
}

void SumEmitter::start() {
    acc = {at.acc, 0, false};
}

void SumEmitter::start(const Gp &seed) {
    a.mov(at.acc.r32(), seed.r32());
    acc = {at.acc, UINT32_MAX, false};
}

void SumEmitter::start(uint32_t seed) {
    if (seed)
        a.mov(at.acc.r32(), seed);
    acc = {at.acc, seed, false};
}

void SumEmitter::resume() {
    acc = {at.acc, UINT64_MAX, false};
}

void SumEmitter::settle(Chain &chain) {
    if (chain.carries)
        a.adc(chain.sum, 0);
    if (!chain.limit)
        a.xor_(chain.sum.r32(), chain.sum.r32());
    chain.carries = false;
}

/* Settles a chain and removes the limit of its value, for code that does not run in its written
   order. */
void SumEmitter::hold(Chain &chain) {
    settle(chain);
    chain.limit = UINT64_MAX;
}

void SumEmitter::settle() {
    settle(acc);
}

/*
 * Adds the halves and the carry. A 64-bit sum that produced a carry is less than 2^64 - 1. Thus the
 * halves and the carry add up to less than 2^33 - 1, and one more end-around carry suffices.
 */
void SumEmitter::fold() {
    if (acc.limit <= UINT32_MAX)
        return settle();
    const Gp upper = at.scratch[0];
    if (target.has(SUM_BMI2)) {
        a.rorx(upper, acc.sum, 32);
    } else {
        settle();
        a.mov(upper, acc.sum);
        a.shr(upper, 32);
    }
    if (acc.carries)
        a.adc(acc.sum.r32(), upper.r32());
    else
        a.add(acc.sum.r32(), upper.r32());
    a.adc(acc.sum.r32(), 0);
    acc = {acc.sum, UINT32_MAX, false};
}

bool SumEmitter::copies() const {
    return at.copy.isValid();
}

void SumEmitter::advance(int32_t bytes) {
    a.add(at.data, bytes);
    if (copies())
        a.add(at.copy, bytes);
}

/* Returns the largest size for which words are faster than vectors; stores slow words down. */
uint64_t SumEmitter::scalar_max() const {
    constexpr uint64_t WITH_VNNI = 256, WITHOUT_VNNI = 384, COPIED = 128;
    if (target.vector_bits == 64)
        return UINT64_MAX;
    if (copies())
        return COPIED;
    const bool dots = target.features & (SUM_VNNI | SUM_VEX_VNNI) && !target.has(SUM_SHIFTS);
    return dots ? WITH_VNNI : WITHOUT_VNNI;
}

void SumEmitter::add(int32_t offset, uint64_t size, uint64_t alignment) {
    if (size <= scalar_max())
        return add_scalar(offset, size, false);
    if (size <= PART_BYTES)
        return add_vectors(offset, size, alignment);
    a.mov(at.size.r32(), static_cast<uint32_t>(size));
    add(offset, {size, size, 1}, alignment);
}

void SumEmitter::add(int32_t offset, const SumSizes &sizes, uint64_t alignment) {
    settle(acc);
    acc.limit = std::max(acc.limit, UINT64_C(1));
    if (target.vector_bits == 64)
        add_scalar_range(offset, sizes);
    else
        add_ranged_vectors(offset, sizes, alignment);
}

} // namespace carry::jit
