/* SPDX-License-Identifier: MIT */
/*
 * Tests repairs into files: the kernel clones, copies, copies a part, or refuses, with a thread and
 * without one. The copy must be that of a sink that gets every byte, also if the file changes
 * meanwhile. The program replaces the functions of kernel_copy.h, some of threads.h, reading,
 * writing and the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "copier.h"
#include "harness/captures.h"
#include "harness/tap.h"
#include "kernel_copy.h"
#include "spans.h"
#include "threads.h"

#define COPIED_BYTES ((uint64_t)1 << 20) /* a thread copies so many bytes at once */

/* --- The kernel --- */

enum kernel { COPIES, COPIES_SOME, ENDS_EARLY, REFUSES, CLONES, REFUSES_CLONES };

static const char *const kernel_names[] = {
    [COPIES] = "copies",
    [COPIES_SOME] = "copies one part",
    [ENDS_EARLY] = "reports an early end",
    [REFUSES] = "refuses",
    [CLONES] = "clones",
    [REFUSES_CLONES] = "refuses to clone",
};

#define KERNELS (sizeof kernel_names / sizeof *kernel_names)

static struct {
    enum kernel kernel;
    unsigned copies, clones;     /* calls */
    time_t later;                /* the clock is so many seconds ahead */
    int from, to;                /* descriptors */
    void (*before)(int from);    /* NULL, or called once, before anything is copied */
    void (*meanwhile)(int from); /* NULL, or called once, after the first piece or the clone */
    void (*written)(int from);   /* NULL, or called once, before the first change is written */
    unsigned changes;            /* calls that write bytes */
    unsigned change_fails_at;    /* the number of the call that fails, from 1; 0: none */
    bool threadless;             /* no thread can be started */
    bool interrupts;             /* a signal interrupts each second call that reads or writes */
    unsigned interruptible;      /* such calls */
    uint64_t holds_from;         /* the first copying from there on waits, if it is not 0, until the
                                    caller waits for the thread, or ends it */
    bool held;
} world;

static sem_t holding, resumed;

static void await_event(sem_t *event) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 20;
    while (sem_timedwait(event, &time))
        if (errno != EINTR)
            abort();
}

int64_t __real_carry_kernel_copy(int from, uint64_t from_offset, int to, uint64_t to_offset,
                                 size_t size);
int64_t __wrap_carry_kernel_copy(int from, uint64_t from_offset, int to, uint64_t to_offset,
                                 size_t size);
bool __real_carry_kernel_clones(int descriptor);
bool __wrap_carry_kernel_clones(int descriptor);
bool __real_carry_kernel_clone(int from, int to);
bool __wrap_carry_kernel_clone(int from, int to);
int __real_carry_kernel_write(int to, uint64_t offset, const void *bytes, size_t size);
int __wrap_carry_kernel_write(int to, uint64_t offset, const void *bytes, size_t size);
bool __real_carry_threads_start(struct threads *threads, void (*run)(void *, unsigned),
                                void *context, unsigned number);
bool __wrap_carry_threads_start(struct threads *threads, void (*run)(void *, unsigned),
                                void *context, unsigned number);
void __real_carry_threads_wait(struct threads *threads, enum threads_event event);
void __wrap_carry_threads_wait(struct threads *threads, enum threads_event event);
void __real_carry_threads_free(struct threads *threads);
void __wrap_carry_threads_free(struct threads *threads);
ssize_t __wrap_pread(int descriptor, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread64(int descriptor, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int descriptor, const void *bytes, size_t size, off_t offset);
time_t __real_time(time_t *result);
time_t __wrap_time(time_t *result);

static void change_once(void (**change)(int from), int from) {
    void (*const wanted)(int) = *change;
    *change = NULL;
    if (wanted)
        wanted(from);
}

int64_t __wrap_carry_kernel_copy(int from, uint64_t from_offset, int to, uint64_t to_offset,
                                 size_t size) {
    const unsigned call = world.copies++;
    if (world.holds_from && from_offset >= world.holds_from && !world.held) {
        world.held = true;
        sem_post(&holding);
        await_event(&resumed);
    }
    if (world.kernel == REFUSES)
        return -EXDEV;
    if (world.kernel == ENDS_EARLY && call)
        return 0;
    if (world.kernel == COPIES_SOME && size > 1000)
        size = 1000;
    const int64_t copied = __real_carry_kernel_copy(from, from_offset, to, to_offset, size);
    change_once(&world.meanwhile, from);
    return copied;
}

bool __wrap_carry_kernel_clones(int descriptor) {
    world.from = descriptor;
    change_once(&world.before, descriptor);
    return world.kernel == CLONES || world.kernel == REFUSES_CLONES;
}

bool __wrap_carry_kernel_clone(int from, int to) {
    uint64_t at = 0;
    int64_t copied;
    world.clones++;
    if (world.kernel == REFUSES_CLONES)
        return false;
    while ((copied = __real_carry_kernel_copy(from, at, to, at, 1 << 30)) > 0)
        at += (uint64_t)copied;
    change_once(&world.meanwhile, from);
    return copied == 0;
}

int __wrap_carry_kernel_write(int to, uint64_t offset, const void *bytes, size_t size) {
    change_once(&world.written, world.from);
    if (++world.changes == world.change_fails_at)
        return -ENOSPC;
    return __real_carry_kernel_write(to, offset, bytes, size);
}

bool __wrap_carry_threads_start(struct threads *threads, void (*run)(void *, unsigned),
                                void *context, unsigned number) {
    return !world.threadless && __real_carry_threads_start(threads, run, context, number);
}

void __wrap_carry_threads_wait(struct threads *threads, enum threads_event event) {
    if (event == THREADS_WORK)
        sem_post(&resumed);
    __real_carry_threads_wait(threads, event);
}

void __wrap_carry_threads_free(struct threads *threads) {
    sem_post(&resumed);
    __real_carry_threads_free(threads);
}

static bool is_interrupted(void) {
    errno = EINTR;
    return world.interrupts && ++world.interruptible % 2;
}

/* A signal may also let a call transfer less. */
static size_t transferable(size_t size) {
    return world.interrupts && size > 3000 ? 3000 : size;
}

ssize_t __wrap_pread(int descriptor, void *bytes, size_t size, off_t offset) {
    const struct iovec part = {bytes, transferable(size)};
    return is_interrupted() ? -1 : preadv(descriptor, &part, 1, offset);
}

ssize_t __wrap_pread64(int descriptor, void *bytes, size_t size, off_t offset) {
    return __wrap_pread(descriptor, bytes, size, offset);
}

ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    const struct iovec part = {(void *)(uintptr_t)bytes, transferable(size)};
    return is_interrupted() ? -1 : pwritev(descriptor, &part, 1, offset);
}

