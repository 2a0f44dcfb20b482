/* SPDX-License-Identifier: MIT */
/*
 * Thunks: callbacks around a call, or at any point of the text. They change nothing that the
 * surrounding code can see, and leave no vector state behind.
 *
 *     static void count(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
 *         ++*(unsigned long *)thunk->user;
 *     }
 *
 *     struct carry_thunk counted = {.enter = count, .target = real_function, .user = &calls};
 *     int counted_function(int, double);
 *     CARRY_THUNK(counted_function, counted)
 *
 *     carry_thunk_prepare();
 *     counted_function(1, 2.0);                // count(), then real_function(1, 2.0)
 *
 * Contract shared by all thunks:
 *  - Callbacks are ordinary functions. They find the upper halves of all vector registers clean,
 *    whatever the caller holds there, so that their SSE code runs at full speed. They find an empty
 *    x87 stack (but see carry_thunk_around). They may throw and be unwound. They must preserve
 *    state that is not in registers, such as errno.
 *  - Thunks are unwindable at each instruction. They push real return addresses and return to them
 *    (CET, shadow stacks). They allocate stack only: at most 1 KiB, plus what `stack_words` asks
 *    for, or plus the size of an area for carry_thunk_any. They are as safe as their callbacks, in
 *    any thread and in signal handlers.
 *  - AArch64: these thunks are for functions of the base procedure call standard (AAPCS64), not for
 *    those that take or keep scalable vectors, or more of the vectors (aarch64_vector_pcs). In
 *    streaming mode, and while ZA is live and no caller has promised to save it (SME), a call goes
 *    to the target without callbacks: ordinary functions must not run there.
 *  - Until carry_thunk_prepare() has returned CARRY_OK, thunks do not know which registers exist:
 *    they hand each call on to the target, without callbacks.
 *
 * Thunks exist on x86-64 with the System V ABI, and on little-endian AArch64 with AAPCS64.
 * Elsewhere CARRY_HAS_THUNKS is 0, there is no CARRY_THUNK, and carry_thunk_prepare() returns
 * CARRY_ERROR_UNSUPPORTED. carry_thunk_any exists only on x86-64 (CARRY_HAS_THUNK_ANY).
 *
 * Source: System V ABI, AMD64 supplement, 3.2; Procedure Call Standard for the Arm 64-bit
 * Architecture (AAPCS64), 6.
 */
#ifndef CARRY_THUNK_H
#define CARRY_THUNK_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

#if defined(__x86_64__)
#define CARRY_HAS_THUNKS     1
#define CARRY_HAS_THUNK_ANY  1
#define CARRY_THUNK_INTEGERS 6
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CARRY_HAS_THUNKS     1
#define CARRY_HAS_THUNK_ANY  0
#define CARRY_THUNK_INTEGERS 8
#else
#define CARRY_HAS_THUNKS     0
#define CARRY_HAS_THUNK_ANY  0
#define CARRY_THUNK_INTEGERS 6
#endif

struct carry_thunk;

/*
 * One call, as callbacks see it. The memory belongs to the thunk, and is valid until the call ends.
 * The thunk loads its contents back into the registers, so callbacks may change them, except where
 * noted.
 */
struct carry_thunk_call {
    /* rdi, rsi, rdx, rcx, r8, r9; or x0 to x7. In `leave`, as `enter` left them */
    uint64_t integer[CARRY_THUNK_INTEGERS];
    uint64_t result[2]; /* rax, rdx; or x0, x1; in `leave` only */
    uint64_t *stack;    /* the arguments on the stack, from the first integer that has no register;
                         * do not modify the pointer. In carry_thunk_any: where the stack pointer
                         * was */
    void *return_address; /* for information: where the call returns to */
    void *vectors; /* xmm0 to xmm7, or q0 to q7 (in `leave` xmm0 and xmm1, or q0 to q3), each of
                    * `vector_size` bytes; NULL in carry_thunk_any. Do not modify the pointer */
    uint64_t vector_size; /* 16, 32 or 64: the widest in use. `leave` may set it to 16 and move xmm1
                           * to its new place: the caller then finds clean upper halves. AArch64:
                           * 16, or the size of a scalable vector, z0 to z7; do not modify it */
    uint64_t word;        /* 0 in `enter`; `leave` finds the value that `enter` stored */
    uint64_t library;     /* 0 in `enter`; for <carry/hook.h>, whose callbacks must not touch it */
};

