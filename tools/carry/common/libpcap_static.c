/* SPDX-License-Identifier: MIT */
/* Provides libpcap in a static tool, which contains it. */
#include "common/libpcap.h"

#include <stddef.h>

bool libpcap_load(struct libpcap *libpcap, const char **problem) {
#define MEMBER(name) .name = name,
    *libpcap = (struct libpcap){LIBPCAP_FUNCTIONS(MEMBER)};
#undef MEMBER
    *problem = NULL;
    return true;
}

/* Replaces two functions of Debian's libpcap that capture from D-Bus. The tool only reads files
   with libpcap, so it need not contain libdbus. */
int dbus_findalldevs(void *devices, char *error);
pcap_t *dbus_create(const char *device, char *error, int *is_ours);

int dbus_findalldevs(void *devices, char *error) {
    (void)devices, (void)error;
    return 0;
}

pcap_t *dbus_create(const char *device, char *error, int *is_ours) {
    (void)device, (void)error;
    *is_ours = 0;
    return NULL;
}
