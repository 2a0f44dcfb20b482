/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <langinfo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *text_count(char *buffer, uint64_t value) {
    char digits[TEXT_SIZE];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *out = buffer;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

char *text_bytes(char *buffer, uint64_t value) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double scaled = (double)value / 1000;
    size_t unit = 0;
    if (value < 1000) {
        snprintf(buffer, TEXT_SIZE, "%u byte%s", (unsigned)value, text_plural(value));
        return buffer;
    }
    for (; scaled >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        scaled /= 1000;
    snprintf(buffer, TEXT_SIZE, scaled < 99.95 ? "%.1f %s" : "%.0f %s", scaled, units[unit]);
    return buffer;
}

const char *text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

void text_print_clean(FILE *stream, const char *text) {
    for (; *text; text++) {
        bool c1 = text[0] == '\xc2' && (text[1] & 0xe0) == 0x80; /* U+0080 to U+009F */
        fputc(c1 || iscntrl((unsigned char)*text) ? '?' : *text, stream);
        text += c1;
    }
}

void text_print_name(FILE *stream, const char *path) {
    text_print_clean(stream, strcmp(path, "-") == 0 ? "standard input" : path);
}

const char *text_last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The size of the UTF-8 sequence at `text` (Unicode 15, table 3-7), or 0 if it is none. */
static size_t utf8_size(const unsigned char *text) {
    unsigned first = text[0], second = text[1];
    size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first > 0xf4 || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

char *text_utf8(const char *name) {
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *in = (const unsigned char *)name;
    char *text = malloc(3 * strlen(name) + 1);
    char *out = text;
    while (text && *in) {
        size_t size = utf8_size(in);
        memcpy(out, size ? (const char *)in : replacement, size ? size : 3);
        out += size ? size : 3;
        in += size ? size : 1;
    }
    if (text)
        *out = '\0';
    return text;
}

static const char *wrap_line(FILE *stream, unsigned indent, const char *text) {
    unsigned column = (unsigned)fprintf(stream, "%*s", (int)indent, "");
    bool first = true;
    for (; *text && *text != '\n'; text += *text == ' ') {
        size_t word = strcspn(text, " \n");
        if (!first && column + 1 + word > TEXT_COLUMNS)
            column = (unsigned)fprintf(stream, "\n%*s", (int)indent + 2, "") - 1;
        else if (!first)
            column += (unsigned)fprintf(stream, " ");
        column += (unsigned)fwrite(text, 1, word, stream);
        text += word;
        first = false;
    }
    fputc('\n', stream);
    return text + (*text == '\n');
}

void text_wrap(FILE *stream, unsigned indent, const char *text) {
    while (*text)
        text = wrap_line(stream, indent, text);
}

static bool colours_wanted(void) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(refused && *refused) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

const char *text_colour(enum colour colour) {
    static const char *const sequences[COLOUR_COUNT] = {
        [COLOUR_NONE] = "\033[0m",    [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m",
        [COLOUR_YELLOW] = "\033[33m", [COLOUR_FAINT] = "\033[2m", [COLOUR_BOLD] = "\033[1m",
    };
    static int wanted = -1;
    if (wanted < 0)
        wanted = colours_wanted();
    return wanted ? sequences[colour] : "";
}

void text_print_field(const char *label, const char *text) {
    printf("%s%-14s%s%s\n", text_colour(COLOUR_BOLD), label, text_colour(COLOUR_NONE), text);
}

void text_print_title(const char *text) {
    printf("\n%s%s%s\n", text_colour(COLOUR_BOLD), text, text_colour(COLOUR_NONE));
}

const char *text_arrow(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\xe2\x86\x92" : "->";
}
