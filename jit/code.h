/* SPDX-License-Identifier: MIT */
/* Keeps the memory, cache and handles of functions that were made at run time. */
#ifndef CARRY_JIT_CODE_H
#define CARRY_JIT_CODE_H

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

#include <asmjit/core.h>

#include <carry/jit.h>

namespace carry::jit {

/*
 * Writes one function for `spec` into `code`, which is initialised. Returns an error of asmjit. If
 * asmjit refuses an instruction, the function is not made, whatever `Emit` returns. For backtraces,
 * the function must not move the stack pointer or change callee-saved registers.
 */
using Emit = asmjit::Error(asmjit::CodeHolder &code, const void *spec);

/*
 * Finds the function in the cache under `key`, or makes it with `emit` and adds it. `key` begins
 * with the kind of spec, and contains everything in which specs of that kind differ. `name` is for
 * profilers and debuggers. Returns 0 or an error of <carry/base.h>. If it throws std::bad_alloc, it
 * has had no effect.
 */
int obtain_code(const std::string &key, const std::string &name, Emit *emit, const void *spec,
                const struct carry_jit **jit);

/* Runs the body of a public function. Returns its result, or an error if it runs out of memory. */
template <typename Body> int catch_no_memory(Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return CARRY_ERROR_MEMORY;
    }
}

/* Returns the bytes of a spec as part of a key; the spec has no pointers and no padding. */
template <typename Spec> std::string bytes_of(const Spec &spec) {
    static_assert(std::has_unique_object_representations_v<Spec>, "padding in a key");
    return std::string(reinterpret_cast<const char *>(&spec), sizeof spec);
}

} // namespace carry::jit

#endif
