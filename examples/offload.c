/* SPDX-License-Identifier: MIT */
/*
 * A wire between two Ethernet interfaces, with checksum offload in software, as in a network card,
 * a vhost back end or a tunnel: it completes the checksums that senders leave to it.
 *
 * Linux computes no checksums for an interface that can do so itself, and virtual interfaces claim
 * this. A program that takes such frames out of the kernel must complete them, or no receiver
 * accepts them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <carry/packet.h>

#define ADDRESSES_SIZE    (2 * ETH_ALEN)
#define TAG_SIZE          4
#define LINKTYPE_ETHERNET 1

enum { EXIT_USAGE = 2 };

/* The fates of a frame. */
enum fate { FATE_PASSED, FATE_FILLED, FATE_BAD, FATE_LONG, FATE_REFUSED, FATE_COUNT };

static const char *const fate_names[FATE_COUNT] = {
    [FATE_PASSED] = "passed on as they were",
    [FATE_FILLED] = "passed on with checksums filled in",
    [FATE_BAD] = "dropped, a checksum is bad",
    [FATE_LONG] = "dropped, longer than the other end takes",
    [FATE_REFUSED] = "dropped, the other end does not send now",
};

struct end {
    const char *name;
    int socket;
    unsigned long frames[FATE_COUNT]; /* frames that arrived at this end */
};

struct packet {
    unsigned char *data; /* somewhere in `space` */
    size_t size;
    bool cut;        /* the frame did not fit into `space` */
    bool unfinished; /* its sender left a checksum to the interface */
    unsigned char space[TAG_SIZE + ETH_HLEN + ETH_MAX_MTU];
};

static void print_usage(void) {
    puts("Usage: offload [OPTION] A B\n"
         "\n"
         "Passes Ethernet frames from interface A to interface B and from B to A, until it is\n"
         "interrupted. It fills in the checksums that senders left to their interface, drops\n"
         "frames in which another is bad, and in the end says how many. Needs CAP_NET_RAW.\n"
         "\n"
         "  --no-fill    leave checksums as they are, to see what receivers make of them\n"
         "  --help       this text\n"
         "\n"
         "Frames are not cut into segments: senders must not leave that to their interface.\n"
         "\n"
         "Exit status: 0 interrupted (SIGINT, SIGTERM); 1 an interface cannot be used, or no\n"
         "longer; 2 wrong usage.\n"
         "\n"
         "Example, two network namespaces with this one between them:\n"
         "  for i in a b; do\n"
         "      ip netns add $i\n"
         "      ip link add wire-$i type veth peer name eth0 netns $i\n"
         "      ip link set wire-$i up\n"
         "      ip -n $i link set eth0 gso_max_segs 1 up\n"
         "  done\n"
         "  ip -n a address add 10.0.0.1/24 dev eth0\n"
         "  ip -n b address add 10.0.0.2/24 dev eth0\n"
         "  offload wire-a wire-b");
}

static void enable_option(const struct end *end, int option) {
    if (setsockopt(end->socket, SOL_PACKET, option, &(int){1}, sizeof(int)) < 0)
        err(EXIT_FAILURE, "%s", end->name);
}

