/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The body of every vector kernel. The file that includes it defines
 *
 *     KERNEL          the function's name
 *     VECTOR_BYTES    32 or 64, and V(n) the register of that width
 *     MASKED          1 if loads can be masked by byte (AVX-512BW and VL), 0 if not
 *     DOT ones, words, acc    acc.32[i] += words.16[2i] + words.16[2i + 1], signed; may spoil words
 *
 * uint32_t KERNEL(const void *data, size_t size, uint32_t sum);
 *
 * A dot product with ones adds two words into each 32-bit lane, but takes them as signed. So their
 * sign bits are flipped, which turns each word w into w - 0x8000, and 0x8000 is given back for
 * every word, the zeros of a masked load included:
 *
 *     sum of words = sum of (w ^ 0x8000, signed) + 0x8000 * words          (modulo 2^32)
 *
 * The words of one part, at most 128 KiB, add up to less than 2^32. So arithmetic modulo 2^32 is
 * exact, and there is no carry to lose. The parts are added with end-around carry.
 *
 * In:       rdi data, rsi size, edx sum (upper half undefined)
 * Out:      eax
 * Clobbers: rcx, rdx, rsi, rdi, r8, r9, r10, k1, k2, flags, V(0) to V(15), their uppers left clean
 * Reads:    [data, data + size) and nothing else: a masked load does not touch what it masks out
 */
#include "base/asm.h"
#include "sum/x86_64/scalar.h"

#define PART_BYTES (0x20000 - 0x100)    /* with the vector that is cut by alignment 128 KiB */
#define FLIP       V(14)                /* 0x8000 in every word */
#define ONES       V(15)                /* 1 in every word */

#define BIAS_SHIFT 14                   /* 0x8000 a word is 2^14 a byte */

#if VECTOR_BYTES == 64
#define VPXOR       vpxord
#define BLOCK_SHIFT 9                   /* eight vectors are 512 bytes */
#define ALIGNED_MIN 1024                /* from here on lines that loads straddle cost more */
#else
#define VPXOR       vpxor
#define BLOCK_SHIFT 8
#define ALIGNED_MIN 0                   /* only every other load straddles: never worth it */
#endif

/* Above these sizes vectors are ahead in latency too; a scalar tail delays them. */
#if MASKED
#define SCALAR_MAX 256
#else
#define SCALAR_MAX 384
#endif

#if MASKED
/*
 * The sizes up to SCALAR_MAX that take the scalar code although masked loads exist, a byte each.
 * Where they occur they repeat, so that its branches are predicted, and it answers sooner than any
 * way through a vector register. All other sizes are taken to vary from call to call: a masked
 * load has no branch to mispredict, and one misprediction costs more than everything else here.
 */
    .section .rodata
    .balign 64
.Lscalar_sizes:
    .set size, 0
    .rept SCALAR_MAX + 1
    /* UDP and ICMP; Ethernet; IPv4 and TCP; IPv6, and IPv4 with TCP; and that with an MSS */
    .set header, (size == 8) | (size == 14) | (size == 20) | (size == 40) | (size == 44)
    .set words, (size > 64) & (size <= 128) & (size % 4 == 0)
    .set lines, (size > 0) & (size % 64 == 0)
    .byte (header | words | lines) & 1
    .set size, size + 1
    .endr
#endif

.macro SET_CONSTANTS
#if VECTOR_BYTES == 64
    vpternlogd $0xff, ONES, ONES, ONES
#else
    vpcmpeqw ONES, ONES, ONES
#endif
    vpsllw $15, ONES, FLIP
    vpsrlw $15, ONES, ONES
.endm

#define LOAD(i, n) VPXOR (i) * VECTOR_BYTES(%rdi), FLIP, V(n)

#define ADD_VECTOR(a)                                                                              \
    LOAD(0, 8);                                                                                    \
    DOT ONES, V(8), V(a)

#define ADD_2_VECTORS(a, b)                                                                        \
    LOAD(0, 8); LOAD(1, 9);                                                                        \
    DOT ONES, V(8), V(a); DOT ONES, V(9), V(b)

#define ADD_4_VECTORS(at, a, b, c, d)                                                              \
    LOAD(at + 0, 8); LOAD(at + 1, 9); LOAD(at + 2, 10); LOAD(at + 3, 11);                          \
    DOT ONES, V(8), V(a); DOT ONES, V(9), V(b); DOT ONES, V(10), V(c); DOT ONES, V(11), V(d)

/* eax = the sum of all lanes of V(0); spoils rcx, r9, V(1). */
.macro SUM_LANES
#if VECTOR_BYTES == 64
    vextracti64x4 $1, %zmm0, %ymm1
    vpaddd %ymm1, %ymm0, %ymm0
#endif
    vextracti128 $1, %ymm0, %xmm1
    vpaddd %xmm1, %xmm0, %xmm0
    vpextrq $1, %xmm0, %rcx
    vmovq %xmm0, %rax
    movq %rcx, %r9
    shrq $32, %r9
    addl %r9d, %ecx
    movq %rax, %r9
    shrq $32, %r9
    addl %r9d, %eax
    addl %ecx, %eax
.endm

CARRY_FUNCTION KERNEL
    cmpq $SCALAR_MAX, %rsi
    ja .Lvectors
#if MASKED
    leaq .Lscalar_sizes(%rip), %rax
    cmpb $0, (%rax, %rsi)
    je .Lmasked
#endif
    .balign 8                           /* one cycle better than unaligned or at 32, at 8 bytes */