typedef void carry_thunk_fn(const struct carry_thunk *thunk, struct carry_thunk_call *call);

/* Describes what a thunk does; the thunk's stub names this object. Pointers may be changed while
 * threads run the thunk, if each store is atomic. */
struct carry_thunk {
    carry_thunk_fn *enter; /* or NULL */
    carry_thunk_fn *leave; /* or NULL; carry_thunk_around only */
    const void *target;    /* the function that the thunk calls; carry_thunk_any has none */
    uint64_t stack_words;  /* carry_thunk_around only: how many words of arguments on the stack the
                            * target may read beyond the first two, at most 4096 */
    void *user;            /* the caller's, as are the bytes after this structure */
};

/*
 * Finds out which registers thunks must keep. Call it before the first thunk runs, and again after
 * carry_cpu_set_mask(): thunks keep at least the registers of the features in effect. It may be
 * called at any time, any number of times.
 *
 * Returns CARRY_OK, or CARRY_ERROR_UNSUPPORTED.
 */
CARRY_API int carry_thunk_prepare(void);

#if CARRY_HAS_THUNKS

/*
 * The thunks, for use by stubs: text that puts the address of a struct carry_thunk into r11 (x16)
 * and jumps to a thunk (by x17), with the registers and the stack as they are where a function
 * starts. C code must not call thunks.
 *
 * carry_thunk_enter calls `enter` and jumps to the target. It keeps the registers that may hold an
 * argument: rdi, rsi, rdx, rcx, r8, r9, rax (number of vectors), r10 (static chain), and zmm0 to
 * zmm7, or ymm or xmm, as wide as in use. AArch64: x0 to x7, x8 (where a result in memory goes),
 * x18 (static chain, or the platform's), and q0 to q7. The target finds the caller's stack: any
 * number of arguments, and the caller's return address.
 *
 * carry_thunk_around calls `enter`, the target and `leave`, and returns. The target finds copies of
 * two words of arguments on the stack (eight integers in all, or ten) and of `stack_words` more,
 * and a return address in the thunk. The thunk keeps results in rax, rdx, and zmm0 and zmm1, or ymm
 * or xmm, as wide as in use; AArch64: x0, x1, and q0 to q3. Results in st0 and st1 stay on the x87
 * stack while `leave` runs: only six or seven places are then free for `leave`. `leave` is not
 * called if the target throws or jumps out. carry_thunk_around is not for functions that return
 * twice (setjmp, vfork), or that look at their return address (dlsym with RTLD_NEXT).
 *
 * Both thunks leave alone what no call may change. They do not keep what each call may change: zmm8
 * to zmm31, mask registers and r11; AArch64: x9 to x17, q16 to q31, the upper halves of q8 to q15,
 * scalable vectors beyond q0 to q7, and predicates.
 */
CARRY_API extern const char carry_thunk_enter[];
CARRY_API extern const char carry_thunk_around[];

#if CARRY_HAS_THUNK_ANY

/*
 * A thunk for any point of the text, between any two instructions. The text *calls* a stub that
 * pushes r11, puts the address of the struct carry_thunk into r11 and jumps here. The thunk calls
 * `enter`, then returns to the text with all registers as they were, including the flags and r11:
 * general registers, x87, MXCSR, and at least the vectors and masks that carry_xstate_default()
 * names. Only registers of arguments that the callback changed in its struct carry_thunk_call
 * differ.
 *
 * The call writes into the 128 bytes below the stack pointer. If the text may keep something there,
 * it must first step over these bytes with lea -128(%rsp), %rsp, which changes no flag, and back
 * afterwards. The stack need not be aligned. Callbacks run with the control words of the text and
 * find the direction flag clear. The thunk does not keep PKRU: callbacks are responsible for it, as
 * for any other right of the thread. The thunk does not keep tile data: callbacks that touch tile
 * data must keep them.
 */
