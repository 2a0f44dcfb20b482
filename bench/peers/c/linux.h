/* SPDX-License-Identifier: MIT */
/*
 * Defines for user space the parts of Linux's headers that the sources of its checksums need. The
 * build makes empty files for the headers that these sources include, and includes this file before
 * the sources, also in assembly.
 */
#ifndef BENCH_LINUX_H
#define BENCH_LINUX_H

#ifdef __ASSEMBLER__

/* clang-format off */
#define SYM_FUNC_START(name) .globl name; .type name, @function; .balign 16; name:
#define SYM_FUNC_END(name)   .size name, . - name
#define RET                  ret
/* No access faults here, so no table of fixups is needed. */
#define _ASM_EXTABLE(from, to)
#define _ASM_EXTABLE_UA(from, to)
.section .note.GNU-stack, "", @progbits
.text
/* clang-format on */

#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __force
#define EXPORT_SYMBOL(name)
#define likely(x)       __builtin_expect(!!(x), 1)
#define unlikely(x)     __builtin_expect(!!(x), 0)
#define __LITTLE_ENDIAN 1234

#define __user
#define __always_inline inline __attribute__((always_inline))

typedef uint8_t __u8;
typedef uint16_t u16, __be16, __sum16;
typedef uint32_t u32, __u32, __be32, __wsum;
typedef uint64_t u64;

static inline u32 ror32(u32 word, unsigned shift) {
    return word >> (shift & 31) | word << (-shift & 31);
}

static inline u64 ror64(u64 word, unsigned shift) {
    return word >> (shift & 63) | word << (-shift & 63);
}

/* Loads a word. The page after the data may be absent in the operating-system kernel, but not
 * here. */
static inline unsigned long load_unaligned_zeropad(const void *data) {
    unsigned long word;
    __builtin_memcpy(&word, data, sizeof word);
    return word;
}

static inline unsigned add32_with_carry(unsigned a, unsigned b) {
    __asm__("addl %2,%0\n\tadcl $0,%0" : "=r"(a) : "0"(a), "rm"(b));
    return a;
}

/* Folds a sum for ip_compute_csum(), which no code here calls. */
static inline __sum16 csum_fold(__wsum sum) {
    sum = (sum & 0xffff) + (sum >> 16);
    return (__sum16) ~(sum + (sum >> 16));
}

/* Omit the functions of <net/checksum.h> that copy. */
#define _HAVE_ARCH_COPY_AND_CSUM_FROM_USER
#define HAVE_CSUM_COPY_USER
#define _HAVE_ARCH_CSUM_AND_COPY

__wsum csum_partial(const void *data, int size, __wsum sum);
__sum16 ip_compute_csum(const void *data, int size);

#endif
#endif
