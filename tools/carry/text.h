/* SPDX-License-Identifier: MIT */
/* How things are written for people: numbers, addresses, names, colours, wrapped sentences. */
#ifndef CARRY_TOOLS_TEXT_H
#define CARRY_TOOLS_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Lines stay within a terminal of the usual width where what they say lets them. */
#define TEXT_COLUMNS 80

/* Room for any number. */
#define TEXT_SIZE 32

enum colour {
    COLOUR_NONE,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_FAINT,
    COLOUR_BOLD,
    COLOUR_COUNT
};

/* 1,234,567. These return `buffer`, of TEXT_SIZE bytes. */
char *text_count(char *buffer, uint64_t value);

/* 1.23 GB. */
char *text_bytes(char *buffer, uint64_t value);

/* "s" unless the count is 1. */
const char *text_plural(uint64_t count);

/* Prints what users wrote. Control characters become '?', so that it cannot steer the terminal. */
void text_print_clean(FILE *stream, const char *text);

/* The same for a file's name, where "-" is "standard input". */
void text_print_name(FILE *stream, const char *path);

/* The name of a file without its folders; all of it if it ends in a slash. */
const char *text_last_part(const char *path);

/* The name with each byte that is not UTF-8 replaced by U+FFFD; to be freed; NULL without memory.
 */
char *text_utf8(const char *name);

/*
 * Prints the lines of `text`, broken at spaces where they are too long;
 * what a line continues on is indented by two columns more than its beginning.
 */
void text_wrap(FILE *stream, unsigned indent, const char *text);

/* Begins a colour on standard output, or ends it with COLOUR_NONE; "" unless it is a terminal. */
const char *text_colour(enum colour colour);

/* "label    text", the label bold; a bold line with an empty one above it. On standard output. */
void text_print_field(const char *label, const char *text);
void text_print_title(const char *text);

/* An arrow that the locale can show. */
const char *text_arrow(void);

#endif
