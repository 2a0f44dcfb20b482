/* SPDX-License-Identifier: MIT */
/*
 * Serves one page over HTTP, from a poll() loop that also has other work. Clients cannot make the
 * loop wait or use more memory: connections are few, and a new one beyond the limit replaces the
 * one that has been idle longest.
 */
#ifndef CARRY_TOOLS_LIVE_SERVER_H
#define CARRY_TOOLS_LIVE_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#define SERVER_CONNECTIONS 16
#define SERVER_POLLS       (1 + SERVER_CONNECTIONS)

struct server;

/* Prints the page that the server serves. */
typedef void server_page(void *context, FILE *out);

/* Listens at `where`: "[ADDRESS:]PORT", with a numeric address, which is in brackets if it is an
   IPv6 address. Returns NULL after a message on failure. */
struct server *server_open(const char *where, server_page *page, void *context);
void server_close(struct server *server);

/* Fills in the entries for poll(), at most SERVER_POLLS. Returns their number; 0 if `server` is
   NULL. */
unsigned server_polls(struct server *server, struct pollfd *polls);

/* Serves connections after poll(), with the entries that server_polls() filled in. */
void server_serve(struct server *server, const struct pollfd *polls);

/* Returns in how many milliseconds the server will accept connections again after descriptors ran
   out; -1: it accepts them now. */
int server_timeout_ms(const struct server *server);

#endif
