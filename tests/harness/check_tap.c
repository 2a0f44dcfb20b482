/* SPDX-License-Identifier: MIT */
#include "harness/check_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/tap.h"
#include "harness/verdict.h"

#define CHILD_SECONDS  60
#define CANNOT_RUN     127
#define COMMAND_STARTS "# repeat: "
#define A10            "aaaaaaaaaa"
#define A40            A10 A10 A10 A10

static void pass_all(void);
static void fail_numbers(void);
static void fail_strings(void);
static void fail_bytes(void);
static void fail_conditions(void);
static void fail_second(void);

static const struct program {
    const char *name;
    void (*run)(void);
    const char *point; /* CARRY_TEST_POINT, or NULL */
    int status;
    unsigned commands;  /* number of lines with commands that repeat a point */
    const char *output; /* without these lines */
} programs[] = {
    {"conditions that are true print nothing, and are evaluated once, in order", pass_all, NULL, 0,
     0,
     "ok 1 - all hold\n"
     "1..1\n"},
    {"different numbers", fail_numbers, NULL, 1, 8,
     "# tests/numbers.c:1: three is 3 (0x3), expected 4 (0x4)\n"
     "not ok 1 - EQ\n"
     "# tests/numbers.c:2: three is 3 (0x3), expected != 3 (0x3)\n"
     "not ok 2 - NE\n"
     "# tests/numbers.c:3: three is 3 (0x3), expected < 3 (0x3)\n"
     "not ok 3 - LT\n"
     "# tests/numbers.c:4: three is 3 (0x3), expected <= 2 (0x2)\n"
     "not ok 4 - LE\n"
     "# tests/numbers.c:5: three is 3 (0x3), expected > 3 (0x3)\n"
     "not ok 5 - GT\n"
     "# tests/numbers.c:6: three is 3 (0x3), expected >= 4 (0x4)\n"
     "not ok 6 - GE\n"
     "# tests/numbers.c:7: UINT64_MAX is 18446744073709551615 (0xffffffffffffffff), expected -1 "
     "(0xffffffffffffffff)\n"
     "not ok 7 - signs\n"
     "# tests/numbers.c:8: (char *)16 is 16 (0x10), expected 0 (0x0)\n"
     "not ok 8 - pointers\n"
     "1..8\n"},
    {"different strings", fail_strings, NULL, 1, 5,
     "# tests/strings.c:1: text is \"one\\n\\\"\\xff\\\\\", expected \"one\"\n"
     "not ok 1 - escapes\n"
     "# tests/strings.c:2: none is NULL, expected \"\"\n"
     "not ok 2 - none\n"
     "# tests/strings.c:3: none is NULL, expected NULL\n"
     "not ok 3 - none twice\n"
     "# tests/strings.c:4: hundred + 1 is ...\"" A40 "b\", expected ...\"" A40 "a\"\n"
     "not ok 4 - the end\n"
     "# tests/strings.c:5: hundred is \"" A40 A40 A10 "\"..., expected \"\"\n"
     "not ok 5 - the beginning\n"
     "1..5\n"},
    {"different bytes", fail_bytes, NULL, 1, 2,
     "# tests/bytes.c:1: text differs at byte 3 of 6: from byte 0 it is 6f 6e 65 0a 22 ff, "
     "expected "
     "6f 6e 65 00 00 00\n"
     "not ok 1 - few\n"
     "# tests/bytes.c:2: hundred differs at byte 99 of 100: from byte 95 it is 61 61 61 61 62, "
     "expected 61 61 61 61 61\n"
     "not ok 2 - the end\n"
     "1..2\n"},
    {"conditions without values", fail_conditions, NULL, 1, 4,
     "# tests/conditions.c:1: failed: !three\n"
     "not ok 1 - the first\n"
     "# tests/conditions.c:2: failed: three == 4 || !three\n"
     "not ok 2 - 100%\n"
     "# tests/conditions.c:3: failed: !three\n"
     "not ok 3 - a bare one\n"
     "# tests/conditions.c:5: avx2: reads past the end\n"
     "not ok 4 - avx2\n"
     "1..4\n"},
    {"all points", fail_second, NULL, 1, 1,
     "# before the first\n"
     "ok 1 - first\n"
     "# before the second\n"
     "# tests/points.c:4: three is 3 (0x3), expected 4 (0x4)\n"
     "not ok 2 - second\n"
     "ok 3 - third # SKIP why\n"
     "without tap.c\n"
     "ok 4 - fourth\n"
     "1..4\n"},
    {"a point that passes, alone", fail_second, "4", 0, 0,
     "without tap.c\n"
     "ok 1 - fourth\n"
     "1..1\n"},
    {"a point that fails, alone", fail_second, "2", 1, 1,
     "# before the second\n"
     "# tests/points.c:4: three is 3 (0x3), expected 4 (0x4)\n"
     "not ok 1 - second\n"
     "1..1\n"},
    {"a point that is skipped, alone", fail_second, "3", 1, 0,
     "ok 1 - third # SKIP why\n"
     "1..1\n"},
    {"a point that is not reached", fail_second, "5", 1, 0,
     "without tap.c\n"
     "not ok 1 - CARRY_TEST_POINT is 5, but there are 4 points\n"
     "1..1\n"},
    {"a text that is not the number of a point", fail_second, "2nd", 1, 0,
     "Bail out! CARRY_TEST_POINT is not the number of a point: 2nd\n"},
};

