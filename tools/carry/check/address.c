/* SPDX-License-Identifier: MIT */
#include "check/address.h"

#include <arpa/inet.h>
#include <stdio.h>

char *address_text(char *buffer, const struct carry_capture_address *address, int port) {
    char text[INET6_ADDRSTRLEN] = "?";
    int family = address->version == 6 ? AF_INET6 : AF_INET;
    if (address->version)
        inet_ntop(family, address->bytes, text, sizeof text);
    if (port < 0)
        snprintf(buffer, ADDRESS_SIZE, "%s", text);
    else
        snprintf(buffer, ADDRESS_SIZE, address->version == 6 ? "[%s]:%d" : "%s:%d", text, port);
    return buffer;
}
