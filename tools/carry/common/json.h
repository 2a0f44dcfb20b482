/* SPDX-License-Identifier: MIT */
/* What the subcommands share in writing JSON, on top of jansson. */
#ifndef CARRY_TOOLS_JSON_H
#define CARRY_TOOLS_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The version of what every command prints, its member `schema`: docs/schema describes it. A member
 * that is new is no new version; one that is gone, or means something else, is.
 */
#define JSON_SCHEMA 1

/* A file's name, as UTF-8; null for NULL. */
json_t *json_name(const char *name);

/*
 * Sets a member to a name as json_name() has it. A name that is no UTF-8 cannot be told from that:
 * its bytes are then in a member KEY_hex beside it, two digits each.
 */
void json_set_name(json_t *object, const char *key, const char *name);

json_t *json_number(uint64_t value);

/*
 * Prints an object on a line of its own, the version in front, and releases it. Six digits of times
 * are plenty. What could steer a terminal is escaped.
 */
void json_print(FILE *stream, json_t *object);

/* The same of the one object of a report, on standard output and over many lines. */
void json_print_report(json_t *object);

#endif
