/* SPDX-License-Identifier: MIT */
/* Provides the functions of libpcap that the tool uses: loaded when needed, or part of a static
   tool. */
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

/* Loads libpcap. Returns false if it cannot be loaded, with the reason in *problem. The reason is
   valid until the next call. */
bool libpcap_load(struct libpcap *libpcap, const char **problem);

#endif
