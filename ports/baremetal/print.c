/* SPDX-License-Identifier: MIT */
/* The serial port, in TAP (tests/harness/tap.h), and the ways out. */
#include "harness/tap.h"
#include "io.h"
#include "kernel.h"

#include <stdarg.h>

#define SERIAL 0x3f8

static unsigned points;
static unsigned failed;

void print_char(char c) {
    if (c == '\n')
        print_char('\r');
    while (!(io_in(SERIAL + 5) & 0x20))
        cpu_pause();
    io_out(SERIAL, (uint8_t)c);
}

static void print_text(const char *text) {
    while (*text)
        print_char(*text++);
}

static void print_number(uint64_t value, unsigned base) {
    char digits[24];
    unsigned count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count)
        print_char(digits[--count]);
}

static void print_signed(int64_t value) {
    if (value < 0)
        print_char('-');
    print_number(value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

/* %s, %c, %d, %u, %x, %p, also with l or z. */
static void print_list(const char *format, va_list list) {
    for (; *format; format++) {
        if (*format != '%') {
            print_char(*format);
            continue;
        }
        bool is_long = false;
        while (*++format == 'l' || *format == 'z')
            is_long = true;
        if (*format == 's')
            print_text(va_arg(list, const char *));
        else if (*format == 'c')
            print_char((char)va_arg(list, int));
        else if (*format == 'd')
            print_signed(is_long ? va_arg(list, long) : va_arg(list, int));
        else if (*format == 'p')
            print_number((uintptr_t)va_arg(list, void *), 16);
        else if (*format == 'u' || *format == 'x')
            print_number(is_long ? va_arg(list, unsigned long) : va_arg(list, unsigned),
                         *format == 'x' ? 16 : 10);
        else
            print_char(*format);
    }
}

void print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
}

bool tap_ok(bool ok, const char *name, ...) {
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

/* QEMU's isa-debug-exit ends with 2 * status + 1, Bochs at a word to port 0x8900; others halt. */
void kernel_exit(int status) {
    io_out(0xf4, (uint8_t)status);
    for (const char *word = "Shutdown"; *word; word++)
        io_out(0x8900, (uint8_t)*word);
    for (;;)
        __asm__ volatile("cli; hlt");
}
