/* SPDX-License-Identifier: MIT */
/* Writes IP addresses as text. */
#ifndef CARRY_TOOLS_ADDRESS_H
#define CARRY_TOOLS_ADDRESS_H

#include <carry/capture.h>

/* The size of a buffer that holds "[address]:port". */
#define ADDRESS_SIZE 64

/* Writes the address to `buffer`, with the port unless `port` is negative; "?" if there is no
   address. Returns `buffer`. */
char *address_text(char *buffer, const struct carry_capture_address *address, int port);

#endif
