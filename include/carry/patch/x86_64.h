/* SPDX-License-Identifier: MIT */
/*
 * The sites of x86-64, for compilers that support asm goto with outputs. Part of <carry/patch.h>,
 * which includes it; see there.
 *
 *     site         original, which reads memory       patched, each one instruction
 *
 *     call         call *key(%rip)   ff 15 disp32     cs call function   2e e8 rel32,
 *                                                     or the function's own instruction
 *     jump         jmp *key(%rip)    ff 25 disp32     cs jmp function    2e e9 rel32
 *     branch       jmp stub          e9 rel32         nop, or jmp to the target of the stub
 *     alternative  its default                        its replacement, padded
 *
 * Every state of a call is one instruction of six bytes: a thread that is inside the function
 * returns to the same place whichever state called it.
 *
 * If the compiler took the function around an assembly statement for a leaf, the call in the
 * statement would corrupt the red zone below the stack pointer, and find the stack unaligned. So
 * the statement declares a jump, never taken, to a call of a function that does not return. It also
 * reads the stack pointer, so that the compiler sets the frame up before the statement.
 */
#ifndef CARRY_PATCH_X86_64_H
#define CARRY_PATCH_X86_64_H

#include <carry/patch.h>

/* A record. Its section is linked to the section of the site, in the same group, and follows it. */
#define CARRY_SITE_RECORD(key, aux, kind, length, flags)                                           \
    ".pushsection carry_sites, \"ao?\", @progbits, .Lcarry_site%=\n\t"                             \
    ".balign 4\n\t"                                                                                \
    ".long .Lcarry_site%= - ., " key " - ., " aux "\n\t"                                           \
    ".byte " kind ", " length ", " flags ", 1\n\t"                                                 \
    ".popsection\n"

/* --- Operations --- */

/* The parentheses suppress argument-dependent lookup in C++. */
#define carry_call(name) (carry_call_##name)

__extension__ register uintptr_t carry_stack_pointer __asm__("rsp");

/*
 * By the number of arguments: their words, their registers, and the argument registers that are
 * unused, which the callee may change. All words are computed before the first register is loaded,
 * because computing them may need calls (of sanitizers).
 */
#define CARRY_WORDS_0
#define CARRY_WORDS_1 CARRY_WORD(0, carry_a)
#define CARRY_WORDS_2 CARRY_WORDS_1 CARRY_WORD(1, carry_b)
#define CARRY_WORDS_3 CARRY_WORDS_2 CARRY_WORD(2, carry_c)
#define CARRY_WORDS_4 CARRY_WORDS_3 CARRY_WORD(3, carry_d)
#define CARRY_WORDS_5 CARRY_WORDS_4 CARRY_WORD(4, carry_e)
#define CARRY_WORDS_6 CARRY_WORDS_5 CARRY_WORD(5, carry_f)
#define CARRY_LOAD_0
#define CARRY_LOAD_1 CARRY_LOAD(0, "rdi")
#define CARRY_LOAD_2 CARRY_LOAD_1 CARRY_LOAD(1, "rsi")
#define CARRY_LOAD_3 CARRY_LOAD_2 CARRY_LOAD(2, "rdx")
#define CARRY_LOAD_4 CARRY_LOAD_3 CARRY_LOAD(3, "rcx")
#define CARRY_LOAD_5 CARRY_LOAD_4 CARRY_LOAD(4, "r8")
#define CARRY_LOAD_6 CARRY_LOAD_5 CARRY_LOAD(5, "r9")
#define CARRY_TIED_0
#define CARRY_TIED_1 , "+r"(carry_r0)
#define CARRY_TIED_2 CARRY_TIED_1, "+r"(carry_r1)
#define CARRY_TIED_3 CARRY_TIED_2, "+r"(carry_r2)
#define CARRY_TIED_4 CARRY_TIED_3, "+r"(carry_r3)
#define CARRY_TIED_5 CARRY_TIED_4, "+r"(carry_r4)
#define CARRY_TIED_6 CARRY_TIED_5, "+r"(carry_r5)
#define CARRY_SPARE_6
#define CARRY_SPARE_5 "r9",
#define CARRY_SPARE_4 CARRY_SPARE_5 "r8",
#define CARRY_SPARE_3 CARRY_SPARE_4 "rcx",
#define CARRY_SPARE_2 CARRY_SPARE_3 "rdx",
#define CARRY_SPARE_1 CARRY_SPARE_2 "rsi",
#define CARRY_SPARE_0 CARRY_SPARE_1 "rdi",

