/* SPDX-License-Identifier: MIT */
/* Mutants, and the right functions from which they are made. */
#ifndef CARRY_TESTS_BROKEN_H
#define CARRY_TESTS_BROKEN_H

#include <carry/sum.h>

#include "base/arch.h"
#include "copy/copy_internal.h"
#include "harness/check_images.h"
#include "harness/check_parts.h"
#include "harness/check_sum_copy.h"

/* Right functions that share no code with the library. */
carry_sum_fn broken_not;

carry_sum_fn broken_crc32c_not;

carry_copy_fn broken_copy_not;

#define BROKEN_SUM(arch, name, ...) CARRY_ROWS_##arch(carry_sum_fn broken_##name;)
#define BROKEN_CRC32C(name, ...)    carry_sum_fn broken_crc32c_##name;
#define BROKEN_COPY(name, ...)      carry_copy_fn broken_copy_##name;
#define BROKEN_TRY(arch, name, ...) CARRY_ROWS_##arch(carry_copy_try_fn broken_try_##name;)
#include "mutants/mutants.def"
#undef BROKEN_SUM
#undef BROKEN_CRC32C
#undef BROKEN_COPY
#undef BROKEN_TRY

carry_sum_copy_fn broken_sum_copy_stride;        /* the target advances less than the source */
carry_sum_copy_fn broken_sum_copy_whole_word;    /* the last bytes are stored as a whole word */
carry_sum_copy_fn broken_sum_copy_reads_words;   /* the last bytes are loaded as a whole word */
carry_sum_copy_fn broken_sum_copy_fails_at_128k; /* lanes overflow */
carry_sum_copy_fn broken_sum_copy_keeps_parity;  /* a call after an odd size sums swapped bytes */
carry_sum_copy_fn broken_sum_copy_rounds_up;     /* leaves another rounding mode */
sum_copy_iov_fn broken_sum_copy_iov_odd_chunk;   /* the bytes after an odd chunk are not swapped */
sum_copy_iov_fn broken_sum_copy_iov_drops;  /* bytes that do not fit into a target slice are lost */
sum_copy_try_fn broken_sum_copy_try_words;  /* rounds the bytes left up to words */
sum_copy_try_fn broken_sum_copy_try_behind; /* overwrites the first byte left */
iov_fn broken_iov_odd_chunk;                /* the bytes after an odd chunk are not swapped */
combine_fn broken_combine_odd;              /* odd offsets count as even */
burst_fn broken_burst_shared;               /* one packet's sum seeds the next */
update_fn broken_update_1141;               /* RFC 1141 (RFC 1624, equation 2): 0xffff for 0x0000 */

initial_fn broken_initial_avx;         /* XSTATE_BV lists AVX as in use */
initial_fn broken_initial_zero;        /* MXCSR is zero: every exception is unmasked */
initial_fn broken_initial_form;        /* XCOMP_BV is zero in the compact form */
initial_fn broken_initial_rounds;      /* sizes are rounded up to multiples of 64 */
image_check_fn broken_check_pkru;      /* PKRU may be shorter than 4 bytes */
image_check_fn broken_check_xcomp_bv;  /* components that XCOMP_BV lacks may be in use */
image_check_fn broken_check_mxcsr;     /* MXCSR may have any bits set */
image_check_fn broken_check_size;      /* the header is read before the size is checked */
image_check_fn broken_check_truncated; /* components may end beyond the image */
convert_fn broken_convert_offsets;     /* components keep the offsets of the source */
convert_fn broken_convert_mxcsr;       /* MXCSR is kept only while SSE is in use */
convert_fn broken_convert_loses; /* components that the target lacks are dropped, even if they are
                                    in use */

#endif
