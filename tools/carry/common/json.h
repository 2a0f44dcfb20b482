/* SPDX-License-Identifier: MIT */
/* Writes JSON for the subcommands, using jansson. */
#ifndef CARRY_TOOLS_JSON_H
#define CARRY_TOOLS_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* The version of all JSON output, which is its member `schema`; docs/schema describes the output.
   Adding members does not change the version. Removing a member, or changing its meaning, does. */
#define JSON_SCHEMA 1

/* Returns a file's name as UTF-8; null for NULL. */
json_t *json_name(const char *name);

/* Sets the member `key` to json_name(name). If the name is not UTF-8, a member KEY_hex contains its
   bytes, two hexadecimal digits each. */
void json_set_name(json_t *object, const char *key, const char *name);

json_t *json_number(uint64_t value);

/*
 * Prints an object, with the version added, on one line, and releases it. Real numbers have six
 * significant digits, which suffice for times. Characters that could control a terminal are
 * escaped.
 */
void json_print(FILE *stream, json_t *object);

/* Prints the single object of a report like json_print(), but on standard output, and indented over
   several lines. */
void json_print_report(json_t *object);

#endif
