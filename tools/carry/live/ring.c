/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "live/ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/command.h"
#include "live/live_reader.h"

/* A block must have room for the largest frame, and the kernel allocates powers of two. Frames have
   up to 64 KiB, or 512 KiB with BIG TCP: only a large ring has blocks for such frames. */
#define BLOCK_SIZE       ((size_t)128 << 10)
#define LARGE_BLOCK_SIZE ((size_t)1 << 20)
#define LARGE_RING_SIZE  ((size_t)64 << 20)

/*
 * The kernel hands out a block after a timeout, even if it holds few packets. For packets that
 * arrive slowly, spare blocks are therefore added to the blocks that `size` demands: as many as the
 * kernel hands out in the time for which packets may wait. With more spare blocks the timeout is
 * shorter, so packets are seen earlier, but the ring needs more memory. There are as many spare
 * blocks as other blocks, within these limits.
 */
#define WAITING_MS 60000
#define SPARE_MIN  60
#define SPARE_MAX  600

/* At most this many blocks are read before they are returned to the kernel: a small share of all
   blocks. */
#define HELD_MAX 8

#define TAG_SIZE       4
#define ADDRESSES_SIZE 12

#ifndef TP_STATUS_GSO_TCP /* Linux 5.10 */
#define TP_STATUS_GSO_TCP (1 << 8)
#endif

/* --- Opening --- */

static bool fail_ring(const struct ring *ring, const char *what) {
    char reason[128];
    snprintf(reason, sizeof reason, "%s%s", what, strerror(errno));
    command_file_error(ring->name, reason);
    return false;
}

/* Reports a condition that is not a failure, once for all rings of an interface. */
static void report_state(const struct ring *ring, const char *what) {
    if (ring->is_first && reader_is_ready(STDERR_FILENO))
        command_file_error(ring->name, what);
}

static bool set_ring_option(const struct ring *ring, int option, int value) {
    return setsockopt(ring->socket, SOL_PACKET, option, &value, sizeof value) == 0;
}

/* Opens the socket without a protocol. With one, it would receive from every interface until it is
   bound. */
static bool open_socket(struct ring *ring) {
    ring->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ring->socket >= 0)
        return true;
    if (errno == EPERM || errno == EACCES) {
        command_file_error(ring->name, "watching an interface needs the capability CAP_NET_RAW");
        return false;
    }
    return fail_ring(ring, errno == EAFNOSUPPORT ? "this kernel has no packet sockets: " : "");
}

/* Selects TPACKET_V3 and the virtio header. A kernel without that header reports that a sum is left
   to the network card, but not which sum. */
static bool set_version(struct ring *ring) {
    if (!set_ring_option(ring, PACKET_VERSION, TPACKET_V3))
        return fail_ring(ring, "this kernel has no TPACKET_V3: ");
    ring->has_vnet = set_ring_option(ring, PACKET_VNET_HDR, 1);
    if (!ring->has_vnet)
        report_state(
            ring,
            "this kernel does not say which checksum of a packet is left to the network card: "
            "in tunnels, that is inferred");
    set_ring_option(ring, PACKET_RESERVE, TAG_SIZE);
    return true;
}

static size_t spare_blocks(size_t full) {
    const size_t most = full < SPARE_MAX ? full : SPARE_MAX;
    return most > SPARE_MIN ? most : SPARE_MIN;
}

/* Maps the ring. It needs one block more, the one that the kernel is filling. */
static bool map_ring(struct ring *ring, size_t size) {
    const size_t block = size < LARGE_RING_SIZE ? BLOCK_SIZE : LARGE_BLOCK_SIZE;
    const size_t full = (size + block - 1) / block, spare = spare_blocks(full);
    const unsigned count = (unsigned)(full + spare + 1);
    const struct tpacket_req3 request = {
        .tp_block_size = (unsigned)block,
        .tp_block_nr = count,
        .tp_frame_size = (unsigned)block,
        .tp_frame_nr = count,
        .tp_retire_blk_tov = (unsigned)((WAITING_MS + spare - 1) / spare),
    };
    ring->block_size = block;
    ring->blocks_count = count;
    if (setsockopt(ring->socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request))
        return fail_ring(ring, "cannot get the ring, try a smaller --buffer-size: ");
    ring->blocks = mmap(NULL, block * count, PROT_READ | PROT_WRITE, MAP_SHARED, ring->socket, 0);
    if (ring->blocks != MAP_FAILED)
        return true;
    ring->blocks = NULL;
    return fail_ring(ring, "cannot map the ring: ");
}

