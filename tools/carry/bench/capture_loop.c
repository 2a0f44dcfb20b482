/* SPDX-License-Identifier: MIT */
#include "bench/capture_loop.h"

#include <stddef.h>

#include "common/command.h"
#include "common/libpcap.h"

static void ignore_packet(unsigned char *context, const struct pcap_pkthdr *header,
                          const unsigned char *bytes) {
    (void)context, (void)header, (void)bytes;
}

int bench_capture_loop(const char *path) {
    struct libpcap libpcap;
    const char *reason;
    if (!libpcap_load(&libpcap, &reason))
        return BENCH_CAPTURE_MISSING;
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *capture = libpcap.pcap_open_offline(path, error);
    if (!capture)
        return command_error("%s", error);
    const int damage = libpcap.pcap_loop(capture, -1, ignore_packet, NULL);
    libpcap.pcap_close(capture);
    return damage ? command_error("%s: damaged", path) : STATUS_CLEAN;
}
