/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The parts of template.h for few bytes, and for the last bytes.
 *
 * Sizes that vary make branches mispredict, and one misprediction costs more than all else here. So
 * each part serves many sizes without a branch. If sizes repeat, branches are predicted, and the
 * code with the fewest instructions wins. So there are parts for up to 8, 64, 256 and 512 bytes.
 */
    .section .rodata
    .balign 64
.Lzeros:
    .fill 64, 1, 0
.Llow_words:
    .long 0xffff
.Lsigns:
    .long 0x80008000
.Lones:
    .long 0x00010001

/* Returns SUM + bias + the lanes of V(0). The lanes and the bias add up to less than 2^32. */
.macro RETURN_FEW bias=0
    FOLD_LANES
    vpsrldq $8, %xmm0, %xmm1
    vpaddd %xmm1, %xmm0, %xmm0
    vmovq %xmm0, %rax
    vzeroupper
    rorxq $32, %rax, %rcx
    leal \bias(%rax, %rcx), %eax
    addl SUM, %eax
    adcl $0, %eax
    RETURN_SUM
.endm

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

/* V(n) = in each lane of 32 bits the sum of its two words; clobbers V(m). */
#define SPREAD_WORDS(n, m)                                                                         \
    vpsrld $16, V(n), V(m);                                                                        \
    vpandd ONES, V(n), V(n);                                                                       \
    vpaddd V(m), V(n), V(n)

/*
 * Returns the sum of at most 64 bytes. They need no dot product: a lane can hold the sum of its two
 * words, and adding them there takes fewer instructions and less time.
 */
.macro SUM_64
    movq $-1, %rax
    bzhiq SIZE, %rax, %rax
    vpbroadcastd .Llow_words(%rip), ONES
    xorl %ecx, %ecx
#if VECTOR_BYTES == 64
    kmovq %rax, %k1
    TAKE_MASKED(0, %rcx, %k1, 0)
    SPREAD_WORDS(0, 1)
#else
    kmovd %eax, %k1
    shrq $32, %rax
    kmovd %eax, %k2
    /*
     * If no byte of the second vector is wanted, it is loaded from the address of the first one.
     * The page after the data may be inaccessible: a load there would cost hundreds of cycles even
     * if all bytes are masked out.
     */
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
.endm
#endif

#if !MASKED
    .section .rodata
    .balign 32
.Lin_place:
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
.Lswapped:
    .byte 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14

/*
 * V(n) = the rax bytes before DATA + r9, at most a vector, and zeros after them. Loads the vector
 * that ends with these bytes, sets all other bytes to zero, and swaps the bytes of its words if rax
 * is odd. Clobbers rax, rcx, V(m).
 */
.macro TAKE_END n, m
    leaq .Lmasks(%rip), %rcx
    CARRY_LOAD 0, vmovdqu -VECTOR_BYTES(DATA, %r9), V(\n)
#if COPIES
    CARRY_STORE 0, vmovdqu V(\n), -VECTOR_BYTES(%rdi, %r9)
#endif
    vpand (%rcx, %rax), V(\n), V(\n)
    leaq .Lin_place(%rip), %rcx
    andl $1, %eax
    shll $4, %eax
    vbroadcasti128 (%rcx, %rax), V(\m)
    vpshufb V(\m), V(\n), V(\n)
.endm
#endif

#if REST_VECTORS == 1
/* V(8) = the last r9 bytes, fewer than a vector, and zeros. Requires rcx = 0. Clobbers rax, rcx,
 * k1, V(9). */
.macro TAKE_TAIL
#if MASKED
    movq $-1, %rax
    bzhiq %r9, %rax, %rax
    kmovq %rax, %k1
    TAKE_MASKED(0, %rcx, %k1, 8)
#else
    movl %r9d, %eax
    TAKE_END 8, 9
#endif
.endm
#endif

