/* SPDX-License-Identifier: MIT */
#include "bench/capture_loop.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/command.h"

/* libpcap's, of which what is pointed to matters to it alone. It is loaded where it is wanted: the
   tool does without it, and starts sooner. */
#define PCAP_LIBRARY    "libpcap.so.0.8"
#define PCAP_ERROR_SIZE 256

typedef void handler_fn(unsigned char *context, const void *header, const unsigned char *bytes);
typedef void *open_fn(const char *path, char *error);
typedef int loop_fn(void *capture, int count, handler_fn *handler, unsigned char *context);
typedef void close_fn(void *capture);

struct pcap {
    open_fn *open;
    loop_fn *loop;
    close_fn *close;
};

static bool find(struct pcap *pcap) {
    void *library = dlopen(PCAP_LIBRARY, RTLD_NOW);
    if (!library)
        return false;
    pcap->open = (open_fn *)(uintptr_t)dlsym(library, "pcap_open_offline");
    pcap->loop = (loop_fn *)(uintptr_t)dlsym(library, "pcap_loop");
    pcap->close = (close_fn *)(uintptr_t)dlsym(library, "pcap_close");
    return pcap->open && pcap->loop && pcap->close;
}

static void do_nothing(unsigned char *context, const void *header, const unsigned char *bytes) {
    (void)context, (void)header, (void)bytes;
}

int bench_capture_loop(const char *path) {
    struct pcap pcap;
    if (!find(&pcap))
        return BENCH_CAPTURE_MISSING;
    char error[PCAP_ERROR_SIZE] = "";
    void *capture = pcap.open(path, error);
    if (!capture)
        return command_error("%s", error);
    const int damage = pcap.loop(capture, -1, do_nothing, NULL);
    pcap.close(capture);
    return damage ? command_error("%s: damaged", path) : STATUS_CLEAN;
}
