/* SPDX-License-Identifier: MIT */
#include "common/text.h"

#include <langinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

char *text_link_type(char *buffer, uint32_t linktype) {
    snprintf(buffer, TEXT_SIZE, linktype > UINT16_MAX ? "0x%08x" : "%u", linktype);
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

char *text_measure(char *buffer, double value) {
    static const struct {
        const char *format;
        double unit;
        int columns;
    } ways[] = {{"%.2f", 1, 4},    {"%.1f", 1, 4},    {"%.0f", 1, 5},
                {"%.0fk", 1e3, 5}, {"%.1fM", 1e6, 5}, {"%.0fM", 1e6, INT_MAX}};
    size_t way = 0;
    while (snprintf(buffer, TEXT_SIZE, ways[way].format, value / ways[way].unit) >
           ways[way].columns)
        way++;
    return buffer;
}

char *text_added(char *buffer, double value) {
    char text[TEXT_SIZE];
    text_measure(text, value);
    snprintf(buffer, TEXT_SIZE, "%s%.*s", *text == '-' ? "" : "+", TEXT_SIZE - 2, text);
    return buffer;
}

char *text_times(char *buffer, double value) {
    char text[TEXT_SIZE];
    snprintf(buffer, TEXT_SIZE, "%.*sx", TEXT_SIZE - 2, text_measure(text, value));
    return buffer;
}

char *text_percent(char *buffer, double share) {
    char text[TEXT_SIZE];
    if (share < 99.995)
        snprintf(text, sizeof text, "%.0f", 100 * share);
    else
        text_measure(text, 100 * share);
    snprintf(buffer, TEXT_SIZE, "%.*s%%", TEXT_SIZE - 2, text);
    return buffer;
}

size_t text_fitting(const int *widths, size_t count, int used) {
    size_t fitting = 0;
    while (fitting < count && used + widths[fitting] <= TEXT_COLUMNS)
        used += widths[fitting++];
    return fitting ? fitting : 1;
}

const char *text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

/* --- Untrusted text --- */

/* Returns the size of the UTF-8 sequence at `text` (Unicode 15, table 3-7); 0 if it is not one. */
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

static uint32_t utf8_code(const unsigned char *text, size_t size) {
    uint32_t code = size == 1 ? text[0] : text[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* Checks whether a character is safe: it does not control a terminal, break lines, or reorder or
   hide text. */
static bool is_safe(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } unsafe[] = {
        {0x0000, 0x001f},   {0x007f, 0x009f}, /* controls */
        {0x00ad, 0x00ad},   {0x200b, 0x200b}, /* soft hyphen, zero-width space */
        {0x061c, 0x061c},   {0x200e, 0x200f}, /* direction marks */
        {0x2028, 0x202e},   {0x2060, 0x206f}, /* separators, embeddings, isolates */
        {0xfeff, 0xfeff},   {0xfff9, 0xfffb}, /* byte order mark, annotations */
        {0xe0000, 0xe007f},                   /* tags */
    };
    if (code >= ' ' && code <= '~')
        return true;
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        if (code >= unsafe[i].first && code <= unsafe[i].last)
            return false;
    return true;
}

struct text_character text_character(const char *text) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = utf8_size(bytes);
    if (!size)
        return (struct text_character){.size = 1, .code = bytes[0]};
    uint32_t code = utf8_code(bytes, size);
    return (struct text_character){size, code, .is_utf8 = true, .is_safe = is_safe(code)};
}

void text_print_clean(FILE *stream, const char *text) {
    while (*text) {
        struct text_character character = text_character(text);
        if (character.is_safe)
            fwrite(text, 1, character.size, stream);
        else
            fputc('?', stream);
        text += character.size;
    }
}

char *text_clean(const char *text) {
    char *clean = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&clean, &size);
    if (!stream)
        return NULL;
    text_print_clean(stream, text);
    if (fclose(stream) == 0)
        return clean;
    free(clean);
    return NULL;
}

void text_print_name(FILE *stream, const char *path) {
    text_print_clean(stream, strcmp(path, "-") == 0 ? "standard input" : path);
}

const char *text_last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool text_is_utf8(const char *text) {
    while (*text) {
        struct text_character character = text_character(text);
        if (!character.is_utf8)
            return false;
        text += character.size;
    }
    return true;
}

