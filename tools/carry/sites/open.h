/* SPDX-License-Identifier: MIT */
/* Opens what `carry sites` looks into; program_close() closes it. */
#ifndef CARRY_TOOLS_SITES_OPEN_H
#define CARRY_TOOLS_SITES_OPEN_H

#include "sites/program.h"

/* Opens what `name` names; a number is a process. Returns an exit status, told why on stderr. */
int program_open(struct program *program, const char *name);

/* Opens the objects of process program->pid; see program_open(). */
int program_open_process(struct program *program);

#endif
