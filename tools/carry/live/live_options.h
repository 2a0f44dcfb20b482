/* SPDX-License-Identifier: MIT */
/* Reads the options of `carry live`. */
#ifndef CARRY_TOOLS_LIVE_OPTIONS_H
#define CARRY_TOOLS_LIVE_OPTIONS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define LIVE_INTERFACES_MAX 64
#define LIVE_THREADS_MAX    64

/* Must not be moved once it is filled in. */
struct live_options {
    const char *interfaces[LIVE_INTERFACES_MAX]; /* the kernel's names, if it recognises them */
    char names[LIVE_INTERFACES_MAX][IF_NAMESIZE];
    unsigned interfaces_count;
    char *filter;      /* the caller frees it; NULL: none */
    const char *write; /* NULL: not requested */
    const char *user;  /* NULL: unchanged, or the caller of sudo */
    const char *metrics, *metrics_file;
    bool bad_only, json, quiet, promiscuous, fails;
    uint64_t packets;  /* UINT64_MAX: all */
    uint64_t duration; /* seconds; 0: without end */
    uint64_t interval; /* seconds */
    uint64_t ring_kib;
    uint64_t threads;
};

/* Returns the index in `interfaces` of an interface; `interfaces_count` if it is not one
   of them. */
unsigned live_options_find(const struct live_options *options, const char *name);

/* Reads the options. Returns true if the command must run; otherwise *status is the exit status. */
bool live_options(int argc, char **argv, struct live_options *options, int *status);

#endif
