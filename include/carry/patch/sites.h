/* SPDX-License-Identifier: MIT */
/*
 * Parts that the sites of all architectures share. The file of an architecture,
 * <carry/patch/x86_64.h> or another, includes this file, and also defines:
 *
 *     CARRY_SITE_SYMBOL     the constraint of the address of a symbol, in position-independent code
 *     CARRY_SITE_ALIGN      text that aligns instructions in carry_bytes
 *     CARRY_SITE_PLACE      text before a site, which moves it to where a guard can be put
 *     CARRY_OP_FUNCTION     the function that calls an operation
 *     CARRY_LOAD_n          the words of arguments, in their registers
 *     CARRY_TIED_0, _1      the operand of the first argument
 *     CARRY_BRANCH          a branch on a key; CARRY_BRANCH_ON and _OFF: while it is on, or off
 *     CARRY_ALT_PAD         fills an original up to the length of its replacement
 *     CARRY_ALT_ROW_<arch>  the names of the features of the architecture
 *     CARRY_BODY_RELATIVE, CARRY_BODY_SEVERAL: bodies of other forms than CARRY_BODY
 */
#ifndef CARRY_PATCH_SITES_H
#define CARRY_PATCH_SITES_H

#include <carry/patch.h>

/* The record of a site. Its section is linked to the section of the site and is in the same group,
 * so the linker keeps or drops both. */
#define CARRY_SITE_RECORD(key, aux, kind, length, flags)                                           \
    ".pushsection carry_sites, \"ao?\", @progbits, .Lcarry_site%=\n\t"                             \
    ".balign 4\n\t"                                                                                \
    ".long .Lcarry_site%= - ., " key " - ., " aux "\n\t"                                           \
    ".byte " kind ", " length ", " flags ", 1\n\t"                                                 \
    ".popsection\n"

/* --- Operations --- */

/* The parentheses suppress argument-dependent lookup in C++. */
#define carry_call(name) (carry_call_##name)

/* The words of the arguments, by the number of arguments. All words are computed before the first
 * register is loaded, because computing them may need calls (of sanitizers). */
#define CARRY_WORDS_0
#define CARRY_WORDS_1 CARRY_WORD(0, carry_a)
#define CARRY_WORDS_2 CARRY_WORDS_1 CARRY_WORD(1, carry_b)
#define CARRY_WORDS_3 CARRY_WORDS_2 CARRY_WORD(2, carry_c)
#define CARRY_WORDS_4 CARRY_WORDS_3 CARRY_WORD(3, carry_d)
#define CARRY_WORDS_5 CARRY_WORDS_4 CARRY_WORD(4, carry_e)
#define CARRY_WORDS_6 CARRY_WORDS_5 CARRY_WORD(5, carry_f)
/* Operands that are the registers of arguments. The architecture defines CARRY_TIED_0 and
 * CARRY_TIED_1. */
#define CARRY_TIED_2 CARRY_TIED_1, "+r"(carry_r1)
#define CARRY_TIED_3 CARRY_TIED_2, "+r"(carry_r2)
#define CARRY_TIED_4 CARRY_TIED_3, "+r"(carry_r3)
#define CARRY_TIED_5 CARRY_TIED_4, "+r"(carry_r4)
#define CARRY_TIED_6 CARRY_TIED_5, "+r"(carry_r5)

#define CARRY_WORD(index, value) const uintptr_t carry_w##index = CARRY_TO_WORD(value);
#define CARRY_LOAD(index, name)  register uintptr_t carry_r##index __asm__(name) = carry_w##index;

#define CARRY_RESULT_MASK(result) (UINT64_MAX >> (64 - 8 * sizeof(result)))

/* Convert a value to the register that passes it, and back. Bits above a result's size are
 * undefined. */
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

/* --- Keys --- */

