/* SPDX-License-Identifier: MIT */
/*
 * The sites of AArch64. This file is a part of <carry/patch.h>, which includes it.
 *
 *     site         original                    patched, each one instruction
 *
 *     call         bl stub                     bl function, or the function's own instruction
 *     jump         b stub                      b function
 *     branch       b stub                      nop, or b to the target of the stub
 *     alternative  its default                 its replacement, padded
 *     entry        nop                         b to a stub of a hook (<carry/hook.h>)
 *
 * A stub, placed after the function's code, reads the key and branches. Sites that are not patched
 * run the stub, which is never changed. If a core runs B, BL or NOP while another of these
 * instructions is stored in its place, the core runs either the old or the new one (Arm ARM,
 * B2.2.5). So sites may change while threads run them. A stub branches with BR x16, which BTI
 * accepts like a call at the start of a function.
 *
 * The assembly statement of a call declares that it changes the link register, so the compiler
 * saves that register first. It also declares v8 to v15 as changed. A called function keeps only
 * their lower halves, and the compiler would otherwise rely on the upper halves too. So a function
 * that calls an operation saves d8 to d15, unless it is compiled for general registers only.
 */
#ifndef CARRY_PATCH_AARCH64_H
#define CARRY_PATCH_AARCH64_H

#include <carry/patch/sites.h>

/* GCC accepts symbols for the constraint "i" only in position-dependent code. Clang 14 refuses for
 * "S" the symbols that it has merged into one, as it does at -O3 and -Oz. */
#ifdef __clang__
#define CARRY_SITE_SYMBOL "i"
#else
#define CARRY_SITE_SYMBOL "S"
#endif
#define CARRY_SITE_ALIGN ".balign 4\n\t"
#define CARRY_SITE_PLACE ""

/* Loads a key into x16, with acquire semantics; CARRY_STUB_END ends the stub. The encoder relies on
 * these three instructions: it finds the branch of a stub by its offset from the start. */
#define CARRY_STUB(key)                                                                            \
    ".subsection 1\n"                                                                              \
    ".Lcarry_stub%=: adrp x16, " key "\n\t"                                                        \
    "add x16, x16, :lo12:" key "\n\t"                                                              \
    "ldar x16, [x16]\n\t"
#define CARRY_STUB_END ".previous\n"

/* --- Operations --- */

/* The registers of arguments, and the argument registers that are not used, by the number of
 * arguments. The callee may change the unused ones. x0 also holds the result. */
#define CARRY_LOAD_0 register uintptr_t carry_r0 __asm__("x0");
#define CARRY_LOAD_1 CARRY_LOAD(0, "x0")
#define CARRY_LOAD_2 CARRY_LOAD_1 CARRY_LOAD(1, "x1")
#define CARRY_LOAD_3 CARRY_LOAD_2 CARRY_LOAD(2, "x2")
#define CARRY_LOAD_4 CARRY_LOAD_3 CARRY_LOAD(3, "x3")
#define CARRY_LOAD_5 CARRY_LOAD_4 CARRY_LOAD(4, "x4")
#define CARRY_LOAD_6 CARRY_LOAD_5 CARRY_LOAD(5, "x5")
#define CARRY_TIED_0 "=r"(carry_r0)
#define CARRY_TIED_1 "+r"(carry_r0)
#define CARRY_SPARE_6
#define CARRY_SPARE_5 "x5",
#define CARRY_SPARE_4 CARRY_SPARE_5 "x4",
#define CARRY_SPARE_3 CARRY_SPARE_4 "x3",
#define CARRY_SPARE_2 CARRY_SPARE_3 "x2",
#define CARRY_SPARE_1 CARRY_SPARE_2 "x1",
#define CARRY_SPARE_0 CARRY_SPARE_1

/* The other registers that a function may change under the AAPCS64. Some systems keep x18. */
#define CARRY_SPARE_GENERAL                                                                        \
    "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x30",
#if defined(__linux__) && !defined(__ANDROID__)
#define CARRY_SPARE_PLATFORM "x18",
#else
#define CARRY_SPARE_PLATFORM
#endif
/* Names all vector registers, whatever the file is compiled for: a single function may be compiled
 * for more. */
#define CARRY_SPARE_VECTORS                                                                        \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
        "v28", "v29", "v30", "v31", "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9",    \
        "p10", "p11", "p12", "p13", "p14", "p15",

/*
 * A jump after the call, never taken, leads to a call that the compiler sees. Without the jump GCC
 * assumes that the surrounding function does not change static variables whose address is not taken
 * (-fipa-reference).
 */
#define CARRY_OP_FUNCTION(count, result, name, parameters)                                         \
    CARRY_INLINE result carry_call_##name parameters {                                             \
        CARRY_WORDS_##count CARRY_LOAD_##count __asm__ __volatile__(                               \
            ".Lcarry_site%=: bl .Lcarry_stub%=\n\t" CARRY_STUB(                                    \
                "%c[carry_key]") "br x16\n\t" CARRY_STUB_END                                       \
                CARRY_SITE_RECORD("%c[carry_key]", ".Lcarry_stub%= - .", "1", "4", "0")            \
            : CARRY_TIED_##count                                                                   \
            : [carry_key] CARRY_SITE_SYMBOL(&carry_op_##name)                                      \
            : CARRY_SPARE_##count CARRY_SPARE_GENERAL CARRY_SPARE_PLATFORM CARRY_SPARE_VECTORS     \
              "cc",                                                                                \
              "memory");                                                                           \
        __asm__ __volatile__ goto("" : : : : carry_never);                                         \
        return CARRY_OF_WORD(result, carry_r0);                                                    \
    carry_never:                                                                                   \
        carry_patch_never();                                                                       \
        __builtin_unreachable();                                                                   \
    }

/* --- Keys --- */

/* The test, CBZ or CBNZ, skips a B, which reaches further than the test. */
#define CARRY_BRANCH(name, test, flags)                                                            \
    __asm__ __volatile__ goto(                                                                     \
        ".Lcarry_site%=: b .Lcarry_stub%=\n\t" CARRY_STUB("%c[carry_key]") test                    \
        " x16, .Lcarry_back%=\n\t"                                                                 \
        "b %l[carry_away]\n"                                                                       \
        ".Lcarry_back%=: b .Lcarry_site%= + 4\n\t" CARRY_STUB_END CARRY_SITE_RECORD(               \
            "%c[carry_key]", ".Lcarry_stub%= - .", "3", "4", flags)                                \
        :                                                                                          \
        : [carry_key] CARRY_SITE_SYMBOL(&carry_key_##name)                                         \
        : "x16"                                                                                    \
        : carry_away)

/* The test that skips the branch, so that the branch is taken while the key is on, or off. */
#define CARRY_BRANCH_ON  "cbz"
#define CARRY_BRANCH_OFF "cbnz"

/* --- Alternatives --- */

#define CARRY_ALT_ROW_x86_64(name)
#define CARRY_ALT_ROW_aarch64(name) name

#define CARRY_ALT_PAD                                                                              \
    ".fill -(" CARRY_ALT_EXCESS " > 0) * " CARRY_ALT_EXCESS " / 4, 4, 0xd503201f\n\t"

/* --- Bodies --- */

/* These bodies are for other architectures: on AArch64 calls of the function are direct. */
#define CARRY_BODY_RELATIVE(function, instruction) CARRY_BODY_ASSERT(function)
#define CARRY_BODY_SEVERAL(function, instructions) CARRY_BODY_ASSERT(function)

#endif
