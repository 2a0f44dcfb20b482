/* SPDX-License-Identifier: MIT */
#include "common/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* Prints a message, truncated if it is too long. */
static void print_message(const char *format, va_list arguments) {
    char message[512];
    vsnprintf(message, sizeof message, format, arguments);
    text_print_clean(stderr, message);
}

int status_max(int status, int other) {
    static const int severity[] = {
        [STATUS_CLEAN] = 0,   [STATUS_UNCHECKED] = 1, [STATUS_BAD] = 2,
        [STATUS_DAMAGED] = 3, [STATUS_ERROR] = 4,
    };
    return severity[other] > severity[status] ? other : status;
}

int command_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("carry: ", stderr);
    print_message(format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return STATUS_ERROR;
}

int command_file_error(const char *path, const char *reason) {
    fputs("carry: ", stderr);
    if (*path)
        text_print_name(stderr, path);
    else
        fputs("\"\"", stderr);
    fprintf(stderr, ": %s\n", reason);
    return STATUS_ERROR;
}

int command_usage(const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "carry %s: ", name);
    print_message(format, arguments);
    fprintf(stderr, "; see carry %s --help\n", name);
    va_end(arguments);
    return STATUS_ERROR;
}

int command_bad_option(char **argv, int result) {
    const char *option = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, '\0'};
    if (strncmp(option, "--", 2) != 0 && optopt)
        option = letter;
    if (result == ':')
        return command_usage(argv[0], "option '%s' needs a value", option);
    if (optopt && option != letter)
        return command_usage(argv[0], "option '%s' takes no value", option);
    return command_usage(argv[0], "unknown option '%s'", option);
}

/* Copies a number without its commas, as far as there is room. */
static const char *strip_commas(char digits[TEXT_SIZE], const char *text) {
    size_t count = 0;
    for (; *text && count < TEXT_SIZE - 1; text++)
        if (*text != ',')
            digits[count++] = *text;
    digits[count] = '\0';
    return digits;
}

/* Accepts plain digits, or commas exactly where text_count() prints them. */
bool command_parse(const char *text, uint64_t low, uint64_t high, uint64_t *number) {
    char *end, digits[TEXT_SIZE], printed[TEXT_SIZE];
    errno = 0;
    unsigned long long value = strtoull(strip_commas(digits, text), &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < low || value > high)
        return false;
    if (strchr(text, ',') && strcmp(text, text_count(printed, value)) != 0)
        return false;
    *number = value;
    return true;
}

int command_number(const char *name, const char *option, const char *text, uint64_t low,
                   uint64_t high, uint64_t *number) {
    if (command_parse(text, low, high, number))
        return STATUS_CLEAN;
    if (high == UINT64_MAX)
        return command_usage(name, "--%s takes a number of at least %" PRIu64 ", not '%s'", option,
                             low, text);
    return command_usage(name, "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                         option, low, high, text);
}

bool command_output_failed(void) {
    return ferror(stdout) != 0;
}