#if MASKED && !COPIES
/* Returns the sum of at most 8 bytes. Upper halves of vectors stay clean. */
.macro SUM_8
    prefetcht0 (DATA)
    movl $-1, %eax
    bzhil SIZE32, %eax, %eax
    kmovd %eax, %k1
    vmovdqu8 (%rdi), %xmm0{%k1}{z}
    vmovq %xmm0, %rax
    EXTEND_SUM
    addq %rax, SUM64
    RETURN_FOLDED
.endm
#endif

#if SUMS_FEW
/*
 * V(n) = vector i of the r9 bytes at DATA, or zeros if that vector does not precede the vector of
 * the last byte; with flipped sign bits. Requires r11 = the address of zeros. Clobbers rax.
 */
.macro TAKE_WHOLE i, n
    leaq \i * VECTOR_BYTES(%rdi), %rax
    cmpl $(\i + 1) * VECTOR_BYTES, %r9d
    cmovleq %r11, %rax
    VPXOR (%rax), FLIP, V(\n)
.endm

/*
 * V(n) = the vector of the last of the r9 bytes at DATA, and zeros after that byte; with flipped
 * sign bits. Clobbers rax, rcx, r9, k1, V(10).
 */
.macro TAKE_LAST n
    leal -1(%r9), %eax
#if MASKED
    andl $-VECTOR_BYTES, %eax
    movl %r9d, %ecx
    subl %eax, %ecx
    movq $-1, %r9
#if VECTOR_BYTES == 64
    bzhiq %rcx, %r9, %r9
    kmovq %r9, %k1
    vmovdqu64 FLIP, V(\n)
#else
    bzhil %ecx, %r9d, %r9d
    kmovd %r9d, %k1
    vmovdqu FLIP, V(\n)
#endif
    /* An addition flips a sign bit too, and it can be masked. */
    vpaddb (%rdi, %rax), V(\n), V(\n){%k1}
#else
    andl $VECTOR_BYTES - 1, %eax
    incl %eax
    TAKE_END \n, 10
    vpxor V(\n), FLIP, V(\n)
#endif
.endm

/* Sets FLIP, ONES and r11, which TAKE_WHOLE needs. */
.macro SET_FEW_CONSTANTS
    leaq .Lzeros(%rip), %r11
    vpbroadcastd .Lsigns - .Lzeros(%r11), FLIP
    vpbroadcastd .Lones - .Lzeros(%r11), ONES
.endm

/* Returns the sum of more than `sure` vectors, at most `all`: 4 or 8. */
.macro SUM_FEW sure, all
    SET_FEW_CONSTANTS
    movl SIZE32, %r9d
    vpxor %xmm8, %xmm8, %xmm8
    vpxor %xmm9, %xmm9, %xmm9
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \sure
    VPXOR \i * VECTOR_BYTES(%rdi), FLIP, V(\i)
    .elseif \i < \all - 1
    TAKE_WHOLE \i, \i
    .elseif \i == \all - 1
    TAKE_LAST \i
    .endif
    .endr
    DOT ONES, V(0), V(8)
    DOT ONES, V(1), V(9)
    DOT ONES, V(2), V(8)
    DOT ONES, V(3), V(9)
    .if \all == 8
    DOT ONES, V(4), V(8)
    DOT ONES, V(5), V(9)
    DOT ONES, V(6), V(8)
    DOT ONES, V(7), V(9)
    .endif
    vpaddd V(9), V(8), V(0)
    RETURN_FEW (\all * VECTOR_BYTES) << BIAS_SHIFT
.endm
#endif

#if REST_VECTORS == 4
/* Adds the r9 bytes at DATA: at least one, and fewer than four vectors. Requires r11 of
 * SET_FEW_CONSTANTS. Clobbers rax, rcx, r9, k1 and V(8) to V(11). */
.macro ADD_REST
    TAKE_WHOLE 0, 8
    TAKE_WHOLE 1, 9
    TAKE_WHOLE 2, 10
    TAKE_LAST 11
    DOT ONES, V(8), V(4)
    DOT ONES, V(9), V(5)
    DOT ONES, V(10), V(6)
    DOT ONES, V(11), V(7)
.endm
#endif
