/* SPDX-License-Identifier: MIT */
#include "live/filter.h"

#include <linux/filter.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libpcap's own header has the same instructions by other names. */
#include <pcap/pcap.h>

#include "common/command.h"

#define SNAPLEN (1 << 18)
#define ACCEPT  UINT32_MAX

struct filter {
    struct bpf_program ethernet, raw; /* for frames as files hold them */
    struct sock_filter *kernel;
    struct sock_fprog program;
};

_Static_assert(sizeof(struct sock_filter) == sizeof(struct bpf_insn), "the same instructions");

static bool compile(struct bpf_program *program, int link, const char *expression, char *problem) {
    pcap_t *handle = pcap_open_dead(link, SNAPLEN);
    if (!handle)
        return false;
    const bool ok = pcap_compile(handle, program, expression, 1, PCAP_NETMASK_UNKNOWN) == 0;
    if (!ok)
        snprintf(problem, PCAP_ERRBUF_SIZE, "%s", pcap_geterr(handle));
    pcap_close(handle);
    return ok;
}

/* What only Ethernet has, such as VLAN tags, no packet of another link has: none of these passes.
 */
static bool compile_both(struct filter *filter, const char *expression, char *problem) {
    char ignored[PCAP_ERRBUF_SIZE];
    if (!compile(&filter->ethernet, DLT_EN10MB, expression, problem))
        return false;
    compile(&filter->raw, DLT_RAW, expression, ignored);
    return true;
}

/*
 * The kernel sees frames without their outermost VLAN tag, and those of other links from another
 * place: it lets these through.
 */
static bool make_kernel_program(struct filter *filter) {
    const struct sock_filter head[] = {
        {BPF_LD | BPF_B | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0},
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE)},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, ARPHRD_ETHER},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARPHRD_LOOPBACK},
        {BPF_RET | BPF_K, 0, 0, ACCEPT},
    };
    const size_t heads = sizeof head / sizeof *head, rest = filter->ethernet.bf_len;
    filter->kernel = calloc(heads + rest, sizeof *filter->kernel);
    if (!filter->kernel)
        return false;
    memcpy(filter->kernel, head, sizeof head);
    memcpy(filter->kernel + heads, filter->ethernet.bf_insns, rest * sizeof *filter->kernel);
    filter->program = (struct sock_fprog){(unsigned short)(heads + rest), filter->kernel};
    return true;
}

struct filter *filter_open(const char *expression) {
    char problem[PCAP_ERRBUF_SIZE] = "no memory";
    struct filter *filter = calloc(1, sizeof *filter);
    if (filter && compile_both(filter, expression, problem) && make_kernel_program(filter))
        return filter;
    command_error("filter: %s", problem);
    filter_close(filter);
    return NULL;
}

void filter_close(struct filter *filter) {
    if (!filter)
        return;
    pcap_freecode(&filter->ethernet);
    pcap_freecode(&filter->raw);
    free(filter->kernel);
    free(filter);
}

const struct sock_fprog *filter_of_kernel(const struct filter *filter) {
    return filter ? &filter->program : NULL;
}

bool filter_passes(const struct filter *filter, const struct carry_capture_packet *packet) {
    if (!filter)
        return true;
    const struct bpf_program *program =
        packet->linktype == DLT_EN10MB ? &filter->ethernet : &filter->raw;
    return program->bf_len &&
           bpf_filter(program->bf_insns, packet->data, packet->wire, packet->captured);
}