char *text_utf8(const char *name) {
    static const char replacement[] = "\xef\xbf\xbd";
    char *text = malloc(3 * strlen(name) + 1);
    char *out = text;
    while (text && *name) {
        struct text_character character = text_character(name);
        size_t size = character.is_utf8 ? character.size : sizeof replacement - 1;
        memcpy(out, character.is_utf8 ? name : replacement, size);
        out += size;
        name += character.size;
    }
    if (text)
        *out = '\0';
    return text;
}

/* --- Columns --- */

int text_columns_of(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) || !size.ws_col ? TEXT_COLUMNS : size.ws_col;
}

int text_columns(void) {
    static int columns;
    if (!columns)
        columns = text_columns_of(STDOUT_FILENO);
    return columns;
}

int text_width(const char *text, size_t size) {
    int width = 0;
    bool in_sequence = false; /* ESC [ 3 1 m */
    for (size_t i = 0; i < size; i++) {
        in_sequence |= text[i] == '\033';
        width += !in_sequence && (text[i] & 0xc0) != 0x80;
        in_sequence &= text[i] != 'm';
    }
    return width;
}

static const char *wrap_line(FILE *stream, unsigned indent, const char *text) {
    int column = fprintf(stream, "%*s", (int)indent, "");
    bool first = true;
    for (; *text && *text != '\n'; text += *text == ' ') {
        size_t word = strcspn(text, " \n");
        int width = text_width(text, word);
        if (!first && column + 1 + width > text_columns())
            column = fprintf(stream, "\n%*s", (int)indent + 2, "") - 1;
        else if (!first)
            column += fprintf(stream, " ");
        fwrite(text, 1, word, stream);
        column += width;
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

void text_block_begin(struct text_block *block, FILE *to) {
    *block = (struct text_block){.to = to};
    block->out = open_memstream(&block->text, &block->size);
    if (!block->out)
        block->out = to; /* no memory: text is not wrapped */
}

void text_block_begin_line(struct text_block *block, FILE *to) {
    *block = (struct text_block){.out = to, .to = to};
    if (to == stdout && isatty(STDOUT_FILENO))
        text_block_begin(block, to);
}

void text_block_end(struct text_block *block, unsigned indent) {
    if (block->out == block->to)
        return;
    fclose(block->out);
    text_wrap(block->to, indent, block->text);
    free(block->text);
}

/* --- Colours --- */

static enum colours colours;

void text_use_colours(enum colours wanted) {
    colours = wanted;
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
    if (colours == COLOURS_AUTO)
        colours = colours_wanted() ? COLOURS_ALWAYS : COLOURS_NEVER;
    return colours == COLOURS_ALWAYS ? sequences[colour] : "";
}

void text_print_coloured(FILE *out, enum colour colour, int width, const char *text) {
    const char *begin = colour ? text_colour(colour) : "";
    int padding = width - (int)strlen(text);
    fprintf(out, "%*s%s%s%s", padding > 0 ? padding : 0, "", begin, text,
            *begin ? text_colour(COLOUR_NONE) : "");
}

void text_print_field(const char *label, const char *text) {
    printf("%s%-14s%s", text_colour(COLOUR_BOLD), label, text_colour(COLOUR_NONE));
    text_print_clean(stdout, text);
    putchar('\n');
}

void text_print_title(const char *text) {
    printf("\n%s%s%s\n", text_colour(COLOUR_BOLD), text, text_colour(COLOUR_NONE));
}

static int use_utf8 = -1; /* -1: not set */

void text_use_utf8(bool wanted) {
    use_utf8 = wanted;
}

const char *text_arrow(void) {
    const bool is_utf8 = use_utf8 < 0 ? strcmp(nl_langinfo(CODESET), "UTF-8") == 0 : use_utf8;
    return is_utf8 ? "\xe2\x86\x92" : "->";
}

void text_print_frames(FILE *stream, const uint64_t *frames, unsigned shown, uint64_t count) {
    char number[TEXT_SIZE];
    for (unsigned i = 0; i < shown; i++) {
        const char *separator = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        fprintf(stream, "%s%llu", separator, (unsigned long long)frames[i]);
    }
    if (count > shown)
        fprintf(stream, " and %s more", text_count(number, count - shown));
}
