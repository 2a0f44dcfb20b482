/* SPDX-License-Identifier: MIT */
/* Operations of the kernel that a module calls, and the module's function. */
#ifndef BAREMETAL_MODULE_H
#define BAREMETAL_MODULE_H

#include <carry/patch.h>

CARRY_OP(uint64_t, scale, uint64_t);
CARRY_KEY(tracing);

/* Returns 10 * scale(number), plus 1 while tracing is on. */
uint64_t module_work(uint64_t number);

/* The module's sites, which its loader registers. */
extern const struct carry_site __start_module_sites[];
extern const struct carry_site __stop_module_sites[];

#endif
