/* SPDX-License-Identifier: MIT */
/*
 * Thunks: callbacks around a call, or at any point of the text, that change nothing that the code
 * around them can see and leave no vector state behind.
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
 *    whatever the caller holds in there, so that their SSE code runs at full speed, and an empty
 *    x87 stack (but see carry_thunk_around). They may throw and be unwound. What is no register, as
 *    errno, they leave as it was.
 *  - Thunks are unwindable at each instruction, push real return addresses and return to them
 *    (CET, shadow stacks), and allocate nothing but stack: at most 1 KiB and what `stack_words`
 *    asks for, or for carry_thunk_any the size of an area. They are as safe as the callbacks are:
 *    in any thread, signal handlers too.
 *  - Until carry_thunk_prepare() has returned CARRY_OK there is nobody who knows which registers
 *    there are: thunks then hand each call on to the target and call nobody.
 *
 * x86-64 and the System V ABI only: elsewhere CARRY_HAS_THUNKS is 0, there is no CARRY_THUNK, and
 * carry_thunk_prepare() returns CARRY_ERROR_UNSUPPORTED.
 */
#ifndef CARRY_THUNK_H
#define CARRY_THUNK_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

#ifdef __x86_64__
#define CARRY_HAS_THUNKS 1
#else
#define CARRY_HAS_THUNKS 0
#endif

struct carry_thunk;

/*
 * One call, as callbacks see it. It is the thunk's own memory, gone when the call is: what stands
 * in it is loaded back into the registers, so callbacks may change it, except where noted.
 */
struct carry_thunk_call {
    uint64_t integer[6];  /* rdi, rsi, rdx, rcx, r8, r9; as `enter` left them in `leave` */
    uint64_t result[2];   /* rax, rdx; of `leave` alone */
    uint64_t *stack;      /* the arguments on the stack, the seventh integer first; not to change is
                           * the pointer. In carry_thunk_any: where the stack pointer was */
    void *return_address; /* for information: where the call goes back to */
    void *vectors;        /* xmm0 to xmm7 (in `leave` xmm0 and xmm1), each of `vector_size` bytes;
                           * NULL in carry_thunk_any. The pointer is not to change */
    uint64_t vector_size; /* 16, 32 or 64: as wide as any of them is in use. `leave` may make it 16
                           * and move xmm1 to where it then is: the caller finds clean uppers */
    uint64_t word;        /* 0 in `enter`; what it leaves there is found by `leave` */
    uint64_t library;     /* 0 in `enter`; of <carry/hook.h>, whose callbacks leave it alone */
};

typedef void carry_thunk_fn(const struct carry_thunk *thunk, struct carry_thunk_call *call);

/* What a thunk does: the object that its stub names. Pointers may be stored to while threads run
 * the thunk, if each store is atomic. */
struct carry_thunk {
    carry_thunk_fn *enter; /* or NULL */
    carry_thunk_fn *leave; /* or NULL; of carry_thunk_around alone */
    const void *target;    /* the function that is called in the end; carry_thunk_any has none */
    uint64_t stack_words;  /* of carry_thunk_around: how many words of arguments on the stack the
                            * target may read beyond the first two, at most 4096 */
    void *user;            /* yours, as are the bytes behind it */
};

/*
 * Finds out which registers thunks have to keep. Before the first thunk runs, and again after
 * carry_cpu_set_mask(): thunks keep the registers of the features in effect. May be called at any
 * time and as often as one likes.
 *
 * Returns CARRY_OK, or CARRY_ERROR_UNSUPPORTED.
 */
CARRY_API int carry_thunk_prepare(void);

#if CARRY_HAS_THUNKS

/*
 * The thunks, for those who write stubs: text that puts the address of a struct carry_thunk into
 * r11 and jumps to one of these, with the registers and the stack as they are where a function
 * starts. They are not for C to call.
 *
 * carry_thunk_enter calls `enter` and jumps to the target. Kept is what an argument may be in: rdi,
 * rsi, rdx, rcx, r8, r9, rax (how many vectors), r10 (static chain), and zmm0 to zmm7, ymm or xmm
 * as wide as in use. The target finds the caller's stack: any number of arguments, and the caller's
 * return address.
 *
 * carry_thunk_around calls `enter`, the target and `leave`, and returns. The target finds copies of
 * two words of arguments on the stack (eight integers in all) and of `stack_words` more, and a
 * return address in the thunk. Kept are results in rax, rdx, and zmm0 and zmm1, ymm or xmm as wide
 * as in use; those in st0 and st1 lie on the x87 stack while `leave` runs, which therefore has six
 * or seven places left on it. `leave` is not called if the target throws or jumps out.
 * Not for functions that return twice or ask who called them (setjmp, vfork, dlsym with RTLD_NEXT).
 *
 * Both leave alone what no call may change, and do not keep what each may: zmm8 to zmm31, mask
 * registers and r11.
 */
