/* SPDX-License-Identifier: MIT */
/* Opens the program that `carry sites` examines; program_close() closes it. */
#ifndef CARRY_TOOLS_SITES_OPEN_H
#define CARRY_TOOLS_SITES_OPEN_H

#include "sites/program.h"

/* Opens a file, or a process if `name` is a number. Returns STATUS_CLEAN, or another exit status
 * after a message. */
int program_open(struct program *program, const char *name);

/* Opens the objects of process program->pid; see program_open(). */
int program_open_process(struct program *program);

#endif
