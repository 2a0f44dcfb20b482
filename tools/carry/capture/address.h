/* SPDX-License-Identifier: MIT */
/* Addresses of IP as text. */
#ifndef CARRY_TOOLS_ADDRESS_H
#define CARRY_TOOLS_ADDRESS_H

#include <carry/capture.h>

/* Room for "[address]:port". */
#define ADDRESS_SIZE 64

/* Writes the address, with the port if that is not negative; "?" if there is none. */
char *address_text(char *buffer, const struct carry_capture_address *address, int port);

#endif
