/* SPDX-License-Identifier: MIT */
/* `carry bench capture`: times `carry check`, `carry fix` and other programs on one large capture
 * in the page cache. Each program is started with the command line that its users would type. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/benches.h"
#include "bench/capture_ends.h"
#include "bench/capture_loop.h"
#include "bench/capture_make.h"
#include "bench/capture_sum.h"
#include "bench/noise.h"
#include "common/clock.h"
#include "common/command.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/signals.h"
#include "common/text.h"

#define SIZE_DEFAULT ((uint64_t)1 << 30)
#define SIZE_QUICK   ((uint64_t)64 << 20)
#define SIZE_LEAST   ((uint64_t)1 << 20)
#define SIZE_LARGEST ((uint64_t)1 << 40)
#define ROUNDS       7
#define SECONDS_MOST 120 /* no round begins later: a limit for busy machines and slow disks */
#define ARGUMENTS    13
#define TOLERANCE    0.005 /* seconds by which the start and exit of a program vary */
#define PATH_SIZE    4096

/* Slow programs read only 1/PART_DIVISOR of the capture, and only once. Speeds are compared in
 * bytes per second. */
#define PART_DIVISOR 16

/* Placeholders in command lines. */
#define SELF      ""
#define FILE_NAME "FILE"
#define COPY_NAME "COPY"

/* The program with whose speed others are compared. */
#define LOOP "libpcap, empty loop"

#define TSHARK_FILTER                                                                              \
    "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"

/* The tasks by which programs are grouped. */
enum task { VERIFY, REPAIR, READ, COPY, PASS };

static const struct {
    const char *name, *heading;
} tasks[] = {
    [VERIFY] = {"verify", "verify the checksums"},
    [REPAIR] = {"repair", "write a copy with repaired checksums"},
    [READ] = {"read", "only read"},
    [COPY] = {"copy", "only copy"},
    [PASS] = {"pass", "repair in files and pipes"},
};

/* How a program gets the capture: by the name of the whole file or of a part, or through standard
 * input, from the file or from a pipe. */
enum way { WHOLE, PART, REDIRECTED, PIPED };

static const enum bench_ends_kind ends_kinds[] = {
    [WHOLE] = BENCH_ENDS_NONE,
    [PART] = BENCH_ENDS_NONE,
    [REDIRECTED] = BENCH_ENDS_FILES,
    [PIPED] = BENCH_ENDS_PIPES,
};

static const struct subject {
    const char *title;
    enum task task;
    enum way way;
    const char *command[ARGUMENTS];
} subjects[] = {
    {"carry check", VERIFY, WHOLE, {SELF, "check", "--quiet", FILE_NAME}},
    {"carry check -j1", VERIFY, WHOLE, {SELF, "check", "--quiet", "-j1", FILE_NAME}},
    {"tcpdump -vv", VERIFY, PART, {"tcpdump", "-nn", "-vv", "-r", FILE_NAME}},
    {"tshark",
     VERIFY,
     PART,
     {"tshark", "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o",
      "udp.check_checksum:TRUE", "-r", FILE_NAME, "-Y", TSHARK_FILTER}},
    {"carry fix", REPAIR, WHOLE, {SELF, "fix", "--quiet", FILE_NAME, "-o", COPY_NAME}},
    {"tcprewrite -C", REPAIR, PART, {"tcprewrite", "-C", "-i", FILE_NAME, "-o", COPY_NAME}},
    {"mapped and summed", READ, WHOLE, {SELF, "bench", "capture", "--sum-mapped", FILE_NAME}},
    {"cat", READ, WHOLE, {"cat", FILE_NAME}},
    {LOOP, READ, WHOLE, {SELF, "bench", "capture", "--libpcap-loop", FILE_NAME}},
    {"tcpdump -w", READ, WHOLE, {"tcpdump", "-r", FILE_NAME, "-w", "/dev/null"}},
    {"capinfos", READ, PART, {"capinfos", FILE_NAME}},
    {"cp", COPY, WHOLE, {"cp", FILE_NAME, COPY_NAME}},
    {"cp --reflink=never", COPY, WHOLE, {"cp", "--reflink=never", FILE_NAME, COPY_NAME}},
    {"carry fix FILE -o COPY", PASS, WHOLE, {SELF, "fix", "--quiet", FILE_NAME, "-o", COPY_NAME}},
    {"carry fix <FILE >COPY", PASS, REDIRECTED, {SELF, "fix", "--quiet", "-", "-o", "-"}},
    {"carry fix between pipes", PASS, PIPED, {SELF, "fix", "--quiet", "-", "-o", "-"}},
};

