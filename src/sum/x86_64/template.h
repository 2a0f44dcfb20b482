/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The body of every vector kernel. The file that includes it defines
 *
 *     KERNEL          the kernel's name
 *     VECTOR_BYTES    32 or 64, and V(n) the register of that width
 *     MASKED          1 if loads can be masked by byte (AVX-512BW and VL), 0 if not
 *     ARITHMETIC      the file with the equation and its macros: dot.h or halves.h
 *
 * Prototypes of the three forms: form.h. An arithmetic defines
 *
 *     SET_CONSTANTS     prepares V(14) and V(15)
 *     ADD_VECTOR, ADD_2_VECTORS, ADD_4_VECTORS, ADD_8_VECTORS
 *                       add the vectors at DATA to V(0) to V(7); spoil V(8) to V(13)
 *     ADD_TAKEN         adds V(8) likewise
 *     SET_BIAS          r8d = what SUM_PART must add for r9 bytes and the r8 bytes before them
 *     SUM_PART          eax = the sum in V(0) to V(7), folded or modulo 2^32; spoils rcx, r9
 *
 * The words of one part, at most 128 KiB, add up to less than 2^32, so both sums are exact. The
 * parts are added with end-around carry.
 *
 * In:       DATA, SIZE, SUM: see form.h
 * Out:      eax; or rax and rdx
 * Clobbers: rcx, rdx, rsi, rdi, r8 to r11, k1, k2, flags, V(0) to V(15), with clean upper halves
 * Reads:    [data, data + size) and nothing else: a masked load does not touch what it masks out
 * Writes:   if it copies, [dst, dst + size) and nothing else: a masked store likewise
 */
#define BMI2 1
#include "sum/x86_64/short.h"

#define PART_BYTES (0x20000 - 0x100)    /* 128 KiB with the vector that alignment cuts */
#define FLIP       V(14)                /* 0x8000 in every word */
#define ONES       V(15)                /* 1 in every word */

#if VECTOR_BYTES == 64
#define VPXOR       vpxord
#define VMOVDQU     vmovdqu64
#define BLOCK_SHIFT 9                   /* eight vectors are 512 bytes */
#define ALIGNED_MIN 513                 /* from here on, loads that straddle lines cost more */
#else
#define VPXOR       vpxor
#define VMOVDQU     vmovdqu
#define BLOCK_SHIFT 8
#define ALIGNED_MIN 0                   /* only half of the loads straddle: never worth it */
#endif

/* 1 if 129 to 256 bytes are four loads at most. Copies would need too many masked stores. */
#define SUMS_FEW (MASKED && VECTOR_BYTES == 64 && !COPIES)

/*
 * The largest size for scalar code in kernels without masked loads. Above it, vectors cost less if
 * calls overlap, up to 45 % less for copies. If the next call waits for the result, scalar code has
 * the lower latency up to 400 bytes.
 */
#if COPIES
#define SCALAR_MAX 128
#else
#define SCALAR_MAX 256
#endif

#if MASKED
/*
 * The sizes up to 64 that use SUM_HEADER although masked loads exist, a byte each. Where such sizes
 * occur, they repeat: its branches are predicted, and its latency is lower than with a vector
 * register. All other sizes are assumed to vary from call to call: a masked load has no branch to
 * mispredict, and one misprediction costs more than all else here.
 */
    .section .rodata
    .balign 64
.Lheaders:
    .set size, 0
    .rept 64 + 1
    /* UDP and ICMP; Ethernet; IPv4 or TCP; IPv6, or IPv4 with TCP; IPv4 with TCP and MSS option */
    .set header, (size == 8) | (size == 14) | (size == 20) | (size == 40) | (size == 44)
    .byte (header | (size == 0) | (size == 64)) & 1
    .set size, size + 1
    .endr
#endif

#if MASKED
/* ONES = 0xffff in each lane of 32 bits, instead of its usual value. */
.macro SET_LOW_WORDS
#if VECTOR_BYTES == 64
    vpternlogd $0xff, ONES, ONES, ONES
#else
    vpcmpeqd ONES, ONES, ONES
#endif
    vpsrld $16, ONES, ONES
.endm

/* V(n) = in each lane the sum of its two words; spoils V(m). */
#define SPREAD_WORDS(n, m)                                                                         \
    vpsrld $16, V(n), V(m);                                                                        \
    vpandd ONES, V(n), V(n);                                                                       \
    vpaddd V(m), V(n), V(n)

/* Returns SUM + the lanes of V(0), whose sum does not exceed 32 bits. */
.macro RETURN_FEW
    FOLD_LANES
    vpextrq $1, %xmm0, %rcx
    vmovq %xmm0, %rax
    addq %rcx, %rax
    rorxq $32, %rax, %rcx
    addl %ecx, %eax
    addl SUM, %eax
    adcl $0, %eax
    vzeroupper
    RETURN_SUM