ssize_t __wrap_pwrite64(int descriptor, const void *bytes, size_t size, off_t offset) {
    return __wrap_pwrite(descriptor, bytes, size, offset);
}

time_t __wrap_time(time_t *result) {
    return __real_time(result) + world.later;
}

/* Makes a world in which files have not changed for a long time. */
static void make_world(enum kernel kernel) {
    memset(&world, 0, sizeof world);
    world.kernel = kernel;
    world.later = 60;
    sem_init(&holding, 0, 0);
    sem_init(&resumed, 0, 0);
}

/* --- Files --- */

static int make_file(const struct bytes *bytes) {
    FILE *file = tmpfile();
    if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fflush(file))
        abort();
    const int descriptor = dup(fileno(file));
    fclose(file);
    if (descriptor < 0 || lseek(descriptor, 0, SEEK_SET))
        abort();
    return descriptor;
}

static int make_empty(void) {
    return make_file(&(const struct bytes){NULL, 0});
}

static struct bytes read_file(int descriptor) {
    const off_t size = lseek(descriptor, 0, SEEK_END);
    struct bytes bytes = {malloc((size_t)size + 1), (size_t)size};
    if (size < 0 || !bytes.data || pread(descriptor, bytes.data, bytes.size, 0) != size)
        abort();
    return bytes;
}

/* The result of a repair. */
struct outcome {
    int code, system;
    struct bytes copy;
    struct carry_capture_repair_totals totals;
};

static void note_outcome(struct outcome *outcome, struct carry_capture *capture, int code,
                         struct carry_capture_repairs *repairs) {
    outcome->code = code == carry_capture_last_error(capture)->code ? code : 1;
    outcome->system = carry_capture_last_error(capture)->system;
    if (repairs)
        outcome->totals = *carry_capture_repair_totals(repairs);
    carry_capture_repairs_free(repairs);
}

/* Repairs the capture in a file, from the file's position on, into another file. */
static struct outcome fix_between(int input, int output,
                                  const struct carry_capture_fix_options *options) {
    struct outcome outcome = {0};
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs = NULL;
    world.to = output;
    outcome.code = carry_capture_open_fd(input, &capture, NULL);
    if (outcome.code == CARRY_OK) {
        const int code = carry_capture_fix_fd(capture, options, output, &repairs);
        world.interrupts = false;
        note_outcome(&outcome, capture, code, repairs);
        carry_capture_close(capture);
    }
    return outcome;
}

static struct outcome fix_file(int input, const struct carry_capture_fix_options *options) {
    const int output = make_empty();
    struct outcome outcome = fix_between(input, output, options);
    outcome.copy = read_file(output);
    close(output);
    return outcome;
}

static struct outcome fix_bytes(const struct bytes *bytes,
                                const struct carry_capture_fix_options *options) {
    const int input = make_file(bytes);
    struct outcome outcome = fix_file(input, options);
    const struct bytes after = read_file(input);
    if (after.size != bytes->size || memcmp(after.data, bytes->data, bytes->size))
        outcome.code = 1; /* the input changed */
    free(after.data);
    close(input);
    return outcome;
}

