/* SPDX-License-Identifier: MIT */
/*
 * Moves blocks from this process, `dd`, to its child, `cat`. For functions that copy, the pipe is
 * memory that both processes share, with the capacity of a pipe of the system. Each read(), and
 * each write() to a pipe, becomes one copy; a write() to /dev/null becomes none.
 */
#define _GNU_SOURCE
#include "bench/copy_flow.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <carry/sum.h>

#define SLOTS       2 /* 64 KiB, the capacity of a pipe of Linux */
#define LINE        64
#define SPINS       1000 /* reads of a count before a process sleeps: some microseconds */
#define VERIFY_MANY 5    /* blocks: each slot is used more than once */

const char *const flow_works[FLOW_WORKS] = {
    [FLOW_DD_CAT] = "dd | cat",
    [FLOW_DD] = "dd",
};
const char *const flow_ways[FLOW_WAYS] = {
    [FLOW_READ_WRITE] = "read, write", [FLOW_MEMCPY] = "memcpy", [FLOW_COPY] = "copy",
    [FLOW_SUM_COPY] = "sum_copy",      [FLOW_SPLICE] = "splice",
};

/* The number of blocks that one process has put or taken, and whether the other process sleeps
 * until this number grows. */
struct count {
    uint32_t blocks;
    uint32_t is_awaited;
} __attribute__((aligned(LINE)));

/* Memory that both processes share. */
struct ring {
    struct count written, taken;
    unsigned char slots[SLOTS][FLOW_BLOCK] __attribute__((aligned(4096)));
};

struct order {
    uint64_t blocks;
    enum flow_way way;
    bool sums;
};

struct answer {
    uint32_t sum; /* of all bytes, if the order asks for it */
    bool ok;
};

struct flow {
    const unsigned char *source;
    unsigned char *block; /* of this process */
    struct ring *ring;
    int zero, null;
    int data[2];               /* the system's pipe between both processes */
    int own[2];                /* a pipe through which a single process splices */
    int orders[2], answers[2]; /* from `dd` to `cat`, and back */
    pid_t dd, cat;
    size_t ways;
};

/* --- Copies --- */

static void copy_block(enum flow_way way, void *dst, const void *src) {
    if (way == FLOW_MEMCPY)
        memcpy(dst, src, FLOW_BLOCK);
    else if (way == FLOW_COPY)
        carry_copy(dst, src, FLOW_BLOCK);
    else
        carry_sum_copy(dst, src, FLOW_BLOCK, 0);
}

/* --- The ring --- */

static bool is_cat_lost(const struct flow *flow) {
    if (getpid() != flow->dd)
        return getppid() != flow->dd;
    return waitpid(flow->cat, NULL, WNOHANG) != 0;
}

static bool has_reached(const struct count *count, uint32_t blocks) {
    return (int32_t)(__atomic_load_n(&count->blocks, __ATOMIC_SEQ_CST) - blocks) >= 0;
}

/* Sleeps while a count is below `blocks`, at most for a second, like a reader or writer of a
 * pipe. */
static void sleep_until(struct count *count, uint32_t blocks) {
    static const struct timespec second = {1, 0};
    const uint32_t seen = __atomic_load_n(&count->blocks, __ATOMIC_SEQ_CST);
    __atomic_store_n(&count->is_awaited, 1, __ATOMIC_SEQ_CST);
    if (!has_reached(count, blocks))
        syscall(SYS_futex, &count->blocks, FUTEX_WAIT, seen, &second, NULL, 0);
}

/* Waits until a count reaches `blocks`; returns false if the other process ends first. */
static bool wait_for_blocks(const struct flow *flow, struct count *count, uint32_t blocks) {
    for (int spins = 0; spins < SPINS; spins++)
        if (has_reached(count, blocks))
            return true;
    while (!has_reached(count, blocks)) {
        sleep_until(count, blocks);
        if (!has_reached(count, blocks) && is_cat_lost(flow))
            return false;
    }
    return true;
}