CARRY_API extern const char carry_thunk_enter[];
CARRY_API extern const char carry_thunk_around[];

/*
 * At any point of the text, between any two instructions, where a stub is *called* that pushes r11,
 * puts the address of the struct carry_thunk into it and jumps here. Calls `enter`, then returns to
 * the text with all registers as they were, flags and r11 too: general ones, x87, MXCSR, vectors
 * and masks as carry_xstate_default() names them.
 *
 * The call writes into the 128 bytes below the stack pointer: where the text may keep something
 * there, it has to be stepped over first, by lea -128(%rsp), %rsp, which changes no flag, and back
 * afterwards. The stack need not be aligned. Callbacks run with the control words of the text and
 * find the direction flag clear. PKRU is left to callbacks, as any other right of the thread;
 * tile data are not kept: callbacks that touch them keep them.
 */
CARRY_API extern const char carry_thunk_any[];

/*
 * Stubs made by the compiler. `name` becomes a function, which the program declares with the type
 * of the target; `descriptor` is a struct carry_thunk that the same source file defines. In C++
 * both are extern "C"; in C the descriptor may be static. If it is neither static nor hidden, a
 * shared object's C code may find another object's of that name, the stub never. At file scope:
 *
 *     CARRY_THUNK(name, descriptor)           by carry_thunk_enter
 *     CARRY_THUNK_AROUND(name, descriptor)    by carry_thunk_around
 *     CARRY_THUNK_ANY(name, descriptor)       by carry_thunk_any, to be called from assembly
 */
#define CARRY_THUNK(name, descriptor)        CARRY_THUNK_STUB(name, descriptor, enter, "")
#define CARRY_THUNK_AROUND(name, descriptor) CARRY_THUNK_STUB(name, descriptor, around, "")
#define CARRY_THUNK_ANY(name, descriptor)                                                          \
    CARRY_THUNK_STUB(name, descriptor, any,                                                        \
                     "pushq %r11\n\t.cfi_adjust_cfa_offset 8\n\t"                                  \
                     ".cfi_rel_offset r11, 0\n\t")

#ifdef __cplusplus
#define CARRY_IS_THUNK(object) __is_same(const decltype(object), const struct carry_thunk)
#else
#define CARRY_IS_THUNK(object) __builtin_types_compatible_p(__typeof__(object), struct carry_thunk)
#endif

/*
 * By the table of addresses: the resolver behind a PLT would spoil r11. The descriptor is named by
 * an alias that is marked as used: compilers that optimise across files may drop, or name anew,
 * what only assembly names.
 */
#define CARRY_THUNK_STUB(name, descriptor, entry, push)                                            \
    CARRY_ASSERT(CARRY_IS_THUNK(descriptor),                                                       \
                 "CARRY_THUNK(" #name "): the descriptor is a struct carry_thunk of this file");   \
    CARRY_C_LINKAGE struct carry_thunk carry_thunk_of_##name                                       \
        __attribute__((alias(#descriptor), used, visibility("hidden")));                           \
    __asm__(".pushsection .text." #name ", \"ax\", @progbits\n\t"                                  \
            ".balign 16\n\t"                                                                       \
            ".globl " #name "\n\t"                                                                 \
            ".type " #name ", @function\n" #name ":\n\t"                                           \
            ".cfi_startproc\n\t"                                                                   \
            "endbr64\n\t" push "leaq carry_thunk_of_" #name "(%rip), %r11\n\t"                     \
            "jmp *carry_thunk_" #entry "@GOTPCREL(%rip)\n\t"                                       \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", . - " #name "\n\t"                                                   \
            ".popsection");

#endif

CARRY_END_DECLS

#endif