#define PROGRAMS (sizeof programs / sizeof *programs)

/* The exit status and the output of a child process. */
struct run {
    int status;
    char output[16384];
};

static struct run runs[PROGRAMS], command_run;

int check_tap_fail(void) {
    fail_second();
    return tap_done();
}

static void run_program(const struct program *program) {
    if (program->point)
        setenv("CARRY_TEST_POINT", program->point, 1);
    else
        unsetenv("CARRY_TEST_POINT");
    program->run();
    exit(tap_done());
}

/* Starts this program again, with settings and a name that a shell would split. */
static void run_command(const struct program *program) {
    (void)program;
    static const char *const unset[] = {"CARRY_TEST_POINT",  "CARRY_TEST_LEVEL", "CARRY_TEST_SEED",
                                        "CARRY_TEST_FRAMES", "CARRY_CPU_MASK",   "QEMU_CPU"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    setenv("CARRY_TEST_POINT", "2", 1);
    setenv("CARRY_TEST_LEVEL", "sh ort", 1);
    setenv("CARRY_TEST_SEED", "0x1", 1);
    execl("/proc/self/exe", "it's", "tap", (char *)NULL);
    _exit(CANNOT_RUN);
}

static void read_output(int descriptor, struct run *run) {
    size_t used = 0;
    ssize_t size;
    while ((size = read(descriptor, run->output + used, sizeof run->output - 1 - used)) > 0)
        used += (size_t)size;
    run->output[used] = '\0';
}

static void capture_output(void (*child)(const struct program *), const struct program *program,
                           struct run *run) {
    int ends[2];
    run->status = -1;
    if (pipe(ends))
        return;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        alarm(CHILD_SECONDS);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        child(program);
    }
    close(ends[1]);
    read_output(ends[0], run);
    close(ends[0]);
    int status;
    if (process > 0 && waitpid(process, &status, 0) == process && WIFEXITED(status))
        run->status = WEXITSTATUS(status);
}

void check_tap_run(void) {
    for (size_t i = 0; i < PROGRAMS; i++)
        capture_output(run_program, &programs[i], &runs[i]);
    capture_output(run_command, NULL, &command_run);
}

/* Removes the lines with commands that repeat a point. Returns their number. */
static unsigned cut_commands(char *output) {
    unsigned count = 0;
    for (char *line; (line = strstr(output, COMMAND_STARTS)); count++) {
        const char *rest = line + strcspn(line, "\n");
        rest += *rest == '\n';
        memmove(line, rest, strlen(rest) + 1);
    }
    return count;
}

static void report_command(void) {
    const char *name = "a point that fails prints the command that repeats it";
    if (command_run.status == CANNOT_RUN) {
        tap_skip(name, "programs cannot start themselves here");
        return;
    }
    const char *line = strstr(command_run.output, COMMAND_STARTS);
    char *end = line ? strchr(line, '\n') : NULL;
    if (end)
        *end = '\0';
    tap_ok(TAP_STREQ(line, COMMAND_STARTS "CARRY_TEST_LEVEL='sh ort' CARRY_TEST_SEED=0x1 "
                                          "CARRY_TEST_POINT=2 'it'\\''s' tap"),
           "%s", name);
}

