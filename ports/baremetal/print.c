/* SPDX-License-Identifier: MIT */
/* Prints to the serial port, in TAP (tests/harness/tap.h). */
#include "harness/tap.h"
#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>

static unsigned points;
static unsigned failed;
static bool is_reported; /* tap_report() has printed why the next point fails */

/* The destination of text: a buffer, or the serial port if `text` is NULL. */
struct sink {
    char *text;
    size_t size;
    size_t used;
};

static void put_char(struct sink *sink, char c) {
    if (!sink->text)
        print_char(c);
    else if (sink->used + 1 < sink->size)
        sink->text[sink->used] = c;
    sink->used++;
}

static void put_text(struct sink *sink, const char *text) {
    while (*text)
        put_char(sink, *text++);
}

static void put_number(struct sink *sink, uint64_t value, unsigned base) {
    char digits[24];
    unsigned count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count)
        put_char(sink, digits[--count]);
}

static void put_signed(struct sink *sink, int64_t value) {
    if (value < 0)
        put_char(sink, '-');
    put_number(sink, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

/* Formats text: supports %s, %c, %d, %u, %x and %p, with l, ll and z. */
static void put_list(struct sink *sink, const char *format, va_list list) {
    for (; *format; format++) {
        if (*format != '%') {
            put_char(sink, *format);
            continue;
        }
        bool is_long = false;
        while (*++format == 'l' || *format == 'z')
            is_long = true;
        if (*format == 's')
            put_text(sink, va_arg(list, const char *));
        else if (*format == 'c')
            put_char(sink, (char)va_arg(list, int));
        else if (*format == 'd')
            put_signed(sink, is_long ? va_arg(list, long) : va_arg(list, int));
        else if (*format == 'p')
            put_number(sink, (uintptr_t)va_arg(list, void *), 16);
        else if (*format == 'u' || *format == 'x')
            put_number(sink, is_long ? va_arg(list, unsigned long) : va_arg(list, unsigned),
                       *format == 'x' ? 16 : 10);
        else
            put_char(sink, *format);
    }
}

static void print_list(const char *format, va_list list) {
    struct sink serial = {0};
    put_list(&serial, format, list);
}

void print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
}

int vsnprintf(char *text, size_t size, const char *format, va_list list) {
    struct sink sink = {text, size, 0};
    put_list(&sink, format, list);
    if (size)
        text[sink.used < size ? sink.used : size - 1] = '\0';
    return (int)sink.used;
}

int snprintf(char *text, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int used = vsnprintf(text, size, format, list);
    va_end(list);
    return used;
}

void tap_report(const char *file, int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    is_reported = true;
    print("# %s:%d: ", file, line);
    print_list(format, list);
    print("\n");
    va_end(list);
}

bool tap_point(const char *file, int line, const char *text, bool ok, const char *name, ...) {
    if (!ok && !is_reported)
        tap_report(file, line, "failed: %s", text);
    is_reported = false;
    va_list list;
    va_start(list, name);
    failed += !ok;
    print("%sok %u - ", ok ? "" : "not ", ++points);
    print_list(name, list);
    print("\n");
    va_end(list);
    return ok;
}

void tap_skip(const char *name, const char *reason, ...) {
    va_list list;
    va_start(list, reason);
    print("ok %u - %s # SKIP ", ++points, name);
    print_list(reason, list);
    print("\n");
    va_end(list);
}

void tap_note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print("# ");
    print_list(format, list);
    print("\n");
    va_end(list);
}

int tap_done(void) {
    print("1..%u\n", points);
    return failed || !points;
}
