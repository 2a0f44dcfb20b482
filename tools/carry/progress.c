/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

#define FIRST_DRAW_US 500000
#define REDRAW_US     100000
#define BAR_CELLS     30

volatile sig_atomic_t progress_due;

static volatile sig_atomic_t drawn;
static uint64_t total;
static bool is_bytes;
static struct timespec started;

static void on_timer(int signal) {
    (void)signal;
    progress_due = 1;
}

static void on_interrupt(int signal) {
    progress_clear();
    raise(signal); /* SA_RESETHAND has put the default action back */
}

static void set_timer(long first_us, long interval_us) {
    struct itimerval timer = {
        .it_value = {.tv_usec = first_us},
        .it_interval = {.tv_usec = interval_us},
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* A signal that is ignored stays so: whoever started this in the background wants that. */
static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction present;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, NULL, &present) == 0 && present.sa_handler != SIG_IGN)
        sigaction(signal, &action, NULL);
}

static void handle_interrupts(void (*handler)(int), int flags) {
    handle(SIGINT, handler, flags);
    handle(SIGTERM, handler, flags);
}

static void begin(uint64_t size, bool bytes) {
    if (!isatty(STDERR_FILENO))
        return;
    total = size;
    is_bytes = bytes;
    clock_gettime(CLOCK_MONOTONIC, &started);
    handle(SIGALRM, on_timer, SA_RESTART);
    handle_interrupts(on_interrupt, (int)SA_RESETHAND);
    set_timer(FIRST_DRAW_US, REDRAW_US);
}

void progress_begin(uint64_t size) {
    begin(size, true);
}

void progress_begin_steps(uint64_t steps) {
    begin(steps, false);
}

static double seconds_since_start(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

static void draw_bar(double part) {
    char bar[BAR_CELLS + 1];
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)(part * BAR_CELLS));
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "[%s] %3.0f %%  ", bar, part * 100);
}

void progress_draw(uint64_t position) {
    double seconds = seconds_since_start();
    double rate = (double)position / seconds;
    char size[TEXT_SIZE];
    progress_due = 0;
    drawn = 1;
    fputs("\r\033[K", stderr);
    if (total) {
        /* A file that still grows is never more than done. */
        double part = position < total ? (double)position / (double)total : 1;
        double rest = position < total ? (double)(total - position) / rate : 0;
        draw_bar(part);
        if (is_bytes)
            fprintf(stderr, "%.2f GB/s  ", rate / 1e9);
        fprintf(stderr, "%.0f s left", rest);
    } else {
        fprintf(stderr, "%s  %.2f GB/s", text_bytes(size, position), rate / 1e9);
    }
    fflush(stderr);
}

void progress_clear(void) {
    static const char clear[] = "\r\033[K";
    if (drawn && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
        return;
    drawn = 0;
}

void progress_end(void) {
    if (!isatty(STDERR_FILENO))
        return;
    set_timer(0, 0);
    progress_due = 0;
    progress_clear();
    handle_interrupts(SIG_DFL, 0);
}
