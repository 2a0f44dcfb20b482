/* SPDX-License-Identifier: MIT */
/*
 * Serves one page by HTTP to whoever asks, from a loop around poll() that has other things to do.
 * Nobody can make it wait or grow: connections are few, and a new one takes the place of that which
 * has been idle longest.
 */
#ifndef CARRY_TOOLS_LIVE_SERVER_H
#define CARRY_TOOLS_LIVE_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#define SERVER_CONNECTIONS 16
#define SERVER_POLLS       (1 + SERVER_CONNECTIONS)

struct server;

/* Prints the page. */
typedef void server_page(void *context, FILE *out);

/* Where is "[ADDRESS:]PORT", ADDRESS as numbers and, of IPv6, in brackets. NULL after a message. */
struct server *server_open(const char *where, server_page *page, void *context);
void server_close(struct server *server);

/* Fills in what to wait for, SERVER_POLLS at most; returns how many. NULL has none. */
unsigned server_polls(struct server *server, struct pollfd *polls);

/* After poll(), with what server_polls() filled in. */
void server_serve(struct server *server, const struct pollfd *polls);

/* As poll() counts: until it accepts connections again, for which there were no descriptors; -1: it
   does. */
int server_patience_ms(const struct server *server);

#endif
