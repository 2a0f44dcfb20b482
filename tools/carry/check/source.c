/* SPDX-License-Identifier: MIT */
#include "check/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/pipe.h"

struct carry_capture *source_open(const char *path) {
    struct carry_capture *capture;
    struct carry_capture_error error;
    if (strcmp(path, "-") == 0)
        carry_capture_open_fd(STDIN_FILENO, &capture, &error);
    else
        carry_capture_open_path(path, &capture, &error);
    if (capture)
        pipe_enlarge(carry_capture_descriptor(capture));
    errno = error.code == CARRY_ERROR_MEMORY ? ENOMEM : error.system;
    return capture;
}

bool source_status(const struct carry_capture *capture, struct stat *status) {
    return fstat(carry_capture_descriptor(capture), status) == 0;
}

void source_map(struct carry_capture *capture, const struct stat *status) {
    const bool is_own = status->st_uid == geteuid() || status->st_uid == 0;
    if (is_own && !(status->st_mode & (S_IWGRP | S_IWOTH)))
        carry_capture_map(capture);
}

bool source_waits(const struct carry_capture *capture) {
    return !carry_capture_can_rewind(capture);
}

#define CONVERT "convert it with editcap -F pcap"

/* Formats of files: whether a file in this format is a capture, and advice on how to read it. */
static const struct {
    bool is_capture;
    const char *advice;
} known[CARRY_CAPTURE_FORMAT_COUNT] = {
    [CARRY_CAPTURE_FORMAT_PCAP] = {true, NULL},
    [CARRY_CAPTURE_FORMAT_PCAPNG] = {true, NULL},
    [CARRY_CAPTURE_FORMAT_GZIP] = {false, "zcat FILE | carry check -"},
    [CARRY_CAPTURE_FORMAT_ZSTD] = {false, "zstdcat FILE | carry check -"},
    [CARRY_CAPTURE_FORMAT_XZ] = {false, "xzcat FILE | carry check -"},
    [CARRY_CAPTURE_FORMAT_BZIP2] = {false, "bzcat FILE | carry check -"},
    [CARRY_CAPTURE_FORMAT_LZ4] = {false, "lz4cat FILE | carry check -"},
    [CARRY_CAPTURE_FORMAT_SNOOP] = {true, NULL},
    [CARRY_CAPTURE_FORMAT_NETMON] = {true, CONVERT},
    [CARRY_CAPTURE_FORMAT_NETMON1] = {true, CONVERT},
    [CARRY_CAPTURE_FORMAT_NETXRAY] = {true, CONVERT},
    [CARRY_CAPTURE_FORMAT_SNIFFER] = {true, CONVERT},
    [CARRY_CAPTURE_FORMAT_IPTRACE] = {true, CONVERT},
    [CARRY_CAPTURE_FORMAT_ERF] = {true, NULL},
    [CARRY_CAPTURE_FORMAT_ETL] = {false, "on Windows, convert it with pktmon etl2pcap (or "
                                         "etl2pcapng, if netsh trace wrote it)"},
};

bool source_is_capture(struct carry_capture *capture) {
    return known[carry_capture_format(capture)].is_capture;
}

struct carry_capture_error source_error(struct carry_capture *capture) {
    struct carry_capture_error error = *carry_capture_last_error(capture);
    size_t size = strlen(error.text);
    const char *advice = NULL;
    if (error.code == CARRY_ERROR_UNRECOGNISED)
        advice = known[carry_capture_format(capture)].advice;
    if (error.code == CARRY_ERROR_TOO_LARGE)
        advice = "decompress it first, and repair the result";
    if (advice)
        snprintf(error.text + size, sizeof error.text - size, ": %s", advice);
    return error;
}

bool source_is_damaged(int code) {
    return code == CARRY_ERROR_DAMAGED || code == CARRY_ERROR_UNRECOGNISED;
}