static bool attach_filter(struct ring *ring, const struct sock_fprog *filter) {
    return !setsockopt(ring->socket, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof *filter) ||
           fail_ring(ring, "cannot attach the filter: ");
}

/* Attaches a filter that accepts no packet. */
static bool attach_none(struct ring *ring) {
    struct sock_filter none = {.code = BPF_RET | BPF_K};
    return attach_filter(ring, &(struct sock_fprog){.len = 1, .filter = &none});
}

/* Attaches the filter, or, if `filter` is NULL, only detaches the filter of attach_none(). From now
   on, packets arrive. */
static bool attach_wanted(struct ring *ring, const struct sock_fprog *filter) {
    const int unused = 0;
    if (filter)
        return attach_filter(ring, filter);
    return !setsockopt(ring->socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) ||
           fail_ring(ring, "cannot detach the filter: ");
}

static bool bind_to(struct ring *ring, int index) {
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = index,
    };
    const struct packet_mreq all = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
    if (bind(ring->socket, (const struct sockaddr *)&address, sizeof address))
        return false;
    ring->index = index;
    return !ring->promiscuous || !index ||
           !setsockopt(ring->socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all);
}

static bool find_interface_index(struct ring *ring, int *index) {
    *index = ring->is_any ? 0 : (int)if_nametoindex(ring->name);
    return *index || ring->is_any || fail_ring(ring, "");
}

/* Creates a fanout group with a number that the kernel chooses. Returns false with errno set on
   failure. */
static bool begin_group(struct ring *ring) {
    const int kind = PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID;
    socklen_t size = sizeof ring->group;
    if (!set_ring_option(ring, PACKET_FANOUT, kind << 16) ||
        getsockopt(ring->socket, SOL_PACKET, PACKET_FANOUT, &ring->group, &size))
        return false;
    ring->group &= 0xffff;
    return true;
}

/* Joins the fanout group: packets of one flow, including fragments, go to one ring. */
static bool join_group(struct ring *ring, const struct ring_options *options) {
    ring->is_shared = options->is_shared;
    if (!ring->is_shared)
        return true;
    if (options->first)
        ring->group = options->first->group;
    if (options->first
            ? set_ring_option(ring, PACKET_FANOUT, ring->group | PACKET_FANOUT_HASH << 16)
            : begin_group(ring))
        return true;
    return fail_ring(ring, "cannot share packets between threads, try --threads=1: ");
}

static bool is_up(const struct ring *ring) {
    struct ifreq request = {0};
    if (ring->is_any)
        return true;
    if (!ring->index || (int)if_nametoindex(ring->name) != ring->index)
        return false;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", ring->name);
    return !ioctl(ring->socket, SIOCGIFFLAGS, &request) && request.ifr_flags & IFF_UP;
}

/* Opens a ring that accepts no packets yet: a bound ring gets all packets until it has joined the
   group. */
bool ring_open(struct ring *ring, const char *name, const struct ring_options *options) {
    int index;
    *ring = (struct ring){
        .name = name,
        .is_any = strcmp(name, RING_ANY) == 0,
        .socket = -1,
        .promiscuous = options->promiscuous,
        .is_first = !options->first,
    };
    if (!find_interface_index(ring, &index) || !open_socket(ring) || !set_version(ring) ||
        !map_ring(ring, options->size) || !attach_none(ring))
        return false;
    if (!bind_to(ring, index))
        return fail_ring(ring, "");
    ring_update_link(ring);
    return join_group(ring, options);
}

/*
 * Opens and closes a packet socket: on closing, the kernel waits for packets that other CPUs are
 * processing. While a ring joins its group, such a packet may still reach the ring as if it were in
 * no group.
 */
void ring_await_joined(void) {
    const int unused = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (unused >= 0)
        close(unused);
}

bool ring_start(struct ring *ring, const struct sock_fprog *filter) {
    return attach_wanted(ring, filter);
}

void ring_close(struct ring *ring) {
    if (ring->blocks)
        munmap(ring->blocks, ring->block_size * ring->blocks_count);
    if (ring->socket >= 0)
        close(ring->socket);
    *ring = (struct ring){.socket = -1};
}

/* --- Packets --- */

