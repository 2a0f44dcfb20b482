/* SPDX-License-Identifier: MIT */
/* The command line of `carry check`. */
#ifndef CARRY_TOOLS_CHECK_OPTIONS_H
#define CARRY_TOOLS_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <carry/packet.h>

#include "capture/selection.h"

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_TSV, CHECK_CSV };

struct check_options {
    enum check_format format;
    bool bad_only;
    bool list_bad; /* only what is printed of captures that are not clean; as text, their names */
    bool null;     /* NUL behind these names, not a line's end */
    bool each;     /* a summary of each capture, where there are several */
    bool strict;   /* what could not be verified has an exit status */
    bool quiet;
    bool reassemble;
    bool no_tunnels; /* for `packet`, when all options are read */
    uint64_t show;
    uint64_t threads;         /* 0: one for each core */
    uint64_t packets;         /* to be read of each file; 0: all */
    uint64_t jit;             /* packets of a shape that is worth a function; 0: none */
    unsigned wrong;           /* verdicts that make a capture bad, a bit each */
    unsigned listed;          /* verdicts of which each sum is listed */
    const char *write_bad;    /* NULL: nowhere */
    const char *metrics_file; /* the same */
    const char *html;         /* the same */
    const char *files0;       /* the file that names the captures; NULL: the operands do */
    enum carry_protocol protocols[CARRY_PROTOCOL_COUNT]; /* that are looked at */
    size_t protocol_count;                               /* 0: all */
    struct carry_packet_options packet;
    struct selection_options selection;
};

/* As options_read(): the files begin at argv[optind]. */
bool check_options(int argc, char **argv, struct check_options *options, int *status);

#endif