#define CARRY_WORD(index, value) const uintptr_t carry_w##index = CARRY_TO_WORD(value);
#define CARRY_LOAD(index, name)  register uintptr_t carry_r##index __asm__(name) = carry_w##index;

#define CARRY_RESULT_MASK(result) (UINT64_MAX >> (64 - 8 * sizeof(result)))

/* A value as the register that passes it, and back. Bits above a result's size are undefined. */
#ifdef __cplusplus
extern "C++" {
template <typename T> CARRY_INLINE uintptr_t carry_to_word(T value) {
    return static_cast<uintptr_t>(value);
}
template <typename T> CARRY_INLINE uintptr_t carry_to_word(T *value) {
    return reinterpret_cast<uintptr_t>(value);
}
template <typename T> struct carry_result {
    CARRY_INLINE T of(uintptr_t word) {
        return static_cast<T>(word & CARRY_RESULT_MASK(T));
    }
};
template <typename T> struct carry_result<const T> : carry_result<T> {};
template <typename T> struct carry_result<volatile T> : carry_result<T> {};
template <typename T> struct carry_result<const volatile T> : carry_result<T> {};
template <typename T> struct carry_result<T *> {
    CARRY_INLINE T *of(uintptr_t word) {
        return reinterpret_cast<T *>(word);
    }
};
template <> struct carry_result<void> {
    CARRY_INLINE void of(uintptr_t) {
    }
};
}
#define CARRY_TO_WORD(value)         carry_to_word(value)
#define CARRY_OF_WORD(result, value) carry_result<result>::of(value)
#else
#define CARRY_TO_WORD(value)         ((uintptr_t)(value))
#define CARRY_OF_WORD(result, value) (result)(CARRY_RESULT_MASK(result) & (value))
#endif

/*
 * The other registers that a function may change under the System V ABI. GCC refuses the names of
 * registers that the file is not compiled for. So a function that has AVX-512 from an attribute
 * alone must not call operations: GCC would keep values in AVX-512 registers across the call.
 * Compile such a file with -mavx512f.
 */
#ifdef __SSE__
#define CARRY_SPARE_XMM                                                                            \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#else
#define CARRY_SPARE_XMM
#endif
#if defined(__AVX512F__) || defined(__clang__)
#define CARRY_SPARE_AVX512                                                                         \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",      \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",  \
        "k7",
#else
#define CARRY_SPARE_AVX512
#endif
#ifdef __SSE__
#define CARRY_SPARE_X87 "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)",
#else
#define CARRY_SPARE_X87
#endif

/* In C a function without a result returns (void). This is an extension, as is the size of void. */
#ifdef __cplusplus
#define CARRY_OP_CALL(count, result, name, parameters)                                             \
    CARRY_OP_FUNCTION(count, result, name, parameters) CARRY_DECLARED
#else
#define CARRY_OP_CALL(count, result, name, parameters)                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"")                \
        _Pragma("GCC diagnostic ignored \"-Wpointer-arith\"")                                      \
            CARRY_OP_FUNCTION(count, result, name, parameters) _Pragma("GCC diagnostic pop")       \
                CARRY_DECLARED
#endif

#define CARRY_OP_FUNCTION(count, result, name, parameters)                                         \
    CARRY_INLINE result carry_call_##name parameters {                                             \
        CARRY_WORDS_##count CARRY_LOAD_##count uintptr_t carry_value;                              \
        __asm__ __volatile__ goto(                                                                 \
            ".Lcarry_site%=: .byte 0xff, 0x15\n\t"                                                 \
            ".long %c[carry_key] - .Lcarry_site%= - 6\n" CARRY_SITE_RECORD("%c[carry_key]", "0",   \
                                                                           "1", "6", "0")          \
            : "=a"(carry_value)CARRY_TIED_##count                                                  \
            : [carry_key] "i"(&carry_op_##name), "r"(carry_stack_pointer)                          \
            : CARRY_SPARE_##count CARRY_SPARE_XMM CARRY_SPARE_AVX512 CARRY_SPARE_X87 "r10", "r11", \
              "cc", "memory"                                                                       \
            : carry_never);                                                                        \
        return CARRY_OF_WORD(result, carry_value);                                                 \
    carry_never:                                                                                   \
        carry_patch_never();                                                                       \
        __builtin_unreachable();                                                                   \
    }

