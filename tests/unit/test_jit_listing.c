/* SPDX-License-Identifier: MIT */
/*
 * Tests the information that profilers and debuggers get about functions made at run time.
 *
 * usage: test_jit_listing [crash]     `crash` crashes in such a function, called by
 * die_in_function()
 */
#include <carry/jit.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/tap.h"

#define LINE_BYTES 512

/* A list entry as defined in GDB's manual. */
struct entry {
    struct entry *next, *prev;
    const char *file;
    uint64_t size;
};

extern struct {
    uint32_t version, action;
    struct entry *relevant, *first;
} __jit_debug_descriptor;

/* Makes a function for sums. Not inlined: sanitizers do not see that a cancelled thread leaves its
   variables. */
static __attribute__((noinline)) const struct carry_jit *make_sum(size_t size) {
    struct carry_jit_sum_spec spec = {.min_size = size, .max_size = size, .vector_bits = 64};
    const struct carry_jit *jit;
    return carry_jit_sum(&spec, &jit) ? NULL : jit;
}

/* --- perf --- */

static const char *map_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    return path;
}

static int lines_like(const char *expected) {
    FILE *map = fopen(map_path(), "r");
    char line[LINE_BYTES];
    int count = 0;
    while (map && fgets(line, sizeof line, map))
        count += !strcmp(line, expected);
    if (map)
        fclose(map);
    return count;
}

/*
 * Returns how many lines of the map describe `jit`, with its address, its size and `name`.
 */
static int lines_for(const struct carry_jit *jit, const char *name) {
    char expected[LINE_BYTES];
    snprintf(expected, sizeof expected, "%" PRIxPTR " %zx %s\n", (uintptr_t)jit->sum,
             jit->text_size, name);
    return lines_like(expected);
}

static const struct carry_jit *inherited;

static bool child_has_a_map_of_its_own(void) {
    const struct carry_jit *own = make_sum(48);
    bool ok = own && lines_for(own, "carry_jit_sum_48") == 1;
    ok &= lines_for(inherited, "carry_jit_sum_40") == 0;
    carry_jit_release(own);
    return !unlink(map_path()) && ok;
}

/* A line that another code generator wrote. */
static const char foreign_line[] = "1000 10 foreign\n";

static bool write_map(time_t seconds_ago) {
    const struct timespec then = {.tv_sec = time(NULL) - seconds_ago};
    FILE *map = fopen(map_path(), "w");
    bool ok = map && fputs(foreign_line, map) >= 0 && !fflush(map) &&
              !futimens(fileno(map), (const struct timespec[]){then, then});
    return map && !fclose(map) && ok;
}

/*
 * Returns whether the lines of a map written `seconds_ago` remain after this process has written
 * two lines.
 */
static bool keeps_lines_of(time_t seconds_ago, bool *ok) {
    *ok = write_map(seconds_ago);
    const struct carry_jit *first = make_sum(72), *second = make_sum(80);
    *ok &= first && second && lines_for(first, "carry_jit_sum_72") == 1 &&
           lines_for(second, "carry_jit_sum_80") == 1;
    const bool kept = lines_like(foreign_line) == 1;
    carry_jit_release(first);
    carry_jit_release(second);
    *ok &= !unlink(map_path());
    return kept;
}

static bool child_drops_what_is_older(void) {
    bool ok;
    return !keeps_lines_of(60 * 60, &ok) && ok;
}

static bool child_keeps_what_is_newer(void) {
    bool ok;
    return keeps_lines_of(0, &ok) && ok;
}

static const struct carry_jit *kept;

/* Makes a function in a cancelled thread. The thread must not end before the first point of
   cancellation after the file accesses. */
static void *make_cancelled(void *unused) {
    pthread_cancel(pthread_self());
    int error = carry_jit_list(CARRY_JIT_PERF);
    kept = error ? NULL : make_sum(64);
    pthread_testcancel();
    return unused;
}

static bool makes_although_cancelled(void) {
    pthread_t thread;
    void *result = NULL;
    bool ok =
        !pthread_create(&thread, NULL, make_cancelled, NULL) && !pthread_join(thread, &result);
    ok = ok && result == PTHREAD_CANCELED && kept && lines_for(kept, "carry_jit_sum_64") == 1;
    return !unlink(map_path()) && ok;
}

