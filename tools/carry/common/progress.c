/* SPDX-License-Identifier: MIT */
#include "common/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/signals.h"
#include "common/text.h"

#define FIRST_DRAW_US 500000
#define REDRAW_US     100000
#define BAR_CELLS_MIN 10

static const char full_cells[] = "##############################";
static const char empty_cells[] = "..............................";
#define BAR_CELLS   ((int)sizeof full_cells - 1)
#define BAR_FRAME   3 /* columns of a bar besides its cells */
#define LINE_SIZE   512
#define COLUMNS_MAX (LINE_SIZE / 4)
#define NAME_MIN    8 /* columns: less of a name is useless */

volatile sig_atomic_t progress_due;

static volatile sig_atomic_t drawn;
static bool begun, is_bytes;
static int64_t started;
static struct progress_file file; /* for steps, its size is their number */
static uint64_t packets, wrong;
static bool has_counts;

static void on_progress_timer(int signal) {
    (void)signal;
    progress_due = 1;
}

static void set_progress_timer(long first_us, long interval_us) {
    struct itimerval timer = {
        .it_value = {.tv_usec = first_us},
        .it_interval = {.tv_usec = interval_us},
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void catch_timer(void) {
    struct sigaction action = {.sa_handler = on_progress_timer, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
}

/* Removes the line if it is drawn; also called by signal handlers. */
static void clear_line(void) {
    static const char sequence[] = "\r\033[K";
    if (drawn && write(STDERR_FILENO, sequence, sizeof sequence - 1) < 0)
        return;
    drawn = 0;
}

bool progress_is_piped(void) {
    struct stat status;
    return fstat(STDOUT_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

static void begin_drawing(uint64_t size, bool bytes) {
    if (!isatty(STDERR_FILENO))
        return;
    begun = true;
    is_bytes = bytes;
    has_counts = false;
    file = (struct progress_file){.size = size};
    started = clock_ns();
    catch_timer();
    signals_undo(clear_line);
    set_progress_timer(FIRST_DRAW_US, REDRAW_US);
}

void progress_begin(uint64_t size) {
    begin_drawing(size, true);
}

void progress_begin_steps(uint64_t steps) {
    begin_drawing(steps, false);
}

void progress_begin_file(const struct progress_file *next) {
    file = *next;
}

void progress_count(uint64_t packets_now, uint64_t wrong_now) {
    has_counts = true;
    packets = packets_now;
    wrong = wrong_now;
}

/* --- The line --- */

static double seconds_since_start(void) {
    return (double)(clock_ns() - started) / CLOCK_SECOND;
}

/* Returns the usable columns of the terminal; the last one is left to the cursor. */
static int line_columns(void) {
    int columns = text_columns_of(STDERR_FILENO);
    return columns > 1 ? columns - 1 : 1;
}

/* Writes the numbers that are always shown. */
static void write_numbers(char *line, uint64_t position) {
    double rate = (double)(file.before + position) / seconds_since_start();
    char size[TEXT_SIZE], rate_text[TEXT_SIZE] = "", rest[TEXT_SIZE] = "";
    if (is_bytes)
        snprintf(rate_text, sizeof rate_text, "  %.2f GB/s", rate / 1e9);
    if (position)
        snprintf(rest, sizeof rest, "  %.0f s left", (double)(file.size - position) / rate);
    if (file.size)
        snprintf(line, LINE_SIZE, "%3.0f %%%s%s", 100 * (double)position / (double)file.size,
                 rate_text, rest);
    else
        snprintf(line, LINE_SIZE, "%s%s", text_bytes(size, file.before + position), rate_text);
}

/* Appends the counts if there is room for all of them. */
static void append_counts(char *line, int room) {
    char part[3 * TEXT_SIZE], packets_text[TEXT_SIZE], wrong_text[TEXT_SIZE];
    if (!has_counts)
        return;
    snprintf(part, sizeof part, "  %s packet%s, %s bad", text_count(packets_text, packets),
             text_plural(packets), text_count(wrong_text, wrong));
    if ((int)(strlen(line) + strlen(part)) <= room)
        strcat(line, part);
}

/* Returns the columns of clean text. Any non-ASCII character may be wide, so it counts as two. */
static int clean_columns(const char *text) {
    int columns = 0;
    for (; *text; text++)
        columns += (*text & 0xc0) == 0xc0 ? 2 : (*text & 0x80) == 0;
    return columns;
}

/* Returns as much of the end of a name as fits. */
static const char *name_tail(const char *name, int room) {
    while (clean_columns(name) > room)
        name += text_character(name).size;
    return name;
}

/* Appends the name at the end of the line; everything before it is ASCII. */
static void append_name(char *line, int room) {
    int left = room - (int)strlen(line) - 2;
    char *name = file.path && left >= NAME_MIN ? text_clean(file.path) : NULL;
    if (!name)
        return;
    size_t used = strlen(line);
    snprintf(line + used, LINE_SIZE - used, "  %s", name_tail(name, left));
    free(name);
}

static void draw_bar(double part, int room) {
    int cells = room - BAR_FRAME < BAR_CELLS ? room - BAR_FRAME : BAR_CELLS;
    if (cells < BAR_CELLS_MIN)
        return;
    int full = (int)(part * cells);
    fprintf(stderr, "[%.*s%.*s] ", full, full_cells, cells - full, empty_cells);
}

/* Draws the line. Counts and name always leave room for the shortest bar. The bar takes the columns
   that they leave, but has at most BAR_CELLS cells. */
void progress_draw(uint64_t position) {
    char line[LINE_SIZE] = "";
    int columns = line_columns() < COLUMNS_MAX ? line_columns() : COLUMNS_MAX;
    int bar = file.size ? BAR_CELLS_MIN + BAR_FRAME : 0;
    progress_due = 0;
    drawn = 1;
    if (file.size && position > file.size)
        position = file.size; /* a growing file never exceeds 100 % */
    write_numbers(line, position);
    line[columns] = '\0';
    append_counts(line, columns - bar);
    append_name(line, columns - bar);
    fputs("\r\033[K", stderr);
    if (file.size)
        draw_bar((double)position / (double)file.size, columns - clean_columns(line));
    fputs(line, stderr);
    fflush(stderr);
}

void progress_hide(void) {
    clear_line();
}

void progress_end(void) {
    if (!begun)
        return;
    begun = false;
    set_progress_timer(0, 0);
    progress_due = 0;
    clear_line();
}
