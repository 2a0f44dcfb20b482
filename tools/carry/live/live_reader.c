/* SPDX-License-Identifier: MIT */
#include "live/live_reader.h"

#include <errno.h>
#include <poll.h>

static bool any_ready(struct pollfd *waits, unsigned count, int timeout_ms) {
    int ready;
    do
        ready = poll(waits, count, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool reader_await(int descriptor, int stop_event, int timeout_ms) {
    struct pollfd waits[] = {{.fd = descriptor, .events = POLLOUT},
                             {.fd = stop_event, .events = POLLIN}};
    any_ready(waits, 2, -1);
    return waits[0].revents || any_ready(waits, 1, timeout_ms);
}

bool reader_is_ready(int descriptor) {
    struct pollfd room = {.fd = descriptor, .events = POLLOUT};
    return any_ready(&room, 1, 0);
}
