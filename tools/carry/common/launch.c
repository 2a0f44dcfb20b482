/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "common/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/command.h"

enum {
    LAUNCH_NOT_EXECUTED = 126,
    LAUNCH_NOT_FOUND = 127,
    LAUNCH_SIGNAL = 128,
};

__attribute__((noreturn)) static void execute(char **command, char **environment, int go,
                                              int failure) {
    char byte;
    if (read(go, &byte, 1) == 1) {
        execvpe(command[0], command, environment);
        int reason = errno;
        if (write(failure, &reason, sizeof reason) < 0)
            _exit(LAUNCH_SIGNAL);
    }
    _exit(LAUNCH_NOT_EXECUTED);
}

static int start_process(struct launch *launch, char **environment, const sigset_t *mask, int go,
                         int failure) {
    launch->process = fork();
    if (launch->process < 0)
        return command_error("cannot start a process: %s", strerror(errno));
    if (launch->process == 0) {
        close(launch->go);
        signal(SIGPIPE, SIG_DFL); /* the tool ignores SIGPIPE, and the program would inherit that */
        sigprocmask(SIG_SETMASK, mask, NULL);
        execute(launch->command, environment, go, failure);
    }
    return STATUS_CLEAN;
}

int launch_start(struct launch *launch, char **command, char **environment, const sigset_t *mask) {
    int go[2], failure[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return command_error("cannot make a pipe: %s", strerror(errno));
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(go[0]);
        close(go[1]);
        return command_error("cannot make a pipe: %s", strerror(errno));
    }
    *launch = (struct launch){.command = command, .go = go[1], .failure = failure[0]};
    int status = start_process(launch, environment, mask, go[0], failure[1]);
    close(go[0]);
    close(failure[1]);
    return status;
}

void launch_go(struct launch *launch) {
    if (write(launch->go, "", 1) < 0)
        command_error("cannot start '%s': %s", launch->command[0], strerror(errno));
    close(launch->go);
}

static volatile pid_t attended;

static void pass_on_signal(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (info->si_code == SI_USER)
        kill(attended, signal);
}

void launch_attend(const struct launch *launch) {
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction action = {.sa_sigaction = pass_on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction present;
    attended = launch->process;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

int launch_status(struct launch *launch, int wait_status) {
    int reason;
    launch->failed = read(launch->failure, &reason, sizeof reason) == sizeof reason;
    close(launch->failure);
    if (launch->failed) {
        command_error("cannot execute '%s': %s", launch->command[0], strerror(reason));
        return reason == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTED;
    }
    return WIFSIGNALED(wait_status) ? LAUNCH_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

int launch_wait(struct launch *launch) {
    int status;
    while (waitpid(launch->process, &status, 0) < 0)
        if (errno != EINTR)
            return command_error("cannot wait for '%s': %s", launch->command[0], strerror(errno));
    return launch_status(launch, status);
}
