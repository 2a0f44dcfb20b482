/* SPDX-License-Identifier: MIT */
/*
 * Filters packets in the language of tcpdump (pcap-filter(7)), compiled by libpcap for each link
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
 * Only one thread at a time may use a filter.
 */
#ifndef CARRY_TOOLS_FILTER_H
#define CARRY_TOOLS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The expression is compiled for at most this many link types. Packets of further types do not
   match. */
#define FILTER_LINKS_MAX 32

#define FILTER_PROBLEM_SIZE 256

struct filter;
struct bpf_program;

/* Returns the version of libpcap in its own words, such as "1.10.3 (with TPACKET_V3)"; NULL if it
   is absent. */
const char *filter_library(void);

/*
 * Creates a filter. Returns NULL, with `problem` set to one line, if the expression is wrong for
 * every link type, or if libpcap is missing now, or was missing when the tool was built.
 */
struct filter *filter_create(const char *expression, char problem[FILTER_PROBLEM_SIZE]);
void filter_free(struct filter *filter);

/*
 * Returns the program for a LINKTYPE_ value, compiled on the first request; the filter owns it.
 * Returns NULL if the expression has no meaning for that link type, such as "ether host" without
 * Ethernet.
 */
const struct bpf_program *filter_program(struct filter *filter, uint32_t linktype);

/* Returns why filter_program() returns NULL for a link type: libpcap's message, or that there are
 * too many link types. */
const char *filter_problem(struct filter *filter, uint32_t linktype);

/* Checks whether the filter selects a packet of which `wire` bytes were on the wire and `captured`
   bytes are at `data`. */
bool filter_matches(struct filter *filter, uint32_t linktype, const void *data, uint32_t captured,
                    uint32_t wire);

/* Checks a packet like filter_matches(), with one program of the filter. Several threads may call
   it at once. */
bool filter_program_matches(const struct filter *filter, const struct bpf_program *program,
                            const void *data, uint32_t captured, uint32_t wire);

/* Sets *instructions to the instructions of a program, in the kernel's format. Returns their
 * number. */
size_t filter_instructions(const struct bpf_program *program, const void **instructions);

/* Packets that did not match because filter_program() returns NULL for their link type. */
struct filter_refused {
    uint64_t packets;
    uint32_t linktype;   /* UINT32_MAX: various, beyond FILTER_LINKS_MAX */
    const char *problem; /* as from filter_problem() */
};

/* Gets the packets of one link type that were refused since the last call; false if there are no
   more. */
bool filter_take_refused(struct filter *filter, struct filter_refused *refused);

#endif