.endm
#endif

#if MASKED
/* V(n) = the bytes at DATA + index that are in the mask k, otherwise zeros; forms that copy store
 * these bytes. */
#if COPIES
#define TAKE_MASKED(done, index, k, n)                                                             \
    CARRY_LOAD done, vmovdqu8 (%rsi, index), V(n){k}{z};                                           \
    CARRY_STORE done, vmovdqu8 V(n), (%rdi, index){k}
#else
#define TAKE_MASKED(done, index, k, n) vmovdqu8 (%rdi, index), V(n){k}{z}
#endif

/* V(8) = the last r9 bytes (fewer than a vector) and zeros. Spoils rax; rcx is 0. */
.macro TAKE_TAIL
    movq $-1, %rax
    bzhiq %r9, %rax, %rax
    kmovq %rax, %k1
    TAKE_MASKED(0, %rcx, %k1, 8)
.endm
#else
    .section .rodata
    .balign 32
.Lin_place:
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
.Lswapped:
    .byte 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14

/*
 * V(8) = the same, loaded as the vector that ends with these bytes. All other bytes are set to
 * zero, and the bytes of its words are swapped if r9 is odd. Spoils rax and rcx.
 */
.macro TAKE_TAIL
    leaq .Lmasks(%rip), %rax
    CARRY_LOAD 0, vmovdqu -VECTOR_BYTES(DATA, %r9), V(8)
#if COPIES
    CARRY_STORE 0, vmovdqu V(8), -VECTOR_BYTES(%rdi, %r9)
#endif
    vpand (%rax, %r9), V(8), V(8)
    leaq .Lin_place(%rip), %rax
    movl %r9d, %ecx
    andl $1, %ecx
    shll $4, %ecx
    vbroadcasti128 (%rax, %rcx), V(9)
    vpshufb V(9), V(8), V(8)
.endm
#endif

/* xmm0 = four lanes that add up to the sum of all lanes of V(0); spoils V(1). */
.macro FOLD_LANES
#if VECTOR_BYTES == 64
    vextracti64x4 $1, %zmm0, %ymm1
    vpaddd %ymm1, %ymm0, %ymm0
#endif
    vextracti128 $1, %ymm0, %xmm1
    vpaddd %xmm1, %xmm0, %xmm0
.endm

/* V(0) += V(1) to V(3), V(4) += V(5) to V(7). */
.macro MERGE_8_TO_2 add
    \add V(1), V(0), V(0)
    \add V(3), V(2), V(2)
    \add V(5), V(4), V(4)
    \add V(7), V(6), V(6)
    \add V(2), V(0), V(0)
    \add V(6), V(4), V(4)
.endm

#include ARITHMETIC

CARRY_FUNCTION FUNCTION
    TAKE_ARGUMENTS
#if MASKED
    cmpq $64, SIZE
    ja .Labove64
    leaq .Lheaders(%rip), %rax
    cmpb $0, (%rax, SIZE)
    jne .Lheader
    /* While a masked load waits for its line, fewer other loads are in flight than beside a plain
       load: without the prefetch, cold memory costs 17 ns instead of 9. The prefetch costs sums of
       cached bytes a cycle, 1.56 ns instead of 1.35, and copies nothing (Zen 5). */
    prefetcht0 (DATA)
    prefetcht0 63(DATA)
    /* So few words need no dot product: the sum of a lane's two words fits into it, and to add them
       there needs fewer instructions and less time. */
    movq $-1, %rax
    bzhiq SIZE, %rax, %rax
    SET_LOW_WORDS
    xorl %ecx, %ecx
#if VECTOR_BYTES == 64
    kmovq %rax, %k1
    TAKE_MASKED(0, %rcx, %k1, 0)
    SPREAD_WORDS(0, 1)
#else
    kmovd %eax, %k1
    shrq $32, %rax
    kmovd %eax, %k2
    /* If no byte of the second vector is wanted, it is loaded from the address of the first one.
       After that there may be no page: a load there would cost hundreds of cycles even if all bytes
       are masked out. */
    movl $32, %r9d
    cmpl %r9d, SIZE32
    cmovbel %ecx, %r9d
    TAKE_MASKED(0, %rcx, %k1, 0)
    TAKE_MASKED(CARRY_DONE(32), %r9, %k2, 2)
    SPREAD_WORDS(0, 1)
    SPREAD_WORDS(2, 3)
    vpaddd %ymm2, %ymm0, %ymm0
#endif
    RETURN_FEW

    .balign 64
.Lheader:
    EXTEND_SUM
    SUM_HEADER

    .balign 16
