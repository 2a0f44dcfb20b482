/* SPDX-License-Identifier: MIT */
/* Implements main(): runs the subcommand, and reports failed output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/start.h"
#include "version.h"

static const struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CARRY_COMMAND(name, folder, summary) {#name, summary, command_##name},
#include "commands.def"
#undef CARRY_COMMAND
};

#define COMMANDS (sizeof commands / sizeof *commands)

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Reports an unknown command. A name with a dot or a slash is meant as a file. */
static int report_unknown(const char *name) {
    if (strpbrk(name, "./"))
        return command_error("%s: No such file or directory", name);
    return command_error("no command '%s'; see carry --help", name);
}

static void print_main_usage(FILE *stream) {
    fputs("Usage: carry COMMAND [OPTION]... [FILE]...\n\n", stream);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  carry FILE...         the same as carry check FILE...\n"
          "  carry help COMMAND    a command's options, with examples\n"
          "  carry --version       version, commit, libraries and kernels\n"
          "\n"
          "Example:\n"
          "  carry check capture.pcap\n",
          stream);
}

/* Prints help; `words` name a command and one of its parts. Either may be NULL. */
static int print_help(char **words) {
    const struct command *command = words[0] ? find_command(words[0]) : NULL;
    if (words[0] && !command)
        return report_unknown(words[0]);
    if (command) {
        char *option = (char *)"--help";
        char *arguments[] = {words[0], words[1] ? words[1] : option, option, NULL};
        return command->run(words[1] ? 3 : 2, arguments);
    }
    print_main_usage(stdout);
    return STATUS_CLEAN;
}

/* Checks whether there is a file of this name. Programs that accept only one word as a command,
   such as tcpdump -z, run carry with the name of a file. */
static bool is_file(const char *name) {
    return strcmp(name, "-") == 0 || access(name, F_OK) == 0;
}

static int check_files(int argc, char **argv) {
    static char name[] = "check";
    argv[0] = name;
    return command_check(argc, argv);
}

static int run_named_command(int argc, char **argv) {
    const char *name = argv[1];
    if (argc < 2) {
        print_main_usage(stderr);
        return STATUS_ERROR;
    }
    if (strcmp(name, "--version") == 0) {
        version_print();
        return STATUS_CLEAN;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return print_help(argv + 2);
    const struct command *command = find_command(name);
    if (command)
        return command->run(argc - 1, argv + 1);
    return is_file(name) ? check_files(argc, argv) : report_unknown(name);
}

/* Checks whether the reader of standard output has closed it, as `| head` does. */
static bool reader_left(void) {
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&reader, 1, 0) > 0 && reader.revents & (POLLERR | POLLHUP);
}

static int close_output(int status) {
    bool failed = command_output_failed();
    errno = 0;
    failed |= fflush(stdout) != 0;
    const bool left = failed && reader_left();
    failed |= fclose(stdout) != 0;
    if (failed && !left)
        command_error("cannot write the output: %s",
                      errno ? strerror(errno) : "an earlier write failed");
    return failed ? STATUS_ERROR : status;
}

/*
 * Opens stand-ins for standard input, output or error if they are closed: otherwise files opened
 * later would get their numbers, and reports would be written there. Like a closed descriptor, the
 * stand-in for input cannot be read, the stand-ins for output and error cannot be written, and
 * started programs do not inherit them.
 */
static bool hold_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        const int access = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", access | O_CLOEXEC) != descriptor)
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    start_prepare();
    if (!hold_standard_descriptors())
        return command_error("/dev/null: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is then a failed write like any other */
    return close_output(run_named_command(argc, argv));
}
