/* SPDX-License-Identifier: MIT */
/* The packets of -w: pcapng with a block for each interface, and the flags of packets. */
#ifndef CARRY_TOOLS_LIVE_PACKET_FILE_H
#define CARRY_TOOLS_LIVE_PACKET_FILE_H

#include <stdbool.h>

#include <carry/capture.h>

#include "live/interfaces.h"

struct packet_file;

/* NULL with errno set. "-" is standard output, in whose place reports go to standard error. */
struct packet_file *packet_file_open(const char *path, const struct interfaces *interfaces);

/* Between these two, no other thread adds packets. */
void packet_file_lock(struct packet_file *file);
void packet_file_add(struct packet_file *file, const struct carry_capture_packet *packet);
void packet_file_unlock(struct packet_file *file);

/* Lets readers have what was added. */
void packet_file_flush(struct packet_file *file);

/* Nothing more can be written, as on a full disk. */
bool packet_file_has_failed(const struct packet_file *file);

/* False, with errno set, if something was not written. */
bool packet_file_close(struct packet_file *file);

#endif
