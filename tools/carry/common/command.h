/* SPDX-License-Identifier: MIT */
/* Declares the exit statuses, messages and numbers that the subcommands of `carry` share. */
#ifndef CARRY_TOOLS_COMMAND_H
#define CARRY_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#define CARRY_COMMAND(name, folder, summary) int command_##name(int argc, char **argv);
#include "commands.def"
#undef CARRY_COMMAND

/* Exit statuses of every subcommand. */
enum status {
    STATUS_CLEAN = 0,     /* nothing wrong */
    STATUS_BAD = 1,       /* a checksum is bad or illegal, a site is wrong */
    STATUS_DAMAGED = 2,   /* a file is damaged; the readable part of a capture was checked */
    STATUS_ERROR = 3,     /* wrong usage, or input or output failed */
    STATUS_UNCHECKED = 4, /* --strict: nothing is wrong, but not everything was verified */
};

/* Returns the more severe of two statuses. STATUS_UNCHECKED is less severe than its number
   suggests: more severe only than STATUS_CLEAN. */
int status_max(int status, int other);

/* Prints "carry: ..." on standard error; returns STATUS_ERROR. */
__attribute__((format(printf, 1, 2))) int command_error(const char *format, ...);

/* Prints "carry: PATH: REASON" on standard error; returns STATUS_ERROR. */
int command_file_error(const char *path, const char *reason);

/* Prints "carry NAME: ...; see carry NAME --help" on standard error; returns STATUS_ERROR. */
__attribute__((format(printf, 2, 3))) int command_usage(const char *name, const char *format, ...);

/*
 * Prints a usage message for an option that getopt_long() rejected: its result '?' or ':', with
 * opterr = 0 and option letters that start with ":".
 */
int command_bad_option(char **argv, int result);

/*
 * Parses a decimal number from `low` to `high` without any text after it. It may contain commas
 * where this tool prints them. Returns false for other texts, with *number unchanged.
 */
bool command_parse(const char *text, uint64_t low, uint64_t high, uint64_t *number);

/* Parses the value of an option like command_parse(). Returns STATUS_CLEAN, or prints what the
   option takes, like command_usage(), and returns STATUS_ERROR. */
int command_number(const char *name, const char *option, const char *text, uint64_t low,
                   uint64_t high, uint64_t *number);

/* Checks whether writing to standard output has failed. Call it after each piece of a long output.
   main() prints the message and sets the exit status. */
bool command_output_failed(void);

#endif
