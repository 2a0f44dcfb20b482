/* SPDX-License-Identifier: MIT */
/* In a static tool, which contains libpcap. */
#include "common/libpcap.h"

#include <stddef.h>

bool libpcap_load(struct libpcap *libpcap, const char **problem) {
#define MEMBER(name) .name = name,
    *libpcap = (struct libpcap){LIBPCAP_FUNCTIONS(MEMBER)};
#undef MEMBER
    *problem = NULL;
    return true;
}

/*
 * Debian's libpcap can capture from D-Bus, by a library that has no use here: the tool reads files
 * alone with libpcap. These two take the place of what refers to that library.
 */
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
