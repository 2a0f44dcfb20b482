/* SPDX-License-Identifier: MIT */
/* How things are written for people: numbers, addresses, names, colours, wrapped sentences. */
#ifndef CARRY_TOOLS_TEXT_H
#define CARRY_TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Lines stay within so many columns, where what they say lets them and there is no terminal. */
#define TEXT_COLUMNS 80

/* How wide the terminal is that a descriptor, or standard output, leads to; else TEXT_COLUMNS. */
int text_columns_of(int descriptor);
int text_columns(void);

/* Columns that text takes: escape sequences take none, a character of UTF-8 takes one. */
int text_width(const char *text, size_t size);

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

/*
 * A measure for a table: 1.23, 12.3, 12345, 1234k, 12.3M. It takes at most five characters, its
 * sign among them, from -999 million to 9,999 million, and is cut beyond TEXT_SIZE.
 */
char *text_measure(char *buffer, double value);

/* Measures with one character more: what is added (+1.23), a quotient (1.23x), a share (87%). */
char *text_added(char *buffer, double value);
char *text_times(char *buffer, double value);
char *text_percent(char *buffer, double share);

/*
 * Returns how many of `count` columns, which are `widths` wide, fit side by side into TEXT_COLUMNS
 * if others take `used`; one at least.
 */
size_t text_fitting(const int *widths, size_t count, int used);

/* "s" unless the count is 1. */
const char *text_plural(uint64_t count);

/*
 * Text that others wrote (names of files, symbols, processes; arguments) is shown by these alone.
 * A character is safe unless it steers a terminal, breaks a line, or reorders or hides text.
 */
struct text_character {
    size_t size;   /* bytes, 1 at least */
    uint32_t code; /* the code point; the byte, where it is no UTF-8 */
    bool is_utf8;
    bool is_safe; /* and UTF-8 */
};

/* The first character of a text that is not empty. */
struct text_character text_character(const char *text);

/* Prints text with a '?' for each character, and each byte, that is not safe. */
void text_print_clean(FILE *stream, const char *text);

/* The same as a string; to be freed; NULL without memory. */
char *text_clean(const char *text);

/* The same for a file's name, where "-" is "standard input". */
void text_print_name(FILE *stream, const char *path);

/* The name of a file without its folders; all of it if it ends in a slash. */
const char *text_last_part(const char *path);

/*
 * The name with each byte that is not UTF-8 replaced by U+FFFD, for what is not shown; to be freed;
 * NULL without memory.
 */
char *text_utf8(const char *name);

bool text_is_utf8(const char *text);

/*
 * Prints the lines of `text`, broken at spaces where they are too long for text_columns();
 * what a line continues on is indented by two columns more than its beginning.
 */
void text_wrap(FILE *stream, unsigned indent, const char *text);

/* Text that is written to `out` first, and then to `to` by text_wrap(). */
struct text_block {
    FILE *out, *to;
    char *text;
    size_t size;
};

void text_block_begin(struct text_block *block, FILE *to);

/* The same for lines that others may look for: they are broken on a terminal alone. */
void text_block_begin_line(struct text_block *block, FILE *to);
void text_block_end(struct text_block *block, unsigned indent);

/* Whether there are colours on standard output: by default, terminal and environment decide. */
enum colours { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER };
void text_use_colours(enum colours wanted);

/* Begins a colour on standard output, or ends it with COLOUR_NONE; "" where there are none. */
const char *text_colour(enum colour colour);

/* Prints `text` in a colour, at the right of `width` columns. */
void text_print_coloured(FILE *out, enum colour colour, int width, const char *text);

/* "label    text", the label bold; a bold line with an empty one above it. On standard output. */
void text_print_field(const char *label, const char *text);
void text_print_title(const char *text);

/*
 * Prints the first `shown` of so many numbers of frames: "1, 4 and 1019", "1, 4 and 7 more". They
 * have no commas, as where commands take them.
 */
void text_print_frames(FILE *stream, const uint64_t *frames, unsigned shown, uint64_t count);

/* Whether text may be UTF-8: by default, the locale decides. */
void text_use_utf8(bool wanted);

/* An arrow that can be shown. */
const char *text_arrow(void);

#endif
