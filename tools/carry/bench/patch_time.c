/* SPDX-License-Identifier: MIT */
/* Times a commit, for patch_commit.c and patch_delay.c. */
#include "bench/patch_text.h"
#include "common/clock.h"

double commit_time(const struct patch_text *text, unsigned state) {
    struct carry_patch patch;
    int64_t start = clock_ns();
    carry_patch_begin(&patch);
    patch_text_set(text, &patch, state);
    int error = carry_patch_commit(&patch);
    return error ? -1 : (double)(clock_ns() - start);
}
