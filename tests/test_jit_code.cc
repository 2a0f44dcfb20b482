/* SPDX-License-Identifier: MIT */
/* What becomes of generators that fail: each error by its name, and nothing kept. */
#include <new>

#include <asmjit/x86.h>

#include "code.h"

extern "C" {
#include "harness/tap.h"
}

namespace {

using namespace asmjit::x86;
using namespace carry::jit;

int emitted;

asmjit::Error emit_return(asmjit::CodeHolder &code, const void *) {
    emitted++;
    Assembler a(&code);
    return a.ret();
}

/* The end goes well: only what asmjit said in between tells. */
asmjit::Error emit_impossible(asmjit::CodeHolder &code, const void *spec) {
    Assembler a(&code);
    a.emit(Inst::kIdMov, ptr(rax), ptr(rdx));
    return emit_return(code, spec);
}

asmjit::Error emit_unbound(asmjit::CodeHolder &code, const void *) {
    Assembler a(&code);
    return a.jmp(a.newLabel());
}

asmjit::Error emit_without_memory(asmjit::CodeHolder &, const void *) {
    return asmjit::kErrorOutOfMemory;
}

asmjit::Error emit_throwing(asmjit::CodeHolder &, const void *) {
    throw std::bad_alloc();
}

int make(Emit *emit, const struct carry_jit **jit) {
    return caught([&] { return obtain("test", "test", emit, nullptr, jit); });
}

void test_error(const char *name, Emit *emit, int expected) {
    const struct carry_jit *jit = nullptr;
    int error = make(emit, &jit);
    tap_ok(error == expected && !jit, "%s: %d", name, error);
}

void test_key() {
    const struct carry_jit *first = nullptr, *second = nullptr;
    int before = emitted;
    bool ok = !make(emit_return, &first) && !make(emit_throwing, &second);
    tap_ok(ok && first == second && emitted == before + 1, "a key is written for once");
    carry_jit_release(first);
    carry_jit_release(second);
    test_error("after the last release it is written anew", emit_throwing, CARRY_ERROR_MEMORY);
}

} // namespace

int main() {
    test_error("an instruction that there is not", emit_impossible, CARRY_ERROR_UNSUPPORTED);
    test_error("a jump to nowhere", emit_unbound, CARRY_ERROR_UNSUPPORTED);
    test_error("no memory for asmjit", emit_without_memory, CARRY_ERROR_MEMORY);
    test_error("no memory for C++", emit_throwing, CARRY_ERROR_MEMORY);
    test_key();
    return tap_done();
}
