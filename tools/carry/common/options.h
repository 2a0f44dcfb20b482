/* SPDX-License-Identifier: MIT */
/* Reads the options of a command from a table. */
#ifndef CARRY_TOOLS_OPTIONS_H
#define CARRY_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct option_row;

/*
 * Sets what row->target points to. `command` is the command's name, for messages; `text` is the
 * option's value, or NULL if it has none. Returns STATUS_CLEAN, or STATUS_ERROR after a message.
 */
typedef int option_setter(const char *command, const struct option_row *row, const char *text);

/* The value that an option with a setter takes. */
enum option_value {
    VALUE_REQUIRED,
    VALUE_NONE,
    VALUE_OPTIONAL, /* only after '=' */
    VALUE_NEXT,     /* optional: after '=', or the next argument if it does not start with '-' */
};

/* Exactly one of `flag`, `text`, `number` and `set` is given. */
struct option_row {
    const char *name;
    char letter; /* or 0 */
    bool *flag;  /* becomes true, or false if `clears` */
    bool clears;
    const char **text;         /* becomes the value */
    const char *const **words; /* the words after "--"; only together with `text`, for
                                  OPERANDS_WORDS */
    uint64_t *number;          /* becomes the value, from `low` to `high` */
    option_setter *set;        /* called for the option */
    enum option_value value;
    void *target;       /* for `set` */
    uint64_t low, high; /* for `number`, and for `set` if it uses them */
};

/* Sets the range of numbers that an option takes. */
#define OPTION_RANGE(from, to) .low = (from), .high = (to)

enum operands {
    OPERANDS_NONE,
    OPERANDS_ANY,     /* they may be among the options */
    OPERANDS_COMMAND, /* options end before the first */
    /* Operands may be among the options. After an operand, "--" begins the words of a row. A NULL
       ends the operands, and another NULL the words: see options_count_operands(). */
    OPERANDS_WORDS,
};

/*
 * Reads the options of `rows`, up to an empty row, and --help, for which it prints `usage`. Returns
 * true if the command must run; its operands begin at argv[optind]. Otherwise *status is the exit
 * status.
 */
bool options_read(int argc, char **argv, const char *usage, const struct option_row *rows,
                  enum operands operands, int *status);

/* Reads options like options_read(), with a help text that `print` writes. */
bool options_read_help(int argc, char **argv, void (*print)(const void *context),
                       const void *context, const struct option_row *rows, enum operands operands,
                       int *status);

/* Returns the number of operands that were read with OPERANDS_WORDS. */
int options_count_operands(char *const *argv);

/* Sets the use of colours: --color[=WHEN]. OPTION_COLOR is the row of this option. */
option_setter options_set_color;
#define OPTION_COLOR                                                                               \
    { "color", .set = options_set_color, .value = VALUE_OPTIONAL }

#endif
