/* SPDX-License-Identifier: MIT */
/* libpcap, as far as the tool uses it: loaded when it is needed, or a part of a static tool. */
#ifndef CARRY_TOOLS_LIBPCAP_H
#define CARRY_TOOLS_LIBPCAP_H

#include <pcap/pcap.h>
#include <stdbool.h>

#define LIBPCAP_FUNCTIONS(F)                                                                       \
    F(pcap_fopen_offline)                                                                          \
    F(pcap_open_offline)                                                                           \
    F(pcap_lib_version)                                                                            \
    F(pcap_compile)                                                                                \
    F(pcap_geterr) F(pcap_close) F(pcap_freecode) F(pcap_offline_filter) F(pcap_loop)

struct libpcap {
#define LIBPCAP_MEMBER(name) __typeof__(name) *name;
    LIBPCAP_FUNCTIONS(LIBPCAP_MEMBER)
#undef LIBPCAP_MEMBER
};

/* False if it cannot be loaded, with the reason in *problem, which is valid until the next call. */
bool libpcap_load(struct libpcap *libpcap, const char **problem);

#endif
