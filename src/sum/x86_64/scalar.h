/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * SUM_SCALAR: the whole scalar kernel, up to and including its return; SUM_SCALAR_FROM_8: the same
 * for sizes of at least 8. It stands alone in adc.S, and inside each vector kernel, which would
 * lose more by a jump to it than it wins by the vectors.
 *
 * sum + the little-endian 64-bit words of data, with end-around carry, folded to 32 bits. 2^16 is
 * 1 modulo 0xffff, so words of any multiple of 16 bits add up to the same checksum.
 *
 * In:       rdi data, rsi size, edx sum (upper half undefined)
 * Out:      eax
 * Clobbers: rcx, rdx, rsi, rdi, r8, flags
 * Reads:    [data, data + size) and nothing else
 *
 * The carry flag makes each addition wait for the one before. Two chains run side by side, which
 * is as much as two loads a cycle can feed. There is no indirect jump: kernels would turn it into
 * a retpoline.
 */

/* chain += the 64-bit words at offset(rdi), `bytes` in all. */
.macro ADD_WORDS chain, offset, bytes
    addq \offset(%rdi), \chain
    .set at, 8
    .rept \bytes / 8 - 1
    adcq \offset + at(%rdi), \chain
    .set at, at + 8
    .endr
    adcq $0, \chain
.endm

.macro SUM_SCALAR_FROM_8
    movl %edx, %eax
    /*
     * The last size % 8 bytes, from the word that ends with them: shifted right by 8 bytes less
     * those, in two steps since a shift by 64 bits would be none.
     */
    movq -8(%rdi, %rsi), %rdx
    movl %esi, %ecx
    notl %ecx
    shll $3, %ecx
    shrq %cl, %rdx
    shrq $8, %rdx
    addq %rdx, %rax                     /* under 2^56 + 2^32: no carry */

    cmpq $16, %rsi
    jb .L8bytes
    cmpq $32, %rsi
    jb .L16bytes
    cmpq $64, %rsi
    jb .L32bytes
    cmpq $128, %rsi
    jae .Lblocks

.L64bytes:
    ADD_WORDS %rax, 0, 64
    addq $64, %rdi
    testb $56, %sil
    jz .Lfold
.Lunder64:
    testb $32, %sil
    jz .Lunder32
.L32bytes:
    ADD_WORDS %rax, 0, 32
    addq $32, %rdi
.Lunder32:
    testb $16, %sil
    jz .Lunder16
.L16bytes:
    ADD_WORDS %rax, 0, 16
    addq $16, %rdi
.Lunder16:
    testb $8, %sil
    jz .Lfold
.L8bytes:
    ADD_WORDS %rax, 0, 8
.Lfold:
    movq %rax, %rdx
    shrq $32, %rdx
    addl %edx, %eax
    adcl $0, %eax
    ret

.Lblocks:
    xorl %r8d, %r8d
.Lblock:
    ADD_WORDS %rax, 0, 64
    ADD_WORDS %r8, 64, 64
    subq $-128, %rdi
    addq $-128, %rsi
    cmpq $128, %rsi
    jae .Lblock
    addq %r8, %rax
    adcq $0, %rax
    testb $64, %sil
    jnz .L64bytes
    testb $56, %sil
    jnz .Lunder64
    jmp .Lfold
.endm

.macro SUM_SCALAR
    cmpq $8, %rsi
    jb .Lunder8
    SUM_SCALAR_FROM_8

.Lunder8:
    movl %edx, %eax
    cmpl $4, %esi
    jb .Lunder4
    /* The first 4 bytes and the last 4; where they overlap, the same bits meet. */
    leal -4(%rsi), %ecx
    movl (%rdi), %edx
    movl (%rdi, %rcx), %r8d
    shll $3, %ecx
    shlq %cl, %r8
    orq %r8, %rdx
    addq %rdx, %rax                     /* under 2^56 + 2^32, as above */
    jmp .Lfold

.Lunder4:
    testl %esi, %esi
    jz .Lnone
    /* The first byte, the middle one and the last one, each at its place; some may be the same. */
    movzbl (%rdi), %edx
    leal -1(%rsi), %ecx
    movzbl (%rdi, %rcx), %r8d
    shll $3, %ecx
    shll %cl, %r8d
    orl %r8d, %edx
    shrl $1, %esi
    movzbl (%rdi, %rsi), %r8d
    leal (, %rsi, 8), %ecx
    shll %cl, %r8d
    orl %r8d, %edx
    addl %edx, %eax
    adcl $0, %eax
.Lnone:
    ret
.endm
