/* SPDX-License-Identifier: MIT */
/*
 * Comparisons and their reports. Uses only functions of the C library that the bare kernel has too.
 */
#include <stdio.h>
#include <string.h>

#include "harness/tap.h"

/* The most characters or bytes that are shown of a value, and of its part before a difference. */
#define STRING_SIZE   100
#define STRING_BEFORE 40
#define BYTES_SHOWN   12
#define BYTES_BEFORE  4

static void write_number(char *text, size_t size, tap_number number) {
    unsigned long long bits = (unsigned long long)number;
    if (number < 0)
        snprintf(text, size, "%lld (0x%llx)", (long long)number, bits);
    else
        snprintf(text, size, "%llu (0x%llx)", bits, bits);
}

void tap_report_numbers(const char *file, int line, const char *text, tap_number actual,
                        const char *relation, tap_number expected) {
    char actual_text[64], expected_text[64];
    write_number(actual_text, sizeof actual_text, actual);
    write_number(expected_text, sizeof expected_text, expected);
    tap_report(file, line, "%s is %s, expected %s%s", text, actual_text, relation, expected_text);
}

/* Writes one character as in a string literal. Returns the length of the written text. */
static size_t write_character(char *text, size_t size, char c) {
    if (c == '"' || c == '\\')
        snprintf(text, size, "\\%c", c);
    else if (c == '\n')
        snprintf(text, size, "\\n");
    else if (c >= ' ' && c <= '~')
        snprintf(text, size, "%c", c);
    else
        snprintf(text, size, "\\x%x%x", (unsigned char)c >> 4, c & 15);
    return strlen(text);
}

/* Writes a string in quotes, from the byte `start` on, with dots for what is left out. */
static void write_string(char *text, size_t size, const char *string, size_t start) {
    if (!string) {
        snprintf(text, size, "NULL");
        return;
    }
    snprintf(text, size, "%s\"", start ? "..." : "");
    size_t used = strlen(text), reserved = sizeof "\\xff\"...";
    const char *at = string + start;
    for (; *at && used + reserved < size; at++)
        used += write_character(text + used, size - used, *at);
    snprintf(text + used, size - used, "\"%s", *at ? "..." : "");
}

bool tap_strings_equal(const char *file, int line, const char *text, const char *actual,
                       const char *expected) {
    size_t same = 0;
    if (actual && expected) {
        while (actual[same] && actual[same] == expected[same])
            same++;
        if (actual[same] == expected[same])
            return true;
    }
    size_t start = same > STRING_BEFORE ? same - STRING_BEFORE : 0;
    char actual_text[STRING_SIZE], expected_text[STRING_SIZE];
    write_string(actual_text, sizeof actual_text, actual, start);
    write_string(expected_text, sizeof expected_text, expected, start);
    tap_report(file, line, "%s is %s, expected %s", text, actual_text, expected_text);
    return false;
}

/* Writes the bytes around `different` in hexadecimal. */
static void write_bytes(char *text, const unsigned char *bytes, size_t size, size_t different) {
    size_t start = different > BYTES_BEFORE ? different - BYTES_BEFORE : 0;
    size_t end = size - start > BYTES_SHOWN ? start + BYTES_SHOWN : size;
    for (size_t i = start; i < end; i++, text += 3)
        snprintf(text, 4, " %x%x", bytes[i] >> 4, bytes[i] & 15);
}

bool tap_bytes_equal(const char *file, int line, const char *text, const void *actual,
                     const void *expected, size_t size) {
    const unsigned char *actual_bytes = actual, *expected_bytes = expected;
    size_t same = 0;
    while (same < size && actual_bytes[same] == expected_bytes[same])
        same++;
    if (same == size)
        return true;
    char actual_text[3 * BYTES_SHOWN + 1], expected_text[3 * BYTES_SHOWN + 1];
    write_bytes(actual_text, actual_bytes, size, same);
    write_bytes(expected_text, expected_bytes, size, same);
    tap_report(file, line, "%s differs at byte %zu of %zu: from byte %zu it is%s, expected%s", text,
               same, size, same > BYTES_BEFORE ? same - BYTES_BEFORE : 0, actual_text,
               expected_text);
    return false;
}
