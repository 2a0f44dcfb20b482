/* SPDX-License-Identifier: MIT */
/*
 * The sites of x86-64, for compilers that know asm goto with outputs. Part of <carry/patch.h>,
 * which includes it; see there.
 *
 *     site         original, which reads memory       patched, each one instruction
 *
 *     call         call *key(%rip)   ff 15 disp32     cs call function   2e e8 rel32,
 *                                                     or the function's own instruction
 *     jump         jmp *key(%rip)    ff 25 disp32     cs jmp function    2e e9 rel32
 *     branch       jmp stub          e9 rel32         nop, or jmp to the target of the stub
 *     alternative  its default                        its replacement, filled up
 *
 * Every state of a call is one instruction of six bytes: a thread that is inside the function
 * returns to the same place whichever state it came from.
 *
 * The call in a statement of assembly would corrupt what the compiler keeps below the stack
 * pointer, and find the stack unaligned, if the compiler took the function around it for one that
 * calls nothing. So the statement may jump, as far as the compiler knows, to where a function is
 * called that never returns; and it reads the stack pointer, so that the frame is made before it.
 */
#ifndef CARRY_PATCH_X86_64_H
#define CARRY_PATCH_X86_64_H

#include <carry/patch.h>

/* A record. The section is linked to the site's own, and in its group: it goes where that goes. */
#define CARRY_SITE_RECORD(key, aux, kind, length, flags)                                           \
    ".pushsection carry_sites, \"ao?\", @progbits, .Lcarry_site%=\n\t"                             \
    ".balign 4\n\t"                                                                                \
    ".long .Lcarry_site%= - ., " key " - ., " aux "\n\t"                                           \
    ".byte " kind ", " length ", " flags ", 1\n\t"                                                 \
    ".popsection\n"

/* --- Operations --- */

#define carry_call(name) carry_call_##name

__extension__ register uintptr_t carry_stack_pointer __asm__("rsp");

/* By the number of arguments: their registers, and those that are left to the callee. */
#define CARRY_LOAD_0
#define CARRY_LOAD_1 CARRY_LOAD(0, "rdi", a)
#define CARRY_LOAD_2 CARRY_LOAD_1 CARRY_LOAD(1, "rsi", b)
#define CARRY_LOAD_3 CARRY_LOAD_2 CARRY_LOAD(2, "rdx", c)
#define CARRY_LOAD_4 CARRY_LOAD_3 CARRY_LOAD(3, "rcx", d)
#define CARRY_LOAD_5 CARRY_LOAD_4 CARRY_LOAD(4, "r8", e)
#define CARRY_LOAD_6 CARRY_LOAD_5 CARRY_LOAD(5, "r9", f)
#define CARRY_TIED_0
#define CARRY_TIED_1 , "+r"(r0)
#define CARRY_TIED_2 CARRY_TIED_1, "+r"(r1)
#define CARRY_TIED_3 CARRY_TIED_2, "+r"(r2)
#define CARRY_TIED_4 CARRY_TIED_3, "+r"(r3)
#define CARRY_TIED_5 CARRY_TIED_4, "+r"(r4)
#define CARRY_TIED_6 CARRY_TIED_5, "+r"(r5)
#define CARRY_SPARE_6
#define CARRY_SPARE_5 "r9",
#define CARRY_SPARE_4 CARRY_SPARE_5 "r8",
#define CARRY_SPARE_3 CARRY_SPARE_4 "rcx",
#define CARRY_SPARE_2 CARRY_SPARE_3 "rdx",
#define CARRY_SPARE_1 CARRY_SPARE_2 "rsi",
#define CARRY_SPARE_0 CARRY_SPARE_1 "rdi",

#define CARRY_LOAD(index, name, value)                                                             \
    CARRY_ASSERT(__builtin_classify_type(value) < CARRY_REAL &&                                    \
                     sizeof(value) <= sizeof(uintptr_t),                                           \
                 "arguments of operations are integers and pointers");                             \
    register uintptr_t r##index __asm__(name) = (uintptr_t)(value);

#define CARRY_REAL 8 /* the class of floating point; those above it are complex, unions, ... */