static void count_block(struct count *count) {
    __atomic_add_fetch(&count->blocks, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&count->is_awaited, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &count->blocks, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool put_block(const struct flow *flow, enum flow_way way, const void *block) {
    struct ring *ring = flow->ring;
    const uint32_t number = ring->written.blocks;
    if (!wait_for_blocks(flow, &ring->taken, number - SLOTS + 1))
        return false;
    copy_block(way, ring->slots[number % SLOTS], block);
    count_block(&ring->written);
    return true;
}

static bool take_pipe_block(const struct flow *flow, enum flow_way way, void *block) {
    struct ring *ring = flow->ring;
    const uint32_t number = ring->taken.blocks;
    if (!wait_for_blocks(flow, &ring->written, number + 1))
        return false;
    copy_block(way, block, ring->slots[number % SLOTS]);
    count_block(&ring->taken);
    return true;
}

/* --- The system's calls --- */

static bool read_all(int from, void *data, size_t size) {
    for (ssize_t got; size; data = (char *)data + got, size -= (size_t)got)
        if ((got = read(from, data, size)) <= 0)
            return false;
    return true;
}

/* Returns the number of bytes that one splice() moves; 0 if it fails. */
static size_t splice_some(int from, int to, size_t size) {
    const ssize_t moved = splice(from, NULL, to, NULL, size, 0);
    return moved > 0 ? (size_t)moved : 0;
}

static bool splice_all(int from, int to, size_t size) {
    for (size_t moved; size; size -= moved)
        if (!(moved = splice_some(from, to, size)))
            return false;
    return true;
}

/* Splices a block through a pipe. Empties the pipe after each step, as the pipe may be smaller than
 * a block. */
static bool splice_through(const int own[2], int from, int to) {
    for (size_t left = FLOW_BLOCK, moved; left; left -= moved) {
        moved = splice_some(from, own[1], left);
        if (!moved || !splice_all(own[0], to, moved))
            return false;
    }
    return true;
}

/* --- dd --- */

static bool dd_reads(const struct flow *flow, enum flow_way way) {
    if (way == FLOW_READ_WRITE)
        return read(flow->zero, flow->block, FLOW_BLOCK) == (ssize_t)FLOW_BLOCK;
    copy_block(way, flow->block, flow->source);
    return true;
}

static bool dd_to_pipe(const struct flow *flow, enum flow_way way) {
    if (way == FLOW_SPLICE)
        return splice_all(flow->zero, flow->data[1], FLOW_BLOCK);
    if (!dd_reads(flow, way))
        return false;
    return way == FLOW_READ_WRITE
               ? write(flow->data[1], flow->block, FLOW_BLOCK) == (ssize_t)FLOW_BLOCK
               : put_block(flow, way, flow->block);
}

static bool dd_to_null(const struct flow *flow, enum flow_way way) {
    if (way == FLOW_SPLICE)
        return splice_through(flow->own, flow->zero, flow->null);
    return dd_reads(flow, way) &&
           (way != FLOW_READ_WRITE ||
            write(flow->null, flow->block, FLOW_BLOCK) == (ssize_t)FLOW_BLOCK);
}

/* --- cat --- */

static bool cat_reads(const struct flow *flow, const struct order *order, struct answer *answer) {
    const bool reads = order->way == FLOW_READ_WRITE;
    if (order->way == FLOW_SPLICE)
        return splice_all(flow->data[0], flow->null, FLOW_BLOCK);
    if (reads ? !read_all(flow->data[0], flow->block, FLOW_BLOCK)
              : !take_pipe_block(flow, order->way, flow->block))
        return false;
    if (order->sums)
        answer->sum = carry_sum(flow->block, FLOW_BLOCK, answer->sum);
    return !reads || write(flow->null, flow->block, FLOW_BLOCK) == (ssize_t)FLOW_BLOCK;
}

/* Carries out orders until `dd` closes their pipe, or an order fails. Does not return. */
static void be_cat(const struct flow *flow) {
    struct order order;
    struct answer answer = {.ok = true};
    close(flow->data[1]);
    close(flow->orders[1]);
    while (answer.ok && read_all(flow->orders[0], &order, sizeof order)) {
        answer.sum = 0;
        if (order.sums)
            memset(flow->block, 0, FLOW_BLOCK);
        for (; answer.ok && order.blocks; order.blocks--)
            answer.ok = cat_reads(flow, &order, &answer);
        if (write(flow->answers[1], &answer, sizeof answer) != (ssize_t)sizeof answer)
            break;
    }
    _exit(0);
}

/* --- Both processes --- */

static bool run_both(struct flow *flow, const struct order *order, uint32_t *sum) {
    struct answer answer = {0};
    if (write(flow->orders[1], order, sizeof *order) != (ssize_t)sizeof *order)
        return false;
    for (size_t i = 0; i < order->blocks; i++)
        if (!dd_to_pipe(flow, order->way))
            return false;
    if (!read_all(flow->answers[0], &answer, sizeof answer))
        return false;
    *sum = answer.sum;
    return answer.ok;
}

bool flow_run(struct flow *flow, enum flow_work work, enum flow_way way, size_t blocks) {
    uint32_t sum;
    bool ok = true;
    if (work == FLOW_DD_CAT)
        return run_both(flow, &(struct order){blocks, way, false}, &sum);
    for (; ok && blocks; blocks--)
        ok = dd_to_null(flow, way);
    return ok;
}

static void forget(const struct flow *flow) {
    memset(flow->block, 0, FLOW_BLOCK);
    memset(flow->ring->slots, 0, sizeof flow->ring->slots);
}

const char *flow_find_wrong(struct flow *flow) {
    uint32_t wanted = 0, sum;
    for (size_t i = 0; i < VERIFY_MANY; i++)
        wanted = carry_sum(flow->source, FLOW_BLOCK, wanted);
    for (enum flow_way way = 0; way < flow->ways; way++) {
        const bool has_source = way != FLOW_READ_WRITE && way != FLOW_SPLICE;
        forget(flow); /* a byte that is not copied must not already have the right value */
        if (!run_both(flow, &(struct order){VERIFY_MANY, way, true}, &sum) ||
            carry_sum_fold(sum) != carry_sum_fold(has_source ? wanted : 0) ||
            !flow_run(flow, FLOW_DD, way, 1))
            return flow_ways[way];
    }
    return NULL;
}

size_t flow_way_count(const struct flow *flow) {
    return flow->ways;
}

/* --- Beginning and end --- */

static bool open_all(struct flow *flow) {
    int *const pipes[] = {flow->data, flow->own, flow->orders, flow->answers};
    bool ok = true;
    flow->zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    flow->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        pipes[i][0] = pipes[i][1] = -1;
        ok &= pipe2(pipes[i], O_CLOEXEC) == 0;
    }
    flow->block = aligned_alloc(4096, FLOW_BLOCK);
    flow->ring =
        mmap(NULL, sizeof *flow->ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    flow->ring = flow->ring == MAP_FAILED ? NULL : flow->ring;
    return ok && flow->zero >= 0 && flow->null >= 0 && flow->block && flow->ring;
}

static void close_all(struct flow *flow) {
    const int files[] = {
        flow->zero,   flow->null,      flow->data[0],   flow->data[1],    flow->own[0],
        flow->own[1], flow->orders[0], flow->orders[1], flow->answers[0], flow->answers[1],
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
    if (flow->ring)
        munmap(flow->ring, sizeof *flow->ring);
    free(flow->block);
    free(flow);
}

static bool start_cat(struct flow *flow) {
    flow->dd = getpid();
    flow->cat = fork();
    if (flow->cat == 0)
        be_cat(flow);
    close(flow->data[0]);
    close(flow->answers[1]);
    flow->data[0] = flow->answers[1] = -1;
    return flow->cat > 0;
}

struct flow *flow_open(const unsigned char *source) {
    struct flow *flow = calloc(1, sizeof *flow);
    if (!flow)
        return NULL;
    flow->source = source;
    if (!open_all(flow) || !start_cat(flow)) {
        close_all(flow);
        return NULL;
    }
    /* Some releases of Linux cannot splice from /dev/zero, and some sandboxes refuse it. */
    flow->ways = splice_through(flow->own, flow->zero, flow->null) ? FLOW_WAYS : FLOW_SPLICE;
    return flow;
}

void flow_close(struct flow *flow) {
    const pid_t cat = flow->cat;
    close_all(flow);
    waitpid(cat, NULL, 0);
}