/* --- Keys --- */

/*
 * The original is a jump to a stub behind the function's code, which tests the key:
 *     cmpb $0, key; jne target; jmp back                (unlikely; je for likely)
 * The stub stays: commits read the target of the branch from it.
 */
#define CARRY_BRANCH(name, condition, flags)                                                       \
    __asm__ __volatile__ goto(                                                                     \
        ".Lcarry_site%=: .byte 0xe9\n\t"                                                           \
        ".long .Lcarry_stub%= - .Lcarry_site%= - 5\n"                                              \
        ".subsection 1\n"                                                                          \
        ".Lcarry_stub%=: .byte 0x80, 0x3d\n\t"                                                     \
        ".long %c[carry_key] - .Lcarry_stub%= - 7\n\t"                                             \
        ".byte 0, 0x0f, " condition "\n\t"                                                         \
        ".long %l[carry_away] - .Lcarry_stub%= - 13\n\t"                                           \
        ".byte 0xe9\n\t"                                                                           \
        ".long .Lcarry_site%= + 5 - .Lcarry_stub%= - 18\n\t"                                       \
        ".previous\n" CARRY_SITE_RECORD("%c[carry_key]", ".Lcarry_stub%= - .", "3", "5", flags)    \
        :                                                                                          \
        : [carry_key] "i"(&carry_key_##name)                                                       \
        : "cc"                                                                                     \
        : carry_away)

#define CARRY_KEY_BRANCHES(name)                                                                   \
    CARRY_INLINE bool carry_unlikely_##name(void) {                                                \
        CARRY_BRANCH(name, "0x85", "1");                                                           \
        return false;                                                                              \
    carry_away:                                                                                    \
        return true;                                                                               \
    }                                                                                              \
    CARRY_INLINE bool carry_likely_##name(void) {                                                  \
        CARRY_BRANCH(name, "0x84", "0");                                                           \
        return true;                                                                               \
    carry_away:                                                                                    \
        return false;                                                                              \
    }

/* --- Alternatives --- */

/*
 * Text for an asm statement. `original` runs until sites are patched. Afterwards `replacement` runs
 * where this CPU has `feature` (a name of carry_cpu_has(), without quotes; the assembler refuses
 * others) or the key is on. `original` stays on a CPU without the feature, and in a program that
 * may not patch, so it must be right there, whatever the key says. Either may start with a call or
 * a jump with a 32-bit offset; nothing else may depend on its own address. Each has at most 64
 * bytes.
 *
 *     __asm__(CARRY_ALT("call crc_of_word", sse42, "crc32q %1, %0") : "+a"(crc) : "D"(word) : ...);
 *
 * The statement needs at least one colon, as in __asm__(CARRY_ALT(...) :): without a colon the
 * compiler does not generate its labels. With a key, CARRY_ALT_INPUT(key) must be among the inputs:
 * the compiler then knows which key it is, in which namespace, and that it is used.
 *
 *     __asm__(CARRY_ALT_KEY("nop", tracing, "incq %0") : "+m"(calls) : CARRY_ALT_INPUT(tracing));
 *
 * CARRY_ALT_ONE and CARRY_ALT_KEY_ONE make sites that may change while threads run. `original` must
 * be one instruction; `replacement` must be one instruction that is not longer, or empty.
 */