/* Repairs through a sink that gets every byte. */
static struct outcome fix_through(const struct bytes *bytes,
                                  const struct carry_capture_fix_options *options) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    struct outcome outcome = {0};
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    const int code = carry_capture_fix(capture, options, &sink, &repairs);
    note_outcome(&outcome, capture, code, repairs);
    carry_capture_close(capture);
    outcome.copy = bowl.bytes;
    return outcome;
}

static bool are_same(const struct outcome *one, const struct outcome *other) {
    return TAP_EQ(one->code, other->code) && TAP_EQ(one->copy.size, other->copy.size) &&
           TAP_MEMEQ(one->copy.data, other->copy.data, one->copy.size) &&
           TAP_MEMEQ(&one->totals, &other->totals, sizeof one->totals);
}

/* Returns a capture of more than one piece, whose end a window or a piece may divide anywhere. */
static struct bytes make_large(void) {
    const struct bytes one = make_capture(CARRY_CAPTURE_FORMAT_PCAPNG);
    struct bytes large = make_long_capture((unsigned)(5 * COPIED_BYTES / 2 / one.size));
    free(one.data);
    return large;
}

/* --- The copy --- */

static void test_kernels(const struct bytes *captures, size_t count, const char *cores) {
    static const uint32_t fixes[] = {0, 1u << CARRY_VERDICT_BAD, 1u << CARRY_VERDICT_PARTIAL};
    for (size_t kernel = 0; kernel < KERNELS; kernel++) {
        bool ok = true;
        for (size_t i = 0; i < 3 * count && ok; i++) {
            const struct carry_capture_fix_options options = {.packet.fix = fixes[i % 3]};
            make_world((enum kernel)kernel);
            struct outcome outcome = fix_bytes(&captures[i / 3], &options);
            struct outcome expected = fix_through(&captures[i / 3], &options);
            ok = are_same(&outcome, &expected);
            ok &= TAP_TRUE(!captures[i / 3].size || world.clones || world.copies);
            bytes_free(&outcome.copy);
            bytes_free(&expected.copy);
        }
        tap_ok(ok, "%s, the kernel %s: the copy is that of a sink that gets every byte", cores,
               kernel_names[kernel]);
    }
}

/* Without a second core, the thread of the caller copies. */
static void test_one_core(const struct bytes *captures, size_t count) {
    cpu_set_t before, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof before, &before);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    test_kernels(captures, count, "on one core");
    sched_setaffinity(0, sizeof before, &before);
}

/* Without a thread, and if signals interrupt the system. */
static void test_hindered(const struct bytes *captures, size_t count) {
    static const enum kernel kernels[] = {COPIES, REFUSES};
    bool ok = true;
    for (size_t i = 0; i < 6 * count && ok; i++) {
        const struct bytes *bytes = &captures[i / 6];
        make_world(kernels[i % 2]);
        world.threadless = i % 3 == 0;
        world.interrupts = i % 3 <= 1;
        struct outcome outcome = fix_bytes(bytes, NULL);
        struct outcome expected = fix_through(bytes, NULL);
        ok = are_same(&outcome, &expected) && TAP_TRUE(world.interruptible || i % 3 == 2);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
    }
    tap_ok(ok, "a copy is whole without a thread, and if signals interrupt reading and writing");
}

/* A capture may begin within its file. */
static void test_offset(const struct bytes *bytes) {
    struct bytes moved = {malloc(bytes->size + 7), bytes->size + 7};
    memset(moved.data, 0xa5, 7);
    memcpy(moved.data + 7, bytes->data, bytes->size);
    bool ok = true;
    for (size_t kernel = 0; kernel < KERNELS; kernel++) {
        const int input = make_file(&moved);
        make_world((enum kernel)kernel);
        lseek(input, 7, SEEK_SET);
        struct outcome outcome = fix_file(input, NULL), expected = fix_through(bytes, NULL);
        ok &= are_same(&outcome, &expected) && TAP_EQ(world.clones, 0);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
        close(input);
    }
    bytes_free(&moved);
    tap_ok(ok, "a capture is copied from the position of its descriptor on, and never cloned then");
}

/* Cuts and damage are copied. */
static void test_damage(const struct bytes *bytes) {
    bool ok = true;
    for (size_t size = 4; size < bytes->size && ok; size += 41) {
        const struct bytes cut = {bytes->data, size};
        make_world(size % 2 ? COPIES : CLONES);
        struct outcome outcome = fix_bytes(&cut, NULL), expected = fix_through(&cut, NULL);
        ok = are_same(&outcome, &expected);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
    }
    tap_ok(ok, "a capture cut at any byte is copied completely");
}

static bool spans_hold(const struct spans *spans, uint64_t from, uint64_t to) {
    bool held = false;
    for (unsigned i = 0; i < spans->count; i++)
        held |= spans->all[i].from <= from && to <= spans->all[i].to;
    return held;
}

/* The table of spans holds every change, in any order; a window that has grown may have more
   changes than the table has rows. */