static void open_end(struct end *end) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int)if_nametoindex(end->name),
    };
    if (!address.sll_ifindex)
        err(EXIT_FAILURE, "%s", end->name);

    /* With a protocol, the socket would receive from every interface until it is bound. */
    end->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (end->socket < 0)
        err(EXIT_FAILURE, "packet socket");
    enable_option(end, PACKET_AUXDATA);
    enable_option(end, PACKET_IGNORE_OUTGOING); /* ignores frames that this host sends */

    struct packet_mreq all = {.mr_ifindex = address.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
    socklen_t size = sizeof address;
    if (setsockopt(end->socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0 ||
        bind(end->socket, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(end->socket, (struct sockaddr *)&address, &size) < 0)
        err(EXIT_FAILURE, "%s", end->name);
    if (address.sll_hatype != ARPHRD_ETHER)
        errx(EXIT_FAILURE, "%s: not an Ethernet interface", end->name);
}

/* Restores the outermost VLAN tag, which the kernel takes out of received frames. */
static void restore_tag(struct packet *packet, const struct tpacket_auxdata *auxdata) {
    const uint16_t tag[] = {htons(auxdata->tp_vlan_tpid), htons(auxdata->tp_vlan_tci)};
    unsigned char *addresses = packet->data;
    packet->data -= TAG_SIZE;
    packet->size += TAG_SIZE;
    memmove(packet->data, addresses, ADDRESSES_SIZE);
    memcpy(packet->data + ADDRESSES_SIZE, tag, TAG_SIZE);
}

/* Receives a frame. Returns false, with errno, if there is none. */
static bool receive_frame(const struct end *end, struct packet *packet) {
    struct iovec behind_tag = {packet->space + TAG_SIZE, sizeof packet->space - TAG_SIZE};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &behind_tag,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t size = recvmsg(end->socket, &message, 0);
    if (size < 0)
        return false;

    struct tpacket_auxdata auxdata;
    memcpy(&auxdata, CMSG_DATA(&control.header), sizeof auxdata);
    packet->data = behind_tag.iov_base;
    packet->size = (size_t)size;
    packet->cut = message.msg_flags & MSG_TRUNC;
    packet->unfinished = auxdata.tp_status & TP_STATUS_CSUMNOTREADY;
    if (auxdata.tp_status & TP_STATUS_VLAN_VALID)
        restore_tag(packet, &auxdata);
    return true;
}

/* Checks whether a frame that its sender has finished has a bad checksum. In such a frame, a
   partial checksum is bad, too. */
static bool is_bad(const struct carry_frame *frame) {
    const unsigned bad =
        1u << CARRY_VERDICT_BAD | 1u << CARRY_VERDICT_PARTIAL | 1u << CARRY_VERDICT_ILLEGAL;
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    size_t count = carry_packet_check(frame, NULL, sums, CARRY_PACKET_SUMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (1u << sums[i].verdict & bad)
            return true;
    return false;
}

static enum fate pass_frame(const struct packet *packet, const struct end *to, bool fill) {
    if (packet->cut)
        return FATE_LONG;

    struct carry_frame frame = {
        .data = packet->data,
        .captured = (uint32_t)packet->size,
        .wire = (uint32_t)packet->size,
        .linktype = LINKTYPE_ETHERNET,
    };
    enum fate fate = FATE_PASSED;
    if (fill && packet->unfinished) {
        carry_packet_fill(&frame, NULL, NULL, 0);
        fate = FATE_FILLED;
    } else if (!packet->unfinished && is_bad(&frame)) {
        return FATE_BAD;
    }

    /* Does not wait: a wire does not either, and a signal must be handled at once. */
    if (send(to->socket, packet->data, packet->size, MSG_DONTWAIT) < 0)
        return errno == EMSGSIZE ? FATE_LONG : FATE_REFUSED;
    return fate;
}

/* Passes frames. Returns the end that can no longer be used, or NULL on a signal. */
static const struct end *pass_frames(struct end ends[2], int signals, bool fill) {
    static struct packet packet;
    struct pollfd ready[] = {
        {.fd = ends[0].socket, .events = POLLIN},
        {.fd = ends[1].socket, .events = POLLIN},
        {.fd = signals, .events = POLLIN},
    };
    for (;;) {
        if (poll(ready, 3, -1) < 0)
            continue; /* interrupted: `ready` is not valid */
        if (ready[2].revents)
            return NULL;
        for (int i = 0; i < 2; i++) {
            if (!ready[i].revents)
                continue;
            if (!receive_frame(&ends[i], &packet))
                return &ends[i];
            ends[i].frames[pass_frame(&packet, &ends[1 - i], fill)]++;
        }
    }
}

static void print_counts(const struct end *from, const struct end *to) {
    printf("%s to %s:\n", from->name, to->name);
    for (int fate = 0; fate < FATE_COUNT; fate++)
        printf("%12lu  %s\n", from->frames[fate], fate_names[fate]);
}

static bool parse_fill(int argc, char **argv) {
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {"no-fill", no_argument, NULL, 'n'},
        {0},
    };
    /* getopt_long() and err() start their messages with this name. */
    argv[0] = program_invocation_short_name;
    bool fill = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'h') {
            print_usage();
            exit(EXIT_SUCCESS);
        }
        if (option != 'n')
            exit(EXIT_USAGE); /* getopt_long() has printed a message */
        fill = false;
    }
    if (argc - optind != 2 || strcmp(argv[optind], argv[optind + 1]) == 0)
        errx(EXIT_USAGE, "needs the names of two interfaces; see offload --help");
    return fill;
}

int main(int argc, char **argv) {
    bool fill = parse_fill(argc, argv);
    struct end ends[2] = {{.name = argv[optind]}, {.name = argv[optind + 1]}};
    for (int i = 0; i < 2; i++)
        open_end(&ends[i]);

    /* Signals are read like frames: none can arrive between a check of a flag and poll(). */
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigprocmask(SIG_BLOCK, &interrupts, NULL);
    int signals = signalfd(-1, &interrupts, SFD_CLOEXEC);
    if (signals < 0)
        err(EXIT_FAILURE, "signals");

    printf("Passing frames between %s and %s\n", ends[0].name, ends[1].name);
    fflush(stdout);
    const struct end *broken = pass_frames(ends, signals, fill);
    if (broken)
        warn("%s", broken->name);
    print_counts(&ends[0], &ends[1]);
    print_counts(&ends[1], &ends[0]);
    return broken ? EXIT_FAILURE : EXIT_SUCCESS;
}
