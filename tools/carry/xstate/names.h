/* SPDX-License-Identifier: MIT */
/* Masks of components by their names. */
#ifndef CARRY_TOOLS_XSTATE_NAMES_H
#define CARRY_TOOLS_XSTATE_NAMES_H

#include <jansson.h>
#include <stdint.h>

/* Room for the names of all. */
#define XSTATE_NAMES_SIZE 256

/* "SSE AVX", or "none"; returns `buffer`, of XSTATE_NAMES_SIZE bytes. */
char *xstate_names(char *buffer, uint64_t mask);

/* The same as an array. */
json_t *xstate_names_json(uint64_t mask);

#endif