static void test_spans(void) {
    bool ok = true;
    for (uint64_t step = 1; step < 100000; step += 777) {
        struct spans spans = {.count = 0};
        for (uint64_t i = 0; i < 200; i++)
            carry_spans_add(&spans, i * 7 % 200 * step, i * 7 % 200 * step + 4);
        for (uint64_t i = 0; i < 200; i++)
            ok &= spans_hold(&spans, i * step, i * step + 4);
        ok &= spans.count <= SPANS_MAX && (spans.count == 1 || step > SPANS_BLOCK / 7);
    }
    tap_ok(ok, "spans hold every change");
}

/* --- Files that change --- */

static void shorten_file(int descriptor) {
    if (ftruncate(descriptor, (off_t)(COPIED_BYTES + 5000)))
        abort();
}

static void lengthen_file(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) || pwrite(descriptor, "more", 4, status.st_size) != 4)
        abort();
}

/* Changes bytes that were copied first, also without a thread. */
static void spoil_file(int descriptor) {
    uint8_t zeros[4096] = {0};
    for (off_t at = 0; at < (off_t)WINDOW_BYTES; at += (off_t)sizeof zeros)
        if (pwrite(descriptor, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros)
            abort();
}

static void test_shortened(const struct bytes *large) {
    static const enum kernel kernels[] = {COPIES, ENDS_EARLY};
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        const int input = make_file(large);
        make_world(kernels[i]);
        world.meanwhile = shorten_file;
        struct outcome outcome = fix_file(input, NULL);
        const struct bytes rest = {large->data, outcome.copy.size};
        struct outcome expected = fix_through(&rest, NULL);
        ok &= TAP_EQ(rest.size, COPIED_BYTES + 5000) && are_same(&outcome, &expected);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
        close(input);
    }
    tap_ok(ok, "a file that becomes shorter is copied up to its new end");
}

/* Checks that the copy is judged, not what the file holds later. */
static void test_spoilt(const struct bytes *large) {
    const int input = make_file(large);
    make_world(COPIES);
    world.meanwhile = spoil_file;
    struct outcome outcome = fix_file(input, NULL), expected = fix_through(large, NULL);
    tap_ok(TAP_TRUE(are_same(&outcome, &expected)),
           "bytes that change after they were copied do no harm");
    bytes_free(&outcome.copy);
    bytes_free(&expected.copy);
    close(input);
}

/* --- Files that become others between their first bytes and the copying --- */

static const struct bytes *successor;

static void replace_file(int descriptor) {
    if (ftruncate(descriptor, 0) ||
        pwrite(descriptor, successor->data, successor->size, 0) != (ssize_t)successor->size)
        abort();
}

static void test_replaced(const struct bytes *bytes, const struct bytes *large) {
    struct bytes text = {(uint8_t *)strdup("hello, world"), 12}, packed = make_gzip(bytes);
    const struct bytes *successors[] = {large, &text, &packed};
    bool ok = true;
    for (size_t i = 0; i < 6 && ok; i++) {
        const int input = make_file(bytes);
        make_world(i % 2 ? CLONES : COPIES);
        world.before = replace_file;
        successor = successors[i / 2];
        struct outcome outcome = fix_file(input, NULL), expected = fix_through(successor, NULL);
        ok = are_same(&outcome, &expected);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
        close(input);
    }
    bytes_free(&packed);
    bytes_free(&text);
    tap_ok(ok, "a file that becomes another one is read again, and unpacked if it is compressed");
}

/* --- Clones of files that change --- */

static int changing; /* the file that the next report of progress changes */
static void (*change)(int descriptor);

static bool change_in_progress(void *user, const struct carry_capture_progress *progress) {
    (void)user, (void)progress;
    if (changing >= 0)
        change(changing);
    changing = -1;
    return true;
}

static void test_changed_clone(const struct bytes *large) {
    static void (*const changes[])(int) = {shorten_file, lengthen_file, spoil_file};
    const struct carry_capture_fix_options options = {.progress = change_in_progress};
    bool ok = true;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        changing = make_file(large);
        change = changes[i];
        const int input = changing;
        make_world(CLONES);
        struct outcome outcome = fix_file(input, &options);
        ok &= TAP_EQ(outcome.code, CARRY_ERROR_READ) && TAP_EQ(world.clones, 1) &&
              TAP_EQ(changing, -1);
        bytes_free(&outcome.copy);
        close(input);
    }
    tap_ok(ok, "a file that changes after it was cloned is an error");
}

/* Sets the time at which the bytes of a file changed; now its status changes. */
static void set_change(int descriptor, time_t seconds) {
    struct stat status;
    if (fstat(descriptor, &status))
        abort();
    struct timespec times[] = {status.st_atim, status.st_mtim};
    times[1].tv_sec += seconds;
    if (futimens(descriptor, times))
        abort();
}

static void postdate_file(int descriptor) {
    set_change(descriptor, 1);
}

/* Changes the status of a file, until the clock of its file system shows that. */
static void change_status(int descriptor, bool in_seconds) {
    struct stat before, now;
    if (fstat(descriptor, &before))
        abort();
    do
        if (fchmod(descriptor, S_IRUSR | S_IWUSR) || fstat(descriptor, &now))
            abort();
    while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
           (in_seconds || now.st_ctim.tv_nsec == before.st_ctim.tv_nsec));
}

