/* SPDX-License-Identifier: MIT */
/* `carry xstate prof`: the functions in which the upper halves of vector registers are dirty. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "command.h"
#include "prof.h"
#include "xstate_parts.h"

#define RATE_MAX    10000
#define RATE        1000
#define SHOW        20
#define SECONDS_MAX 1000000

static const char usage[] =
    "Usage: carry xstate prof [OPTION]... -- CMD [ARG]...\n"
    "       carry xstate prof [OPTION]... --pid=PID\n"
    "\n"
    "Runs a program, or follows one that runs, and samples in which functions upper\n"
    "halves of vector registers are in use (AVX, ZMM_HI256): there SSE code may run\n"
    "slowly. Threads, children and what they execute are followed, by ptrace: any\n"
    "program will do, static ones too. Only threads that run are sampled.\n"
    "\n"
    "  -a, --all            list all functions, clean ones too\n"
    "  -n, --show=COUNT     list so many functions (20)\n"
    "  -o, --output=FILE    write the report there, not on standard error (with\n"
    "                       --pid, standard output)\n"
    "  -p, --pid=PID        follow this process, and what it forks from now on\n"
    "  -r, --rate=HZ        look at the program so often a second (1000)\n"
    "  -s, --seconds=COUNT  stop sampling then; the program runs on\n"
    "  -J, --json           print a JSON object for each function, and a summary\n"
    "  -h, --help           print this\n"
    "\n"
    "Ctrl-C ends sampling, with the report.\n"
    "\n"
    "Exit status: that of CMD, 128 and the signal if one ended it; 126 or 127 if it\n"
    "could not be executed; with --pid 0; 3 wrong usage, or not permitted.\n"
    "\n"
    "Examples:\n"
    "  carry xstate prof -- openssl speed -seconds 1 -evp chacha20-poly1305\n"
    "  carry xstate prof --pid=$(pidof server) --seconds=10\n";

static const struct option long_options[] = {
    {"all", no_argument, NULL, 'a'},
    {"show", required_argument, NULL, 'n'},
    {"output", required_argument, NULL, 'o'},
    {"pid", required_argument, NULL, 'p'},
    {"rate", required_argument, NULL, 'r'},
    {"seconds", required_argument, NULL, 's'},
    {"json", no_argument, NULL, 'J'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int set_process(char **argv, struct prof_options *options) {
    unsigned number = 0;
    int status = command_number(argv, "pid", INT_MAX, &number);
    options->process = (pid_t)number;
    return status;
}

static int set_option(char **argv, int option, struct prof_options *options) {
    switch (option) {
    case 'a':
        options->all = true;
        return STATUS_CLEAN;
    case 'n':
        return command_number(argv, "show", UINT_MAX, &options->show);
    case 'o':
        options->output = optarg;
        return STATUS_CLEAN;
    case 'p':
        return set_process(argv, options);
    case 'r':
        return command_number(argv, "rate", RATE_MAX, &options->rate);
    case 's':
        return command_number(argv, "seconds", SECONDS_MAX, &options->seconds);
    case 'J':
        options->json = true;
        return STATUS_CLEAN;
    default:
        return command_bad_option(argv, option);
    }
}

static int parse(int argc, char **argv, struct prof_options *options, bool *help) {
    int option, status = STATUS_CLEAN;
    opterr = 0;
    optind = 1;
    while (status == STATUS_CLEAN &&
           (option = getopt_long(argc, argv, "+:an:o:p:r:s:Jh", long_options, NULL)) != -1) {
        *help = option == 'h';
        if (*help)
            return STATUS_CLEAN;
        status = set_option(argv, option, options);
    }
    if (status == STATUS_CLEAN && (optind < argc) == (options->process != 0))
        return command_usage(argv[0], "a command or --pid is needed, and not both");
    options->command = optind < argc ? argv + optind : NULL;
    return status;
}

int xstate_prof(int argc, char **argv) {
    struct prof_options options = {.rate = RATE, .show = SHOW};
    bool help = false;
    int status = parse(argc, argv, &options, &help);
    if (help)
        fputs(usage, stdout);
    return help || status != STATUS_CLEAN ? status : prof_run(&options);
}
