/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/pipe.h"

#include <fcntl.h>

/* The default limit for unprivileged users, sixteen times the size of a new pipe. */
#define PIPE_BYTES (1 << 20)

void pipe_enlarge(int descriptor) {
    fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES);
}
