/* SPDX-License-Identifier: MIT */
/* The text of `carry audit --help`, both here and in the program that it starts. */
#ifndef CARRY_TOOLS_AUDIT_USAGE_H
#define CARRY_TOOLS_AUDIT_USAGE_H

extern const char audit_usage[];

#endif
