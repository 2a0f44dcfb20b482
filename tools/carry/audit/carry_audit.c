/* SPDX-License-Identifier: MIT */
/* Implements carry audit, which verifies the captures of an archive. The program carry-audit of the
   Python package does the work. It must be in the folder of this program, or on the PATH. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/usage.h"
#include "common/command.h"
#include "common/own_file.h"

#define PROGRAM "carry-audit"

static bool asks_for_help(char **words) {
    for (; *words && strcmp(*words, "--") != 0; words++)
        if (strcmp(*words, "-h") == 0 || strcmp(*words, "--help") == 0)
            return true;
    return false;
}

int command_audit(int argc, char **argv) {
    char own[PATH_MAX];
    (void)argc;
    if (asks_for_help(argv + 1)) {
        fputs(audit_usage, stdout);
        return STATUS_CLEAN;
    }
    signal(SIGPIPE, SIG_DFL); /* the default that started programs expect */
    if (own_file_find(PROGRAM, own))
        execv(own, argv);
    execvp(PROGRAM, argv);
    if (errno != ENOENT)
        return command_file_error(PROGRAM, strerror(errno));
    return command_usage("audit", PROGRAM " is not installed: pip install 'libcarry[audit]'");
}
