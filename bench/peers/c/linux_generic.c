/* SPDX-License-Identifier: MIT */
/* Linux's checksum for architectures without their own: lib/checksum.c. */
#define csum_partial       generic_csum_partial
#define csum_tcpudp_nofold generic_csum_tcpudp_nofold
#define ip_compute_csum    generic_ip_compute_csum
#define ip_fast_csum       generic_ip_fast_csum
#include "linux.h"

#include "lib/checksum.c"

#include "linux_chain.h"
#include "peer.h"

__attribute__((flatten)) static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    return generic_csum_partial(data, (int)size, seed);
}

PEER_FUNCTION(row) = {"linux-generic", "sum", "", PEER_SUM, {.sum = sum}};
PEER_CHAIN_FUNCTION(chain_row, "linux-generic", "", sum_chain, NULL);
