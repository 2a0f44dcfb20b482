/* SPDX-License-Identifier: MIT */
/* Ten captures, open and checked in ten threads at once; and what worker threads do with signals.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/captures.h"
#include "harness/tap.h"

#define CAPTURES 10
#define COPIES   600

static struct bytes bytes;

/* One of the captures, and the others' barrier. */
struct own {
    pthread_t thread;
    uint64_t counted, findings;
    uint64_t repaired;
    int code;
};

static pthread_barrier_t barrier;

static bool count_finding(void *user, const struct carry_capture_finding *finding) {
    struct own *own = user;
    own->findings += finding->number > 0;
    return true;
}

static void *work(void *user) {
    struct own *own = user;
    const struct carry_capture_check_options options = {
        .threads = 3, .finding = count_finding, .user = own};
    struct carry_capture_summary *summary;
    struct carry_capture_repairs *repairs = NULL;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    pthread_barrier_wait(&barrier);
    own->code = carry_capture_check(capture, &options, &summary);
    own->counted = carry_capture_total(summary, ~0u);
    if (own->code == CARRY_OK)
        own->code = carry_capture_rewind(capture);
    if (own->code == CARRY_OK)
        own->code = carry_capture_fix(capture, NULL, NULL, &repairs);
    own->repaired = repairs ? carry_capture_repair_totals(repairs)->repaired : 0;
    pthread_barrier_wait(&barrier); /* all are still open */
    carry_capture_repairs_free(repairs);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    return NULL;
}

static void test_ten(void) {
    struct own owns[CAPTURES] = {{0}};
    bool ok = true;
    pthread_barrier_init(&barrier, NULL, CAPTURES);
    for (unsigned i = 0; i < CAPTURES; i++)
        if (pthread_create(&owns[i].thread, NULL, work, &owns[i]))
            abort();
    for (unsigned i = 0; i < CAPTURES; i++) {
        pthread_join(owns[i].thread, NULL);
        ok &= owns[i].code == CARRY_OK && owns[i].counted == 14 * COPIES &&
              owns[i].findings == 3 * COPIES && owns[i].repaired == owns[0].repaired;
    }
    pthread_barrier_destroy(&barrier);
    tap_ok(ok && owns[0].repaired >= 6 * COPIES, "ten captures in ten threads at once");
}

/* --- Signals --- */

struct seen {
    unsigned workers, open; /* of these, the ones that a signal may interrupt */
};

/* Does a thread block all signals that can be blocked? */
static bool blocks_all(const char *thread) {
    char path[300], line[200];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "SigBlk: %llx", &blocked);
    if (file)
        fclose(file);
    const unsigned long long terminal =
        1u << (SIGINT - 1) | 1u << (SIGTERM - 1) | 1u << (SIGALRM - 1) | 1u << (SIGCHLD - 1);
    return (blocked & terminal) == terminal;
}

static bool look_at_workers(void *user, const struct carry_capture_progress *progress) {
    struct seen *seen = user;
    char own[20];
    (void)progress;
    if (seen->workers)
        return true;
    snprintf(own, sizeof own, "%d", getpid());
    DIR *threads = opendir("/proc/self/task");
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        if (*entry->d_name == '.' || strcmp(entry->d_name, own) == 0)
            continue;
        seen->workers++;
        seen->open += !blocks_all(entry->d_name);
    }
    if (threads)
        closedir(threads);
    return true;
}

static void test_signals(void) {
    struct seen seen = {0};
    const struct carry_capture_check_options options = {
        .threads = 3, .progress = look_at_workers, .user = &seen};
    struct carry_capture_summary *summary;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    carry_capture_check(capture, &options, &summary);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    if (seen.workers != 2)
        tap_skip("workers block signals", "%u other threads are seen here", seen.workers);
    else
        tap_ok(seen.open == 0, "workers block signals");
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    tap_ok(!sigismember(&blocked, SIGINT), "the calling thread does not");
}

int main(void) {
    bytes = make_long_capture(COPIES);
    test_signals();
    test_ten();
    bytes_free(&bytes);
    return tap_done();
}