static void change_status_at_once(int descriptor) {
    change_status(descriptor, false);
}

static void change_status_later(int descriptor) {
    change_status(descriptor, true);
}

static void close_file(int descriptor) {
    close(descriptor);
}

/* Changes when all bytes were read, which only times show. */
static void test_changed_times(const struct bytes *bytes) {
    static void (*const changes[])(int) = {postdate_file, change_status_later,
                                           change_status_at_once, close_file};
    bool ok = true;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const int input = make_file(bytes), output = make_empty();
        struct carry_capture *capture;
        struct carry_capture_repairs *repairs;
        make_world(CLONES);
        world.written = changes[i];
        carry_capture_open_fd(input, &capture, NULL);
        ok &= TAP_EQ(carry_capture_fix_fd(capture, NULL, output, &repairs), CARRY_ERROR_READ) &&
              TAP_STREQ(carry_capture_last_error(capture)->text, "changed while it was read") &&
              TAP_TRUE(!world.written);
        carry_capture_repairs_free(repairs);
        carry_capture_close(capture);
        close(output);
        close(input);
    }
    tap_ok(ok, "a file whose times change after it was read is an error");
}

/* The time of a file that changed just now may stay the same when it changes again. */
static void test_unsettled(const struct bytes *bytes) {
    struct outcome expected = fix_through(bytes, NULL);
    bool ok = true;
    for (time_t seconds = -3600; seconds <= 0; seconds += 3600) {
        const int input = make_file(bytes);
        make_world(CLONES);
        world.later = 1;
        set_change(input, seconds);
        struct outcome outcome = fix_file(input, NULL);
        ok &= are_same(&outcome, &expected) && TAP_EQ(world.clones, 0) && TAP_EQ(world.copies, 0);
        bytes_free(&outcome.copy);
        close(input);
    }
    tap_ok(ok, "a file that has just changed is neither cloned nor copied by the kernel");
    bytes_free(&expected.copy);
}

/* --- Failures --- */

/* Lets no file become longer than `size`. */
static void limit_files(rlim_t size) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void test_full(const struct bytes *large) {
    static const rlim_t sizes[] = {0, 5000, COPIED_BYTES, COPIED_BYTES + 5000};
    static const enum kernel kernels[] = {COPIES, REFUSES, REFUSES_CLONES};
    const int input = make_file(large);
    bool ok = true;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < 12 && ok; i++) {
        make_world(kernels[i % 3]);
        limit_files(sizes[i / 3]);
        struct outcome outcome = fix_file(input, NULL);
        ok = TAP_EQ(outcome.code, CARRY_ERROR_WRITE) && TAP_EQ(outcome.system, EFBIG);
        bytes_free(&outcome.copy);
        lseek(input, 0, SEEK_SET);
    }
    limit_files(RLIM_INFINITY);
    close(input);
    tap_ok(ok, "a failure to write is reported as one");
}

/* Makes reading from a descriptor fail. */
static void break_file(int descriptor) {
    const int folder = open("/", O_RDONLY | O_DIRECTORY);
    if (folder < 0 || dup2(folder, descriptor) < 0)
        abort();
    close(folder);
}

static void test_unreadable(const struct bytes *large) {
    const int input = make_file(large);
    make_world(COPIES);
    world.meanwhile = break_file;
    struct outcome outcome = fix_file(input, NULL);
    tap_ok(TAP_EQ(outcome.code, CARRY_ERROR_READ) && TAP_EQ(outcome.system, EISDIR),
           "a failure to read is reported as one");
    bytes_free(&outcome.copy);
    close(input);
}

/* The descriptor of the file is closed before it is cloned, and then. */
static void test_closed(const struct bytes *bytes) {
    bool ok = true;
    for (unsigned i = 0; i < 2; i++) {
        const int input = make_file(bytes);
        make_world(CLONES);
        world.before = i ? NULL : close_file;
        world.meanwhile = i ? close_file : NULL;
        struct outcome outcome = fix_file(input, NULL);
        ok &= TAP_EQ(outcome.code, CARRY_ERROR_READ) && TAP_EQ(outcome.system, EBADF) &&
              TAP_EQ(outcome.copy.size, 0) && TAP_EQ(world.clones, i);
        bytes_free(&outcome.copy);
        close(input);
    }
    tap_ok(ok, "a file that was closed is not copied");
}

static int fix_into(const struct bytes *bytes, int output) {
    const int input = make_file(bytes);
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs;
    make_world(COPIES);
    carry_capture_open_fd(input, &capture, NULL);
    const int code = carry_capture_fix_fd(capture, NULL, output, &repairs);
    const bool is_set = repairs;
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    close(input);
    close(output);
    return is_set && !world.copies ? code : 1;
}

static int reopen_file(int flags) {
    char path[64];
    const int file = make_empty();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const int descriptor = open(path, flags);
    close(file);
    return descriptor;
}