#define CARRY_ALT(original, feature, replacement)                                                  \
    CARRY_ALT_KNOWN(#feature)                                                                      \
    CARRY_ALT_TEXT(original, CARRY_ALT_PAD, replacement, CARRY_ALT_NAME(#feature), "1")
#define CARRY_ALT_KEY(original, key, replacement)                                                  \
    CARRY_ALT_TEXT(original, CARRY_ALT_PAD, replacement, CARRY_ALT_SYMBOL(#key), "0")
#define CARRY_ALT_ONE(original, feature, replacement)                                              \
    CARRY_ALT_KNOWN(#feature)                                                                      \
    CARRY_ALT_TEXT(original, CARRY_ALT_FITS, replacement, CARRY_ALT_NAME(#feature), "3")
#define CARRY_ALT_KEY_ONE(original, key, replacement)                                              \
    CARRY_ALT_TEXT(original, CARRY_ALT_FITS, replacement, CARRY_ALT_SYMBOL(#key), "2")

#define CARRY_ALT_INPUT(key) [CARRY_ALT_INPUT_##key] "i"(&carry_key_##key)

#define CARRY_ALT_NAME(feature) ".Lcarry_key%=: .asciz \"" feature "\"\n\t"
#define CARRY_ALT_SYMBOL(key)   ".set .Lcarry_key%=, %c[CARRY_ALT_INPUT_" key "]\n\t"

#define CARRY_ALT_ROW(arch, name, ...) CARRY_ALT_ROW_##arch(", " #name)
#define CARRY_ALT_ROW_x86_64(name)     name
#define CARRY_ALT_ROW_aarch64(name)

/* How much longer the replacement is than the original. In the assembler, true is -1. */
#define CARRY_ALT_EXCESS "((.Lcarry_end%= - .Lcarry_new%=) - (.Lcarry_pad%= - .Lcarry_site%=))"
#define CARRY_ALT_PAD    ".skip -(" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS ", 0x90\n\t"
#define CARRY_ALT_FITS                                                                             \
    ".skip (" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS "\n\t" /* or error                      \
                                                                   */

/* In carry_bytes: the sizes of both in bytes, then the bytes of both. */
#define CARRY_ALT_TEXT(original, pad, replacement, key, flags)                                     \
    ".Lcarry_site%=: " original "\n"                                                               \
    ".Lcarry_pad%=: " pad ".Lcarry_next%=:\n\t"                                                    \
    ".pushsection carry_bytes, \"ao?\", @progbits, .Lcarry_site%=\n"                               \
    ".Lcarry_aux%=: .byte .Lcarry_new%= - .Lcarry_old%=, .Lcarry_end%= - .Lcarry_new%=\n"          \
    ".Lcarry_old%=: " original "\n"                                                                \
    ".Lcarry_new%=: " replacement "\n"                                                             \
    ".Lcarry_end%=:\n\t" key ".popsection\n\t" CARRY_SITE_RECORD(                                  \
        ".Lcarry_key%=", ".Lcarry_aux%= - .", "4", ".Lcarry_next%= - .Lcarry_site%=", flags)

/* --- Bodies --- */

/*
 * CARRY_BODY, in a function that is one instruction of at most six bytes, gives that instruction.
 * It replaces calls of the function where an operation is patched to the function. Arguments and
 * result are where the ABI puts them. CARRY_BODY_RELATIVE is for an instruction that ends with an
 * offset from the next instruction, as in "mov counter(%%rip), %%eax". The function must be static
 * or hidden. An operation of the same object or of another may be set to it.
 *
 *     static uint64_t successor(uint64_t number) {
 *         CARRY_BODY(successor, "lea 1(%%rdi), %%rax");
 *         return number + 1;
 *     }
 *
 * CARRY_BODY_SEVERAL is for several instructions of at most six bytes in total, none of them a call
 * or relative, as in "pushfq; popq %%rax". They replace calls where the host can stop all CPUs
 * outside of sites: in operating-system kernels. Elsewhere calls of the function are direct.
 */
#define CARRY_BODY(function, instruction)          CARRY_BODY_TEXT(function, instruction, "0")
#define CARRY_BODY_RELATIVE(function, instruction) CARRY_BODY_TEXT(function, instruction, "4")
#define CARRY_BODY_SEVERAL(function, instructions) CARRY_BODY_TEXT(function, instructions, "8")
#define CARRY_BODY_TEXT(function, instruction, flags)                                              \
    CARRY_BODY_ASSERT(function);                                                                   \
    __asm__ __volatile__(".Lcarry_site%=:\n\t"                                                     \
                         ".pushsection carry_bytes, \"ao?\", @progbits, .Lcarry_site%=\n"          \
                         ".Lcarry_aux%=: .byte .Lcarry_end%= - .Lcarry_new%=\n"                    \
                         ".Lcarry_new%=: " instruction "\n"                                        \
                         ".Lcarry_end%=:\n\t"                                                      \
                         ".popsection\n\t" CARRY_SITE_RECORD("%c[carry_body]",                     \
                                                             ".Lcarry_aux%= - .", "5", "0", flags) \
                         :                                                                         \
                         : [carry_body] "i"(&function))

#endif