/*
 * What else a function may change by the System V ABI. GCC refuses the names of registers that the
 * file is not compiled for: functions that are given AVX-512 by an attribute alone must not call
 * operations, as GCC would keep values in its registers meanwhile. -mavx512f makes it right.
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

#define CARRY_OP_0(result, name)                                                                   \
    CARRY_OP_TYPED(result, name, (void))                                                           \
    CARRY_OP_CALL(0, result, name, (void))
#define CARRY_OP_1(result, name, A)                                                                \
    CARRY_OP_TYPED(result, name, (A))                                                              \
    CARRY_OP_CALL(1, result, name, (A a))
#define CARRY_OP_2(result, name, A, B)                                                             \
    CARRY_OP_TYPED(result, name, (A, B))                                                           \
    CARRY_OP_CALL(2, result, name, (A a, B b))
#define CARRY_OP_3(result, name, A, B, C)                                                          \
    CARRY_OP_TYPED(result, name, (A, B, C))                                                        \
    CARRY_OP_CALL(3, result, name, (A a, B b, C c))
#define CARRY_OP_4(result, name, A, B, C, D)                                                       \
    CARRY_OP_TYPED(result, name, (A, B, C, D))                                                     \
    CARRY_OP_CALL(4, result, name, (A a, B b, C c, D d))
#define CARRY_OP_5(result, name, A, B, C, D, E)                                                    \
    CARRY_OP_TYPED(result, name, (A, B, C, D, E))                                                  \
    CARRY_OP_CALL(5, result, name, (A a, B b, C c, D d, E e))
#define CARRY_OP_6(result, name, A, B, C, D, E, F)                                                 \
    CARRY_OP_TYPED(result, name, (A, B, C, D, E, F))                                               \
    CARRY_OP_CALL(6, result, name, (A a, B b, C c, D d, E e, F f))

#ifdef __cplusplus
#define CARRY_ASSERT               static_assert
#define CARRY_IS_TYPE(type, other) __is_same(type, other)
#else
#define CARRY_ASSERT               _Static_assert
#define CARRY_IS_TYPE(type, other) __builtin_types_compatible_p(type, other)
#endif
#define CARRY_IN_ONE_REGISTER(type)                                                                \
    (!CARRY_IS_TYPE(type, float) && !CARRY_IS_TYPE(type, double) &&                                \
     !CARRY_IS_TYPE(type, long double) && !CARRY_IS_TYPE(type, __int128) &&                        \
     !CARRY_IS_TYPE(type, unsigned __int128))

#define CARRY_OP_CALL(count, result, name, parameters)                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"")                \
        CARRY_INLINE result carry_call_##name parameters {                                         \
        CARRY_ASSERT(CARRY_IN_ONE_REGISTER(result),                                                \
                     "results of operations are integers and pointers");                           \
        CARRY_LOAD_##count uintptr_t value;                                                        \
        __asm__ __volatile__ goto(                                                                 \
            ".Lcarry_site%=: .byte 0xff, 0x15\n\t"                                                 \
            ".long %c[key] - .Lcarry_site%= - 6\n" CARRY_SITE_RECORD("%c[key]", "0", "1", "6",     \
                                                                     "0")                          \
            : "=a"(value)CARRY_TIED_##count                                                        \
            : [key] "i"(&carry_op_##name), "r"(carry_stack_pointer)                                \
            : CARRY_SPARE_##count CARRY_SPARE_XMM CARRY_SPARE_AVX512 CARRY_SPARE_X87 "r10", "r11", \
              "cc", "memory"                                                                       \
            : never);                                                                              \
        /* Of a bool only the low byte means anything. */                                          \
        return (result)(CARRY_IS_TYPE(result, bool) ? value & 0xff : value);                       \
    never:                                                                                         \
        carry_patch_never();                                                                       \
        __builtin_unreachable();                                                                   \
    }                                                                                              \
    _Pragma("GCC diagnostic pop") struct carry_key

/* --- Keys --- */

/*
 * The original is a jump to a stub behind the function's code, which tests the key:
 *     cmpb $0, key; jne target; jmp back                (unlikely; je for likely)
 * The stub stays, and tells the target of the branch to whoever patches it.
 */
#define CARRY_BRANCH(name, condition, flags)                                                       \
    __asm__ __volatile__ goto(                                                                     \
        ".Lcarry_site%=: .byte 0xe9\n\t"                                                           \
        ".long .Lcarry_stub%= - .Lcarry_site%= - 5\n"                                              \
        ".subsection 1\n"                                                                          \
        ".Lcarry_stub%=: .byte 0x80, 0x3d\n\t"                                                     \
        ".long %c[key] - .Lcarry_stub%= - 7\n\t"                                                   \
        ".byte 0, 0x0f, " condition "\n\t"                                                         \
        ".long %l[away] - .Lcarry_stub%= - 13\n\t"                                                 \
        ".byte 0xe9\n\t"                                                                           \
        ".long .Lcarry_site%= + 5 - .Lcarry_stub%= - 18\n\t"                                       \
        ".previous\n" CARRY_SITE_RECORD("%c[key]", ".Lcarry_stub%= - .", "3", "5", flags)          \
        :                                                                                          \
        : [key] "i"(&carry_key_##name)                                                             \
        : "cc"                                                                                     \
        : away)

#define CARRY_KEY_BRANCHES(name)                                                                   \
    CARRY_INLINE bool carry_unlikely_##name(void) {                                                \
        CARRY_BRANCH(name, "0x85", "1");                                                           \
        return false;                                                                              \
    away:                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    CARRY_INLINE bool carry_likely_##name(void) {                                                  \
        CARRY_BRANCH(name, "0x84", "0");                                                           \
        return true;                                                                               \
    away:                                                                                          \
        return false;                                                                              \
    }

