/* SPDX-License-Identifier: MIT */
/* Replaces prof_run.c in builds without libdw. */
#include "common/command.h"
#include "xstate/xstate_prof.h"

int prof_run(const struct prof_options *options) {
    (void)options;
    return command_error(
        "built without 'xstate prof': install libdw (in Debian, libdw-dev), and build again");
}
