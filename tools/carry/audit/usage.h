/* SPDX-License-Identifier: MIT */
/* The text of `carry audit --help`, here and in the program carry-audit, which the command
   starts. */
#ifndef CARRY_TOOLS_AUDIT_USAGE_H
#define CARRY_TOOLS_AUDIT_USAGE_H

extern const char audit_usage[];

#endif
