/* SPDX-License-Identifier: MIT */
/* Formats text for people: numbers, names, colours, wrapped sentences. */
#ifndef CARRY_TOOLS_TEXT_H
#define CARRY_TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The width of lines where there is no terminal, unless a word is longer. */
#define TEXT_COLUMNS 80

/* Returns the width of the terminal that a descriptor, or standard output, leads to; TEXT_COLUMNS
   if there is none. */
int text_columns_of(int descriptor);
int text_columns(void);

/* Returns how many columns a text needs: none for an escape sequence, one for a character
   of UTF-8. */
int text_width(const char *text, size_t size);

/* The size of the buffers that numbers are written to. */
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

/* Writes a number such as "1,234,567". This function and the next six return `buffer`, which has
   TEXT_SIZE bytes. */
char *text_count(char *buffer, uint64_t value);

/* Writes the number of a link type: "195", or "0x46c5e1f5" if it is private (above 65,535). */
char *text_link_type(char *buffer, uint32_t linktype);

/* Writes a size such as "1.2 GB". */
char *text_bytes(char *buffer, uint64_t value);

/*
 * Writes a measure for a table, such as 1.23, 12.3, 12345, 1234k or 12.3M. From -999 million to
 * 9,999 million, it has at most five characters, including the sign. It is truncated to TEXT_SIZE.
 */
char *text_measure(char *buffer, double value);

/* Writes a measure with one more character: a difference (+1.23), a quotient (1.23x), or a share
   (87%). */
char *text_added(char *buffer, double value);
char *text_times(char *buffer, double value);
char *text_percent(char *buffer, double share);

/* Returns how many of `count` columns with these `widths` fit into a line of TEXT_COLUMNS
   characters if other columns need `used` characters; at least one. */
size_t text_fitting(const int *widths, size_t count, int used);

/* Returns "s" unless the count is 1. */
const char *text_plural(uint64_t count);

/*
 * Untrusted text (names of files, symbols, processes; arguments) must be printed only by these
 * functions. A character is safe unless it controls a terminal, breaks a line, or reorders or hides
 * text.
 */
struct text_character {
    size_t size;   /* in bytes, at least 1 */
    uint32_t code; /* the code point; the byte, if it is not UTF-8 */
    bool is_utf8;
    bool is_safe; /* false if it is not UTF-8 */
};

/* Returns the first character of a non-empty text. */
struct text_character text_character(const char *text);

/* Prints text with a '?' for each character, and each byte, that is not safe. */
void text_print_clean(FILE *stream, const char *text);

/* Returns the text that text_print_clean() prints, which the caller frees; NULL if there is no
   memory. */
char *text_clean(const char *text);

/* Prints a file's name like text_print_clean(); "-" is "standard input". */
void text_print_name(FILE *stream, const char *path);

/* Returns the name of a file without its folders; the whole path if it ends in a slash. */
const char *text_last_part(const char *path);

/*
 * Returns the name with each byte that is not UTF-8 replaced by U+FFFD, for output other than text.
 * The caller frees it; NULL if there is no memory.
 */
char *text_utf8(const char *name);

bool text_is_utf8(const char *text);

/*
 * Prints the lines of `text`, wrapped at spaces if they are longer than text_columns().
 * Continuations are indented by two more columns.
 */
void text_wrap(FILE *stream, unsigned indent, const char *text);

/* Text that is first collected in `out`, and then written to `to` by text_wrap(). */
struct text_block {
    FILE *out, *to;
    char *text;
    size_t size;
};

void text_block_begin(struct text_block *block, FILE *to);

/* Begins lines that programs may search for: they are wrapped only on a terminal. */
void text_block_begin_line(struct text_block *block, FILE *to);
void text_block_end(struct text_block *block, unsigned indent);

/* Sets whether standard output has colours: by default, terminal and environment decide. */
enum colours { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER };
void text_use_colours(enum colours wanted);

/* Returns the sequence that begins a colour on standard output, or ends it with COLOUR_NONE; "" if
   there are no colours. */
const char *text_colour(enum colour colour);

/* Prints `text` in a colour, aligned right in `width` columns. */
void text_print_coloured(FILE *out, enum colour colour, int width, const char *text);

/* Prints to standard output: text_print_field() prints "label text" with a bold label, and
   text_print_title() an empty line and then `text` in bold. */
void text_print_field(const char *label, const char *text);
void text_print_title(const char *text);

/*
 * Prints the first `shown` of `count` frame numbers: "1, 4 and 1019", "1, 4 and 7 more". They have
 * no commas, so that users can paste them into commands.
 */
void text_print_frames(FILE *stream, const uint64_t *frames, unsigned shown, uint64_t count);

/* Sets whether text may be UTF-8: by default, the locale decides. */
void text_use_utf8(bool wanted);

/* Returns an arrow in the locale's characters. */
const char *text_arrow(void);

#endif