.Labove64:
    cmpq $128, SIZE
    ja .Lvectors
    EXTEND_SUM
    SUM_128

#else
    cmpq $SCALAR_MAX, SIZE
    ja .Lvectors
    EXTEND_SUM
.Lscalar:
    SUM_SCALAR
#endif

.Lvectors:
#if MASKED && COPIES
    /* The last vector is masked too: prefetch the line of the last byte, and that of its vector. */
    movq SIZE, %rax
    orq $VECTOR_BYTES - 1, %rax
    prefetcht0 -1(DATA, SIZE)
    prefetcht0 (DATA, %rax)
#endif
#if SUMS_FEW
    cmpq $256, SIZE
    ja .Lmany
    /* If no byte of the fourth vector is wanted, it is loaded from the first one's address. */
    SET_LOW_WORDS
    movq $-1, %rax
    leaq -128(SIZE), %rcx
    bzhiq %rcx, %rax, %rcx
    kmovq %rcx, %k1
    xorl %ecx, %ecx
    movl $192, %r9d
    movl SIZE32, %r8d
    subl %r9d, %r8d
    cmovbel %ecx, %r8d
    cmovbel %ecx, %r9d
    bzhiq %r8, %rax, %rax
    kmovq %rax, %k2
    vmovdqu64 (%rdi), V(0)
    vmovdqu64 64(%rdi), V(2)
    vmovdqu8 128(%rdi), V(4){%k1}{z}
    vmovdqu8 (%rdi, %r9), V(6){%k2}{z}
    SPREAD_WORDS(0, 1)
    SPREAD_WORDS(2, 3)
    SPREAD_WORDS(4, 5)
    SPREAD_WORDS(6, 7)
    vpaddd V(2), V(0), V(0)
    vpaddd V(6), V(4), V(4)
    vpaddd V(4), V(0), V(0)
    RETURN_FEW

.Lmany:
#endif
    SET_CONSTANTS
    xorl %r10d, %r10d                   /* bits by which each part's sum is rotated */
.Lpart:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor %xmm\n, %xmm\n, %xmm\n
    .endr
    xorl %r8d, %r8d                     /* bytes loaded, with masked ones */
#if ALIGNED_MIN
    /*
     * Loads the bytes before the next multiple of a vector. If their number is odd, all later words
     * are loaded from odd offsets, with their bytes swapped: swaps the bytes of these words too.
     */
    cmpq $ALIGNED_MIN, SIZE
    jb .Laligned
    testb $VECTOR_BYTES - 1, DATA8
    jz .Laligned
    movl DATA32, %ecx
    negl %ecx
    andl $VECTOR_BYTES - 1, %ecx
    movl %ecx, %r10d
    andl $1, %r10d
    shll $3, %r10d
    movq $-1, %rax
    bzhiq %rcx, %rax, %rax
    kmovq %rax, %k1
    xorl %eax, %eax
    TAKE_MASKED(0, %rax, %k1, 8)
    vpbroadcastd %r10d, V(9)
    vprolvd V(9), V(8), V(8)
    ADD_TAKEN
    ADVANCE_BY %rcx
    movl $VECTOR_BYTES, %r8d
.Laligned:
#endif
    movq SIZE, %r9
    movl $PART_BYTES, %eax
    cmpq %rax, %r9
    cmovaq %rax, %r9
    SET_BIAS

    movl %r9d, %ecx
    shrl $BLOCK_SHIFT, %ecx
    jz .L4vectors
.Lvblock:
    ADD_8_VECTORS
    ADVANCE 8 * VECTOR_BYTES
    decl %ecx
    jnz .Lvblock

.L4vectors:
    testl $4 * VECTOR_BYTES, %r9d
    jz .L2vectors
    ADD_4_VECTORS
    ADVANCE 4 * VECTOR_BYTES
.L2vectors:
    testl $2 * VECTOR_BYTES, %r9d
    jz .L1vector
    ADD_2_VECTORS
    ADVANCE 2 * VECTOR_BYTES
.L1vector:
    testl $VECTOR_BYTES, %r9d
    jz .Ltail
    ADD_VECTOR
    ADVANCE VECTOR_BYTES
.Ltail:
    andl $VECTOR_BYTES - 1, %r9d
    jz .Lmerge
    TAKE_TAIL
    ADD_TAKEN
    subq %r9, SIZE
.Lmerge:
    SUM_PART
#if ALIGNED_MIN
    movl %r10d, %ecx
    roll %cl, %eax
#endif
    addl %eax, SUM
    adcl $0, SUM
    testq SIZE, SIZE
    jnz .Lpart
    movl SUM, %eax
    vzeroupper
    RETURN_SUM

    CARRY_RECOVER 8, vzeroupper
CARRY_END FUNCTION

CARRY_NOTES