/* Changes how the copy is open. */
static void reopen_copy(int flags) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", world.to);
    const int descriptor = open(path, flags);
    if (descriptor < 0 || dup2(descriptor, world.to) < 0)
        abort();
    close(descriptor);
}

static void forbid_writing(int from) {
    replace_file(from);
    reopen_copy(O_RDONLY);
}

static void forbid_reading(int from) {
    (void)from;
    reopen_copy(O_WRONLY);
}

static void shorten_copy(int from) {
    (void)from;
    if (ftruncate(world.to, 0))
        abort();
}

/* Another program empties the copy before its first bytes are read. */
static void test_shortened_copy(const struct bytes *bytes) {
    const int input = make_file(bytes);
    make_world(COPIES);
    world.meanwhile = shorten_copy;
    struct outcome outcome = fix_file(input, NULL), expected = fix_through(bytes, NULL);
    tap_ok(are_same(&outcome, &expected), "a copy that becomes shorter is written again");
    bytes_free(&outcome.copy);
    bytes_free(&expected.copy);
    close(input);
}

/* The copy becomes unusable: before anything is copied, and when some was. */
static void test_spoilt_copy(const struct bytes *bytes, const struct bytes *large) {
    const struct carry_capture_fix_options options = {.progress = change_in_progress};
    const struct bytes text = {(uint8_t *)(uintptr_t) "hello, world", 12};
    int input = make_file(bytes), output = make_empty();
    make_world(COPIES);
    world.before = forbid_writing;
    successor = &text;
    const struct outcome unwritable = fix_between(input, output, NULL);
    close(input);
    close(output);
    input = changing = make_file(large);
    output = make_empty();
    change = forbid_reading;
    make_world(COPIES);
    const struct outcome unreadable = fix_between(input, output, &options);
    tap_ok(TAP_EQ(unwritable.code, CARRY_ERROR_INVALID) &&
               TAP_EQ(unreadable.code, CARRY_ERROR_READ) && TAP_EQ(unreadable.system, EBADF),
           "a copy that cannot be written or read any more is an error");
    close(input);
    close(output);
}

static void test_refused(const struct bytes *bytes) {
    int pipes[2];
    if (pipe(pipes))
        abort();
    tap_ok(TAP_EQ(fix_into(bytes, pipes[1]), CARRY_ERROR_INVALID) &&
               TAP_EQ(fix_into(bytes, make_file(bytes)), CARRY_ERROR_INVALID) &&
               TAP_EQ(fix_into(bytes, reopen_file(O_WRONLY)), CARRY_ERROR_INVALID) &&
               TAP_EQ(fix_into(bytes, reopen_file(O_RDONLY)), CARRY_ERROR_INVALID) &&
               TAP_EQ(fix_into(bytes, reopen_file(O_RDWR | O_APPEND)), CARRY_ERROR_INVALID) &&
               TAP_EQ(fix_into(bytes, -1), CARRY_ERROR_INVALID),
           "only an empty regular file that can be read and written is accepted");
    close(pipes[0]);
}

/* --- Captures that are not copied by the kernel --- */

static void test_plain(const struct bytes *bytes) {
    struct bytes packed = make_gzip(bytes), text = {(uint8_t *)strdup("hello, world"), 12};
    const struct bytes nothing = {text.data, 0};
    const struct bytes *captures[] = {&packed, &text, &nothing};
    bool ok = true;
    for (size_t i = 0; i < 3; i++) {
        make_world(COPIES);
        struct outcome outcome = fix_bytes(captures[i], NULL);
        struct outcome expected = fix_through(captures[i], NULL);
        ok &= are_same(&outcome, &expected) && TAP_EQ(world.copies, 0);
        bytes_free(&outcome.copy);
        bytes_free(&expected.copy);
    }
    bytes_free(&packed);
    bytes_free(&text);
    tap_ok(ok, "what is compressed is unpacked, and what is no capture is not copied");
}

/* Repairs a capture after `prepare`, from memory or from a file. */
static struct outcome fix_prepared(const struct bytes *bytes, bool in_memory,
                                   void (*prepare)(struct carry_capture *capture)) {
    const int input = make_file(bytes), output = make_empty();
    struct outcome outcome = {0};
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs;
    make_world(COPIES);
    if (in_memory)
        carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    else
        carry_capture_open_fd(input, &capture, NULL);
    prepare(capture);
    const int code = carry_capture_fix_fd(capture, NULL, output, &repairs);
    note_outcome(&outcome, capture, code, repairs);
    outcome.copy = read_file(output);
    carry_capture_close(capture);
    close(input);
    close(output);
    return outcome;
}

static int stop_pipe[2];

static void let_stop(struct carry_capture *capture) {
    carry_capture_stop_on(capture, stop_pipe[0]);
}

static void do_nothing(struct carry_capture *capture) {
    (void)capture;
}

static void read_one(struct carry_capture *capture) {
    const struct carry_capture_packet *packet;
    carry_capture_next(capture, &packet);
}

