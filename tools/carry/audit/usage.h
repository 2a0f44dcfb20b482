/* SPDX-License-Identifier: MIT */
/* What `carry audit --help` prints: of the command here, and of the program that it starts. */
#ifndef CARRY_TOOLS_AUDIT_USAGE_H
#define CARRY_TOOLS_AUDIT_USAGE_H

extern const char audit_usage[];

#endif
