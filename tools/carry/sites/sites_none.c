/* SPDX-License-Identifier: MIT */
/* Replaces `carry sites` in builds without libelf or Zydis. */
#include "common/command.h"
#include "sites/carry_sites.h"

int sites_run(const struct sites_options *options) {
    (void)options;
    return command_error("built without 'sites': install libelf and Zydis 4 (in Debian, libelf-dev "
                         "and libzydis-dev), and build again");
}
