/* SPDX-License-Identifier: MIT */
/*
 * A scheduler: two loops that never yield share one thread with a third loop that does. A timer
 * preempts the running loop; the counts show that each loop has run.
 *
 * usage: contexts [SECONDS]
 */
#include <carry/carry.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define TASKS         3
#define STACK_BYTES   65536
#define HANDLER_BYTES 65536

struct task {
    struct carry_context context;
    const char *name;
    void *stack;
    void *area;
    volatile uint64_t count; /* volatile: read while the task is suspended */
    uint64_t turns;          /* how often the timer switched to the task */
};

static struct carry_context start;
static struct task tasks[TASKS] = {{.name = "sum"}, {.name = "divide"}, {.name = "polite"}};

/* The running task, or NULL while none may be preempted. It is set before the switch to a task: the
   library detects that the thread does not run the task yet. */
static struct task *volatile current;
static volatile sig_atomic_t stop;

static struct task *next_task(const struct task *task) {
    return &tasks[(task - tasks + 1) % TASKS];
}

static void on_timer(int signal, siginfo_t *info, void *ucontext) {
    struct task *task = current;
    (void)signal;
    (void)info;
    if (!task || carry_context_preempt(&task->context, &next_task(task)->context, ucontext))
        return;
    current = next_task(task);
    current->turns++;
}

static struct carry_context *finish_task(void) {
    current = NULL;
    return &start;
}

/* The next two functions run as tasks that call no function until they end. */
static struct carry_context *run_sums(void *argument, uintptr_t value) {
    struct task *task = argument;
    for (volatile uint64_t all = value; !stop; all = all + task->count)
        task->count++;
    return finish_task();
}

static struct carry_context *run_divisions(void *argument, uintptr_t value) {
    struct task *task = argument;
    (void)value;
    for (volatile double left = 1; !stop; left = left > 1e-300 ? left / 1.0001 : 1)
        task->count++;
    return finish_task();
}

static struct carry_context *run_politely(void *argument, uintptr_t value) {
    struct task *task = argument;
    (void)value;
    while (!stop) {
        task->count++;
        current = next_task(task);
        carry_context_switch(&task->context, &next_task(task)->context, 0);
    }
    return finish_task();
}

static int make_task(struct task *task, carry_context_fn *run) {
    size_t area_bytes = carry_context_area_size(carry_xstate_default());
    task->stack = malloc(STACK_BYTES);
    task->area = aligned_alloc(CARRY_XSTATE_ALIGN, area_bytes);
    if (!task->stack || !task->area)
        return CARRY_ERROR_MEMORY;
    int error = carry_context_create(&task->context, task->stack, STACK_BYTES, run, task);
    return error ? error : carry_context_keep(&task->context, task->area, area_bytes, 0);
}

/* Starts the timer. The handler has a stack of its own, so tasks need no room for it. */
static void set_timer(long microseconds) {
    static unsigned char handler_stack[HANDLER_BYTES];
    const stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    const struct sigaction action = {
        .sa_sigaction = on_timer,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
    };
    const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_end(int signal) {
    (void)signal;
    stop = 1;
}

static void stop_after(double seconds) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec when = {
        .it_value = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)}};
    signal(SIGUSR1, on_end);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &when, NULL);
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    if (!(seconds > 0 && seconds < 1e6)) {
        fputs("usage: contexts [SECONDS]\n", stderr);
        return 2;
    }
    carry_context_fn *const functions[TASKS] = {run_sums, run_divisions, run_politely};
    for (size_t i = 0; i < TASKS; i++) {
        int error = make_task(&tasks[i], functions[i]);
        if (error) {
            printf("no contexts: %s\n", carry_error_text(error));
            return error == CARRY_ERROR_UNSUPPORTED ? 0 : 1;
        }
    }
    carry_context_adopt(&start, NULL, 0);
    stop_after(seconds);
    set_timer(1000);
    current = &tasks[0];
    carry_context_switch(&start, &tasks[0].context, 0);
    set_timer(0);
    for (size_t i = 0; i < TASKS; i++) {
        printf("%-6s %12" PRIu64 " rounds, %6" PRIu64 " turns by the timer\n", tasks[i].name,
               tasks[i].count, tasks[i].turns);
        free(tasks[i].stack);
        free(tasks[i].area);
    }
    return 0;
}
