/* SPDX-License-Identifier: MIT */
/* Programs that the kernel may run instead of tests. */
#ifndef BAREMETAL_INSTEAD_H
#define BAREMETAL_INSTEAD_H

void bench_run(void);  /* measures operations */
void trials_run(void); /* executes single instructions */

#endif