void check_tap_report(void) {
    for (size_t i = 0; i < PROGRAMS; i++) {
        unsigned commands = cut_commands(runs[i].output);
        tap_ok(TAP_STREQ(runs[i].output, programs[i].output) &&
                   TAP_EQ(commands, programs[i].commands) &&
                   TAP_EQ(runs[i].status, programs[i].status),
               "TAP: %s", programs[i].name);
    }
    report_command();
}

/* --- The programs. #line gives them paths as Meson passes them to the compiler --- */

static const int three = 3;
static const char text[] = "one\n\"\xff\\";
static const char *const none = NULL;
static const char hundred[] = A40 A40 A10 "aaaaaaaaab";
static const char same[] = A40 A40 A10 A10 "aa";

static unsigned next_number(void) {
    static unsigned number;
    return ++number;
}

static bool crash_if_called(void) {
    abort();
}

static void pass_all(void) {
    enum color { RED = -1, GREEN } color = RED;
    const bool is_set = true;
    tap_ok(TAP_LT(next_number(), next_number()) && TAP_EQ(next_number(), 3) &&
               TAP_LE(next_number(), next_number()) && TAP_GT(10, next_number()) &&
               TAP_GE(7, next_number()) && TAP_NE(next_number(), 7) && TAP_EQ(next_number(), 9) &&
               TAP_LE(three, 3) && TAP_GE(three, 3) && TAP_EQ(color, -1) && TAP_NE(color, GREEN) &&
               TAP_EQ(is_set, true) && TAP_EQ(UINT64_MAX, ~UINT64_C(0)) && TAP_NE(UINT64_MAX, -1) &&
               TAP_EQ(none, NULL) && TAP_NE(text, NULL) && TAP_EQ(&text[1], text + 1) &&
               TAP_EQ(pass_all, pass_all) && TAP_STREQ("three", "three") &&
               TAP_MEMEQ(text, "one", 3) && TAP_MEMEQ(NULL, NULL, 0) && TAP_TRUE(three) &&
               TAP_TRUE(is_set),
           "all hold");
}

/* clang-format off: each point in one line */
static void fail_numbers(void) {
#line 1 "../tests/numbers.c"
    tap_ok(TAP_EQ(three, 4), "EQ");
    tap_ok(TAP_NE(three, 3), "NE");
    tap_ok(TAP_LT(three, 3), "LT");
    tap_ok(TAP_LE(three, 2), "LE");
    tap_ok(TAP_GT(three, 3), "GT");
    tap_ok(TAP_GE(three, 4), "GE");
    tap_ok(TAP_EQ(UINT64_MAX, -1), "signs");
    tap_ok(TAP_EQ((char *)16, NULL), "pointers");
}

static void fail_strings(void) {
#line 1 "../tests/strings.c"
    tap_ok(TAP_STREQ(text, "one"), "escapes");
    tap_ok(TAP_STREQ(none, ""), "none");
    tap_ok(TAP_STREQ(none, NULL), "none twice");
    tap_ok(TAP_STREQ(hundred + 1, same + 3), "the end");
    tap_ok(TAP_STREQ(hundred, ""), "the beginning");
}

static void fail_bytes(void) {
#line 1 "../../tests/bytes.c"
    tap_ok(TAP_MEMEQ(text, "one\0\0\0", 6), "few");
    tap_ok(TAP_MEMEQ(hundred, same, 100), "the end");
}

static void fail_conditions(void) {
#line 1 "../tests/conditions.c"
    tap_ok(TAP_TRUE(three) && TAP_TRUE(!three) && TAP_TRUE(crash_if_called()), "the first");
    tap_ok(three == 4 || !three, "100%%");
    tap_ok(!three, "a bare one");
    const struct verdict verdict = {.text = "reads past the end"};
    verdict_report(&verdict, "avx2");
}

static void fail_second(void) {
#line 1 "../tests/points.c"
    tap_note("before the first");
    tap_ok(true, "first");
    tap_note("before the second");
    tap_ok(TAP_EQ(three, 4), "second");
    tap_skip("third", "why");
    puts("without tap.c");
    tap_ok(true, "fourth");
}
