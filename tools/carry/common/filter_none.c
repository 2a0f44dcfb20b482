/* SPDX-License-Identifier: MIT */
/* Replaces filter.c in builds without libpcap: every filter is refused. */
#include "common/filter.h"

#include <stdio.h>

const char *filter_library(void) {
    return NULL;
}

struct filter *filter_create(const char *expression, char problem[FILTER_PROBLEM_SIZE]) {
    (void)expression;
    snprintf(problem, FILTER_PROBLEM_SIZE, "this carry was built without libpcap");
    return NULL;
}

void filter_free(struct filter *filter) {
    (void)filter;
}

const struct bpf_program *filter_program(struct filter *filter, uint32_t linktype) {
    (void)filter, (void)linktype;
    return NULL;
}

const char *filter_problem(struct filter *filter, uint32_t linktype) {
    (void)filter, (void)linktype;
    return "";
}

bool filter_matches(struct filter *filter, uint32_t linktype, const void *data, uint32_t captured,
                    uint32_t wire) {
    (void)filter, (void)linktype, (void)data, (void)captured, (void)wire;
    return false;
}

bool filter_program_matches(const struct filter *filter, const struct bpf_program *program,
                            const void *data, uint32_t captured, uint32_t wire) {
    (void)filter, (void)program, (void)data, (void)captured, (void)wire;
    return false;
}

size_t filter_instructions(const struct bpf_program *program, const void **instructions) {
    (void)program;
    *instructions = NULL;
    return 0;
}

bool filter_take_refused(struct filter *filter, struct filter_refused *refused) {
    (void)filter, (void)refused;
    return false;
}
