/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/libpcap.h"

#define TOO_MANY_LINKS "there are too many link types"

struct link {
    uint32_t linktype;
    bool is_compiled;
    struct bpf_program program;
    char problem[FILTER_PROBLEM_SIZE]; /* set unless `program` is compiled */
    uint64_t refused;                  /* packets since the last filter_take_refused() */
};

struct filter {
    struct libpcap libpcap;
    char *expression;
    struct link links[FILTER_LINKS_MAX];
    unsigned used;
    uint64_t others; /* packets of further link types since the last filter_take_refused() */
};

/*
 * Opens a capture without packets, for which expressions are compiled. For it, libpcap finds its
 * own number of the link type (LINKTYPE_RAW is 101, but DLT_RAW is 12 or 14), and refuses
 * expressions that only a live interface supports, such as "inbound". For a handle of
 * pcap_open_dead(), it would compile these to loads of data that no file contains.
 */
static pcap_t *open_empty(const struct libpcap *libpcap, uint32_t linktype,
                          char problem[PCAP_ERRBUF_SIZE]) {
    struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, snaplen, linktype;
    } head = {0xa1b2c3d4, 2, 4, 0, 0, 262144, linktype};
    FILE *stream = fmemopen(&head, sizeof head, "r");
    pcap_t *pcap = stream ? libpcap->pcap_fopen_offline(stream, problem) : NULL;
    if (!stream)
        snprintf(problem, PCAP_ERRBUF_SIZE, "%s", strerror(errno));
    else if (!pcap)
        fclose(stream);
    return pcap;
}

/* Keeps the first line of libpcap's message. */
static void set_problem(struct link *link, const char *problem) {
    snprintf(link->problem, sizeof link->problem, "%.*s", (int)strcspn(problem, "\n"), problem);
}

static void compile_link(const struct filter *filter, struct link *link, uint32_t linktype) {
    const struct libpcap *libpcap = &filter->libpcap;
    char problem[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = open_empty(libpcap, linktype, problem);
    *link = (struct link){.linktype = linktype};
    link->is_compiled = pcap && libpcap->pcap_compile(pcap, &link->program, filter->expression, 1,
                                                      PCAP_NETMASK_UNKNOWN) == 0;
    if (!link->is_compiled)
        set_problem(link, pcap ? libpcap->pcap_geterr(pcap) : problem);
    if (pcap)
        libpcap->pcap_close(pcap);
}

/* Finds or compiles the program for a link type; NULL if there are too many types. */
static struct link *find_link_program(struct filter *filter, uint32_t linktype) {
    for (unsigned i = 0; i < filter->used; i++)
        if (filter->links[i].linktype == linktype)
            return &filter->links[i];
    if (filter->used == FILTER_LINKS_MAX)
        return NULL;
    struct link *link = &filter->links[filter->used++];
    compile_link(filter, link, linktype);
    return link;
}

/*
 * Checks whether the expression is valid for at least one of these link types. Most expressions are
 * for Ethernet. The other link types have keywords of their own: 802.11, packets without a link
 * header, PF's log, SunATM, SS7.
 */
static bool has_meaning(struct filter *filter) {
    static const uint32_t linktypes[] = {1, 105, 101, 117, 123, 140};
    for (size_t i = 0; i < sizeof linktypes / sizeof *linktypes; i++)
        if (filter_program(filter, linktypes[i]))
            return true;
    return false;
}

static bool open_filter(struct filter *filter, const char *expression,
                        char problem[FILTER_PROBLEM_SIZE]) {
    filter->expression = strdup(expression);
    snprintf(problem, FILTER_PROBLEM_SIZE, "%s", strerror(ENOMEM));
    if (!filter->expression)
        return false;
    const char *reason;
    if (!libpcap_load(&filter->libpcap, &reason)) {
        snprintf(problem, FILTER_PROBLEM_SIZE, "libpcap cannot be loaded: %s", reason);
        return false;
    }
    if (has_meaning(filter))
        return true;
    snprintf(problem, FILTER_PROBLEM_SIZE, "%s", filter->links[0].problem);
    return false;
}

const char *filter_library(void) {
    static const char before[] = "libpcap version ";
    struct libpcap libpcap;
    const char *reason;
    const char *version = libpcap_load(&libpcap, &reason) ? libpcap.pcap_lib_version() : NULL;
    return version && strncmp(version, before, strlen(before)) == 0 ? version + strlen(before)
                                                                    : version;
}

struct filter *filter_create(const char *expression, char problem[FILTER_PROBLEM_SIZE]) {
    struct filter *filter = calloc(1, sizeof *filter);
    if (!filter)
        snprintf(problem, FILTER_PROBLEM_SIZE, "%s", strerror(ENOMEM));
    else if (open_filter(filter, expression, problem))
        return filter;
    filter_free(filter);
    return NULL;
}

void filter_free(struct filter *filter) {
    if (!filter)
        return;
    for (unsigned i = 0; i < filter->used; i++)
        if (filter->links[i].is_compiled)
            filter->libpcap.pcap_freecode(&filter->links[i].program);
    free(filter->expression);
    free(filter);
}

const struct bpf_program *filter_program(struct filter *filter, uint32_t linktype) {
    const struct link *link = find_link_program(filter, linktype);
    return link && link->is_compiled ? &link->program : NULL;
}

const char *filter_problem(struct filter *filter, uint32_t linktype) {
    const struct link *link = find_link_program(filter, linktype);
    return link ? link->problem : TOO_MANY_LINKS;
}

bool filter_program_matches(const struct filter *filter, const struct bpf_program *program,
                            const void *data, uint32_t captured, uint32_t wire) {
    const struct pcap_pkthdr sizes = {.caplen = captured, .len = wire};
    return filter->libpcap.pcap_offline_filter(program, &sizes, data);
}

size_t filter_instructions(const struct bpf_program *program, const void **instructions) {
    *instructions = program->bf_insns;
    return program->bf_len;
}

bool filter_matches(struct filter *filter, uint32_t linktype, const void *data, uint32_t captured,
                    uint32_t wire) {
    struct link *link = find_link_program(filter, linktype);
    if (link && link->is_compiled)
        return filter_program_matches(filter, &link->program, data, captured, wire);
    ++*(link ? &link->refused : &filter->others);
    return false;
}

bool filter_take_refused(struct filter *filter, struct filter_refused *refused) {
    for (unsigned i = 0; i < filter->used; i++) {
        struct link *link = &filter->links[i];
        if (!link->refused)
            continue;
        *refused = (struct filter_refused){link->refused, link->linktype, link->problem};
        link->refused = 0;
        return true;
    }
    *refused = (struct filter_refused){filter->others, UINT32_MAX, TOO_MANY_LINKS};
    filter->others = 0;
    return refused->packets;
}
