/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "bench/ring0_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/command.h"

/* The kernel needs a tenth of a second; a hundred times that is a hang. */
#define SECONDS 10

#define OUTPUT_BYTES 16384

const char *const ring0_forms[RING0_FORMS] = {"compiled", "pointer", "unpatched", "patched"};

/* --- The emulator --- */

/* Starts the emulator, which writes only to `pipe`. Returns 0 or an errno. */
static int spawn_emulator(char *const *command, int pipe, pid_t *process) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(process, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads the output up to its end, or for SECONDS at most. */
static void read_until_end(int pipe, char output[OUTPUT_BYTES]) {
    const int64_t end = clock_ns() + SECONDS * CLOCK_SECOND;
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    size_t used = 0;
    ssize_t size = 1;
    for (int64_t left; size > 0 && (left = end - clock_ns()) > 0;) {
        int ready = poll(&wait, 1, (int)(left / 1000000) + 1);
        if (ready < 0 && errno == EINTR)
            continue;
        size = ready > 0 ? read(pipe, output + used, OUTPUT_BYTES - 1 - used) : 0;
        used += size > 0 ? (size_t)size : 0;
    }
    output[used] = '\0';
}

/* Runs a command and reads its output. Returns STATUS_CLEAN, or STATUS_ERROR after a message. */
static int run_emulator(char *const *command, char output[OUTPUT_BYTES]) {
    int pipe[2];
    pid_t process;
    if (pipe2(pipe, O_CLOEXEC) != 0)
        return command_error("cannot make a pipe: %s", strerror(errno));
    int error = spawn_emulator(command, pipe[1], &process);
    close(pipe[1]);
    if (!error) {
        read_until_end(pipe[0], output);
        kill(process, SIGKILL);
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(pipe[0]);
    return error
               ? command_error("cannot execute the emulator '%s': %s", command[0], strerror(error))
               : STATUS_CLEAN;
}

/* --- The output --- */

static struct ring0_row *row_of_operation(struct ring0_result *result, const char *operation,
                                          const char *table) {
    struct ring0_row *row = result->rows;
    struct ring0_row *end = row + result->count;
    while (row < end && (strcmp(row->operation, operation) || strcmp(row->table, table)))
        row++;
    if (row < end)
        return row;
    if (result->count == RING0_ROWS)
        return NULL;
    result->count++;
    *row = (struct ring0_row){.counts = {RING0_NONE, RING0_NONE, RING0_NONE, RING0_NONE}};
    snprintf(row->operation, sizeof row->operation, "%s", operation);
    snprintf(row->table, sizeof row->table, "%s", table);
    return row;
}

/* Reads a line such as "bench cli native patched 1"; ignores other lines. */
static void read_line(struct ring0_result *result, const char *line) {
    char operation[16], table[16], form[16];
    int64_t count;
    if (sscanf(line, "bench %15s %15s %15s %" SCNd64, operation, table, form, &count) != 4)
        return;
    struct ring0_row *row = row_of_operation(result, operation, table);
    for (size_t i = 0; row && i < RING0_FORMS; i++)
        if (strcmp(form, ring0_forms[i]) == 0)
            row->counts[i] = count;
}

int ring0_run(const char *emulator, const char *kernel, struct ring0_result *result) {
    char output[OUTPUT_BYTES];
    char *const version[] = {(char *)emulator, (char *)"--version", NULL};
    /* One instruction takes one tick of the time-stamp counter. */
    char *const boot[] = {(char *)emulator,
                          (char *)"-accel",
                          (char *)"tcg",
                          (char *)"-icount",
                          (char *)"shift=0",
                          (char *)"-cpu",
                          (char *)"max",
                          (char *)"-m",
                          (char *)"64",
                          (char *)"-device",
                          (char *)"isa-debug-exit,iobase=0xf4,iosize=4",
                          (char *)"-display",
                          (char *)"none",
                          (char *)"-nodefaults",
                          (char *)"-no-reboot",
                          (char *)"-serial",
                          (char *)"stdio",
                          (char *)"-append",
                          (char *)"bench",
                          (char *)"-kernel",
                          (char *)kernel,
                          NULL};
    *result = (struct ring0_result){0};
    int status = run_emulator(version, output);
    if (status != STATUS_CLEAN)
        return status;
    output[strcspn(output, "\r\n")] = '\0';
    snprintf(result->emulator, sizeof result->emulator, "%.*s", (int)sizeof result->emulator - 1,
             output);
    status = run_emulator(boot, output);
    if (status != STATUS_CLEAN)
        return status;
    if (strstr(output, "bench done") == NULL) {
        command_error("the kernel '%s' did not report all counts", kernel);
        return STATUS_BAD;
    }
    char *rest = output;
    for (char *line; (line = strsep(&rest, "\r\n"));)
        read_line(result, line);
    return STATUS_CLEAN;
}
