/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "live/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/command.h"

#define LOOPBACK     "127.0.0.1"
#define PATH         "/metrics"
#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

#define REQUEST_SIZE 4096
#define RETRY_NS     (CLOCK_SECOND / 10)
#define ADDRESS_SIZE 64
#define REFUSED_TEXT "Metrics are at " PATH ".\n"

struct connection {
    int socket;     /* -1: unused */
    unsigned poll;  /* its index in the array for poll(); 0: none */
    int64_t active; /* when it last received or sent, as clock_ns() */
    char request[REQUEST_SIZE];
    size_t got;
    char *answer; /* NULL: the request is not complete */
    size_t answer_size, sent;
};

struct server {
    int socket;
    server_page *page;
    void *context;
    int64_t accepts_from; /* when the server accepts again, after descriptors ran out */
    struct connection connections[SERVER_CONNECTIONS];
};

/* --- Opening --- */

/* Splits "[::1]:80", "127.0.0.1:80" or "80"; false if the address is too long. */
static bool split_address(const char *where, char address[ADDRESS_SIZE], const char **port) {
    const char *colon = strrchr(where, ':');
    const bool has_brackets = colon && *where == '[' && colon > where && colon[-1] == ']';
    const char *start = has_brackets ? where + 1 : where;
    const size_t size = colon ? (size_t)(colon - start) - has_brackets : sizeof LOOPBACK - 1;
    if (size >= ADDRESS_SIZE)
        return false;
    memcpy(address, colon ? start : LOOPBACK, size);
    address[size] = '\0';
    *port = colon ? colon + 1 : where;
    return true;
}

static struct addrinfo *resolve_address(const char *where) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char address[ADDRESS_SIZE];
    const char *port;
    uint64_t number;
    if (!split_address(where, address, &port) || !command_parse(port, 1, UINT16_MAX, &number) ||
        getaddrinfo(address, port, &hints, &found))
        return NULL;
    return found;
}

static int listen_at(const struct addrinfo *address) {
    const int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(made, address->ai_addr, address->ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0)
        return made;
    const int error = errno;
    close(made);
    errno = error;
    return -1;
}

static int open_listener(const char *where) {
    struct addrinfo *address = resolve_address(where);
    if (!address) {
        command_usage("live", "--metrics takes [ADDRESS:]PORT in numbers, not '%s'", where);
        return -1;
    }
    const int made = listen_at(address);
    if (made < 0)
        command_error("cannot serve metrics at %s: %s", where, strerror(errno));
    freeaddrinfo(address);
    return made;
}

struct server *server_open(const char *where, server_page *page, void *context) {
    struct server *server = calloc(1, sizeof *server);
    if (!server) {
        command_error("%s", strerror(ENOMEM));
        return NULL;
    }
    *server = (struct server){.socket = open_listener(where), .page = page, .context = context};
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++)
        server->connections[i].socket = -1;
    if (server->socket >= 0)
        return server;
    free(server);
    return NULL;
}

/* --- Connections --- */

static void end_connection(struct connection *connection) {
    close(connection->socket);
    free(connection->answer);
    *connection = (struct connection){.socket = -1};
}

void server_close(struct server *server) {
    if (!server)
        return;
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++)
        if (server->connections[i].socket >= 0)
            end_connection(&server->connections[i]);
    close(server->socket);
    free(server);
}

static struct connection *find_free(struct server *server) {
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++)
        if (server->connections[i].socket < 0)
            return &server->connections[i];
    return NULL;
}

/* Returns the connection that has been idle longest; NULL if there are no connections. */
static struct connection *find_idle_longest(struct server *server) {
    struct connection *found = NULL;
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++) {
        struct connection *connection = &server->connections[i];
        if (connection->socket >= 0 && (!found || connection->active < found->active))
            found = connection;
    }
    return found;
}

