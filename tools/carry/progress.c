/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "text.h"

#define FIRST_DRAW_US 500000
#define REDRAW_US     100000
#define BAR_CELLS_MIN 10

static const char full_cells[] = "##############################";
static const char empty_cells[] = "..............................";
#define BAR_CELLS    ((int)sizeof full_cells - 1)
#define BAR_SIZE     64
#define NUMBERS_SIZE (4 * TEXT_SIZE)

volatile sig_atomic_t progress_due;

static volatile sig_atomic_t drawn;
static uint64_t total;
static bool is_bytes;
static int64_t started;

static void on_timer(int signal) {
    (void)signal;
    progress_due = 1;
}

static void set_timer(long first_us, long interval_us) {
    struct itimerval timer = {
        .it_value = {.tv_usec = first_us},
        .it_interval = {.tv_usec = interval_us},
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void catch_timer(void) {
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
}

/* Removes the line if it is there; also in signal handlers. */
static void clear(void) {
    static const char sequence[] = "\r\033[K";
    if (drawn && write(STDERR_FILENO, sequence, sizeof sequence - 1) < 0)
        return;
    drawn = 0;
}

static void begin(uint64_t size, bool bytes) {
    if (!isatty(STDERR_FILENO))
        return;
    total = size;
    is_bytes = bytes;
    started = clock_ns();
    catch_timer();
    signals_undo(clear);
    set_timer(FIRST_DRAW_US, REDRAW_US);
}

void progress_begin(uint64_t size) {
    begin(size, true);
}

void progress_begin_steps(uint64_t steps) {
    begin(steps, false);
}

static double seconds_since_start(void) {
    return (double)(clock_ns() - started) / CLOCK_SECOND;
}

/* How much fits into a line of the terminal; its last column is left to the cursor. */
static int line_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
        return TEXT_COLUMNS - 1;
    return size.ws_col - 1;
}

static void write_bar(char *bar, double part, int room) {
    int cells = room - 3 < BAR_CELLS ? room - 3 : BAR_CELLS;
    if (cells < BAR_CELLS_MIN)
        return;
    int full = (int)(part * cells);
    snprintf(bar, BAR_SIZE, "[%.*s%.*s] ", full, full_cells, cells - full, empty_cells);
}

static void write_numbers(char *numbers, uint64_t position) {
    double rate = (double)position / seconds_since_start();
    char size[TEXT_SIZE], rate_text[TEXT_SIZE] = "", rest[TEXT_SIZE] = "";
    if (is_bytes)
        snprintf(rate_text, sizeof rate_text, "  %.2f GB/s", rate / 1e9);
    if (position)
        snprintf(rest, sizeof rest, "  %.0f s left", (double)(total - position) / rate);
    if (total)
        snprintf(numbers, NUMBERS_SIZE, "%3.0f %%%s%s", 100 * (double)position / (double)total,
                 rate_text, rest);
    else
        snprintf(numbers, NUMBERS_SIZE, "%s%s", text_bytes(size, position), rate_text);
}

void progress_draw(uint64_t position) {
    char bar[BAR_SIZE] = "", numbers[NUMBERS_SIZE];
    int columns = line_columns();
    progress_due = 0;
    drawn = 1;
    if (total && position > total)
        position = total; /* a file that still grows is never more than done */
    write_numbers(numbers, position);
    if (total)
        write_bar(bar, (double)position / (double)total, columns - (int)strlen(numbers));
    fprintf(stderr, "\r\033[K%s%.*s", bar, columns, numbers);
    fflush(stderr);
}

void progress_end(void) {
    if (!isatty(STDERR_FILENO))
        return;
    set_timer(0, 0);
    progress_due = 0;
    clear();
}