#define CARRY_KEY_BRANCHES(name)                                                                   \
    CARRY_INLINE bool carry_unlikely_##name(void) {                                                \
        CARRY_BRANCH(name, CARRY_BRANCH_ON, "1");                                                  \
        return false;                                                                              \
    carry_away:                                                                                    \
        return true;                                                                               \
    }                                                                                              \
    CARRY_INLINE bool carry_likely_##name(void) {                                                  \
        CARRY_BRANCH(name, CARRY_BRANCH_OFF, "0");                                                 \
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
 * a jump with an offset; nothing else may depend on its own address. Each has at most 64 bytes.
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

#define CARRY_ALT_INPUT(key) [CARRY_ALT_INPUT_##key] CARRY_SITE_SYMBOL(&carry_key_##key)

#define CARRY_ALT_NAME(feature) ".Lcarry_key%=: .asciz \"" feature "\"\n\t"
#define CARRY_ALT_SYMBOL(key)   ".set .Lcarry_key%=, %c[CARRY_ALT_INPUT_" key "]\n\t"

#define CARRY_ALT_ROW(arch, name, ...) CARRY_ALT_ROW_##arch(", " #name)

/* By how many bytes the replacement is longer than the original. In the assembler, true is -1: if
 * the replacement is longer, CARRY_ALT_FITS skips a negative number of bytes, which is an error. */
#define CARRY_ALT_EXCESS "((.Lcarry_end%= - .Lcarry_new%=) - (.Lcarry_pad%= - .Lcarry_site%=))"
#define CARRY_ALT_FITS   ".skip (" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS "\n\t"

/* Writes to carry_bytes: the sizes of the original and the replacement, one byte each, then the
 * bytes of both. */
#define CARRY_ALT_TEXT(original, pad, replacement, key, flags)                                     \
    CARRY_SITE_PLACE                                                                               \
    ".Lcarry_site%=: " original "\n"                                                               \
    ".Lcarry_pad%=: " pad ".Lcarry_next%=:\n\t"                                                    \
    ".pushsection carry_bytes, \"ao?\", @progbits, .Lcarry_site%=\n\t" CARRY_SITE_ALIGN            \
    ".Lcarry_aux%=: .byte .Lcarry_new%= - .Lcarry_old%=, .Lcarry_end%= - "                         \
    ".Lcarry_new%=\n\t" CARRY_SITE_ALIGN ".Lcarry_old%=: " original "\n"                           \
    ".Lcarry_new%=: " replacement "\n"                                                             \
    ".Lcarry_end%=:\n\t" key ".popsection\n\t" CARRY_SITE_RECORD(                                  \
        ".Lcarry_key%=", ".Lcarry_aux%= - .", "4", ".Lcarry_next%= - .Lcarry_site%=", flags)

/* --- Bodies --- */

/*
 * CARRY_BODY, in a function that is one instruction, gives that instruction, which must fit into a
 * call: four bytes on AArch64, six on x86-64. It replaces calls of the function where an operation
 * is patched to the function. Arguments and result are where the ABI puts them. The function must
 * be static or hidden. An operation of the same object or of another may be set to it.
 *
 *     static uint64_t successor(uint64_t number) {
 *         CARRY_BODY(successor, "lea 1(%%rdi), %%rax");
 *         return number + 1;
 *     }
 */
#define CARRY_BODY(function, instruction) CARRY_BODY_TEXT(function, instruction, "0")
#define CARRY_BODY_TEXT(function, instruction, flags)                                              \
    CARRY_BODY_ASSERT(function);                                                                   \
    __asm__ __volatile__(                                                                          \
        ".Lcarry_site%=:\n\t"                                                                      \
        ".pushsection carry_bytes, \"ao?\", @progbits, .Lcarry_site%=\n\t" CARRY_SITE_ALIGN        \
        ".Lcarry_aux%=: .byte .Lcarry_end%= - .Lcarry_new%=\n\t" CARRY_SITE_ALIGN                  \
        ".Lcarry_new%=: " instruction "\n"                                                         \
        ".Lcarry_end%=:\n\t"                                                                       \
        ".popsection\n\t" CARRY_SITE_RECORD("%c[carry_body]", ".Lcarry_aux%= - .", "5", "0",       \
                                            flags)                                                 \
        :                                                                                          \
        : [carry_body] CARRY_SITE_SYMBOL(&function))

#endif
