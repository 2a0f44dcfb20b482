/* SPDX-License-Identifier: MIT */
/* A process's vector registers, and a system call that must preserve them. */
#ifndef CARRY_LINUX_REGISTERS_H
#define CARRY_LINUX_REGISTERS_H

#include <stddef.h>
#include <sys/syscall.h>

struct registers {
    unsigned char bytes[16][32];
};

/* Returns how many bytes of each vector register read_with() loads and stores on this CPU. */
static size_t vector_bytes(void) {
    return __builtin_cpu_supports("avx") ? 32 : 16;
}

/* Calls read() with ymm0 to ymm15, or xmm0 to xmm15 if the CPU has no AVX, loaded from `before`;
   then stores these registers to `after`. */
static long read_with(int file, void *buffer, size_t size, const struct registers *before,
                      struct registers *after) {
    long done = SYS_read;
#define EACH(X)                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define CLOBBERS                                                                                   \
    "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",        \
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define LOAD(n)      "movups 32*" #n "(%[before]), %%xmm" #n "\n"
#define STORE(n)     "movups %%xmm" #n ", 32*" #n "(%[after])\n"
#define LOAD_AVX(n)  "vmovups 32*" #n "(%[before]), %%ymm" #n "\n"
#define STORE_AVX(n) "vmovups %%ymm" #n ", 32*" #n "(%[after])\n"
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile(EACH(LOAD_AVX) "syscall\n" EACH(STORE_AVX) "vzeroupper"
                         : "+a"(done)
                         : "D"((long)file), "S"(buffer),
                           "d"(size), [before] "r"(before), [after] "r"(after)
                         : CLOBBERS);
    else
        __asm__ volatile(EACH(LOAD) "syscall\n" EACH(STORE)
                         : "+a"(done)
                         : "D"((long)file), "S"(buffer),
                           "d"(size), [before] "r"(before), [after] "r"(after)
                         : CLOBBERS);
    return done;
}

#endif
