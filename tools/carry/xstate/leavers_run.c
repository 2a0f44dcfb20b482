/* SPDX-License-Identifier: MIT */
/* Runs a program with hooks, and reports their counts. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/command.h"
#include "common/launch.h"
#include "common/own_file.h"
#include "common/report_file.h"
#include "common/start.h"
#include "xstate/leavers_report.h"

/* --- Preloading --- */

#define LIBRARY "libcarry-leavers.so"

/* Puts a library before the libraries in LD_PRELOAD, where spaces and colons separate libraries.
 * Also sets LD_BIND_NOW. Returns an exit status. */
static int set_preload(const char *library) {
    const char *present = getenv("LD_PRELOAD");
    char *value = NULL;
    if (strpbrk(library, " :"))
        return command_error("'%s': the dynamic linker cannot load from a folder of this name",
                             library);
    bool ok = asprintf(&value, "%s%s%s", library, present && *present ? ":" : "",
                       present ? present : "") > 0 &&
              setenv("LD_PRELOAD", value, 1) == 0 && setenv("LD_BIND_NOW", "1", 1) == 0;
    free(value);
    return ok ? STATUS_CLEAN : command_error("out of memory");
}

/* --- The table --- */

/*
 * Makes the table. Processes open it by a name in /proc, so they need not inherit a descriptor, and
 * no file remains.
 */
static struct leavers_table *make_table(const struct leavers_options *options) {
    char path[64];
    struct leavers_table *table = MAP_FAILED;
    int file = memfd_create("carry-leavers", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, sizeof *table) == 0)
        table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    if (table == MAP_FAILED || setenv(LEAVERS_VARIABLE, path, 1) != 0) {
        command_error("cannot create shared memory: %s", strerror(errno));
        return NULL;
    }
    table->keep = options->keep;
    table->addresses = options->addresses;
    return table;
}

/* --- The program --- */

static int report_leavers(const struct leavers_options *options, const struct leavers_table *table,
                          FILE *stream, int status) {
    struct leavers_findings findings;
    if (!table->processes && table->refused)
        return command_error("the system refuses hooks in '%s'", options->command[0]);
    if (!table->processes)
        return command_error("cannot hook calls in '%s': it is statically linked, set-uid, "
                             "set-gid, or for another machine; carry xstate prof may work",
                             options->command[0]);
    if (!leavers_find(&findings, table))
        status = command_error("out of memory");
    else
        leavers_report(options, &findings, stream);
    if (status == STATUS_CLEAN && options->check && findings.leavers)
        status = STATUS_BAD;
    leavers_free(&findings);
    return status;
}

static int run_with_hooks(const struct leavers_options *options, const struct leavers_table *table,
                          FILE *stream) {
    extern char **environ;
    struct launch launch = {0};
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int status = launch_start(&launch, options->command, environ, &mask);
    if (status != STATUS_CLEAN)
        return status;
    launch_attend(&launch);
    launch_go(&launch);
    status = launch_wait(&launch);
    return launch.failed ? status : report_leavers(options, table, stream, status);
}

static int prepare_and_run(const struct leavers_options *options, FILE *stream) {
    char library[PATH_MAX];
    if (!own_file_find(LIBRARY, library))
        return command_error(
            start_is_static ? "this carry is static, and has no " LIBRARY " to load"
                            : "cannot find " LIBRARY " beside the tool or where it is installed");
    int status = set_preload(library);
    if (status != STATUS_CLEAN)
        return status;
    struct leavers_table *table = make_table(options);
    if (!table)
        return STATUS_ERROR;
    status = run_with_hooks(options, table, stream);
    munmap(table, sizeof *table);
    return status;
}

int leavers_run(const struct leavers_options *options) {
    FILE *stream = report_open(options->output, stderr);
    if (!stream)
        return STATUS_ERROR;
    return report_close(options->output, stream, prepare_and_run(options, stream));
}
