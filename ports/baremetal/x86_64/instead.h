/* SPDX-License-Identifier: MIT */
/* What the kernel may do instead of tests. */
#ifndef BAREMETAL_INSTEAD_H
#define BAREMETAL_INSTEAD_H

void bench_run(void);  /* what operations take */
void trials_run(void); /* instructions by themselves */

#endif
