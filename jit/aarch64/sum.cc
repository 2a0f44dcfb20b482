/* SPDX-License-Identifier: MIT */
/*
 * Makes functions that do what carry_sum() and carry_sum_copy() do:
 *
 *     sum: x0 data, x1 size, w2 seed;  copy: x0 target, x1 data, x2 size, w3 seed
 *
 * Clobbers: x0 to x2, x4 to x8, flags, v0 to v5
 *
 * Words of 64 bits are added with carry. Vectors add neighbouring 16-bit words into 32-bit lanes
 * (UADALP). The sum of PART_BYTES fits into 32 bits, so no lane overflows, and neither does the sum
 * of the lanes.
 */
#include "emit_sum.h"

#include <carry/cpu.h>

namespace carry::jit {

using namespace asmjit::a64;
using asmjit::arm::ptr;

namespace {

constexpr uint64_t VECTOR_BYTES = 16;
constexpr uint64_t BLOCK_BYTES = 4 * VECTOR_BYTES; /* a vector for each accumulator */
constexpr uint64_t PART_BYTES = 0x20000; /* 2^16 words below 2^16 add up to less than 2^32 */

/* Up to these sizes there is no loop: the offsets of LDP end at 504 and 1,008. */
constexpr uint64_t SCALAR_STRAIGHT_MAX = 512;
constexpr uint64_t VECTOR_STRAIGHT_MAX = 1024;

/* From this size on, vectors need many fewer instructions: 6 instead of 12 for every 64 bytes, plus
 * 11 for the whole sum. */
constexpr uint64_t VECTOR_MIN = 192;

} // namespace

SumEmitter::SumEmitter(Assembler &assembler, const SumPlan &sum_plan, const SumRegisters &at)
    : a(assembler), plan(sum_plan), copies(sum_plan.flags & CARRY_JIT_COPY), data(at.data),
      size(at.size), copy(at.copy) {
}

void SumEmitter::start() {
    if (plan.flags & CARRY_JIT_SEED)
        a.mov(acc.w(), plan.seed);
    else
        a.mov(acc.w(), copies ? w3 : w2);
}

/* --- Words --- */

void SumEmitter::settle() {
    if (carries)
        a.adc(acc, acc, xzr);
    carries = false;
}

void SumEmitter::add_term(const Gp &term) {
    if (carries)
        a.adcs(acc, acc, term.x());
    else
        a.adds(acc, acc, term.x());
    carries = true;
}

void SumEmitter::load_pair(int32_t offset) {
    a.ldp(first, second, ptr(data, offset));
    if (copies)
        a.stp(first, second, ptr(copy, offset));
    add_term(first);
    add_term(second);
}

/* Adds 1, 2, 4 or 8 bytes. */
void SumEmitter::add_piece(int32_t offset, uint32_t bytes) {
    const asmjit::arm::Mem from = ptr(data, offset), to = ptr(copy, offset);
    if (bytes == 8)
        a.ldr(first, from);
    else if (bytes == 4)
        a.ldr(first.w(), from);
    else if (bytes == 2)
        a.ldrh(first.w(), from);
    else
        a.ldrb(first.w(), from);
    add_term(first);
    if (!copies)
        return;
    if (bytes == 8)
        a.str(first, to);
    else if (bytes == 4)
        a.str(first.w(), to);
    else if (bytes == 2)
        a.strh(first.w(), to);
    else
        a.strb(first.w(), to);
}

/* Adds fewer bytes than two words, in pieces that begin at multiples of their sizes. */
void SumEmitter::add_rest(int32_t offset, uint32_t bytes) {
    for (uint32_t piece = 8; piece; piece /= 2)
        if (bytes & piece) {
            add_piece(offset, piece);
            offset += static_cast<int32_t>(piece);
        }
}

void SumEmitter::add_words(int32_t offset, uint64_t bytes) {
    const int32_t end = offset + static_cast<int32_t>(bytes & ~(VECTOR_BYTES - 1));
    for (; offset < end; offset += VECTOR_BYTES)
        load_pair(offset);
    add_rest(offset, bytes % VECTOR_BYTES);
}

void SumEmitter::advance(uint64_t bytes) {
    a.add(data, data, bytes);
    if (copies)
        a.add(copy, copy, bytes);
}

/* --- Vectors --- */

void SumEmitter::zero_lanes() {
    for (uint32_t lane = 0; lane < LANES; lane++)
        a.movi(lanes[lane].s4(), 0);
}

void SumEmitter::add_vector_pair(int32_t offset, uint32_t lane) {
    a.ldp(q4, q5, ptr(data, offset));
    if (copies)
        a.stp(q4, q5, ptr(copy, offset));
    a.uadalp(lanes[lane].s4(), v4.h8());
    a.uadalp(lanes[lane + 1].s4(), v5.h8());
}

void SumEmitter::add_vector(int32_t offset) {
    a.ldr(q4, ptr(data, offset));
    if (copies)
        a.str(q4, ptr(copy, offset));
    a.uadalp(v0.s4(), v4.h8());
}

/* Adds all lanes to the accumulator. */
void SumEmitter::add_lanes() {
    a.add(v0.s4(), v0.s4(), v1.s4());
    a.add(v2.s4(), v2.s4(), v3.s4());
    a.add(v0.s4(), v0.s4(), v2.s4());
    a.uaddlv(d0, v0.s4());
    a.fmov(first, d0);
    add_term(first);
    settle();
}

/* Adds whole vectors without a loop. */
void SumEmitter::add_vectors(uint64_t bytes) {
    int32_t offset = 0;
    const int32_t end = static_cast<int32_t>(bytes);
    zero_lanes();
    for (uint32_t lane = 0; end - offset >= static_cast<int32_t>(2 * VECTOR_BYTES);
         lane = (lane + 2) % LANES) {
        add_vector_pair(offset, lane);
        offset += 2 * VECTOR_BYTES;
    }
    if (offset < end)
        add_vector(offset);
    add_lanes();
}

/* Adds `count` blocks, at least one, and advances past them. */
void SumEmitter::add_vector_loop() {
    asmjit::Label block = a.newLabel();
    zero_lanes();
    a.bind(block);
    add_vector_pair(0, 0);
    add_vector_pair(2 * VECTOR_BYTES, 2);
    advance(BLOCK_BYTES);
    a.sub(count, count, 1);
    a.cbnz(count, block);
    add_lanes();
}

/* Adds `part` blocks, at least one, in parts whose sums fit into the lanes. */
void SumEmitter::add_vector_parts() {
    constexpr uint64_t PART_BLOCKS = PART_BYTES / BLOCK_BYTES;
    asmjit::Label again = a.newLabel();
    a.bind(again);
    a.mov(count, PART_BLOCKS);
    a.cmp(part, count);
    a.csel(count, part, count, asmjit::arm::CondCode::kLO);
    a.sub(part, part, count);
    add_vector_loop();
    a.cbnz(part, again);
}

/* --- Many sizes, and large ones --- */

/* Adds `part` blocks of words, at least one. */
void SumEmitter::add_scalar_loop() {
    asmjit::Label block = a.newLabel();
    a.bind(block);
    add_words(0, BLOCK_BYTES);
    settle();
    advance(BLOCK_BYTES);
    a.sub(part, part, 1);
    a.cbnz(part, block);
}

bool SumEmitter::may_have(uint64_t bit) const {
    return always_has(bit) ||
           (plan.min_size / bit != plan.max_size / bit && plan.multiple % (2 * bit));
}

bool SumEmitter::always_has(uint64_t bit) const {
    return plan.min_size / bit == plan.max_size / bit && plan.min_size & bit;
}

/* Adds less than a block, in pieces by the bits of the size. */
void SumEmitter::add_bits() {
    for (uint64_t bit = BLOCK_BYTES / 2; bit; bit /= 2) {
        asmjit::Label next = a.newLabel();
        if (!may_have(bit))
            continue;
        if (!always_has(bit))
            a.tbz(size, __builtin_ctzll(bit), next);
        add_words(0, bit);
        settle();
        advance(bit);
        a.bind(next);
    }
}

void SumEmitter::add_blocks() {
    asmjit::Label none = a.newLabel();
    a.lsr(part, size, __builtin_ctz(BLOCK_BYTES));
    if (plan.min_size < BLOCK_BYTES)
        a.cbz(part, none);
    if (plan.vector_bits == 64)
        add_scalar_loop();
    else
        add_vector_parts();
    a.bind(none);
}

void SumEmitter::add_sizes() {
    if (plan.max_size >= BLOCK_BYTES)
        add_blocks();
    add_bits();
}

/* --- The function --- */

void SumEmitter::add_exact(uint64_t bytes) {
    const uint64_t whole = bytes & ~(VECTOR_BYTES - 1);
    const bool scalar = plan.vector_bits == 64 || bytes < VECTOR_MIN;
    if (bytes > (scalar ? SCALAR_STRAIGHT_MAX : VECTOR_STRAIGHT_MAX)) {
        a.mov(size, bytes);
        return add_sizes();
    }
    if (scalar)
        return add_words(0, bytes);
    add_vectors(whole);
    add_rest(static_cast<int32_t>(whole), bytes % VECTOR_BYTES);
}

void SumEmitter::fold(const Gp &total) {
    settle();
    a.lsr(first, acc, 32);
    a.adds(acc.w(), acc.w(), first.w());
    a.adc(total.w(), acc.w(), wzr);
}

void SumEmitter::add_run(const Gp &total) {
    a.mov(acc, xzr);
    add_sizes();
    fold(total);
}

/* Computes the folds of <carry/sum.h>: adds the sum rotated by 16 bits to the sum. The upper half
   of the result is the folded sum. */
void SumEmitter::finish() {
    fold(x0);
    if (plan.result == CARRY_JIT_PARTIAL)
        return;
    a.ror(first.w(), w0, 16);
    a.add(w0, w0, first.w());
    if (plan.result != CARRY_JIT_FOLD)
        a.mvn(w0, w0);
    a.lsr(w0, w0, 16);
    if (plan.result != CARRY_JIT_FINISH_NONZERO)
        return;
    a.mov(first.w(), 0xffff);
    a.cmp(w0, 0);
    a.csel(w0, first.w(), w0, asmjit::arm::CondCode::kEQ);
}

void SumEmitter::emit() {
    a.hint(LANDING_PAD);
    start();
    if (plan.min_size == plan.max_size)
        add_exact(plan.min_size);
    else
        add_sizes();
    finish();
    a.ret(x30);
}

int plan_sum(SumPlan &plan) {
    const bool has_vectors = carry_cpu_has("neon");
    if (!plan.vector_bits)
        plan.vector_bits = has_vectors ? 128 : 64;
    plan.alignment = 1; /* larger alignments have no effect */
    if (plan.vector_bits == 64 || (plan.vector_bits == 128 && has_vectors))
        return CARRY_OK;
    return CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_sum(asmjit::CodeHolder &code, const void *spec) {
    Assembler a(&code);
    const SumPlan &plan = *static_cast<const SumPlan *>(spec);
    const SumRegisters of_sum = {x0, x1, {}}, of_copy = {x1, x2, x0};
    SumEmitter(a, plan, plan.flags & CARRY_JIT_COPY ? of_copy : of_sum).emit();
    return asmjit::kErrorOk;
}

} // namespace carry::jit
