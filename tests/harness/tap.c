/* SPDX-License-Identifier: MIT */
#include "harness/tap.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned points, failures, ran;
static bool is_reported; /* tap_report() has reported why the next point fails */

/* --- One point alone --- */

static unsigned parse_point(const char *text) {
    char *end;
    unsigned long point = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || !point || (unsigned)point != point) {
        printf("Bail out! CARRY_TEST_POINT is not the number of a point: %s\n", text);
        exit(1);
    }
    return (unsigned)point;
}

/* Returns the point that CARRY_TEST_POINT selects, or 0 for all. */
static unsigned selected_point(void) {
    static bool is_known;
    static unsigned selected;
    if (!is_known) {
        const char *text = getenv("CARRY_TEST_POINT");
        selected = text && *text ? parse_point(text) : 0;
        is_known = true;
    }
    return selected;
}

static unsigned printed_number(void) {
    return selected_point() ? 1 : points;
}

/* Returns whether a line about the point after `count` points is printed. */
static bool is_printed_after(unsigned count) {
    return !selected_point() || selected_point() == count + 1;
}

/* Ends the program if the present point is the one that was selected. */
static void end_after_selected(void) {
    if (selected_point() != points)
        return;
    int status = tap_done();
    fflush(stdout);
    _exit(status); /* the rest of the program may still use what exit() would release */
}

/* --- The command that repeats a point --- */

/* Reads a string that ends with a zero byte. Returns false at the end, and if it is too long. */
static bool read_string(FILE *file, char *text, size_t size) {
    for (size_t used = 0; used < size; used++) {
        int byte = getc(file);
        if (byte == EOF)
            return false;
        text[used] = (char)byte;
        if (!byte)
            return true;
    }
    return false;
}

/* Prints one word, quoted for a shell. */
static void print_word(const char *word) {
    size_t plain = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_@%+=:,./-");
    if (plain && !word[plain]) {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*word);
    putchar('\'');
}

static bool starts_with(const char *text, const char *start) {
    return !strncmp(text, start, strlen(start));
}

static bool changes_tests(const char *variable) {
    if (starts_with(variable, "CARRY_TEST_"))
        return !starts_with(variable, "CARRY_TEST_POINT=");
    return starts_with(variable, "CARRY_CPU_MASK=") || starts_with(variable, "QEMU_CPU=");
}

/* Prints the variables as they were at the start: tests change CARRY_CPU_MASK. */
static void print_variables(void) {
    FILE *environment = fopen("/proc/self/environ", "re");
    if (!environment)
        return;
    static char text[4096];
    while (read_string(environment, text, sizeof text)) {
        char *value = strchr(text, '=');
        if (!value || !changes_tests(text))
            continue;
        *value++ = '\0';
        printf(" %s=", text);
        print_word(value);
    }
    fclose(environment);
}

static void print_command(void) {
    FILE *command = fopen("/proc/self/cmdline", "re");
    if (!command)
        return;
    printf("# repeat:");
    print_variables();
    printf(" CARRY_TEST_POINT=%u", points);
    static char text[4096];
    while (read_string(command, text, sizeof text)) {
        putchar(' ');
        print_word(text);
    }
    putchar('\n');
    fflush(stdout);
    fclose(command);
}

/* --- Points and notes --- */

static void print_line(const char *format, va_list args) {
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
}

bool tap_point(const char *file, int line, const char *text, bool ok, const char *name, ...) {
    if (!ok && !is_reported)
        tap_report(file, line, "failed: %s", text);
    is_reported = false;
    points++;
    if (!is_printed_after(points - 1))
        return ok;
    failures += !ok;
    ran++;
    va_list args;
    va_start(args, name);
    printf("%s %u - ", ok ? "ok" : "not ok", printed_number());
    print_line(name, args);
    va_end(args);
    if (!ok)
        print_command();
    end_after_selected();
    return ok;
}

void tap_skip(const char *name, const char *reason, ...) {
    points++;
    if (!is_printed_after(points - 1))
        return;
    va_list args;
    va_start(args, reason);
    printf("ok %u - %s # SKIP ", printed_number(), name);
    print_line(reason, args);
    va_end(args);
    end_after_selected();
}

int tap_skip_all(const char *reason) {
    printf("1..0 # SKIP %s\n", reason);
    return 0;
}

void tap_note(const char *format, ...) {
    if (!is_printed_after(points))
        return;
    va_list args;
    va_start(args, format);
    printf("# ");
    print_line(format, args);
    va_end(args);
}

/* Returns the path below the folder of the sources: compilers run in the folder of the build. */
static const char *source_path(const char *file) {
    while (starts_with(file, "../"))
        file += 3;
    return file;
}

void tap_report(const char *file, int line, const char *format, ...) {
    is_reported = true;
    if (!is_printed_after(points))
        return;
    va_list args;
    va_start(args, format);
    printf("# %s:%d: ", source_path(file), line);
    print_line(format, args);
    va_end(args);
}

int tap_done(void) {
    if (selected_point() > points) {
        printf("not ok 1 - CARRY_TEST_POINT is %u, but there are %u points\n", selected_point(),
               points);
        failures++;
    }
    printf("1..%u\n", printed_number());
    return failures || !ran;
}
