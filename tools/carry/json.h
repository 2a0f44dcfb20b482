/* SPDX-License-Identifier: MIT */
/* What the subcommands share in writing JSON, on top of jansson. */
#ifndef CARRY_TOOLS_JSON_H
#define CARRY_TOOLS_JSON_H

#include <jansson.h>
#include <stdio.h>

/* A file's name, as UTF-8; null for NULL. */
json_t *json_name(const char *name);

/* Prints an object on a line of its own, and releases it. */
void json_print(FILE *stream, json_t *object);

#endif