#if MASKED
    SUM_SCALAR_FROM_8

.Lmasked:
    cmpl $64, %esi
    ja .Lvectors
    movq $-1, %rax
    bzhiq %rsi, %rax, %rax
    SET_CONSTANTS
    vpxor %xmm0, %xmm0, %xmm0
#if VECTOR_BYTES == 64
    kmovq %rax, %k1
    vmovdqu8 (%rdi), V(8){%k1}{z}
    VPXOR V(8), FLIP, V(8)
    DOT ONES, V(8), V(0)
#else
    kmovd %eax, %k1
    shrq $32, %rax
    kmovd %eax, %k2
    vmovdqu8 (%rdi), V(8){%k1}{z}
    vmovdqu8 32(%rdi), V(9){%k2}{z}
    VPXOR V(8), FLIP, V(8)
    VPXOR V(9), FLIP, V(9)
    DOT ONES, V(8), V(0)
    DOT ONES, V(9), V(0)
#endif
    SUM_LANES
    addl $64 << BIAS_SHIFT, %eax
    addl %edx, %eax
    adcl $0, %eax
    vzeroupper
    ret

#else
.Lscalar:
    SUM_SCALAR
#endif

.Lvectors:
    SET_CONSTANTS
    xorl %r10d, %r10d                   /* bits to turn each part's sum by */
.Lpart:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor %xmm\n, %xmm\n, %xmm\n
    .endr
    xorl %r8d, %r8d                     /* bytes taken, masked ones included */
#if ALIGNED_MIN
    testb $VECTOR_BYTES - 1, %dil
    jnz .Lmisaligned
.Laligned:
#endif
    movq %rsi, %r9
#if !MASKED
    andq $-VECTOR_BYTES, %r9            /* the rest is for the scalar code */
#endif
    movl $PART_BYTES, %eax
    cmpq %rax, %r9
    cmovaq %rax, %r9
    subq %r9, %rsi
    leal VECTOR_BYTES - 1(%r9, %r8), %r8d
    andl $-VECTOR_BYTES, %r8d
    shll $BIAS_SHIFT, %r8d

#if MASKED
    movl %r9d, %ecx
    andl $VECTOR_BYTES - 1, %ecx
    jz .Lfull
    movq $-1, %rax
    bzhiq %rcx, %rax, %rax
    kmovq %rax, %k1
    movl %r9d, %ecx
    andl $-VECTOR_BYTES, %ecx
    vmovdqu8 (%rdi, %rcx), V(8){%k1}{z}
    VPXOR V(8), FLIP, V(8)
    DOT ONES, V(8), V(6)
.Lfull:
#endif
    movl %r9d, %ecx
    shrl $BLOCK_SHIFT, %ecx
    jz .L4vectors
.Lvblock:
    ADD_4_VECTORS(0, 0, 1, 2, 3)
    ADD_4_VECTORS(4, 4, 5, 6, 7)
    addq $8 * VECTOR_BYTES, %rdi
    decl %ecx
    jnz .Lvblock

.L4vectors:
    testl $4 * VECTOR_BYTES, %r9d
    jz .L2vectors
    ADD_4_VECTORS(0, 0, 1, 2, 3)
    addq $4 * VECTOR_BYTES, %rdi
.L2vectors:
    testl $2 * VECTOR_BYTES, %r9d
    jz .L1vector
    ADD_2_VECTORS(4, 5)
    addq $2 * VECTOR_BYTES, %rdi
.L1vector:
    testl $VECTOR_BYTES, %r9d
    jz .Lmerge
    ADD_VECTOR(6)
    addq $VECTOR_BYTES, %rdi

.Lmerge:
    vpaddd V(1), V(0), V(0)
    vpaddd V(3), V(2), V(2)
    vpaddd V(5), V(4), V(4)
    vpaddd V(7), V(6), V(6)
    vpaddd V(2), V(0), V(0)
    vpaddd V(6), V(4), V(4)
    vpaddd V(4), V(0), V(0)
    SUM_LANES
    addl %r8d, %eax
#if ALIGNED_MIN
    movl %r10d, %ecx
    roll %cl, %eax
#endif
    addl %eax, %edx
    adcl $0, %edx
#if MASKED
    testq %rsi, %rsi
    jnz .Lpart
    movl %edx, %eax
    vzeroupper
    ret
#else
    cmpq $VECTOR_BYTES, %rsi
    jae .Lpart
    vzeroupper
    jmp .Lscalar
#endif

#if ALIGNED_MIN
    /*
     * The vector that data starts in, with what stands before it masked out. Words are now taken
     * where addresses are even: if data starts at an odd one, their sum is that of swapped words.
     */
.Lmisaligned:
    cmpq $ALIGNED_MIN, %rsi
    jb .Laligned
    movl %edi, %ecx
    movl %edi, %r10d
    andl $VECTOR_BYTES - 1, %ecx
    andl $1, %r10d
    shll $3, %r10d
    movq $-1, %rax
    shlxq %rcx, %rax, %rax
    kmovq %rax, %k1
    subq %rcx, %rdi
    vmovdqu8 (%rdi), V(8){%k1}{z}
    VPXOR V(8), FLIP, V(8)
    DOT ONES, V(8), V(7)
    addq $VECTOR_BYTES, %rdi
    leaq -VECTOR_BYTES(%rsi, %rcx), %rsi
    movl $VECTOR_BYTES, %r8d
    jmp .Laligned
#endif
CARRY_END KERNEL

CARRY_NOTES
