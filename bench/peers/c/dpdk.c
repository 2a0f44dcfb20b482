/* SPDX-License-Identifier: MIT */
/* DPDK's checksum: inline functions of its headers, so the compiler decides its speed. */
#include <rte_config.h>
#undef RTE_USE_LIBBSD /* this needs another package; the checksum does not use it */

#include <rte_ip.h>

#include "peer.h"

static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    (void)seed;
    return rte_raw_cksum(data, size);
}

PEER_FUNCTION(row) = {"dpdk/" PEER_VARIANT, "sum", "seedless", PEER_SUM, {.sum = sum}};
