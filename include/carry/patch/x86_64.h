/* SPDX-License-Identifier: MIT */
/*
 * The sites of x86-64, for compilers that support asm goto with outputs. This file is a part of
 * <carry/patch.h>, which includes it.
 *
 *     site         original, which reads memory       patched, each one instruction
 *
 *     call         call *key(%rip)   ff 15 disp32     cs call function   2e e8 rel32,
 *                                                     or the function's own instruction
 *     jump         jmp *key(%rip)    ff 25 disp32     cs jmp function    2e e9 rel32
 *     branch       jmp stub          e9 rel32         nop, or jmp to the target of the stub
 *     alternative  its default                        its replacement, padded
 *     entry        nop                                jmp to a stub of a hook (<carry/hook.h>)
 *
 * Every state of a call is one instruction of six bytes: a thread that is inside the function
 * returns to the same place whichever state called it.
 *
 * If the compiler regarded the function around an assembly statement as a leaf, the call in the
 * statement would corrupt the red zone below the stack pointer, and find the stack unaligned. So
 * the statement declares a jump, never taken, to a call of carry_patch_never(). It also reads the
 * stack pointer, so that the compiler sets the frame up before the statement.
 */
#ifndef CARRY_PATCH_X86_64_H
#define CARRY_PATCH_X86_64_H

#include <carry/patch/sites.h>

#define CARRY_SITE_SYMBOL "i"
#define CARRY_SITE_ALIGN  ""

/*
 * Inserts a NOP of one byte before a site whose first two bytes would otherwise lie on both sides
 * of a multiple of eight. One store can then put a jump to itself at the site, which holds threads
 * without a signal.
 */
#define CARRY_SITE_PLACE ".p2align 3, , 1\n"

/* --- Operations --- */

__extension__ register uintptr_t carry_stack_pointer __asm__("rsp");

/* The registers of arguments, and the argument registers that are not used, by the number of
 * arguments. The callee may change the unused ones. */
#define CARRY_LOAD_0
#define CARRY_LOAD_1 CARRY_LOAD(0, "rdi")
#define CARRY_LOAD_2 CARRY_LOAD_1 CARRY_LOAD(1, "rsi")
#define CARRY_LOAD_3 CARRY_LOAD_2 CARRY_LOAD(2, "rdx")
#define CARRY_LOAD_4 CARRY_LOAD_3 CARRY_LOAD(3, "rcx")
#define CARRY_LOAD_5 CARRY_LOAD_4 CARRY_LOAD(4, "r8")
#define CARRY_LOAD_6 CARRY_LOAD_5 CARRY_LOAD(5, "r9")
#define CARRY_TIED_0
#define CARRY_TIED_1 , "+r"(carry_r0)
#define CARRY_SPARE_6
#define CARRY_SPARE_5 "r9",
#define CARRY_SPARE_4 CARRY_SPARE_5 "r8",
#define CARRY_SPARE_3 CARRY_SPARE_4 "rcx",
#define CARRY_SPARE_2 CARRY_SPARE_3 "rdx",
#define CARRY_SPARE_1 CARRY_SPARE_2 "rsi",
#define CARRY_SPARE_0 CARRY_SPARE_1 "rdi",

/*
 * The other registers that a function may change under the System V ABI. GCC refuses the names of
 * registers that the file is not compiled for. So a function that has AVX-512 only from an
 * attribute must not call operations: GCC would keep values in AVX-512 registers across the call.
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

#define CARRY_OP_FUNCTION(count, result, name, parameters)                                         \
    CARRY_INLINE result carry_call_##name parameters {                                             \
        CARRY_WORDS_##count CARRY_LOAD_##count uintptr_t carry_value;                              \
        __asm__ __volatile__ goto(                                                                 \
            CARRY_SITE_PLACE ".Lcarry_site%=: .byte 0xff, 0x15\n\t"                                \
                             ".long %c[carry_key] - .Lcarry_site%= - 6\n" CARRY_SITE_RECORD(       \
                                 "%c[carry_key]", "0", "1", "6", "0")                              \
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
 * The original is a jump to a stub after the function's code. The stub tests the key:
 *     cmpb $0, key; jne target; jmp back                (unlikely; je for likely)
 * The stub never changes: commits read the target of the branch from the stub.
 */
#define CARRY_BRANCH(name, condition, flags)                                                       \
    __asm__ __volatile__ goto(                                                                     \
        CARRY_SITE_PLACE                                                                           \
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

/* The second byte of a stub's conditional jump, jne or je, which is taken while the key is on, or
 * off. */
#define CARRY_BRANCH_ON  "0x85"
#define CARRY_BRANCH_OFF "0x84"

/* --- Alternatives --- */

#define CARRY_ALT_ROW_x86_64(name) name
#define CARRY_ALT_ROW_aarch64(name)

#define CARRY_ALT_PAD ".skip -(" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS ", 0x90\n\t"

/* --- Bodies --- */

/*
 * CARRY_BODY_RELATIVE is for an instruction that ends with an offset from the next instruction, as
 * in "mov counter(%%rip), %%eax". CARRY_BODY_SEVERAL is for several instructions of at most six
 * bytes in total, none of them a call or relative, as in "pushfq; popq %%rax". They replace calls
 * where the host can stop all CPUs outside sites: in operating-system kernels. Elsewhere calls of
 * the function are direct.
 */
#define CARRY_BODY_RELATIVE(function, instruction) CARRY_BODY_TEXT(function, instruction, "4")
#define CARRY_BODY_SEVERAL(function, instructions) CARRY_BODY_TEXT(function, instructions, "8")

#endif