#define SUBJECTS (sizeof subjects / sizeof *subjects)

/* Programs whose speeds are compared, by their titles. */
static const struct comparison {
    const char *program, *beside;
} comparisons[] = {
    {"carry check", "carry check -j1"},
    {"carry check -j1", "libpcap, empty loop"},
    {"carry fix", "cp"},
    {"carry fix", "cp --reflink=never"},
    {"carry fix", "carry check"},
};

#define COMPARISONS (sizeof comparisons / sizeof *comparisons)

enum state { MEASURED, MISSING, BROKEN };

struct result {
    enum state state;
    int exit_status;
    size_t rounds;
    double seconds[ROUNDS], cpu_seconds[ROUNDS];
    uint64_t bytes;
    uint64_t peak_bytes;
};

struct options {
    uint64_t size;
    bool json;
    bool pipes;
    bool libpcap_loop, sum_mapped;
    const char *source;
};

struct bench {
    struct options options;
    FILE *whole, *part;
    uint64_t whole_bytes, part_bytes;
    struct result results[SUBJECTS];
    size_t rounds;
    struct bench_noise noise;
};

static const char usage[] =
    "Usage: carry bench capture [OPTION]... [FILE]\n"
    "\n"
    "Times carry check, carry fix, and other installed programs on one large capture\n"
    "in the page cache. The capture repeats the packets of FILE (default: made-up\n"
    "packets of 60, 590 and 1514 bytes, 7:4:1). The capture and the copies that the\n"
    "programs write are in $TMPDIR (/tmp) while the command runs.\n"
    "\n"
    "  --size=BYTES    make the capture at least this large, as 1G or 200M (1G)\n"
    "  --quick         the same as --size=64M\n"
    "  --pipes         time only carry fix: from file to file, with input and output\n"
    "                  redirected, and between pipes from a process that writes the\n"
    "                  capture and to one that drops the copy\n"
    "  --libpcap-loop  time nothing: only read FILE through libpcap with an empty\n"
    "                  callback, the minimal work of a program that uses libpcap\n"
    "  --sum-mapped    time nothing: only map FILE and sum its bytes, the minimal\n"
    "                  work of a program that looks at all of them\n"
    "  -J, --json      print everything measured as a JSON object\n"
    "  -h, --help      print this help\n"
    "\n"
    "Exit status: 0 measured; 1 carry failed; 3 wrong usage, or no space left; 127\n"
    "--libpcap-loop found no libpcap.\n"
    "\n"
    "Examples:\n"
    "  carry bench capture --quick\n"
    "  carry bench capture --size=4G capture.pcap\n";

/* --- Options --- */

static int set_size(const char *command, const struct option_row *row, const char *text) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        const int shift = 10 * (int)(unit - units + 1);
        value = value <= SIZE_LARGEST >> shift ? value << shift : SIZE_LARGEST + 1;
        end++;
    }
    if (*text < '0' || *text > '9' || *end || errno || value < SIZE_LEAST || value > SIZE_LARGEST)
        return command_usage(command, "--size takes bytes from 1M to 1024G, not '%s'", text);
    *(uint64_t *)row->target = value;
    return STATUS_CLEAN;
}

static int set_quick(const char *command, const struct option_row *row, const char *text) {
    (void)command, (void)text;
    *(uint64_t *)row->target = SIZE_QUICK;
    return STATUS_CLEAN;
}

