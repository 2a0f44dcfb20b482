/* SPDX-License-Identifier: MIT */
#include "common/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/text.h"

#define ROWS_MAX  40
#define NO_LETTER (UCHAR_MAX + 1) /* getopt_long()'s result for rows[0], if it has no letter */
#define OPERAND   1 /* getopt_long()'s result for an operand, if the letters begin with "-" */

/* The arguments of getopt_long() for the rows, and for help. */
struct tables {
    char letters[2 * ROWS_MAX + sizeof "+:h"]; /* for OPERANDS_WORDS, "-" replaces the "+" */
    struct option names[ROWS_MAX + 2];
};

/* Returns the result of getopt_long() for a row. */
static int row_result(const struct option_row *rows, const struct option_row *row) {
    return row->letter ? row->letter : NO_LETTER + (int)(row - rows);
}

static int has_argument(const struct option_row *row) {
    static const int of_value[] = {
        [VALUE_REQUIRED] = required_argument,
        [VALUE_NONE] = no_argument,
        [VALUE_OPTIONAL] = optional_argument,
        [VALUE_NEXT] = optional_argument,
    };
    return row->flag ? no_argument : of_value[row->value];
}

static void make_tables(struct tables *tables, const struct option_row *rows,
                        enum operands operands) {
    char *letter = tables->letters;
    struct option *name = tables->names;
    if (operands == OPERANDS_COMMAND)
        *letter++ = '+';
    if (operands == OPERANDS_WORDS)
        *letter++ = '-';
    *letter++ = ':';
    for (const struct option_row *row = rows; row->name; row++) {
        *name++ = (struct option){row->name, has_argument(row), NULL, row_result(rows, row)};
        if (row->letter)
            *letter++ = row->letter;
        if (row->letter && has_argument(row) == required_argument)
            *letter++ = ':';
    }
    *name = (struct option){"help", no_argument, NULL, 'h'};
    *letter = 'h';
}

/* Returns the value of the option just read. getopt_long() finds an optional value only after
   '='. */
static const char *row_value(const struct option_row *row, char **argv) {
    if (row->value == VALUE_NEXT && !optarg && argv[optind] && argv[optind][0] != '-')
        return argv[optind++];
    return optarg;
}

static int set_row(char **argv, const struct option_row *rows, int result) {
    const struct option_row *row = rows;
    while (row->name && row_result(rows, row) != result)
        row++;
    if (!row->name)
        return command_bad_option(argv, result);
    if (row->set)
        return row->set(argv[0], row, row_value(row, argv));
    if (row->number)
        return command_number(argv[0], row->name, optarg, row->low, row->high, row->number);
    if (row->text)
        *row->text = optarg;
    else
        *row->flag = !row->clears;
    return STATUS_CLEAN;
}

/*
 * Gives the words after a "--" to the row that takes them, and ends the operands, which were moved
 * to the front, with a NULL. If no operand precedes the "--", operands follow it.
 */
static void split_words(char **argv, int argc, const struct option_row *rows, int operands) {
    const struct option_row *row = rows;
    if (!operands)
        return;
    while (!row->words)
        row++;
    if (optind < argc)
        *row->words = (const char *const *)argv + optind;
    argv[1 + operands] = NULL;
    optind = 1;
}

bool options_read_help(int argc, char **argv, void (*print)(const void *context),
                       const void *context, const struct option_row *rows, enum operands operands,
                       int *status) {
    struct tables tables = {0};
    int result, moved = 0;
    make_tables(&tables, rows, operands);
    *status = STATUS_CLEAN;
    opterr = 0;
    optind = 1;
    while (*status == STATUS_CLEAN &&
           (result = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (result == 'h') {
            print(context);
            return false;
        }
        if (result == OPERAND)
            argv[1 + moved++] = optarg;
        else
            *status = set_row(argv, rows, result);
    }
    if (*status == STATUS_CLEAN && operands == OPERANDS_NONE && optind < argc)
        *status = command_usage(argv[0], "unexpected argument '%s'", argv[optind]);
    split_words(argv, argc, rows, moved);
    return *status == STATUS_CLEAN;
}

int options_count_operands(char *const *argv) {
    int count = 0;
    while (argv[optind + count])
        count++;
    return count;
}

static void print_usage_text(const void *text) {
    fputs(text, stdout);
}

bool options_read(int argc, char **argv, const char *usage, const struct option_row *rows,
                  enum operands operands, int *status) {
    return options_read_help(argc, argv, print_usage_text, usage, rows, operands, status);
}

int options_set_color(const char *command, const struct option_row *row, const char *text) {
    static const char *const choices[] = {
        [COLOURS_AUTO] = "auto", [COLOURS_ALWAYS] = "always", [COLOURS_NEVER] = "never"};
    (void)row;
    for (unsigned i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strcmp(text ? text : choices[COLOURS_ALWAYS], choices[i]) == 0) {
            text_use_colours((enum colours)i);
            return STATUS_CLEAN;
        }
    return command_usage(command, "--color takes auto, always or never, not '%s'", text);
}