static struct tpacket_hdr_v1 *block_head(const struct ring *ring, unsigned number) {
    uint8_t *block = ring->blocks + number % ring->blocks_count * ring->block_size;
    return &((struct tpacket_block_desc *)block)->hdr.bh1;
}

/* Returns the head of the block after the blocks that are held. */
static const struct tpacket_hdr_v1 *next_head(const struct ring *ring) {
    return block_head(ring, ring->block + ring->held);
}

static bool begin_block(struct ring *ring) {
    const struct tpacket_hdr_v1 *head = next_head(ring);
    if (ring->held == HELD_MAX ||
        !(__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
        return false;
    ring->next = (const uint8_t *)head - offsetof(struct tpacket_block_desc, hdr) +
                 head->offset_to_first_pkt;
    ring->left = head->num_pkts;
    ring->held++;
    return true;
}

/* Returns a block to the kernel. Sets its number of packets to 0, as ring_has_rest() may read the
   number before the kernel opens the block. */
static void release_block(struct ring *ring) {
    struct tpacket_hdr_v1 *head = block_head(ring, ring->block);
    head->num_pkts = 0;
    __atomic_store_n(&head->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->block = (ring->block + 1) % ring->blocks_count;
    ring->held--;
}

bool ring_release(struct ring *ring) {
    const bool any = ring->held;
    while (ring->held > (ring->left != 0))
        release_block(ring);
    return any;
}

static const struct sockaddr_ll *link_address(const struct tpacket3_hdr *head) {
    return (const struct sockaddr_ll *)((const uint8_t *)head + TPACKET_ALIGN(sizeof *head));
}

static uint32_t packet_flags(const struct tpacket3_hdr *head, bool sent) {
    uint32_t flags = sent ? CARRY_CAPTURE_PACKET_SENT : CARRY_CAPTURE_PACKET_RECEIVED;
    if (head->tp_status & TP_STATUS_CSUMNOTREADY)
        flags |= CARRY_CAPTURE_PACKET_SUM_LEFT;
    if (head->tp_status & TP_STATUS_CSUM_VALID)
        flags |= CARRY_CAPTURE_PACKET_SUM_VALID;
    if (head->tp_status & TP_STATUS_GSO_TCP)
        flags |= CARRY_CAPTURE_PACKET_SEGMENTED;
    return flags;
}

/* Adds the contents of the virtio header before the frame: where sums start, and whether the frame
   will be segmented. */
static void add_vnet(struct carry_capture_packet *packet) {
    struct virtio_net_hdr vnet;
    memcpy(&vnet, packet->data - sizeof vnet, sizeof vnet);
    const uint8_t kind = vnet.gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
    if (kind == VIRTIO_NET_HDR_GSO_TCPV4 || kind == VIRTIO_NET_HDR_GSO_TCPV6)
        packet->flags |= CARRY_CAPTURE_PACKET_SEGMENTED;
    if (!(vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
        return;
    packet->flags |= CARRY_CAPTURE_PACKET_SUM_LEFT;
    packet->left_from = vnet.csum_start;
    packet->left_at = vnet.csum_start + (uint32_t)vnet.csum_offset;
}

static void prepend_bytes(struct carry_capture_packet *packet, uint32_t size) {
    packet->data -= size;
    packet->captured += size;
    packet->wire += size;
    if (packet->flags & CARRY_CAPTURE_PACKET_SUM_LEFT && packet->left_at) {
        packet->left_from += size;
        packet->left_at += size;
    }
}

/* Restores the outermost VLAN tag, which the kernel removes from frames. Room for the tag was
   reserved before each frame. */
static void restore_vlan_tag(struct carry_capture_packet *packet, const struct tpacket3_hdr *head) {
    const uint32_t status = head->tp_status;
    const uint16_t type = status & TP_STATUS_VLAN_TPID_VALID ? head->hv1.tp_vlan_tpid : ETH_P_8021Q;
    const uint16_t tag[] = {htons(type), htons((uint16_t)head->hv1.tp_vlan_tci)};
    uint8_t *addresses = (uint8_t *)packet->data - TAG_SIZE;
    if (!(status & TP_STATUS_VLAN_VALID) || packet->captured < ADDRESSES_SIZE)
        return;
    memmove(addresses, packet->data, ADDRESSES_SIZE);
    memcpy(addresses + ADDRESSES_SIZE, tag, sizeof tag);
    prepend_bytes(packet, TAG_SIZE);
}

static bool is_ethernet(const struct sockaddr_ll *address) {
    return address->sll_hatype == ARPHRD_ETHER || address->sll_hatype == ARPHRD_LOOPBACK;
}

static bool is_ip(const struct sockaddr_ll *address) {
    return address->sll_protocol == htons(ETH_P_IP) || address->sll_protocol == htons(ETH_P_IPV6);
}

/* Skips the link header of links other than Ethernet. The kernel reports where the packet begins,
   and its protocol. */
static void skip_link_header(struct carry_capture_packet *packet, const struct tpacket3_hdr *head) {
    uint32_t size = (uint32_t)head->tp_net - head->tp_mac;
    packet->linktype = is_ip(link_address(head)) ? RING_LINKTYPE_RAW : RING_LINKTYPE_OTHER;
    if (packet->linktype == RING_LINKTYPE_OTHER)
        return;
    size = size < packet->captured ? size : packet->captured;
    prepend_bytes(packet, (uint32_t)0 - size);
}

static void describe_packet(const struct ring *ring, const struct tpacket3_hdr *head,
                            struct carry_capture_packet *packet) {
    const struct sockaddr_ll *address = link_address(head);
    *packet = (struct carry_capture_packet){
        .data = (const uint8_t *)head + head->tp_mac,
        .captured = head->tp_snaplen,
        .wire = head->tp_len,
        .linktype = RING_LINKTYPE_ETHERNET,
        .flags = packet_flags(head, address->sll_pkttype == PACKET_OUTGOING),
        .time_ns = head->tp_sec * UINT64_C(1000000000) + head->tp_nsec,
    };
    if (ring->has_vnet)
        add_vnet(packet);
    if (is_ethernet(address))
        restore_vlan_tag(packet, head);
    else
        skip_link_header(packet, head);
}

/* Checks whether a loopback interface sends the packet. The interface also receives the packet, and
 * judging it once is enough. */
static bool is_repeated(const struct sockaddr_ll *address) {
    return address->sll_hatype == ARPHRD_LOOPBACK && address->sll_pkttype == PACKET_OUTGOING;
}

bool ring_next(struct ring *ring, struct ring_packet *packet) {
    while (ring->left || begin_block(ring)) {
        const struct tpacket3_hdr *head = (const struct tpacket3_hdr *)ring->next;
        if (!ring->left)
            continue;
        ring->left--;
        ring->next += head->tp_next_offset;
        if (is_repeated(link_address(head)))
            continue;
        describe_packet(ring, head, &packet->packet);
        packet->interface = link_address(head)->sll_ifindex;
        packet->name = ring->is_any ? NULL : ring->name;
        return true;
    }
    return false;
}

void ring_stop(struct ring *ring) {
    attach_none(ring);
}

/* Checks the number of packets in the next block, which the kernel updates while it fills the
   block. */
bool ring_has_rest(const struct ring *ring) {
    return __atomic_load_n(&next_head(ring)->num_pkts, __ATOMIC_ACQUIRE) != 0;
}

uint64_t ring_drops(struct ring *ring) {
    struct tpacket_stats_v3 since = {0};
    socklen_t size = sizeof since;
    if (getsockopt(ring->socket, SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0)
        ring->drops += since.tp_drops; /* dropped since the last call */
    return ring->drops;
}

/* --- Interfaces that disappear and return --- */

void ring_update_link(struct ring *ring) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(ring->socket, SOL_SOCKET, SO_ERROR, &error, &size); /* this also clears the error */
    if (is_up(ring) || ring->is_down)
        return;
    ring->is_down = true;
    if ((int)if_nametoindex(ring->name) != ring->index)
        ring->index = 0;
    report_state(ring, ring->index ? "is down" : "is gone");
}

/*
 * Checks whether the interface is back. A socket that is bound to the same interface works again.
 * If a new interface has the name, the socket must be bound again, which is impossible for a socket
 * that shares packets.
 */
static bool is_back(struct ring *ring) {
    const int index = (int)if_nametoindex(ring->name);
    if (!index || (index != ring->index && ring->is_shared))
        return false;
    return (index == ring->index || bind_to(ring, index)) && is_up(ring);
}

void ring_recheck_link(struct ring *ring) {
    if (!ring->is_down || !is_back(ring))
        return;
    ring->is_down = false;
    report_state(ring, "is back");
}
