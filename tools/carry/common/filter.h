/* SPDX-License-Identifier: MIT */
/*
 * Filters of packets in the language of tcpdump (pcap-filter(7)), compiled by libpcap for each link
 * type that occurs.
 *
 *     char problem[FILTER_PROBLEM_SIZE];
 *     struct filter *filter = filter_create("tcp port 80", problem);
 *     if (!filter)
 *         return command_error("%s", problem);
 *     if (filter_matches(filter, linktype, data, captured, wire))
 *         use(data);
 *     filter_free(filter);
 *
 * A filter is used by one thread at a time.
 */
#ifndef CARRY_TOOLS_FILTER_H
#define CARRY_TOOLS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many link types are compiled for; packets of any other do not match. */
#define FILTER_LINKS_MAX 32

#define FILTER_PROBLEM_SIZE 256

struct filter;
struct bpf_program;

/* The version of libpcap as that tells it, such as "1.10.3 (with TPACKET_V3)"; NULL if it is
 * absent. */
const char *filter_library(void);

/*
 * NULL, with `problem` set to one line, if the expression is wrong for every link type, or if there
 * is no libpcap, here or when the tool was built.
 */
struct filter *filter_create(const char *expression, char problem[FILTER_PROBLEM_SIZE]);
void filter_free(struct filter *filter);

/*
 * The program for a LINKTYPE_ value, compiled when it is first asked for; the filter keeps it. NULL
 * if the expression has no meaning there, such as "ether host" where there is no Ethernet.
 */
const struct bpf_program *filter_program(struct filter *filter, uint32_t linktype);

/* Why there is no such program, as libpcap says it. */
const char *filter_problem(struct filter *filter, uint32_t linktype);

/* Is it a packet of the filter? `wire` bytes were on the wire, `captured` of them are at `data`. */
bool filter_matches(struct filter *filter, uint32_t linktype, const void *data, uint32_t captured,
                    uint32_t wire);

/* The same for one program of the filter. Threads may ask at once. */
bool filter_program_matches(const struct filter *filter, const struct bpf_program *program,
                            const void *data, uint32_t captured, uint32_t wire);

/* How many instructions a program has; *instructions are those, as the kernel takes them. */
size_t filter_instructions(const struct bpf_program *program, const void **instructions);

/* Packets that did not match because the expression has no meaning for their link type. */
struct filter_refused {
    uint64_t packets;
    uint32_t linktype;   /* UINT32_MAX: various, beyond FILTER_LINKS_MAX */
    const char *problem; /* as libpcap says it */
};

/* Gets those of one link type, once; false if there are no more since they were taken. */
bool filter_take_refused(struct filter *filter, struct filter_refused *refused);

#endif
