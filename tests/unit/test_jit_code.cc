/* SPDX-License-Identifier: MIT */
/* Tests makers that fail: each error has its code, and no memory is lost. */
#include <cstdlib>
#include <new>

#include <asmjit/x86.h>

#include "code.h"

extern "C" {
#include "harness/fault.h"
}
#include "harness/tap.h"

namespace {

/* The number of allocations of C++ that succeed; -1: all. */
int pieces_left = -1;

} // namespace

void *operator new(size_t size) {
    void *piece = pieces_left ? malloc(size) : nullptr;
    if (!piece)
        throw std::bad_alloc();
    if (pieces_left > 0)
        pieces_left--;
    return piece;
}

void operator delete(void *piece) noexcept {
    free(piece);
}

void operator delete(void *piece, size_t) noexcept {
    free(piece);
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

/* Emits an impossible instruction. The last step succeeds: only asmjit's earlier error reveals the
   failure. */
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
    return catch_no_memory([&] { return obtain_code("test", "test", emit, nullptr, jit); });
}

void test_error(const char *name, Emit *emit, int expected) {
    const struct carry_jit *jit = nullptr;
    int error = make(emit, &jit);
    tap_ok(TAP_EQ(error, expected) && TAP_TRUE(!jit), "%s: %d", name, error);
}

void test_key() {
    const struct carry_jit *first = nullptr, *second = nullptr;
    int before = emitted;
    bool ok = !make(emit_return, &first) && !make(emit_throwing, &second);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(first, second) && TAP_EQ(emitted, before + 1),
           "code for a key is written only once");
    carry_jit_release(first);
    carry_jit_release(second);
    test_error("after the last release, code for a key is written again", emit_throwing,
               CARRY_ERROR_MEMORY);
}

/* Makes each allocation in turn fail, until all succeed. */
template <typename Spec>
void test_memory(const char *name, const Spec &spec,
                 int (*maker)(const Spec *spec, const struct carry_jit **jit)) {
    const struct carry_jit *jit = nullptr;
    int error = CARRY_ERROR_MEMORY, pieces = 0;
    for (; error == CARRY_ERROR_MEMORY && !jit; pieces++) {
        pieces_left = pieces;
        error = maker(&spec, &jit);
        pieces_left = -1;
    }
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(jit) && TAP_GT(pieces, 1),
           "%s: each of %d allocations fails once, then the result is %d", name, pieces - 1, error);
    carry_jit_release(jit);
}

void test_makers() {
    static const unsigned char packet[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0,
                                             0,    0, 0, 0,  0, 0, 0, 1, 0,  2,  0, 8, 0, 0};
    struct carry_jit_sum_spec sum {};
    struct carry_jit_packet_spec stack {};
    struct carry_jit_template_spec example {};
    const struct carry_jit_field lifetime = {8, 1};
    sum.max_size = 9;
    stack.linktype = 101;
    for (uint8_t layer : {CARRY_PROTOCOL_RAW, CARRY_PROTOCOL_IP, CARRY_PROTOCOL_UDP})
        stack.layers[stack.count++] = layer;
    example.frame = {packet, sizeof packet, sizeof packet, 101, 0};
    example.fields = &lifetime;
    example.count = 1;
    test_memory("a sum", sum, carry_jit_sum);
    test_memory("a packet", stack, carry_jit_packet);
    test_memory("a template", example, carry_jit_template);
}

} // namespace

int main() {
    test_error("an instruction that does not exist", emit_impossible, CARRY_ERROR_UNSUPPORTED);
    test_error("a jump to nowhere", emit_unbound, CARRY_ERROR_UNSUPPORTED);
    test_error("no memory for asmjit", emit_without_memory, CARRY_ERROR_MEMORY);
    test_error("no memory for C++", emit_throwing, CARRY_ERROR_MEMORY);
    test_key();
    if (fault_under_valgrind())
        tap_skip("makers without memory", "valgrind has an operator new of its own");
    else
        test_makers();
    return tap_done();
}