/* Reads the options like options_read(). */
static bool read_capture_options(int argc, char **argv, struct options *options, int *status) {
    const struct option_row rows[] = {
        {"size", .set = set_size, .target = &options->size},
        {"quick", .set = set_quick, .value = VALUE_NONE, .target = &options->size},
        {"pipes", .flag = &options->pipes},
        {"libpcap-loop", .flag = &options->libpcap_loop},
        {"sum-mapped", .flag = &options->sum_mapped},
        {"json", 'J', .flag = &options->json},
        {0},
    };
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, status))
        return false;
    options->source = argv[optind];
    if (argc - optind > 1)
        *status = command_usage(argv[0], "unexpected argument '%s'", argv[optind + 1]);
    else if ((options->libpcap_loop || options->sum_mapped) && !options->source)
        *status = command_usage(argv[0], "--%s needs a FILE",
                                options->libpcap_loop ? "libpcap-loop" : "sum-mapped");
    return *status == STATUS_CLEAN;
}

/* --- The captures --- */

static const char *work_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

static void name_work_file(char *path, size_t size) {
    snprintf(path, size, "%s/carry-bench-XXXXXX", work_folder());
}

/* Opens a file without a name. It disappears when this process ends; other programs open it as
 * /dev/fd/N. */
static FILE *open_nameless(void) {
    char path[PATH_SIZE];
    sigset_t before;
    signals_hold(&before);
    name_work_file(path, sizeof path);
    int descriptor = mkstemp(path);
    if (descriptor >= 0)
        unlink(path);
    signals_release(&before);
    return descriptor < 0 ? NULL : fdopen(descriptor, "w+b");
}

/* The file that programs write, alone in a folder. It has a name, since carry fix renames its copy
   to that name. */
static char copy_folder[PATH_SIZE], copy_path[PATH_SIZE + 8];
static volatile pid_t running; /* the program that may be writing the copy, or 0 */

static void remove_copy(void) {
    if (running > 0)
        kill(running, SIGTERM);
    unlink(copy_path);
    rmdir(copy_folder);
}

static bool create_copy_folder(void) {
    sigset_t before;
    signals_hold(&before);
    name_work_file(copy_folder, sizeof copy_folder);
    const bool created = mkdtemp(copy_folder);
    snprintf(copy_path, sizeof copy_path, "%s/copy", copy_folder);
    signals_undo(remove_copy);
    signals_release(&before);
    return created;
}

/* Makes a capture in a child process, as the peak memory of a program includes the peak memory of
 * the process that started it. */
static bool make_one_capture(FILE *out, const char *source, uint64_t size, uint64_t *bytes) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(bench_capture_make(out, source, size) ? STATUS_CLEAN : STATUS_ERROR);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return false;
    fseek(out, 0, SEEK_END);
    *bytes = (uint64_t)ftell(out);
    return true;
}

static bool make_captures(struct bench *bench) {
    const struct options *options = &bench->options;
    bench->whole = open_nameless();
    bench->part = open_nameless();
    if (!bench->whole || !bench->part || !create_copy_folder()) {
        command_error("cannot create a capture in %s: %s", work_folder(), strerror(errno));
        return false;
    }
    return make_one_capture(bench->whole, options->source, options->size, &bench->whole_bytes) &&
           make_one_capture(bench->part, options->source, options->size / PART_DIVISOR,
                            &bench->part_bytes);
}

/* --- Measuring --- */

static const char *expand_argument(const char *argument, const char *capture) {
    if (strcmp(argument, FILE_NAME) == 0)
        return capture;
    return strcmp(argument, COPY_NAME) == 0 ? copy_path : argument;
}

static void exec_subject(const struct subject *subject, const char *name,
                         const struct bench_ends *ends) {
    char *arguments[ARGUMENTS + 1] = {0};
    for (size_t i = 0; i < ARGUMENTS && subject->command[i]; i++)
        arguments[i] = (char *)expand_argument(subject->command[i], name);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(BENCH_CAPTURE_MISSING);
    bench_ends_take(ends);
    if (strcmp(arguments[0], SELF) == 0) {
        arguments[0] = (char *)"carry";
        execv("/proc/self/exe", arguments);
    } else {
        execvp(arguments[0], arguments);
    }
    _exit(BENCH_CAPTURE_MISSING);
}

