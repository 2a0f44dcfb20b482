/* SPDX-License-Identifier: MIT */
/* The front door of `carry`: finds the subcommand, and sees that its output arrived. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carry/carry.h>

#include "command.h"

static const struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CARRY_COMMAND(name, summary) {#name, summary, command_##name},
#include "commands.def"
#undef CARRY_COMMAND
};

#define COMMANDS (sizeof commands / sizeof *commands)

static const struct command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown(const char *name) {
    return command_error("no command '%s'; see carry --help", name);
}

static void print_usage(FILE *stream) {
    fputs("Usage: carry COMMAND [OPTION]... [FILE]...\n\n", stream);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  carry help COMMAND    a command's options, with examples\n"
          "  carry --version       the version\n"
          "\n"
          "Example:\n"
          "  carry check capture.pcap\n",
          stream);
}

/* `words` name a command and one of its parts; either may be NULL. */
static int help(char **words) {
    const struct command *command = words[0] ? find(words[0]) : NULL;
    if (words[0] && !command)
        return unknown(words[0]);
    if (command) {
        char *option = (char *)"--help";
        char *arguments[] = {words[0], words[1] ? words[1] : option, option, NULL};
        return command->run(words[1] ? 3 : 2, arguments);
    }
    print_usage(stdout);
    return STATUS_CLEAN;
}

static int dispatch(int argc, char **argv) {
    const char *name = argv[1];
    if (argc < 2) {
        print_usage(stderr);
        return STATUS_ERROR;
    }
    if (strcmp(name, "--version") == 0) {
        printf("carry %d.%d.%d\n", CARRY_VERSION_MAJOR, CARRY_VERSION_MINOR, CARRY_VERSION_PATCH);
        return STATUS_CLEAN;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return help(argv + 2);
    const struct command *command = find(name);
    return command ? command->run(argc - 1, argv + 1) : unknown(name);
}

static int close_output(int status) {
    errno = 0;
    bool failed = command_output_failed();
    if (fclose(stdout) != 0 || failed)
        return command_error("cannot write the output: %s",
                             errno ? strerror(errno) : "an earlier write failed");
    return status;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write like any other */
    return close_output(dispatch(argc, argv));
}