static void test_prepared(const struct bytes *bytes) {
    if (pipe(stop_pipe))
        abort();
    struct outcome expected = fix_through(bytes, NULL);
    struct outcome stoppable = fix_prepared(bytes, false, let_stop);
    const bool none = !world.copies;
    struct outcome memory = fix_prepared(bytes, true, do_nothing);
    struct outcome begun = fix_prepared(bytes, false, read_one);
    tap_ok(
        TAP_TRUE(are_same(&stoppable, &expected) && are_same(&memory, &expected) && none) &&
            TAP_EQ(begun.code, CARRY_ERROR_INVALID) && TAP_EQ(begun.copy.size, 0),
        "a capture that may be stopped or is in memory is written; a partly read one is refused");
    bytes_free(&expected.copy);
    bytes_free(&stoppable.copy);
    bytes_free(&memory.copy);
    bytes_free(&begun.copy);
    close(stop_pipe[0]);
    close(stop_pipe[1]);
}

/* The capture reads its own file again, after success and after failure. */
static void test_again(const struct bytes *large) {
    const int input = make_file(large), output = make_empty();
    struct carry_capture *capture;
    struct carry_capture_repairs *repairs;
    struct carry_capture_summary *summary = NULL;
    make_world(COPIES);
    carry_capture_open_fd(input, &capture, NULL);
    const int code = carry_capture_fix_fd(capture, NULL, output, &repairs);
    carry_capture_repairs_free(repairs);
    tap_ok(TAP_EQ(code, CARRY_OK) && TAP_EQ(carry_capture_rewind(capture), CARRY_OK) &&
               TAP_EQ(carry_capture_check(capture, NULL, &summary), CARRY_OK) &&
               TAP_GT(carry_capture_total(summary, CARRY_CAPTURE_WRONG_VERDICTS), 0),
           "a capture that was copied can be rewound and checked");
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    close(input);
    close(output);
}

/* --- Ends before the end --- */

struct patience {
    unsigned calls, cancels_at;
};

static bool lose_patience(void *user, const struct carry_capture_progress *progress) {
    struct patience *patience = user;
    (void)progress;
    return ++patience->calls != patience->cancels_at;
}

static void test_cancelled(const struct bytes *large) {
    const int input = make_file(large);
    bool ok = true, cancelled = true;
    for (unsigned at = 1; cancelled && ok; at++) {
        struct patience patience = {.cancels_at = at};
        const struct carry_capture_fix_options options = {.progress = lose_patience,
                                                          .user = &patience};
        make_world(at % 2 ? COPIES : CLONES);
        struct outcome outcome = fix_file(input, &options);
        cancelled = patience.calls >= at;
        ok = TAP_EQ(outcome.code, cancelled ? CARRY_ERROR_CANCELLED : CARRY_OK);
        bytes_free(&outcome.copy);
        lseek(input, 0, SEEK_SET);
    }
    close(input);
    tap_ok(ok, "a repair into a file can be cancelled at each report of progress");
}

/* A descriptor for each side, both at the beginning of a file. */
struct sides {
    int input, output;
};

static int try_to_fix(void *context) {
    const struct sides *sides = context;
    struct carry_capture_repairs *repairs;
    struct carry_capture *capture;
    if (lseek(sides->input, 0, SEEK_SET) || ftruncate(sides->output, 0))
        abort();
    make_world(COPIES);
    int code = carry_capture_open_fd(sides->input, &capture, NULL);
    if (code != CARRY_OK)
        return code;
    code = carry_capture_fix_fd(capture, NULL, sides->output, &repairs);
    if (code == CARRY_OK && !repairs)
        code = 1;
    carry_capture_repairs_free(repairs);
    carry_capture_close(capture);
    return code;
}

static void test_allocations(const struct bytes *bytes) {
    struct sides sides = {make_file(bytes), make_empty()};
    tap_ok(allocations_all_fail(try_to_fix, &sides),
           "if any allocation fails, the result is an error or a copy, and no memory is lost");
    close(sides.input);
    close(sides.output);
}

/* --- Changes that wait for the thread --- */

/* A copy in progress. */
struct copying {
    int input, output;
    struct carry_capture *capture;
    struct copier *copier;
};

/* Begins to copy. With a thread, returns when it has copied everything and waits. */
static struct copying begin_copying(const struct bytes *bytes, bool threadless) {
    struct copying copying = {make_file(bytes), make_empty(), NULL, NULL};
    make_world(COPIES);
    world.threadless = threadless;
    world.holds_from = bytes->size;
    carry_capture_open_fd(copying.input, &copying.capture, NULL);
    copying.copier = carry_copier_begin(copying.capture, copying.output);
    if (!copying.copier)
        abort();
    if (!threadless)
        await_event(&holding);
    return copying;
}

/* Returns the code with which the copying ends, and the copy. */
static int end_copying(struct copying *copying, struct bytes *copy) {
    const int code = carry_copier_end(copying->copier, CARRY_OK);
    *copy = read_file(copying->output);
    carry_capture_close(copying->capture);
    close(copying->input);
    close(copying->output);
    return code;
}