CARRY_API extern const char carry_thunk_any[];

#endif

/*
 * Stubs made by the compiler. `name` becomes a function, which the program must declare with the
 * type of the target. `descriptor` is a struct carry_thunk that the same source file must define.
 * In C++ both must be extern "C"; in C the descriptor may be static. If the descriptor is neither
 * static nor hidden, C code of a shared object may find another object's descriptor of that name;
 * the stub never does. At file scope:
 *
 *     CARRY_THUNK(name, descriptor)           uses carry_thunk_enter
 *     CARRY_THUNK_AROUND(name, descriptor)    uses carry_thunk_around
 *     CARRY_THUNK_ANY(name, descriptor)       uses carry_thunk_any; for calls from assembly
 */
#define CARRY_THUNK(name, descriptor)        CARRY_THUNK_STUB(name, descriptor, enter, "")
#define CARRY_THUNK_AROUND(name, descriptor) CARRY_THUNK_STUB(name, descriptor, around, "")
#if CARRY_HAS_THUNK_ANY
#define CARRY_THUNK_ANY(name, descriptor)                                                          \
    CARRY_THUNK_STUB(name, descriptor, any,                                                        \
                     "pushq %r11\n\t.cfi_adjust_cfa_offset 8\n\t"                                  \
                     ".cfi_rel_offset r11, 0\n\t")
#endif

#ifdef __cplusplus
#define CARRY_IS_THUNK(object) __is_same(const decltype(object), const struct carry_thunk)
#else
#define CARRY_IS_THUNK(object) __builtin_types_compatible_p(__typeof__(object), struct carry_thunk)
#endif

/*
 * The stub jumps through the global offset table, because the resolver behind a PLT would spoil
 * r11 or x16. It names the descriptor by an alias that is marked as used: compilers that optimise
 * across files may drop or rename symbols that only assembly names.
 */
#ifdef __x86_64__
#define CARRY_THUNK_GO(name, entry, push)                                                          \
    "endbr64\n\t" push "leaq carry_thunk_of_" #name "(%rip), %r11\n\t"                             \
    "jmp *carry_thunk_" #entry "@GOTPCREL(%rip)\n\t"
#else
#define CARRY_THUNK_GO(name, entry, push)                                                          \
    "hint #34\n\t"                                                                                 \
    "adrp x16, carry_thunk_of_" #name "\n\t"                                                       \
    "add x16, x16, :lo12:carry_thunk_of_" #name "\n\t"                                             \
    "adrp x17, :got:carry_thunk_" #entry "\n\t"                                                    \
    "ldr x17, [x17, :got_lo12:carry_thunk_" #entry "]\n\t"                                         \
    "br x17\n\t"
#endif

#define CARRY_THUNK_STUB(name, descriptor, entry, push)                                            \
    CARRY_ASSERT(CARRY_IS_THUNK(descriptor),                                                       \
                 "CARRY_THUNK(" #name "): the descriptor is a struct carry_thunk of this file");   \
    CARRY_C_LINKAGE struct carry_thunk carry_thunk_of_##name                                       \
        __attribute__((alias(#descriptor), used, visibility("hidden")));                           \
    __asm__(".pushsection .text." #name ", \"ax\", %progbits\n\t"                                  \
            ".balign 16\n\t"                                                                       \
            ".globl " #name "\n\t"                                                                 \
            ".type " #name ", %function\n" #name ":\n\t"                                           \
            ".cfi_startproc\n\t" CARRY_THUNK_GO(name, entry, push) ".cfi_endproc\n\t"              \
                                                                   ".size " #name ", . - " #name   \
                                                                   "\n\t"                          \
                                                                   ".popsection");

#endif

CARRY_END_DECLS

#endif
