/* SPDX-License-Identifier: MIT */
/*
 * Counts the instructions and branches of calls: with the CPU's counters, or, where these are
 * unavailable, as in many virtual machines, by running this program again under callgrind.
 * callgrind emulates a CPU without AVX-512, so kernels that need AVX-512 are omitted. Under
 * callgrind, the program requests a file of counts for each subject of each cell; the name that it
 * passes is the file's trigger. The CPU's counters count all branches, callgrind only conditional
 * and indirect branches, without returns.
 */
#define _GNU_SOURCE
#include "bench/kernels_count.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

#define SIZE_COUNTED 65536 /* the largest size to count: larger ones show nothing new */
#define COUNTER_RUNS 5     /* runs of a cell: the least count includes no interrupt */
#define LINE_BYTES   4096
#define NAME_BYTES   128

static bool is_counted_cell(const struct cell *cell) {
    return !cell->mode->dependent && !cell->mode->beside && cell->size <= SIZE_COUNTED &&
           (!is_mix(cell->mode) || cell->mode->interleaved);
}

/* Returns the number of calls in a run of a cell. */
static double calls_in(const struct cell *cell) {
    return cell->mode->interleaved ? 2 * KERNELS_COUNTED_CALLS : KERNELS_COUNTED_CALLS;
}

static struct kernels_counted *counted_at(struct kernels_bench *bench, size_t cell,
                                          size_t subject) {
    return &bench->counts[cell * bench->subject_count + subject];
}

/* --- Counters of the CPU --- */

