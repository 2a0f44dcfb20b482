/* SPDX-License-Identifier: MIT */
/*
 * Where functions live that were made at run time: their memory, their cache, their handles.
 */
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
 * Writes one function for a spec into `code`, which is initialised; an asmjit error otherwise. An
 * instruction that asmjit refuses fails the function, whatever this returns. For the sake of
 * backtraces the function leaves the stack pointer where it was, and the caller's registers alone.
 */
using Emit = asmjit::Error(asmjit::CodeHolder &code, const void *spec);

/*
 * Finds the function kept under `key`, or has it written and keeps it. `key` names the kind of spec
 * and holds what tells it from others of the kind; `name` is for profilers and debuggers. Returns
 * 0 or an error of <carry/base.h>; throws std::bad_alloc, and has then done nothing.
 */
int obtain(const std::string &key, const std::string &name, Emit *emit, const void *spec,
           const struct carry_jit **jit);

/* What a public function does with C++ in it: lack of memory is an error like others. */
template <typename Body> int caught(Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return CARRY_ERROR_MEMORY;
    }
}

/* The bytes of a spec without pointers, as part of a key: it has no padding between members. */
template <typename Spec> std::string bytes_of(const Spec &spec) {
    static_assert(std::has_unique_object_representations_v<Spec>, "padding in a key");
    return std::string(reinterpret_cast<const char *>(&spec), sizeof spec);
}

} // namespace carry::jit

#endif
