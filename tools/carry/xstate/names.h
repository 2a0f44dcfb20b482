/* SPDX-License-Identifier: MIT */
/* Writes masks of components as names. */
#ifndef CARRY_TOOLS_XSTATE_NAMES_H
#define CARRY_TOOLS_XSTATE_NAMES_H

#include <jansson.h>
#include <stdint.h>

/* The size of a buffer for the names of all components. */
#define XSTATE_NAMES_SIZE 256

/* Writes "SSE AVX", or "none"; returns `buffer`, of XSTATE_NAMES_SIZE bytes. */
char *xstate_names(char *buffer, uint64_t mask);

/* Returns the names as an array of JSON. */
json_t *xstate_names_json(uint64_t mask);

#endif