static int open_counter(uint64_t what, int group) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attributes,
        .config = what,
        .disabled = group < 0,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_GROUP,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static bool count_once(int counters, const struct cell *cell, carry_sum_fn *sum,
                       uint64_t counts[2]) {
    struct {
        uint64_t number, values[2];
    } found;
    ioctl(counters, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    ioctl(counters, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    kernels_run_cell(cell, sum, 0, KERNELS_COUNTED_CALLS);
    ioctl(counters, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    if (read(counters, &found, sizeof found) != (ssize_t)sizeof found || !found.values[0])
        return false;
    memcpy(counts, found.values, sizeof found.values);
    return true;
}

static bool count_subject(int counters, struct kernels_bench *bench, size_t cell, size_t subject) {
    struct kernels_counted *counted = counted_at(bench, cell, subject);
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX}, counts[2];
    for (int i = 0; i < COUNTER_RUNS; i++) {
        if (!count_once(counters, &bench->cells[cell], bench->subjects[subject].sum, counts))
            return false;
        for (int j = 0; j < 2; j++)
            least[j] = counts[j] < least[j] ? counts[j] : least[j];
    }
    counted->instructions = (double)least[0] / calls_in(&bench->cells[cell]);
    counted->branches = (double)least[1] / calls_in(&bench->cells[cell]);
    return true;
}

static bool count_by_counters(struct kernels_bench *bench) {
    const int first = open_counter(PERF_COUNT_HW_INSTRUCTIONS, -1);
    const int second = first < 0 ? -1 : open_counter(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, first);
    bool ok = second >= 0;
    for (size_t cell = 0; ok && cell < bench->cell_count; cell++)
        for (size_t i = 0; ok && i < bench->subject_count; i++)
            ok = !is_counted_cell(&bench->cells[cell]) || count_subject(first, bench, cell, i);
    if (second >= 0)
        close(second);
    if (first >= 0)
        close(first);
    return ok;
}

/* --- callgrind, in the process that it counts --- */

/* Writes the name of a subject in a cell, the same in both processes: "adc hot 1500 1", or "adc
 * interleave 0 3". */
static void name_counted(char *name, size_t size, const struct kernels_bench *bench, size_t cell,
                         size_t subject) {
    const struct cell *of = &bench->cells[cell];
    snprintf(name, size, "%s %s %zu %zu", bench->subjects[subject].name, of->mode->name, of->size,
             of->align);
}

void kernels_run_all_counted(const struct kernels_bench *bench) {
    char name[NAME_BYTES];
    for (size_t cell = 0; cell < bench->cell_count; cell++)
        for (size_t i = 0; i < bench->subject_count && is_counted_cell(&bench->cells[cell]); i++) {
            name_counted(name, sizeof name, bench, cell, i);
            kernels_run_counted(&bench->cells[cell], bench->subjects[i].sum, name);
        }
}

/* --- callgrind, from outside --- */

/* The events of an output file of callgrind, in the order of the file. */
struct events {
    size_t count;
    double *targets[8]; /* where each count is added; NULL: it is ignored */
};

static void read_events(struct events *events, char *line, struct kernels_counted *counted) {
    events->count = 0;
    for (char *word = strtok(line, " \n"); word && events->count < 8; word = strtok(NULL, " \n")) {
        double *target = strcmp(word, "Ir") == 0 ? &counted->instructions : NULL;
        if (strcmp(word, "Bc") == 0 || strcmp(word, "Bi") == 0)
            target = &counted->branches;
        events->targets[events->count++] = target;
    }
}

static void read_totals(const struct events *events, char *line) {
    for (size_t i = 0; i < events->count; i++)
        if (events->targets[i])
            *events->targets[i] += strtod(line, &line);
        else
            strtod(line, &line);
}

/* Returns the text after a key at the start of a line; NULL if the line has another key. */
static char *text_after(char *line, const char *key) {
    const size_t length = strlen(key);
    return strncmp(line, key, length) == 0 ? line + length : NULL;
}

/* Reads a file of counts, and the name that the counted process gave it. */
static void read_counts(FILE *file, char *name, size_t size, struct kernels_counted *counted) {
    char line[LINE_BYTES], *rest;
    struct events events = {0};
    *counted = (struct kernels_counted){0, 0};
    *name = 0;
    while (fgets(line, sizeof line, file)) {
        if ((rest = text_after(line, "desc: Trigger: Client Request: ")))
            snprintf(name, size, "%.*s", (int)strcspn(rest, "\n"), rest);
        else if ((rest = text_after(line, "events: ")))
            read_events(&events, rest, counted);
        else if ((rest = text_after(line, "totals: ")))
            read_totals(&events, rest);
    }
}

static void put_counts(struct kernels_bench *bench, const char *name,
                       const struct kernels_counted *counted) {
    char own[NAME_BYTES];
    for (size_t cell = 0; cell < bench->cell_count; cell++)
        for (size_t i = 0; i < bench->subject_count; i++) {
            name_counted(own, sizeof own, bench, cell, i);
            if (strcmp(own, name) != 0)
                continue;
            const double calls = calls_in(&bench->cells[cell]);
            *counted_at(bench, cell, i) =
                (struct kernels_counted){counted->instructions / calls, counted->branches / calls};
        }
}

/* Reads out.1, out.2, ... and removes them. Returns whether any file existed. */
static bool read_files(struct kernels_bench *bench, const char *folder) {
    char path[LINE_BYTES], name[NAME_BYTES];
    struct kernels_counted counted;
    for (size_t number = 1;; number++) {
        snprintf(path, sizeof path, "%s/out.%zu", folder, number);
        FILE *file = fopen(path, "re");
        if (!file)
            return number > 1;
        read_counts(file, name, sizeof name, &counted);
        fclose(file);
        unlink(path);
        put_counts(bench, name, &counted);
    }
}

/* Replaces this process by callgrind, which runs the program again. Does not return. */
static void be_counted(const char *folder, char **arguments) {
    char out[LINE_BYTES], self[LINE_BYTES];
    size_t count = 0;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    while (arguments[count])
        count++;
    char *command[count + 8];
    snprintf(out, sizeof out, "--callgrind-out-file=%s/out", folder);
    char *const before[] = {"valgrind",         "--tool=callgrind",     "--quiet",
                            "--branch-sim=yes", "--collect-atstart=no", out};
    memcpy(command, before, sizeof before);
    command[6] = self;
    memcpy(command + 7, arguments + 1, count * sizeof *arguments); /* with the final NULL */
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    execvp(command[0], command);
    _exit(127);
}

static bool count_by_callgrind(struct kernels_bench *bench, char **arguments) {
    const char *top = getenv("TMPDIR");
    char folder[LINE_BYTES / 2], last[LINE_BYTES];
    int status = -1;
    if (!kernels_may_be_counted())
        return false;
    snprintf(folder, sizeof folder, "%s/carry-count-XXXXXX", top && *top ? top : "/tmp");
    if (!mkdtemp(folder))
        return false;
    const pid_t process = fork();
    if (process == 0)
        be_counted(folder, arguments);
    if (process > 0)
        waitpid(process, &status, 0);
    const bool ok = read_files(bench, folder) && status == 0;
    snprintf(last, sizeof last, "%s/out", folder);
    unlink(last);
    rmdir(folder);
    return ok;
}

/* --- Both ways --- */

/* Subtracts the counts of an empty function: the counts of the loop and of the call itself. */
static void subtract_floor(struct kernels_bench *bench) {
    for (size_t cell = 0; cell < bench->cell_count; cell++) {
        const struct kernels_counted floor = *counted_at(bench, cell, SUBJECT_FLOOR);
        for (size_t i = 0; i < bench->subject_count; i++) {
            counted_at(bench, cell, i)->instructions -= floor.instructions;
            counted_at(bench, cell, i)->branches -= floor.branches;
        }
    }
}

static void forget_counts(struct kernels_bench *bench) {
    for (size_t i = 0; i < bench->cell_count * bench->subject_count; i++)
        bench->counts[i] = (struct kernels_counted){NAN, NAN};
}

bool kernels_count(struct kernels_bench *bench, char **arguments) {
    bench->counts = calloc(bench->cell_count * bench->subject_count, sizeof *bench->counts);
    if (!bench->counts)
        return false;
    forget_counts(bench);
    if (count_by_counters(bench)) {
        bench->counted_by = "counters";
    } else {
        forget_counts(bench);
        if (count_by_callgrind(bench, arguments))
            bench->counted_by = "callgrind";
        else
            forget_counts(bench);
    }
    subtract_floor(bench);
    return true;
}
