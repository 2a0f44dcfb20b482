/* SPDX-License-Identifier: MIT */
#include "harness/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/tap.h"

bool verdict_fail(struct verdict *verdict, const char *format, ...) {
    size_t used = strlen(verdict->text);
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text + used, sizeof verdict->text - used, format, args);
    va_end(args);
    verdict->ok = false;
    return false;
}

bool verdict_report_at(const char *file, int line, const struct verdict *verdict, const char *name,
                       ...) {
    char text[160];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    if (!verdict->ok)
        tap_report(file, line, "%s: %s", text, verdict->text);
    return tap_ok(verdict->ok, "%s", text);
}