/* Returns the state for a wait status. A program that finds bad sums has not failed. */
static enum state subject_state(int status) {
    if (!WIFEXITED(status) ||
        (WEXITSTATUS(status) > STATUS_BAD && WEXITSTATUS(status) != BENCH_CAPTURE_MISSING))
        return BROKEN;
    return WEXITSTATUS(status) == BENCH_CAPTURE_MISSING ? MISSING : MEASURED;
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Runs a program from start to end; returns false if it could not be started or awaited. */
static bool run_once(const struct subject *subject, const char *name, int *status,
                     struct rusage *used) {
    struct bench_ends ends;
    const bool opened = bench_ends_open(&ends, ends_kinds[subject->way], name, copy_path);
    const pid_t child = opened ? fork() : -1;
    if (child == 0)
        exec_subject(subject, name, &ends);
    running = child;
    bench_ends_close(&ends);
    const bool ended = child > 0 && wait4(child, status, 0, used) == child;
    running = 0;
    bench_ends_wait(&ends);
    return ended;
}

static void measure_once(const struct subject *subject, FILE *capture, struct result *result) {
    struct rusage used;
    char name[32];
    int status;
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(capture));
    /* Removes the previous program's output, before the measured time: to replace a file, some file
       systems first write the new one to the disk. */
    unlink(copy_path);
    const int64_t before = clock_ns();
    if (!run_once(subject, name, &status, &used)) {
        result->state = BROKEN;
        return;
    }
    result->cpu_seconds[result->rounds] = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
    result->seconds[result->rounds++] = (double)(clock_ns() - before) / CLOCK_SECOND;
    result->state = subject_state(status);
    result->exit_status = WEXITSTATUS(status);
    const uint64_t peak = (uint64_t)used.ru_maxrss * 1024;
    result->peak_bytes = peak > result->peak_bytes ? peak : result->peak_bytes;
}

static bool is_slow(const struct subject *subject) {
    return subject->way == PART;
}

static bool is_subject_wanted(const struct bench *bench, size_t subject) {
    return bench->options.pipes == (subjects[subject].task == PASS);
}

/* Runs the programs of a round. Slow programs run only in round 0, and programs that failed do not
 * run again. Each round runs all other programs, so a slow moment of the machine affects all of
 * them. */
static void run_programs(struct bench *bench, size_t round) {
    for (size_t i = 0; i < SUBJECTS; i++) {
        const struct subject *subject = &subjects[i];
        struct result *result = &bench->results[i];
        if (!is_subject_wanted(bench, i))
            continue;
        result->bytes = is_slow(subject) ? bench->part_bytes : bench->whole_bytes;
        if (round == 0 || (!is_slow(subject) && result->state == MEASURED))
            measure_once(subject, is_slow(subject) ? bench->part : bench->whole, result);
        if (progress_due)
            progress_draw(round * SUBJECTS + i);
    }
}

/* Adds the noise of programs that ran more than once: the quartiles of a single run are equal. */
static void add_capture_noise(struct bench *bench) {
    bench->noise.ended_early = bench->rounds < ROUNDS;
    for (size_t i = 0; i < SUBJECTS; i++) {
        const struct result *result = &bench->results[i];
        if (result->state != MEASURED || result->rounds < 2)
            continue;
        const struct bench_stats seconds = bench_stats(result->seconds, result->rounds);
        const double half = (seconds.q3 - seconds.q1) / 2;
        bench_noise_add_share(&bench->noise, half > TOLERANCE ? half / seconds.median : 0);
    }
}

static void measure_programs(struct bench *bench) {
    const int64_t begin = clock_ns();
    progress_begin_steps(ROUNDS * SUBJECTS);
    while (bench->rounds < ROUNDS && clock_ns() - begin <= SECONDS_MOST * CLOCK_SECOND)
        run_programs(bench, bench->rounds++);
    progress_end();
    add_capture_noise(bench);
}

/* --- Results --- */

/* Returns gigabytes (10^9 bytes) a second. */
static struct bench_stats result_rates(const struct result *result) {
    struct bench_stats seconds = bench_stats(result->seconds, result->rounds);
    const double bytes = (double)result->bytes / 1e9;
    return (struct bench_stats){
        .median = bytes / seconds.median, .q1 = bytes / seconds.q3, .q3 = bytes / seconds.q1};
}

static const struct result *find_result(const struct bench *bench, const char *title) {
    size_t i = 0;
    while (strcmp(subjects[i].title, title) != 0)
        i++;
    return &bench->results[i];
}

