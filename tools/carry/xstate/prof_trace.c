/* SPDX-License-Identifier: MIT */
/*
 * One thread of this program traces all others. When it ends, the kernel releases all traced
 * threads as they are, with their pending signals. To detach them instead, this program would have
 * to stop them all, including those that sleep, and some system calls do not resume after a stop.
 */
#define _GNU_SOURCE
#include "xstate/prof_trace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/command.h"
#include "common/process_map.h"
#include "xstate/prof_threads.h"
#include "xstate/thread.h"

/* The most threads to sample at a time. The other threads are sampled later. */
#define LOOK_MAX 64

#define FOLLOW (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

struct trace {
    const struct trace_options *options;
    struct samples *samples;
    struct trace_result *result;
    struct threads threads;
    size_t next; /* index of the last thread that was sampled */
    sigset_t signals;
    int64_t started, due;
    int status; /* the exit status if tracing cannot start */
    bool over;
    bool warned_setuid;
};

/* --- /proc --- */

/* Returns the state of a thread: 'R' if it runs; 0 if it has ended. */
static char thread_state(const struct traced *traced) {
    char path[64], text[512];
    snprintf(path, sizeof path, "task/%d/stat", (int)traced->thread);
    int file = process_open(traced->process, path);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* a name may contain any character */
    return name_end && name_end[1] ? name_end[2] : '\0';
}

