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
 *                       add the vectors at DATA to V(0) to V(7); clobber V(8) to V(13)
 *     ADD_TAKEN         adds the vector V(8) in the same way
 *     SET_BIAS          r8d = what SUM_PART must add for r9 bytes and the r8 bytes before them;
 *                       clobbers rax
 *     SUM_PART          eax = the sum in V(0) to V(7), folded or modulo 2^32; clobbers rcx, r9
 *
 * The words of one part, at most 128 KiB, add up to less than 2^32, so either form of the sum is
 * exact. The parts are added with end-around carry.
 *
 * In:       DATA, SIZE, SUM: see form.h
 * Out:      eax; or rax and rdx
 * Clobbers: rcx, rdx, rsi, rdi, r8 to r11, k1, k2, flags, V(0) to V(15), with clean upper halves
 * Reads:    [data, data + size) and nothing else: a masked load does not touch what it masks out
 * Writes:   if it copies, [dst, dst + size) and nothing else, also with masked stores
 */
#define BMI2 1
#include "sum/x86_64/short.h"

#define PART_BYTES (0x20000 - 0x100)    /* 128 KiB including the vector that alignment cuts */
#define FLIP       V(14)                /* 0x8000 in every word */
#define ONES       V(15)                /* 1 in every word */

#if VECTOR_BYTES == 64
#define VPXOR       vpxord
#define VMOVDQU     vmovdqu64
#define BLOCK_SHIFT 9                   /* eight vectors are 512 bytes */
#define ALIGNED_MIN 513                 /* from this size on, loads that straddle lines cost more */
#else
#define VPXOR       vpxor
#define VMOVDQU     vmovdqu
#define BLOCK_SHIFT 8
#define ALIGNED_MIN 0                   /* only half of the loads straddle: never worth it */
#endif

/*
 * The last step of a part adds fewer bytes than this many vectors have. If there are four, it has
 * no branches for two vectors and for one. Kernels without masked loads keep these branches, which
 * are faster if sizes repeat. Copies keep them, too: they would need too many masked stores.
 */
#if MASKED && !COPIES
#define REST_VECTORS 4
#else
#define REST_VECTORS 1
#endif

#include ARITHMETIC

/* 1 if sums of 65 to 256 bytes need no branch. Copies would need too many masked stores. */
#define SUMS_FEW (HAS_DOT && !COPIES)

/*
 * The largest size for scalar code in kernels without masked loads. Above it, vectors cost less if
 * calls overlap, up to 45 % less for copies. If the next call waits for the result, scalar code has
 * the lower latency up to 400 bytes.
 */
#if SUMS_FEW
#define SCALAR_MAX 64
#elif COPIES
#define SCALAR_MAX 128
#else
#define SCALAR_MAX 256
#endif

#if MASKED && COPIES
/*
 * The sizes up to 64 that use SUM_HEADER although masked loads exist: one byte for each size. Where
 * such sizes occur, they repeat: the branches of SUM_HEADER are predicted, and its latency is lower
 * than with a vector register. All other sizes are assumed to vary from call to call.
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

#include "sum/x86_64/few.h"

/* xmm0 = four lanes that add up to the sum of all lanes of V(0); clobbers V(1). */
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

CARRY_FUNCTION FUNCTION
    TAKE_ARGUMENTS
#if MASKED
#if !COPIES
    cmpq $8, SIZE
    ja .Labove8
    SUM_8
    .balign 16                          /* without it, 9 to 64 bytes take a cycle more */
.Labove8:
#endif
    cmpq $64, SIZE
    ja .Labove64
#if COPIES
    leaq .Lheaders(%rip), %rax
    cmpb $0, (%rax, SIZE)
    jne .Lheader
#endif
    /* While a masked load waits for its line, fewer other loads are in flight than beside a plain
       load: without the prefetch, cold memory costs 17 ns instead of 9. A sum of cached bytes
       takes a cycle longer with the prefetch, 1.56 ns instead of 1.35; a copy does not (Zen 5). */
    prefetcht0 (DATA)
    prefetcht0 63(DATA)
    SUM_64

#if COPIES
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
#endif

#else
    cmpq $SCALAR_MAX, SIZE
    ja .Labove_scalar
    EXTEND_SUM
.Lscalar:
    SUM_SCALAR SCALAR_MAX
.Labove_scalar:
#endif

#if SUMS_FEW
    .balign 32
.Labove64:
    cmpq $256, SIZE
    ja .Labove256
    SUM_FEW 64 / VECTOR_BYTES, 256 / VECTOR_BYTES

    .balign 32
.Labove256:
#if VECTOR_BYTES == 64
    cmpq $512, SIZE
    ja .Lvectors
    SUM_FEW 4, 8
#endif
#endif

.Lvectors:
#if MASKED && COPIES
    /* The last vector is masked too: prefetch the line of the last byte, and the line in which its
     * vector ends. */
    movq SIZE, %rax
    orq $VECTOR_BYTES - 1, %rax
    prefetcht0 -1(DATA, SIZE)
    prefetcht0 (DATA, %rax)
#endif
#if REST_VECTORS == 4
    SET_FEW_CONSTANTS
#else
    SET_CONSTANTS
#endif
    xorl %r10d, %r10d                   /* bits by which each part's sum is rotated */
.Lpart:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor %xmm\n, %xmm\n, %xmm\n
    .endr
    xorl %r8d, %r8d                     /* bytes loaded, including masked bytes */
#if ALIGNED_MIN
    /*
     * Loads the bytes before the next address that is aligned to a vector. If their number is odd,
     * all later words are loaded from odd offsets, with their bytes swapped. So the bytes of the
     * first words are swapped, too.
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
    movl %r9d, %ecx
    shrl $BLOCK_SHIFT, %ecx
    jz .L4vectors
.Lvblock:
    ADD_8_VECTORS
    ADVANCE 8 * VECTOR_BYTES
    decl %ecx
    jnz .Lvblock

.L4vectors:
    SET_BIAS
    testl $4 * VECTOR_BYTES, %r9d
    jz .L2vectors
    ADD_4_VECTORS
    ADVANCE 4 * VECTOR_BYTES
#if REST_VECTORS == 4
.L2vectors:
    andl $4 * VECTOR_BYTES - 1, %r9d
    jz .Lmerge
    subq %r9, SIZE
    ADD_REST
#else
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
#endif
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