static bool is_out_of_descriptors(void) {
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

/*
 * Accepts one connection at a time, so that connections that are ready are served before a new one
 * replaces them. If there is no free place or descriptor, closes the connection that has been idle
 * longest.
 */
static void accept_one(struct server *server) {
    struct connection *place = find_free(server), *idle = find_idle_longest(server);
    const int made = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (made < 0 && !is_out_of_descriptors())
        return;
    if (made < 0)
        server->accepts_from = clock_ns() + RETRY_NS;
    if (idle && (made < 0 || !place))
        end_connection(idle);
    if (made >= 0)
        *(place ? place : idle) = (struct connection){.socket = made, .active = clock_ns()};
}

/* --- Requests and answers --- */

/* Returns the target of a request with this method; NULL if the method differs. */
static const char *request_target(const char *request, const char *method) {
    const size_t size = strlen(method);
    return strncmp(request, method, size) == 0 && request[size] == ' ' ? request + size + 1 : NULL;
}

static bool is_page(const char *target) {
    return strncmp(target, PATH, sizeof PATH - 1) == 0 && strchr(" ?", target[sizeof PATH - 1]);
}

/* Prints the head of an answer, and its body if `whole`. */
static void print_answer(FILE *out, const char *status, const char *body, size_t size, bool whole) {
    fprintf(out,
            "HTTP/1.1 %s\r\nContent-Type: " CONTENT_TYPE
            "\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
            status, size);
    if (whole)
        fwrite(body, 1, size, out);
}

static char *make_page(const struct server *server, size_t *size) {
    char *page = NULL;
    FILE *out = open_memstream(&page, size);
    if (!out)
        return NULL;
    server->page(server->context, out);
    return fclose(out) ? NULL : page;
}

static void answer_request(const struct server *server, struct connection *connection) {
    const char *got = request_target(connection->request, "GET");
    const char *head = request_target(connection->request, "HEAD");
    const bool is_found = (got && is_page(got)) || (head && is_page(head));
    FILE *out = open_memstream(&connection->answer, &connection->answer_size);
    size_t size = 0;
    char *page = is_found ? make_page(server, &size) : NULL;
    if (!out) {
        free(page);
        return;
    }
    if (page)
        print_answer(out, "200 OK", page, size, !head);
    else
        print_answer(out, "404 Not Found", REFUSED_TEXT, sizeof REFUSED_TEXT - 1, !head);
    free(page);
    fclose(out);
}

/* Receives some of the request; false if the connection must be closed. */
static bool receive_request(const struct server *server, struct connection *connection) {
    const size_t room = sizeof connection->request - 1 - connection->got;
    const ssize_t got = recv(connection->socket, connection->request + connection->got, room, 0);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    connection->got += (size_t)got;
    if (!strstr(connection->request, "\r\n\r\n") && !strstr(connection->request, "\n\n"))
        return connection->got < sizeof connection->request - 1;
    answer_request(server, connection);
    return connection->answer;
}

static bool send_rest(struct connection *connection) {
    const size_t rest = connection->answer_size - connection->sent;
    const ssize_t sent =
        send(connection->socket, connection->answer + connection->sent, rest, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    connection->sent += (size_t)sent;
    return connection->sent < connection->answer_size;
}

static bool continue_connection(const struct server *server, struct connection *connection) {
    connection->active = clock_ns();
    return connection->answer ? send_rest(connection) : receive_request(server, connection);
}

/* --- In the loop --- */

/* Omits unused connections, as poll() refuses more entries than the limit of descriptors. */
unsigned server_polls(struct server *server, struct pollfd *polls) {
    unsigned count = 1;
    if (!server)
        return 0;
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++) {
        struct connection *connection = &server->connections[i];
        connection->poll = connection->socket < 0 ? 0 : count++;
        if (connection->poll)
            polls[connection->poll] = (struct pollfd){
                .fd = connection->socket, .events = connection->answer ? POLLOUT : POLLIN};
    }
    const bool accepts = clock_ns() >= server->accepts_from;
    polls[0] = (struct pollfd){.fd = accepts ? server->socket : -1, .events = POLLIN};
    return count;
}

void server_serve(struct server *server, const struct pollfd *polls) {
    if (!server)
        return;
    for (unsigned i = 0; i < SERVER_CONNECTIONS; i++) {
        struct connection *connection = &server->connections[i];
        if (connection->poll && polls[connection->poll].revents &&
            !continue_connection(server, connection))
            end_connection(connection);
    }
    if (polls[0].revents)
        accept_one(server);
}

int server_timeout_ms(const struct server *server) {
    const int64_t rest = server ? server->accepts_from - clock_ns() : 0;
    return rest > 0 ? (int)(rest / 1000000) + 1 : -1;
}
