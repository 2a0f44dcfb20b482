/* SPDX-License-Identifier: MIT */
/*
 * CRC32c (Castagnoli), the checksum of SCTP (RFC 9260, appendix A) and of iSCSI, as a number: the
 * CRC of the nine bytes "123456789" is 0xe3069283.
 *
 *     uint32_t crc = carry_crc32c(header, header_size, 0);
 *     crc = carry_crc32c(data, data_size, crc);     // of the header, then the data
 *
 * SCTP stores the CRC little-endian, and computes it with the checksum field as zeros.
 *
 * The contract of carry/sum.h holds for all functions here, except for its rules about partial
 * sums. What it says about carry_sum_select() holds for carry_crc32c_select(). A CRC detects errors
 * that the Internet checksum does not, such as swapped words. It does not protect against an
 * attacker: an attacker can change any data so that the CRC stays the same.
 */
#ifndef CARRY_CRC_H
#define CARRY_CRC_H

#include <carry/sum.h>

CARRY_BEGIN_DECLS

/* Returns the CRC of the bytes that gave `crc`, followed by `size` bytes at `data`. The CRC of no
 * bytes is 0. */
CARRY_API uint32_t carry_crc32c(const void *data, size_t size, uint32_t crc);

/* The operation that carry_crc32c() calls: see carry_op_carry_sum_export. */
typedef uint32_t carry_fn_carry_crc32c(const void *data, size_t size, uint32_t crc);
CARRY_API extern struct carry_key *const carry_op_carry_crc32c_export;

/* --- Kernels and their choice --- */

/*
 * List and choose kernels as carry_sum_kernel_need(), carry_sum_kernel(), carry_sum_kernel_code()
 * and carry_sum_select() do. Member `sum` of a kernel does what carry_crc32c() does.
 */
CARRY_API const char *carry_crc32c_kernel_need(size_t index, size_t need);
CARRY_API bool carry_crc32c_kernel(size_t index, struct carry_sum_kernel *kernel);
CARRY_API bool carry_crc32c_kernel_code(size_t index, struct carry_kernel_code *code);
CARRY_API int carry_crc32c_select(const char *name);

CARRY_END_DECLS

#endif