/* Some changes fill the queue, and the caller waits; few changes do not, but the thread writes them
   after the last bytes. */
static void test_waiting_changes(const struct bytes *large) {
    static const size_t sizes[] = {COPIED_BYTES, 100};
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        struct copying copying = begin_copying(large, false);
        struct bytes expected = {malloc(large->size), large->size}, copy;
        memcpy(expected.data, large->data, large->size);
        for (size_t at = 5000; at < 5000 + sizes[i]; at++)
            expected.data[at] = (uint8_t)(at / 251);
        ok &= TAP_EQ(carry_copier_rewrite(copying.copier, 5000, expected.data + 5000, sizes[i]), 0);
        ok &= TAP_EQ(end_copying(&copying, &copy), CARRY_OK) && TAP_EQ(copy.size, large->size) &&
              TAP_MEMEQ(copy.data, expected.data, expected.size);
        bytes_free(&copy);
        bytes_free(&expected);
    }
    tap_ok(ok, "all changes that wait for the thread are written");
}

/* Of three changes, the first one fails. */
static void test_failing_changes(const struct bytes *large) {
    bool ok = true;
    for (unsigned threadless = 0; threadless < 2; threadless++) {
        struct copying copying = begin_copying(large, threadless);
        struct bytes copy;
        world.change_fails_at = 1;
        const int error =
            carry_copier_rewrite(copying.copier, 0, large->data, (size_t)COPIED_BYTES / 4 + 1);
        ok &= TAP_EQ(error, threadless ? -ENOSPC : 0);
        ok &= TAP_EQ(end_copying(&copying, &copy), threadless ? CARRY_OK : CARRY_ERROR_WRITE) &&
              TAP_EQ(world.changes, 1);
        bytes_free(&copy);
    }
    tap_ok(ok, "after a change that cannot be written, no others are, and the failure is reported");
}

/* A repair is cancelled while the thread copies the second piece. */
static void test_stopped(const struct bytes *large) {
    struct patience patience = {.cancels_at = 1};
    const struct carry_capture_fix_options options = {.progress = lose_patience, .user = &patience};
    const int input = make_file(large);
    make_world(COPIES);
    world.holds_from = 1;
    struct outcome outcome = fix_file(input, &options);
    tap_ok(TAP_EQ(outcome.code, CARRY_ERROR_CANCELLED) &&
               TAP_LE(outcome.copy.size, 2 * COPIED_BYTES),
           "a repair that is cancelled stops copying");
    bytes_free(&outcome.copy);
    close(input);
}

static bool kernel_copies(const struct bytes *bytes) {
    const int input = make_file(bytes), output = make_empty();
    const int64_t copied = __real_carry_kernel_copy(input, 0, output, 0, bytes->size);
    close(input);
    close(output);
    return copied > 0;
}

/* The thread waits where the test wants it, when it has the kernel copy. */
static void test_thread(const struct bytes *large) {
    if (carry_threads_cores() == 1 || !kernel_copies(large)) {
        tap_skip("changes that wait for the thread", "there is none, or the kernel does not copy");
        return;
    }
    test_waiting_changes(large);
    test_failing_changes(large);
    test_stopped(large);
}

/* --- The functions of kernel_copy.h --- */

static void test_kernel_clone(const struct bytes *bytes) {
    const int input = make_file(bytes), output = make_empty();
    const bool clones = __real_carry_kernel_clone(input, output);
    struct bytes copy = read_file(output);
    tap_ok(TAP_EQ(copy.size, clones ? bytes->size : 0) &&
               TAP_MEMEQ(copy.data, bytes->data, copy.size) &&
               TAP_TRUE(clones || !__real_carry_kernel_clone(-1, output)) &&
               TAP_TRUE(!__real_carry_kernel_clones(-1)),
           "the kernel clones a file completely, or not at all");
    bytes_free(&copy);
    close(input);
    close(output);
}

int main(void) {
    struct bytes captures[] = {
        make_capture(CARRY_CAPTURE_FORMAT_PCAPNG),
        make_large(),
        make_early_capture(),
        make_tunnel(),
        make_snoop(),
        make_erf(),
        make_netmon(),
    };
    const size_t count = sizeof captures / sizeof *captures;
    const struct bytes *small = &captures[0], *large = &captures[1];
    test_kernels(captures, count, "on all cores");
    test_one_core(captures, count);
    test_hindered(captures, count);
    test_offset(small);
    test_damage(small);
    test_spans();
    test_shortened(large);
    test_spoilt(large);
    test_replaced(small, large);
    test_changed_clone(large);
    test_changed_times(small);
    test_unsettled(large);
    test_full(large);
    test_unreadable(large);
    test_closed(small);
    test_shortened_copy(small);
    test_spoilt_copy(small, large);
    test_refused(small);
    test_plain(small);
    test_prepared(small);
    test_again(large);
    test_cancelled(large);
    test_allocations(small);
    test_thread(large);
    test_kernel_clone(small);
    for (size_t i = 0; i < count; i++)
        bytes_free(&captures[i]);
    return tap_done();
}