/* --- Alternatives --- */

/*
 * Text for an asm statement: `original` runs until sites are patched, and `replacement` afterwards
 * where this CPU has `feature` (a name of carry_cpu_has(), without quotes) or the key is on. Both
 * are to do the same: a CPU without a feature, and a program that may not patch, stay with the
 * first. Either may start with a call or a jump by a 32-bit offset; nothing else may be relative
 * to where it stands. At most 64 bytes.
 *
 *     __asm__(CARRY_ALT("call crc_of_word", sse42, "crc32q %1, %0") : "+a"(crc) : "D"(word) : ...);
 *
 * The statement has a colon at least, as in __asm__(CARRY_ALT(...) :), or its labels are not made.
 *
 * CARRY_ALT_ONE and CARRY_ALT_KEY_ONE promise one instruction each, the second no longer than the
 * first or none at all, and may then change while threads run.
 */
#define CARRY_ALT(original, feature, replacement)                                                  \
    CARRY_ALT_TEXT(original, CARRY_ALT_PAD, replacement, CARRY_ALT_NAME(#feature), "1")
#define CARRY_ALT_KEY(original, key, replacement)                                                  \
    CARRY_ALT_TEXT(original, CARRY_ALT_PAD, replacement, CARRY_ALT_SYMBOL(#key), "0")
#define CARRY_ALT_ONE(original, feature, replacement)                                              \
    CARRY_ALT_TEXT(original, CARRY_ALT_FITS, replacement, CARRY_ALT_NAME(#feature), "3")
#define CARRY_ALT_KEY_ONE(original, key, replacement)                                              \
    CARRY_ALT_TEXT(original, CARRY_ALT_FITS, replacement, CARRY_ALT_SYMBOL(#key), "2")

#define CARRY_ALT_NAME(feature) ".Lcarry_key%=: .asciz \"" feature "\"\n\t"
#define CARRY_ALT_SYMBOL(key)   ".set .Lcarry_key%=, carry_key_" key "\n\t"

/* How much longer the replacement is than the original; a comparison is -1 if true. */
#define CARRY_ALT_EXCESS "((.Lcarry_end%= - .Lcarry_new%=) - (.Lcarry_pad%= - .Lcarry_site%=))"
#define CARRY_ALT_PAD    ".skip -(" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS ", 0x90\n\t"
#define CARRY_ALT_FITS                                                                             \
    ".skip (" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS "\n\t" /* or error                      \
                                                                   */

/* In carry_bytes: how many bytes each has, then their bytes. */
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
 * In a function that is one instruction of at most six bytes: that instruction, which stands in
 * for calls of the function where an operation is patched to it. Arguments and result are where the
 * ABI puts them. CARRY_BODY_RELATIVE is for one that ends with an offset from the next instruction,
 * as in "mov counter(%%rip), %%eax". The function is static or hidden, and an operation of its own
 * object or another may be set to it.
 *
 *     static uint64_t successor(uint64_t number) {
 *         CARRY_BODY(successor, "lea 1(%%rdi), %%rax");
 *         return number + 1;
 *     }
 *
 * CARRY_BODY_SEVERAL is for several instructions of together at most six bytes, none of them a call
 * or relative, as in "pushfq; popq %%rax". They stand in for calls where the host can stop all CPUs
 * outside of sites: in kernels. Elsewhere calls of the function are direct.
 */
#define CARRY_BODY(function, instruction)          CARRY_BODY_TEXT(function, instruction, "0")
#define CARRY_BODY_RELATIVE(function, instruction) CARRY_BODY_TEXT(function, instruction, "4")
#define CARRY_BODY_SEVERAL(function, instructions) CARRY_BODY_TEXT(function, instructions, "8")
#define CARRY_BODY_TEXT(function, instruction, flags)                                              \
    __asm__ __volatile__(                                                                          \
        ".Lcarry_site%=:\n\t"                                                                      \
        ".pushsection carry_bytes, \"ao?\", @progbits, .Lcarry_site%=\n"                           \
        ".Lcarry_aux%=: .byte .Lcarry_end%= - .Lcarry_new%=\n"                                     \
        ".Lcarry_new%=: " instruction "\n"                                                         \
        ".Lcarry_end%=:\n\t"                                                                       \
        ".popsection\n\t" CARRY_SITE_RECORD("%c[body]", ".Lcarry_aux%= - .", "5", "0", flags)      \
        :                                                                                          \
        : [body] "i"(&function))

#endif
