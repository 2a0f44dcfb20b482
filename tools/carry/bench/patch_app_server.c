/* SPDX-License-Identifier: MIT */
/*
 * A small server: it receives a request through a pair of sockets, parses it, looks up its key and
 * sends the value, all by operations. Two flags, both off, would cause requests to be logged and
 * limited. Client and server are one thread, so no time depends on the scheduler.
 */
#include "bench/patch_app.h"

#include <sys/socket.h>
#include <unistd.h>

#define SLOTS 1024u
#define GET   1

struct request {
    uint32_t verb, key;
};

static uint64_t values[SLOTS];
static uint64_t logged;
static int client = -1, server = -1;

/* --- Operations --- */

CARRY_OP(bool, bench_receive, int, void *, size_t);
CARRY_OP(uint32_t, bench_decode, const struct request *);
CARRY_OP(uint64_t, bench_look_up, uint32_t);
CARRY_OP(bool, bench_answer, int, const void *, size_t);
CARRY_KEY(bench_logging);
CARRY_KEY(bench_limiting);

static bool bench_receive_function(int socket, void *data, size_t size) {
    return read(socket, data, size) == (ssize_t)size;
}

/* Returns the slot that a request asks for, or SLOTS if the request is bad. */
static uint32_t bench_decode_function(const struct request *request) {
    return request->verb == GET ? request->key % SLOTS : SLOTS;
}

static uint64_t bench_look_up_function(uint32_t slot) {
    return slot < SLOTS ? values[slot] : 0;
}

static bool bench_answer_function(int socket, const void *data, size_t size) {
    return write(socket, data, size) == (ssize_t)size;
}

CARRY_OP_DEFINE(bench_receive, bench_receive_function);
CARRY_OP_DEFINE(bench_decode, bench_decode_function);
CARRY_OP_DEFINE(bench_look_up, bench_look_up_function);
CARRY_OP_DEFINE(bench_answer, bench_answer_function);
CARRY_KEY_DEFINE(bench_logging, false);
CARRY_KEY_DEFINE(bench_limiting, false);

static carry_fn_bench_receive *bench_receive_pointer = bench_receive_function;
static carry_fn_bench_decode *bench_decode_pointer = bench_decode_function;
static carry_fn_bench_look_up *bench_look_up_pointer = bench_look_up_function;
static carry_fn_bench_answer *bench_answer_pointer = bench_answer_function;
static bool bench_logging_flag, bench_limiting_flag;

static APP_COLD void log_request(const struct request *request) {
    logged += request->key;
}

static void add_server_operations(struct carry_patch *patch) {
    carry_set(patch, bench_receive, bench_receive_function);
    carry_set(patch, bench_decode, bench_decode_function);
    carry_set(patch, bench_look_up, bench_look_up_function);
    carry_set(patch, bench_answer, bench_answer_function);
    carry_disable(patch, bench_logging);
    carry_disable(patch, bench_limiting);
}

/* --- The server --- */

static APP_ALWAYS_INLINE bool serve_request(enum patch_app_form form) {
    struct request request;
    if (!APP_CALL(form, bench_receive, server, &request, sizeof request))
        return false;
    if (APP_TEST(form, bench_logging))
        log_request(&request);
    const uint32_t slot = APP_CALL(form, bench_decode, &request);
    if (APP_TEST(form, bench_limiting))
        log_request(&request);
    const uint64_t value = APP_CALL(form, bench_look_up, slot);
    return APP_CALL(form, bench_answer, server, &value, sizeof value);
}

/* Returns the sum of all answers; a request that fails adds 0. */
static APP_ALWAYS_INLINE uint32_t serve_requests(enum patch_app_form form, size_t requests) {
    uint32_t all = 0;
    for (size_t i = 0; i < requests; i++) {
        const struct request request = {GET, (uint32_t)i};
        uint64_t value = 0;
        if (write(client, &request, sizeof request) == sizeof request && serve_request(form) &&
            read(client, &value, sizeof value) == sizeof value)
            all += (uint32_t)value;
    }
    return all;
}

APP_RUN(run_server, serve_requests)

static bool open_server(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return false;
    client = pair[0];
    server = pair[1];
    for (size_t i = 0; i < SLOTS; i++)
        values[i] = i * i + 1;
    APP_MAY_CHANGE(bench_receive_pointer);
    APP_MAY_CHANGE(bench_decode_pointer);
    APP_MAY_CHANGE(bench_look_up_pointer);
    APP_MAY_CHANGE(bench_answer_pointer);
    APP_MAY_CHANGE(bench_logging_flag);
    APP_MAY_CHANGE(bench_limiting_flag);
    return true;
}

static void close_server(void) {
    close(client);
    close(server);
}

const struct patch_app patch_app_server = {
    .name = "server",
    .title = "small server",
    .unit = "request",
    .units = 1,
    .calls = 4,
    .branches = 2,
    .open = open_server,
    .close = close_server,
    .run = run_server,
    .add = add_server_operations,
};
