/* SPDX-License-Identifier: MIT */
/* DPDK's checksum: inline functions of its headers, so the compiler decides its speed. */
#include <rte_config.h>
#undef RTE_USE_LIBBSD /* this needs another package; the checksum does not use it */

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "peer.h"

static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    (void)seed;
    return rte_raw_cksum(data, size);
}

/* Links buffers by hand: sums need no pool. */
static const void *link_mbufs(const struct peer_chain *chain) {
    static struct rte_mbuf mbufs[PEER_SLICES];
    uint32_t size = 0;
    for (size_t i = 0; i < chain->count; i++) {
        const struct iovec *slice = &chain->slices[i];
        size += (uint32_t)slice->iov_len;
        mbufs[i] = (struct rte_mbuf){
            .buf_addr = slice->iov_base,
            .data_len = (uint16_t)slice->iov_len,
            .next = i + 1 < chain->count ? &mbufs[i + 1] : NULL,
        };
    }
    mbufs[0].nb_segs = (uint16_t)chain->count;
    mbufs[0].pkt_len = size;
    return mbufs;
}

static uint32_t sum_chain(const void *chain, size_t size, uint32_t seed) {
    uint16_t sum = 0;
    (void)seed;
    rte_raw_cksum_mbuf(chain, 0, (uint32_t)size, &sum);
    return sum;
}

PEER_FUNCTION(row) = {"dpdk/" PEER_VARIANT, "sum", "seedless", PEER_SUM, {.sum = sum}};
PEER_CHAIN_FUNCTION(chain_row, "dpdk/" PEER_VARIANT, "seedless", sum_chain, link_mbufs);
