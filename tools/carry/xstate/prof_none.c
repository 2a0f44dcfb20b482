/* SPDX-License-Identifier: MIT */
/* Where libdw is missing. */
#include "common/command.h"
#include "xstate/prof.h"

int prof_run(const struct prof_options *options) {
    (void)options;
    return command_error(
        "built without 'xstate prof': install libdw (in Debian, libdw-dev), and build again");
}