static void test_perf(void) {
    const struct carry_jit *unlisted = make_sum(32);
    int error = carry_jit_list(CARRY_JIT_PERF);
    inherited = make_sum(40);
    const struct carry_jit *again = make_sum(40);
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_TRUE(unlisted) && TAP_TRUE(inherited) && TAP_TRUE(again),
           "the map is created");
    tap_ok(TAP_EQ(lines_for(inherited, "carry_jit_sum_40"), 1), "a function has one line");
    tap_ok(TAP_EQ(lines_for(unlisted, "carry_jit_sum_32"), 0),
           "a function made before has no line");
    tap_ok(child_says(NULL, child_has_a_map_of_its_own), "a child process writes its own map");
    tap_ok(child_says(NULL, child_drops_what_is_older),
           "lines of an earlier process with the same number are removed");
    tap_ok(child_says(NULL, child_keeps_what_is_newer),
           "lines of other generators in the process remain");
    tap_ok(child_says(NULL, makes_although_cancelled), "a cancelled thread makes a function");
    carry_jit_list(0);
    const struct carry_jit *later = make_sum(56);
    tap_ok(TAP_EQ(lines_for(later, "carry_jit_sum_56"), 0),
           "a function made after the end of the list has no line");
    carry_jit_release(unlisted);
    carry_jit_release(inherited);
    carry_jit_release(again);
    carry_jit_release(later);
    unlink(map_path());
}

static void test_foreign_files(void) {
    char target[80];
    snprintf(target, sizeof target, "%s.target", map_path());
    bool ok = !symlink(target, map_path());
    tap_ok(TAP_TRUE(ok) && TAP_EQ(carry_jit_list(CARRY_JIT_PERF), CARRY_ERROR_PERMISSION) &&
               TAP_TRUE(access(target, F_OK)),
           "a link in the map's place is not followed");
    unlink(map_path());
    ok = !mkfifo(map_path(), 0600);
    tap_ok(TAP_TRUE(ok) && TAP_EQ(carry_jit_list(CARRY_JIT_PERF), CARRY_ERROR_PERMISSION),
           "a pipe in the map's place is not waited for");
    unlink(map_path());
    tap_ok(TAP_EQ(carry_jit_list(1u << 7), CARRY_ERROR_INVALID),
           "an unknown kind of list is refused");
}

/* --- GDB --- */

static size_t entry_count(void) {
    size_t count = 0;
    const struct entry *prev = NULL;
    for (const struct entry *at = __jit_debug_descriptor.first; at; at = at->next) {
        if (at->prev != prev || memcmp(at->file, "\177ELF", 4))
            return SIZE_MAX;
        prev = at;
        count++;
    }
    return count;
}

static void test_gdb_list(void) {
    const struct carry_jit *made[3];
    carry_jit_list(CARRY_JIT_GDB);
    for (size_t i = 0; i < 3; i++)
        made[i] = make_sum(64 + 8 * i);
    tap_ok(TAP_EQ(entry_count(), 3), "three functions have three symbol files");
    carry_jit_release(made[1]);
    tap_ok(TAP_EQ(entry_count(), 2), "the middle one is removed");
    carry_jit_release(made[0]);
    carry_jit_release(made[2]);
    tap_ok(TAP_EQ(entry_count(), 0), "all are removed");
    carry_jit_list(0);
}

static const struct carry_jit *fatal;

__attribute__((noinline)) static uint32_t die_in_function(void) {
    return fatal->sum(NULL, 1024, 0) + 1;
}

static bool output_contains(const char *text, const char *word) {
    bool found = strstr(text, word);
    if (!found)
        tap_note("no \"%s\" in GDB's output: %s", word, text);
    return found;
}

static void test_gdb(const char *program) {
    static char text[1 << 16];
    char command[LINE_BYTES];
    if (system("command -v gdb >/dev/null 2>&1")) {
        tap_skip("backtraces", "gdb is not installed");
        return;
    }
    snprintf(command, sizeof command,
             "gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex bt"
             " --args %s crash 2>&1",
             program);
    fflush(stdout);
    FILE *gdb = popen(command, "r");
    size_t size = gdb ? fread(text, 1, sizeof text - 1, gdb) : 0;
    text[size] = '\0';
    if (gdb)
        pclose(gdb);
    if (strstr(text, "ptrace: ") || strstr(text, "Exec format error")) {
        tap_skip("backtraces", "gdb cannot trace here, or not programs of this architecture");
        return;
    }
    tap_ok(output_contains(text, "carry_jit_sum_1024 ()"),
           "GDB names the function in which it stopped");
    tap_ok(TAP_TRUE(output_contains(text, "in die_in_function")) &&
               TAP_TRUE(output_contains(text, "in main")),
           "GDB finds the function's callers");
}

int main(int argc, char **argv) {
    if (argc > 1) {
        carry_jit_list(CARRY_JIT_GDB);
        fatal = make_sum(1024);
        return fatal ? (int)(die_in_function() & 1) : 2;
    }
    test_perf();
    test_foreign_files();
    test_gdb_list();
    test_gdb(argv[0]);
    return tap_done();
}