/* Returns the result of libpcap's empty loop; NULL if it was not measured. */
static const struct result *find_loop(const struct bench *bench) {
    const struct result *loop = find_result(bench, LOOP);
    return loop->state == MEASURED ? loop : NULL;
}

/* Compares two programs round by round. Returns false if they did not run in the same rounds. */
static bool compare_speeds(const struct bench *bench, const struct comparison *comparison,
                           struct bench_stats *ratio) {
    const struct result *result = find_result(bench, comparison->program);
    const struct result *beside = find_result(bench, comparison->beside);
    double ratios[ROUNDS];
    if (result->state != MEASURED || beside->state != MEASURED || result->rounds != beside->rounds)
        return false;
    for (size_t i = 0; i < result->rounds; i++)
        ratios[i] = beside->seconds[i] / result->seconds[i];
    *ratio = bench_stats(ratios, result->rounds);
    return true;
}

static void print_comparisons(const struct bench *bench) {
    struct bench_stats ratio;
    printf("  speed beside another program, round by round: median and quartiles\n");
    for (size_t i = 0; i < COMPARISONS; i++)
        if (compare_speeds(bench, &comparisons[i], &ratio))
            printf("    %-16s beside %-20s %5.2f %6.2f %6.2f\n", comparisons[i].program,
                   comparisons[i].beside, ratio.median, ratio.q1, ratio.q3);
}

static void print_result(const struct subject *subject, const struct result *result,
                         const struct result *loop) {
    char title[TEXT_SIZE], peak[TEXT_SIZE], speed[TEXT_SIZE] = "-";
    const double rate = result->state == MEASURED ? result_rates(result).median : 0;
    snprintf(title, sizeof title, "%s%s", subject->title, is_slow(subject) ? " *" : "");
    if (loop)
        text_measure(speed, rate / result_rates(loop).median);
    if (result->state == MEASURED)
        printf("    %-20s %9.3f %11s %12s\n", title, rate, speed,
               text_bytes(peak, result->peak_bytes));
    else
        printf("    %-20s %s\n", title, result->state == MISSING ? "not installed" : "failed");
}

static double median_of(const double *seconds, const struct result *result) {
    return bench_stats(seconds, result->rounds).median;
}

/* Prints a result, with its speed as a multiple of the speed of `first`. */
static void print_pass(const struct subject *subject, const struct result *result,
                       const struct result *first) {
    char peak[TEXT_SIZE], speed[TEXT_SIZE], cpu_speed[TEXT_SIZE] = "-";
    if (result->state != MEASURED || first->state != MEASURED) {
        printf("    %-24s failed\n", subject->title);
        return;
    }
    const double time = median_of(result->seconds, result);
    const double cpu = median_of(result->cpu_seconds, result);
    text_measure(speed, median_of(first->seconds, first) / time);
    if (cpu > 0)
        text_measure(cpu_speed, median_of(first->cpu_seconds, first) / cpu);
    printf("    %-24s %9.3f %6s %9.3f %6s %12s\n", subject->title, time, speed, cpu, cpu_speed,
           text_bytes(peak, result->peak_bytes));
}

static void print_passes(const struct bench *bench) {
    const struct result *first = NULL;
    printf("  %-26s %9s %6s %9s %6s %12s\n", tasks[PASS].heading, "time, s", "speed", "CPU, s",
           "speed", "peak memory");
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (!is_subject_wanted(bench, i))
            continue;
        first = first ? first : &bench->results[i];
        print_pass(&subjects[i], &bench->results[i], first);
    }
}

static void print_programs(const struct bench *bench) {
    const struct result *loop = find_loop(bench);
    printf("  %-22s %9s %11s %12s\n", "", "GB/s", "of libpcap", "peak memory");
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (!is_subject_wanted(bench, i))
            continue;
        if (i == 0 || subjects[i].task != subjects[i - 1].task)
            printf("  %s\n", tasks[subjects[i].task].heading);
        print_result(&subjects[i], &bench->results[i], loop);
    }
    print_comparisons(bench);
}