static pid_t process_of(pid_t thread) {
    char line[256];
    int process = thread, file = process_open(thread, "status");
    FILE *status = file < 0 ? NULL : fdopen(file, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Tgid: %d", &process) == 1)
            break;
    if (status)
        fclose(status);
    return process;
}

/* --- Threads --- */

static struct traced *add_traced(struct trace *trace, pid_t thread) {
    struct traced *traced = threads_find(&trace->threads, thread);
    if (traced)
        return traced;
    traced = threads_add(&trace->threads, thread);
    if (traced) {
        traced->process = process_of(thread);
        trace->result->threads++;
        trace->result->processes += traced->process == thread;
    }
    return traced;
}

static void on_end(struct trace *trace, pid_t thread, int status) {
    const struct launch *launch = trace->options->launch;
    threads_remove(&trace->threads, thread);
    samples_forget(trace->samples, thread);
    if (thread != (launch ? launch->process : trace->options->process))
        return;
    trace->result->ended = true;
    trace->result->wait_status = status;
    trace->over = true;
}

/* Returns the kind of rights that a program would gain if it were not traced, or NULL. */
static const char *lost_rights(const struct stat *program, const struct stat *runs_as) {
    if (program->st_mode & S_ISUID && program->st_uid != runs_as->st_uid)
        return "set-uid";
    return program->st_mode & S_ISGID && program->st_gid != runs_as->st_gid ? "set-gid" : NULL;
}

/* Warns once that a set-uid or set-gid program does not gain its rights while it is traced. */
static void warn_setuid(struct trace *trace, pid_t process) {
    char path[64], name[4096];
    struct stat program, runs_as;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process);
    ssize_t size = readlink(path, name, sizeof name - 1);
    if (trace->warned_setuid || size < 0 || stat(path, &program) != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    const char *lost = stat(path, &runs_as) == 0 ? lost_rights(&program, &runs_as) : NULL;
    if (!lost)
        return;
    name[size] = '\0';
    command_error("'%s' is %s: while traced, it runs without these rights", name, lost);
    trace->warned_setuid = true;
}

/* Handles exec: only one thread of the process remains, now with the number of the first thread. */
static void on_exec(struct trace *trace, pid_t process) {
    unsigned long former;
    if (ptrace(PTRACE_GETEVENTMSG, process, NULL, &former) == 0 && (pid_t)former != process)
        threads_remove(&trace->threads, (pid_t)former);
    samples_forget(trace->samples, process);
    warn_setuid(trace, process);
}

/* --- Stops --- */

static bool is_stop_signal(int signal) {
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/*
 * Handles a stop. Any stop fulfils PTRACE_INTERRUPT, so the first stop after it is sampled. A stop
 * of the whole process lasts until SIGCONT. After other stops, the thread continues; if a signal
 * stopped it, it gets the signal.
 */
static void on_stop(struct trace *trace, pid_t thread, int status) {
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXEC)
        on_exec(trace, thread);
    struct traced *traced = add_traced(trace, thread);
    if (traced && traced->asked) {
        traced->asked = false;
        samples_take(trace->samples, traced->process, thread);
    }
    if (event == PTRACE_EVENT_STOP && is_stop_signal(signal))
        ptrace(PTRACE_LISTEN, thread, NULL, NULL);
    else
        ptrace(PTRACE_CONT, thread, NULL, event ? 0L : (long)signal);
}

/* --- Samples --- */

/* Asks a thread to stop if it runs. A thread that sleeps executes nothing, and stopping it could
 * make its system call fail. */
static void ask_to_stop(struct trace *trace, struct traced *traced) {
    char state = traced->asked ? '\0' : thread_state(traced);
    if (traced->asked)
        return;
    if (state == 'R')
        traced->asked = ptrace(PTRACE_INTERRUPT, traced->thread, NULL, NULL) == 0;
    else if (state == '\0')
        threads_remove(&trace->threads, traced->thread);
}

static void sample_threads(struct trace *trace) {
    size_t count = trace->threads.count;
    for (size_t i = 0; i < count && i < LOOK_MAX && trace->threads.count; i++) {
        trace->next = (trace->next + 1) % trace->threads.count;
        ask_to_stop(trace, &trace->threads.rows[trace->next]);
    }
}

/* Sets the time of the next samples. Intervals vary by half, so that they do not align with periods
 * of the program. */
static void set_due(struct trace *trace) {
    int64_t interval = CLOCK_SECOND / trace->options->rate;
    trace->due = clock_ns() + interval / 2 + (int64_t)((double)interval * drand48());
}

static void keep_time(struct trace *trace) {
    if (clock_ns() < trace->due)
        return;
    sample_threads(trace);
    set_due(trace);
    unsigned seconds = trace->options->seconds;
    trace->over = trace->over || (seconds && clock_ns() - trace->started > seconds * CLOCK_SECOND);
}

/* --- Signals --- */

static void on_signal(struct trace *trace, const siginfo_t *info) {
    if (info->si_signo == SIGCHLD)
        return;
    if (trace->options->launch && info->si_code == SI_USER)
        kill(trace->options->launch->process, info->si_signo);
    trace->over = true;
}

/* Sleeps until a signal arrives (SIGCHLD reports stops), or until samples are due. */
static void sleep_until_due(struct trace *trace) {
    siginfo_t info;
    int64_t rest = trace->due - clock_ns();
    struct timespec wait = {.tv_sec = rest / CLOCK_SECOND, .tv_nsec = rest % CLOCK_SECOND};
    if (rest > 0 && sigtimedwait(&trace->signals, &info, &wait) > 0)
        on_signal(trace, &info);
}

/* Sets `signals` to SIGCHLD, and to each of SIGHUP, SIGINT and SIGTERM that this process does not
 * ignore. */
static void find_signals(sigset_t *signals) {
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction present;
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaddset(signals, ending[i]);
}

/* --- The beginning --- */

static int not_traced(pid_t process) {
    char reason[XSTATE_PROBLEM_SIZE];
    if (errno != EPERM)
        return process_error(process);
    return command_error("cannot trace process %d: %s", (int)process,
                         xstate_thread_refusal(reason, process));
}

/* Seizes the threads that are not traced yet; returns false if there are none. */
static bool seize_more(struct trace *trace, DIR *tasks) {
    size_t before = trace->threads.count;
    rewinddir(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        pid_t thread = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
        if (thread && !threads_find(&trace->threads, thread) &&
            ptrace(PTRACE_SEIZE, thread, NULL, FOLLOW) == 0)
            add_traced(trace, thread);
    }
    return trace->threads.count > before;
}

/* Seizes all threads of a process. Threads that start during a round are traced like their
 * creators, or found in the next round. */
static int seize_process(struct trace *trace, pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    if (!tasks)
        return process_error(process);
    if (ptrace(PTRACE_SEIZE, process, NULL, FOLLOW) != 0) {
        int status = not_traced(process);
        closedir(tasks);
        return status;
    }
    add_traced(trace, process);
    while (seize_more(trace, tasks))
        continue;
    closedir(tasks);
    return STATUS_CLEAN;
}

/* --- The loop --- */

static void follow_program(struct trace *trace) {
    set_due(trace);
    while (!trace->over) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL | WNOHANG);
        if (thread > 0 && WIFSTOPPED(status))
            on_stop(trace, thread, status);
        else if (thread > 0)
            on_end(trace, thread, status);
        else if (thread < 0)
            return;
        else
            sleep_until_due(trace);
        keep_time(trace);
    }
}

static void *run_tracer(void *argument) {
    struct trace *trace = argument;
    struct launch *launch = trace->options->launch;
    trace->started = clock_ns();
    trace->status = seize_process(trace, launch ? launch->process : trace->options->process);
    if (trace->status != STATUS_CLEAN)
        return NULL;
    if (launch)
        launch_go(launch);
    follow_program(trace);
    trace->result->seconds = (double)(clock_ns() - trace->started) / CLOCK_SECOND;
    return NULL;
}

int trace_run(const struct trace_options *options, struct samples *samples,
              struct trace_result *result) {
    struct trace trace = {.options = options, .samples = samples, .result = result};
    pthread_t thread;
    sigset_t before;
    signal(SIGCHLD, SIG_DFL); /* because an ignored signal would not arrive */
    find_signals(&trace.signals);
    pthread_sigmask(SIG_BLOCK, &trace.signals, &before);
    int error = pthread_create(&thread, NULL, run_tracer, &trace);
    if (error)
        trace.status = command_error("cannot start a thread: %s", strerror(error));
    else
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    threads_free(&trace.threads);
    return trace.status;
}
