/* SPDX-License-Identifier: MIT */
#include "common/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "common/command.h"

#define ROWS_MAX  16
#define NO_LETTER (UCHAR_MAX + 1) /* of the first row, if it has none */

/* What getopt_long() is given: the rows, and help. */
struct tables {
    char letters[2 * ROWS_MAX + sizeof "+:h"];
    struct option names[ROWS_MAX + 2];
};

/* What getopt_long() returns for one of the rows. */
static int result_of(const struct option_row *rows, const struct option_row *row) {
    return row->letter ? row->letter : NO_LETTER + (int)(row - rows);
}

static void make_tables(struct tables *tables, const struct option_row *rows,
                        enum operands operands) {
    char *letter = tables->letters;
    struct option *name = tables->names;
    if (operands == OPERANDS_COMMAND)
        *letter++ = '+';
    *letter++ = ':';
    for (const struct option_row *row = rows; row->name; row++) {
        const int value = row->flag ? no_argument : required_argument;
        *name++ = (struct option){row->name, value, NULL, result_of(rows, row)};
        if (row->letter)
            *letter++ = row->letter;
        if (row->letter && value == required_argument)
            *letter++ = ':';
    }
    *name = (struct option){"help", no_argument, NULL, 'h'};
    *letter = 'h';
}

static int set_number(const char *command, const struct option_row *row) {
    uint64_t number = *row->number;
    int status = command_number(command, row->name, optarg, 1, row->high, &number);
    *row->number = (unsigned)number;
    return status;
}

static int set(char **argv, const struct option_row *rows, int result) {
    const struct option_row *row = rows;
    while (row->name && result_of(rows, row) != result)
        row++;
    if (!row->name)
        return command_bad_option(argv, result);
    if (row->number)
        return set_number(argv[0], row);
    if (row->text)
        *row->text = optarg;
    else
        *row->flag = true;
    return STATUS_CLEAN;
}

bool options_read(int argc, char **argv, const char *usage, const struct option_row *rows,
                  enum operands operands, int *status) {
    struct tables tables = {0};
    int result;
    make_tables(&tables, rows, operands);
    *status = STATUS_CLEAN;
    opterr = 0;
    optind = 1;
    while (*status == STATUS_CLEAN &&
           (result = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (result == 'h') {
            fputs(usage, stdout);
            return false;
        }
        *status = set(argv, rows, result);
    }
    if (*status == STATUS_CLEAN && operands == OPERANDS_NONE && optind < argc)
        *status = command_usage(argv[0], "unexpected argument '%s'", argv[optind]);
    return *status == STATUS_CLEAN;
}
