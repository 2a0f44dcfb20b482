/* SPDX-License-Identifier: MIT */
/* DPDK's checksum: inline functions of its headers, so it is what the compiler makes of them. */
#include <rte_config.h>
#undef RTE_USE_LIBBSD /* one more package, of which the checksum needs nothing */

#include <rte_ip.h>

#include "peer.h"

static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    (void)seed;
    return rte_raw_cksum(data, size);
}

PEER_FUNCTION(row) = {"dpdk/" PEER_VARIANT, "sum", "seedless", PEER_SUM, {.sum = sum}};