static void print_capture_text(const struct bench *bench) {
    struct bench_machine machine;
    char whole[TEXT_SIZE], part[TEXT_SIZE];
    bench_machine(&machine);
    printf("%s%s%s, %ld cores\n", text_colour(COLOUR_BOLD), machine.cpu, text_colour(COLOUR_NONE),
           sysconf(_SC_NPROCESSORS_ONLN));
    printf("capture: %s in the page cache; ", text_bytes(whole, bench->whole_bytes));
    if (bench->options.pipes)
        printf("medians of %zu runs, speeds beside the first\n\n", bench->rounds);
    else
        printf("programs with * read %s once,\n"
               "the others all of it %zu times: medians\n"
               "\n",
               text_bytes(part, bench->part_bytes), bench->rounds);
    (bench->options.pipes ? print_passes : print_programs)(bench);
    bench_noise_print(&bench->noise);
}

static json_t *result_json(const struct subject *subject, const struct result *result) {
    json_t *object = json_pack("{s:s, s:s, s:I}", "program", subject->title, "task",
                               tasks[subject->task].name, "bytes", (json_int_t)result->bytes);
    struct bench_stats rate = {0};
    double cpu = 0;
    if (result->state == MEASURED) {
        rate = result_rates(result);
        cpu = median_of(result->cpu_seconds, result);
    }
    const struct {
        const char *key;
        json_t *value;
    } measured[] = {
        {"gb_per_s", json_real(rate.median)},
        {"q1", json_real(rate.q1)},
        {"q3", json_real(rate.q3)},
        {"peak_bytes", json_integer((json_int_t)result->peak_bytes)},
        {"cpu_seconds", json_real(cpu)},
    };
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        json_object_set(object, measured[i].key,
                        result->state == MEASURED ? measured[i].value : json_null());
        json_decref(measured[i].value);
    }
    return object;
}

static json_t *comparisons_json(const struct bench *bench) {
    json_t *array = json_array();
    struct bench_stats ratio;
    for (size_t i = 0; i < COMPARISONS; i++)
        if (compare_speeds(bench, &comparisons[i], &ratio))
            json_array_append_new(array,
                                  json_pack("{s:s, s:s, s:f, s:f, s:f}", "program",
                                            comparisons[i].program, "beside", comparisons[i].beside,
                                            "speed", ratio.median, "q1", ratio.q1, "q3", ratio.q3));
    return array;
}

static void print_capture_json(const struct bench *bench) {
    json_t *programs = json_array();
    for (size_t i = 0; i < SUBJECTS; i++)
        if (is_subject_wanted(bench, i))
            json_array_append_new(programs, result_json(&subjects[i], &bench->results[i]));
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "bench", "capture", "machine",
                  bench_machine_json(), "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "noise",
                  bench_noise_json(&bench->noise), "programs", programs, "comparisons",
                  comparisons_json(bench));
    json_print_report(object);
}

/* Returns whether carry ran, and found every sum good if the capture was made up. */
static bool has_carry_passed(const struct bench *bench) {
    for (size_t i = 0; i < SUBJECTS; i++) {
        const struct result *result = &bench->results[i];
        bool clean = bench->options.source || result->exit_status == STATUS_CLEAN;
        if (is_subject_wanted(bench, i) && subjects[i].task != READ &&
            strcmp(subjects[i].command[0], SELF) == 0 && (result->state != MEASURED || !clean))
            return false;
    }
    return true;
}

static int run_capture_bench(struct bench *bench) {
    fflush(stdout);
    if (!make_captures(bench))
        return STATUS_ERROR;
    measure_programs(bench);
    if (bench->options.json)
        print_capture_json(bench);
    else
        print_capture_text(bench);
    return has_carry_passed(bench) ? STATUS_CLEAN : STATUS_BAD;
}

int bench_capture(int argc, char **argv) {
    struct bench bench = {.options.size = SIZE_DEFAULT};
    int status;
    if (!read_capture_options(argc, argv, &bench.options, &status))
        return status;
    if (bench.options.libpcap_loop)
        return bench_capture_loop(bench.options.source);
    if (bench.options.sum_mapped)
        return bench_capture_sum(bench.options.source);
    status = run_capture_bench(&bench);
    remove_copy();
    if (bench.whole)
        fclose(bench.whole);
    if (bench.part)
        fclose(bench.part);
    return status;
}
