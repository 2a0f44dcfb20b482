/* SPDX-License-Identifier: MIT */
/* What the subcommands share in writing JSON, on top of jansson. */
#ifndef CARRY_TOOLS_JSON_H
#define CARRY_TOOLS_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A file's name, as UTF-8; null for NULL. */
json_t *json_name(const char *name);

json_t *json_number(uint64_t value);

/* Prints an object on a line of its own, and releases it. Six digits of times are plenty. */
void json_print(FILE *stream, json_t *object);

/* The same of the one object of a report, on standard output and over many lines. */
void json_print_report(json_t *object);

#endif
