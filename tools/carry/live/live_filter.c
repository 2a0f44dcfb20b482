/* SPDX-License-Identifier: MIT */
#include "live/live_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/filter.h"
#include "live/ring.h"

#define ACCEPT UINT32_MAX

struct live_filter {
    struct filter *filter;
    const struct bpf_program *ethernet;
    const struct bpf_program *raw; /* NULL: no packet of other links passes */
    struct sock_filter *kernel;
    struct sock_fprog program;
};

/* Prepends instructions that accept the frames whose bytes differ between the kernel and a file:
   frames whose VLAN tag the kernel has removed, and frames of links other than Ethernet. */
static bool make_kernel_program(struct live_filter *filter) {
    const struct sock_filter head[] = {
        {BPF_LD | BPF_B | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0},
        {BPF_LD | BPF_H | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE)},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, ARPHRD_ETHER},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARPHRD_LOOPBACK},
        {BPF_RET | BPF_K, 0, 0, ACCEPT},
    };
    const void *instructions;
    const size_t heads = sizeof head / sizeof *head;
    const size_t rest = filter_instructions(filter->ethernet, &instructions);
    filter->kernel = calloc(heads + rest, sizeof *filter->kernel);
    if (!filter->kernel)
        return false;
    memcpy(filter->kernel, head, sizeof head);
    memcpy(filter->kernel + heads, instructions, rest * sizeof *filter->kernel);
    filter->program = (struct sock_fprog){(unsigned short)(heads + rest), filter->kernel};
    return true;
}

/* Compiles the filter. Returns NULL, or a text about the problem. A filter that has a meaning only
   for links other than Ethernet is refused, as most interfaces are Ethernet. */
static const char *compile_live_filter(struct live_filter *filter) {
    filter->ethernet = filter_program(filter->filter, RING_LINKTYPE_ETHERNET);
    filter->raw = filter_program(filter->filter, RING_LINKTYPE_RAW);
    if (!filter->ethernet)
        return filter_problem(filter->filter, RING_LINKTYPE_ETHERNET);
    return make_kernel_program(filter) ? NULL : strerror(ENOMEM);
}

/* Finds a word that names an interface. A user may name one interface with -i, and others without
   -i. */
static bool find_interface_word(const char *words, char name[IF_NAMESIZE]) {
    size_t size;
    for (; *(words += strspn(words, " ")); words += size) {
        size = strcspn(words, " ");
        snprintf(name, IF_NAMESIZE, "%.*s", (int)size, words);
        if (size < IF_NAMESIZE && if_nametoindex(name))
            return true;
    }
    return false;
}

static void report_problem(const char *expression, const char *problem) {
    char name[IF_NAMESIZE];
    if (find_interface_word(expression, name))
        command_error("filter: %s; %s is an interface: it needs -i, too", problem, name);
    else
        command_error("filter: %s", problem);
}

struct live_filter *live_filter_open(const char *expression) {
    char said[FILTER_PROBLEM_SIZE];
    struct live_filter *filter = calloc(1, sizeof *filter);
    const char *problem = filter ? NULL : strerror(ENOMEM);
    if (filter)
        problem =
            (filter->filter = filter_create(expression, said)) ? compile_live_filter(filter) : said;
    if (!problem)
        return filter;
    report_problem(expression, problem);
    live_filter_close(filter);
    return NULL;
}

void live_filter_close(struct live_filter *filter) {
    if (!filter)
        return;
    filter_free(filter->filter);
    free(filter->kernel);
    free(filter);
}

const struct sock_fprog *live_filter_of_kernel(const struct live_filter *filter) {
    return filter ? &filter->program : NULL;
}

bool live_filter_passes(const struct live_filter *filter,
                        const struct carry_capture_packet *packet) {
    if (!filter)
        return true;
    const bool is_ethernet = packet->linktype == RING_LINKTYPE_ETHERNET;
    const struct bpf_program *program = is_ethernet ? filter->ethernet : filter->raw;
    return program && filter_program_matches(filter->filter, program, packet->data,
                                             packet->captured, packet->wire);
}
