/* SPDX-License-Identifier: MIT */
/* Writes JSON for the subcommands, using jansson. */
#ifndef CARRY_TOOLS_JSON_H
#define CARRY_TOOLS_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The version of all JSON output, its member `schema`: docs/schema describes it. New members keep
 * the version; removing a member or changing its meaning needs a new one.
 */
#define JSON_SCHEMA 1

/* Returns a file's name as UTF-8; null for NULL. */
json_t *json_name(const char *name);

/*
 * Sets a member to json_name(). If the name is not UTF-8, its bytes are also in a member KEY_hex,
 * two digits each.
 */
void json_set_name(json_t *object, const char *key, const char *name);

json_t *json_number(uint64_t value);

/*
 * Prints an object with the version on one line, and releases it. Real numbers have six digits,
 * which suffices for times. Characters that could control a terminal are escaped.
 */
void json_print(FILE *stream, json_t *object);

/* Prints the single object of a report like json_print(), but on standard output and over many
   lines. */
void json_print_report(json_t *object);

#endif
