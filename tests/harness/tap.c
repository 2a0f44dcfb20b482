/* SPDX-License-Identifier: MIT */
#include "harness/tap.h"

#include <stdarg.h>
#include <stdio.h>

static unsigned points, failures, ran;

bool tap_ok(bool ok, const char *name, ...) {
    va_list args;
    va_start(args, name);
    printf("%s %u - ", ok ? "ok" : "not ok", ++points);
    vprintf(name, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
    failures += !ok;
    ran++;
    return ok;
}

void tap_skip(const char *name, const char *reason, ...) {
    va_list args;
    va_start(args, reason);
    printf("ok %u - %s # SKIP ", ++points, name);
    vprintf(reason, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
}

int tap_skip_all(const char *reason) {
    printf("1..0 # SKIP %s\n", reason);
    return 0;
}

void tap_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
}

int tap_done(void) {
    printf("1..%u\n", points);
    return failures || !ran;
}
