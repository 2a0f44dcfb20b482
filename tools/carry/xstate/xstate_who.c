/* SPDX-License-Identifier: MIT */
/* `carry xstate who`: reads the options and the threads, and reports. */
#define _GNU_SOURCE
#include "xstate/xstate_who.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/options.h"
#include "common/text.h"
#include "xstate/parts.h"

static const char usage[] =
    "Usage: carry xstate who [OPTION]... PID...\n"
    "\n"
    "Shows which components of extended state each thread of a process has in use,\n"
    "and measures their cost on this CPU: each context switch saves and loads them,\n"
    "and dirty upper halves may slow down SSE code, such as libm. A component can be\n"
    "in use although its registers hold their initial values (\"initial\").\n"
    "\n"
    "  -J, --json    print a JSON object for each process\n"
    "  -h, --help    print this help\n"
    "\n"
    "Verdicts:\n"
    "  dirty ZMM, dirty YMM    upper halves are dirty: vector code is running, or it\n"
    "                          ended without vzeroupper (if the thread sleeps)\n"
    "  tiles                   AMX tiles are in use: each switch saves 8 KiB more\n"
    "  masks                   k0-7 or zmm16-31 are in use, as string functions of\n"
    "                          glibc leave them: harmless\n"
    "  clean                   only SSE and x87 are in use\n"
    "\n"
    "Each thread is stopped for some microseconds; stopped threads stay stopped.\n"
    "\n"
    "Exit status:\n"
    "  0  no thread has dirty upper halves     1  a thread has, costly or not\n"
    "  3  wrong usage, no such process, or no permission to read a thread\n"
    "\n"
    "Examples:\n"
    "  carry xstate who $(pidof server)\n"
    "  carry xstate who --json 1234 | jq '.threads[] | {name, verdict}'\n";

/* --- Reading --- */

static int compare_threads(const void *a, const void *b) {
    const struct xstate_thread *x = a, *y = b;
    enum who_verdict first = who_verdict(x->in_use), second = who_verdict(y->in_use);
    if (x->reading != y->reading)
        return x->reading < y->reading ? -1 : 1;
    if (x->reading != XSTATE_READ)
        return (x->tid > y->tid) - (x->tid < y->tid);
    if (first != second)
        return first < second ? -1 : 1;
    if (strcmp(x->name, y->name) != 0)
        return strcmp(x->name, y->name);
    if (x->in_use != y->in_use)
        return x->in_use < y->in_use ? -1 : 1;
    if (x->initial != y->initial)
        return x->initial < y->initial ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static bool add_thread(struct who_process *process, pid_t tid) {
    struct xstate_thread *grown =
        reallocarray(process->threads, process->count + 1, sizeof *process->threads);
    if (!grown)
        return false;
    process->threads = grown;
    struct xstate_thread *thread = &grown[process->count++];
    xstate_thread_read(thread, tid);
    process->read += thread->reading == XSTATE_READ;
    process->gone += thread->reading == XSTATE_GONE;
    process->refused += thread->reading == XSTATE_REFUSED;
    process->dirty += thread->reading == XSTATE_READ && who_verdict(thread->in_use) < WHO_TILES;
    return true;
}

static bool read_threads(struct who_process *process, DIR *folder) {
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        int tid = atoi(entry->d_name);
        if (tid > 0 && !add_thread(process, tid))
            return false;
    }
    if (process->count)
        qsort(process->threads, process->count, sizeof *process->threads, compare_threads);
    return true;
}

/* --- The command --- */

/* Reports threads that could not be read, and returns an exit status. Threads that have ended are
 * an error only if there are no others. */
static int print_problems(const struct who_process *process) {
    char others[64] = "";
    if (!process->read && !process->refused)
        return command_error("process %d has ended", process->pid);
    if (!process->refused)
        return STATUS_CLEAN;
    if (process->refused > 1)
        snprintf(others, sizeof others, ", and %zu more", process->refused - 1);
    const struct xstate_thread *first = &process->threads[process->count - process->refused];
    return command_error("process %d: cannot read thread %d%s: %s", process->pid, first->tid,
                         others, first->problem);
}

static int report_process(struct who_process *process, struct who_costs *costs, bool json) {
    if (process->read && !who_measure(costs, process))
        return command_error("out of memory");
    if (process->read && json)
        who_print_json(process, costs);
    else if (process->read)
        who_print_text(process, costs);
    int status = print_problems(process);
    return status == STATUS_CLEAN && process->dirty ? STATUS_BAD : status;
}

static int show_process(pid_t pid, struct who_costs *costs, bool json) {
    struct who_process process = {.pid = pid};
    char path[64];
    if (pid == getpid())
        return command_error("process %d is this command, which cannot stop itself", pid);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? command_error("there is no process %d", pid)
                               : command_error("process %d: %s", pid, strerror(errno));
    xstate_thread_name(process.name, sizeof process.name, pid);
    int status = read_threads(&process, folder) ? report_process(&process, costs, json)
                                                : command_error("out of memory");
    closedir(folder);
    free(process.threads);
    return status;
}

static bool parse_pid(const char *text, pid_t *pid) {
    uint64_t number = 0;
    bool ok = command_parse(text, 1, INT_MAX, &number);
    *pid = (pid_t)number;
    return ok;
}

static int show_all(char **argv, int first, int count, bool json) {
    struct who_costs costs = {0};
    int status = STATUS_CLEAN;
    pid_t pid;
    for (int i = first; i < count; i++)
        if (!parse_pid(argv[i], &pid))
            return command_usage(argv[0], "'%s' is not a process number", argv[i]);
    xstate_thread_prepare();
    for (int i = first; i < count && !command_output_failed(); i++) {
        parse_pid(argv[i], &pid);
        int found = show_process(pid, &costs, json);
        status = found > status ? found : status;
    }
    free(costs.switches);
    return status;
}

int xstate_who(int argc, char **argv) {
    bool json = false;
    const struct option_row rows[] = {{"json", 'J', .flag = &json}, {0}};
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, &status))
        return status;
    if (optind == argc)
        return command_usage(argv[0], "a process number is needed");
    return show_all(argv, optind, argc, json);
}
