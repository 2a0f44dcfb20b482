/* SPDX-License-Identifier: MIT */
/* Reads the options of `carry check`. */
#ifndef CARRY_TOOLS_CHECK_OPTIONS_H
#define CARRY_TOOLS_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/packet.h>

#include "check/selection.h"

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_TSV, CHECK_CSV };

struct check_options {
    enum check_format format;
    bool bad_only;
    bool list_bad; /* print only the results of captures that are not clean; as text, their names */
    bool null;     /* end the names of `list_bad` with NUL instead of a newline */
    bool each;     /* print a summary of each of several captures */
    bool zero_ok;  /* captures in which every checksum is 0 are not bad */
    bool strict;   /* unverified checksums affect the exit status */
    bool quiet;
    bool reassemble;
    bool no_tunnels; /* sets a flag of `packet` once all options are read */
    uint64_t show;
    uint64_t threads; /* 0: one for each core */
    uint64_t packets; /* to check in each file; 0: all */
    uint64_t jit;     /* packets of a shape before its function is generated; 0: no functions */
    unsigned wrong;   /* set of verdicts that make a capture bad */
    unsigned listed;  /* set of verdicts whose sums are listed */
    const char *write_bad;    /* NULL: not written */
    const char *metrics_file; /* NULL: not written */
    const char *html;         /* NULL: not written */
    const char *files0;       /* the file that names the captures; NULL: the operands do */
    enum carry_protocol protocols[CARRY_PROTOCOL_COUNT]; /* to check */
    size_t protocol_count;                               /* 0: all */
    struct carry_packet_options packet;
    struct selection_options selection;
};

/* Reads the options like options_read(); the files begin at argv[optind]. */
bool check_options(int argc, char **argv, struct check_options *options, int *status);

#endif
