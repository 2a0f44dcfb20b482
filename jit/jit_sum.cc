/* SPDX-License-Identifier: MIT */
#include "jit_sum.h"

namespace carry::jit {
namespace {

constexpr uint32_t ALL_FLAGS = CARRY_JIT_COPY | CARRY_JIT_SEED;

bool is_power_of_two(size_t n) {
    return n && !(n & (n - 1));
}

bool is_vector_bits(uint32_t bits) {
    return bits == 0 || (bits >= 64 && bits <= 512 && is_power_of_two(bits));
}

size_t at_least_one(size_t n) {
    return n ? n : 1;
}

bool all_zero(const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (words[i])
            return false;
    return true;
}

std::string name_sum(const SumPlan &plan) {
    std::string name = plan.flags & CARRY_JIT_COPY ? "carry_jit_sum_copy_" : "carry_jit_sum_";
    name += std::to_string(plan.min_size);
    if (plan.max_size != plan.min_size)
        name += "_" + std::to_string(plan.max_size);
    return name;
}

} // namespace
} // namespace carry::jit

const char *carry_jit_sum_error(const struct carry_jit_sum_spec *spec) {
    using namespace carry::jit;
    size_t multiple = at_least_one(spec->multiple);
    if (spec->max_size < spec->min_size)
        return "max_size: below min_size";
    if (spec->max_size > CARRY_JIT_SUM_SIZE_MAX)
        return "max_size: above CARRY_JIT_SUM_SIZE_MAX";
    if (spec->min_size % multiple)
        return "min_size: not a multiple of `multiple`";
    if (spec->max_size % multiple)
        return "max_size: not a multiple of `multiple`";
    if (spec->alignment && (!is_power_of_two(spec->alignment) || spec->alignment > 4096))
        return "alignment: not a power of two up to 4096";
    if (spec->flags & ~ALL_FLAGS)
        return "flags: unknown flag";
    if (spec->result >= CARRY_JIT_RESULT_COUNT)
        return "result: unknown";
    if (spec->seed && !(spec->flags & CARRY_JIT_SEED))
        return "seed: given without CARRY_JIT_SEED";
    if (!is_vector_bits(spec->vector_bits))
        return "vector_bits: not 0, 64, 128, 256 or 512";
    if (!all_zero(spec->reserved, sizeof spec->reserved / sizeof *spec->reserved))
        return "reserved: not 0";
    return nullptr;
}

int carry_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit **jit) {
    using namespace carry::jit;
    if (carry_jit_sum_error(spec))
        return CARRY_ERROR_INVALID;
    SumPlan plan = {spec->min_size,
                    spec->max_size,
                    at_least_one(spec->multiple),
                    at_least_one(spec->alignment),
                    spec->flags,
                    spec->result,
                    spec->seed,
                    spec->vector_bits,
                    0,
                    0};
    int error = plan_sum(plan);
    if (error)
        return error;
    return catch_no_memory(
        [&] { return obtain_code("sum" + bytes_of(plan), name_sum(plan), emit_sum, &plan, jit); });
}
